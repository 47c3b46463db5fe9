"""Side files of data, with one number per line: the sizes of queries (LightGBM's `DATA.query`, XGBoost's `DATA.group`)
and weights of documents or of queries (`DATA.weight`)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from sparserank.data.query_ids import concatenated_ids, query_codes
from sparserank.data.text_lines import read_numbers
from sparserank.errors import DataFormatError, warn_caller
from sparserank.files import StrPath

SIZES = (".query", ".group")
WEIGHTS = (".weight",)
UNUSED = {  # side files of LightGBM and XGBoost that nothing here reads
    ".position": "positions count through weights of documents (1 / propensity)",
    ".init": "models start from no other scores",
    ".base_margin": "models start from no other scores",
}
S = TypeVar("S", "SideQueries", "SideWeights")
LABEL_AND_REST = re.compile(rb"\s*([^\s#]+)(.*)", re.DOTALL)


class SideQueries:
    """The queries of a data file without query ids: numbers `first`, `first` + 1, ... for consecutive blocks of rows,
    of the sizes in a side file.

    Raises
        DataFormatError   an entry is not a size; the message names file and line
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first = 0
        sizes = read_numbers(path, "query size", "a whole number >= 1", lambda v: v >= 1 and v == int(v))
        if not sizes or sum(sizes) >= 2**62:
            raise DataFormatError(
                f"{path}: contains {'no size' if not sizes else 'sizes whose sum is larger than any file'}; expected "
                "one query size per line."
            )
        self.values = np.array(sizes, dtype=np.int64)
        self.ends = np.cumsum(self.values)

    def ids(self, first: int, last: int, data: str) -> np.ndarray:
        """(last - first,) query number of each of the rows first .. last - 1; `data` names the file in messages."""
        if last > self.ends[-1]:
            raise self._differs(data, "more")
        return self.first + np.searchsorted(self.ends, np.arange(first, last), side="right")

    def check(self, n_rows: int, data: str) -> None:
        """Refuse a file whose number of rows differs from the sum of the sizes."""
        if n_rows != self.ends[-1]:
            raise self._differs(data, n_rows)

    def _differs(self, data: str, n_rows: int | str) -> DataFormatError:
        return DataFormatError(
            f"{self.path}: the sizes sum to {self.ends[-1]} rows, but {data} has {n_rows}. The numbers must be equal."
        )


def side_files(paths: Sequence[StrPath]) -> list[SideQueries | None]:
    """The side file of each data file, if any; query numbers continue from one file to the next."""
    queries_of_files = [side_file(path) for path in paths]
    continue_numbers(queries_of_files)
    return queries_of_files


def continue_numbers(queries_of_files: Iterable[SideQueries | None]) -> None:
    """Number the queries of side files one after the other."""
    first = 0
    for queries in queries_of_files:
        if queries is not None:
            queries.first, first = first, first + len(queries.ends)


def side_file(path: StrPath) -> SideQueries | None:
    """The side file of query sizes of a data file; None if there is no such file."""
    return _agreeing(side_paths(path, SIZES), SideQueries)


def side_weights(path: StrPath) -> SideWeights | None:
    """The side file of weights of a data file; None if there is no such file."""
    return _agreeing(side_paths(path, WEIGHTS), SideWeights)


def side_paths(path: StrPath, suffixes: Sequence[str] = (*SIZES, *WEIGHTS)) -> list[Path]:
    """The side files of a data file that exist: named like it, for `x.txt.gz` also like `x.txt`, with a suffix."""
    name = os.fspath(path)
    names = [name, name.removesuffix(".gz")] if name.endswith(".gz") else [name]
    return [Path(f"{n}{suffix}") for n in names for suffix in suffixes if Path(f"{n}{suffix}").is_file()]


def _agreeing(paths: Sequence[Path], read: Callable[[Path], S]) -> S | None:
    """The content of the first file; all files must have the same. None if there are no files.

    Raises
        DataFormatError   two files disagree; the message names both and the line
    """
    contents = [read(path) for path in paths]
    for path, other in zip(paths[1:], contents[1:], strict=True):
        a = contents[0].values
        b = other.values
        n = min(len(a), len(b))
        differ = np.flatnonzero(a[:n] != b[:n])
        if len(differ) or len(a) != len(b):
            line = 1 + (int(differ[0]) if len(differ) else n)
            raise DataFormatError(f"{paths[0]} and {path}: differ from line {line} on; remove the wrong one.")
    return contents[0] if contents else None


class SideWeights:
    """A side file of weights: of the rows of a data file, or of its queries in order of first appearance.

    of_queries   whether the weights are those of queries
    rows         {block: (n_rows,) weights of its rows}; both are known after `spread`

    Raises
        DataFormatError   an entry is not a weight; the message names file and line
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.of_queries = False
        self.rows: dict[int, np.ndarray] = {}
        self.values = np.array(read_numbers(path, "weight", "a finite number >= 0", lambda v: v >= 0))

    def spread(self, qid: Mapping[int, np.ndarray], data: str) -> None:
        """Determine whether the weights are per query, and the weight of each row.

        Parameters
            qid   {block: (n_rows,) query id of each row}; `data` names the file in messages
        Raises
            DataFormatError   their number is neither that of the rows nor that of the queries, or it is both
        """
        of_row = query_codes(concatenated_ids([*qid.values()]))
        n = len(self.values)
        n_rows = len(of_row)
        n_queries = int(of_row.max()) + 1
        self.of_queries = n == n_queries
        if n in (n_rows, n_queries) and n_rows != n_queries:
            weights = self.values[of_row] if self.of_queries else self.values
            ends = np.cumsum([len(rows) for rows in qid.values()])
            self.rows = dict(zip(qid, np.split(weights, ends[:-1]), strict=True))
            return
        has = f"{self.path}: contains {n} weights, but {data} has {n_rows} rows and {n_queries} queries"
        if n == n_rows:
            raise DataFormatError(
                f"{has}, so they may be weights of either; remove the file, and pass the weights as an option."
            )
        raise DataFormatError(f"{has}; give one weight per row, or one per query.")


def warn_of_others(path: StrPath) -> None:
    """Warn of each side file that is not used."""
    for suffix, why in UNUSED.items():
        for file in side_paths(path, (suffix,)):
            warn_caller(f"{file}: is not used; {why}.")


def warn_of_unused(queries: SideQueries, data: str) -> None:
    """Warn that a file of query sizes is not used."""
    warn_caller(f"{queries.path}: is not used, because {data} contains query ids.")


def with_query_ids(blocks: Iterable[bytes], queries: SideQueries, data: str) -> Iterator[bytes]:
    """Add query ids to whole lines of ranking text without them."""
    row = 0
    for block in blocks:
        lines = block.split(b"\n")
        filled = [i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(b"#")]
        for i, q in zip(filled, queries.ids(row, row + len(filled), data).tolist(), strict=True):
            parts = LABEL_AND_REST.match(lines[i])
            if parts is not None:
                lines[i] = b"%s qid:%d%s" % (parts[1], q, parts[2])
        row += len(filled)
        yield b"\n".join(lines)
    queries.check(row, data)
