"""Side files with the sizes of queries: LightGBM's `DATA.query` and XGBoost's `DATA.group`, one size per line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from sparserank.data.text_lines import read_numbers
from sparserank.errors import DataFormatError

SUFFIXES = (".query", ".group")


class SideQueries:
    """The queries of a data file without query ids: numbers `first`, `first` + 1, ... for blocks of rows.

    Raises
        DataFormatError   an entry is not a size; the message names file and line
    """

    def __init__(self, path: Path) -> None:
        self.path, self.first = path, 0
        sizes = read_numbers(path, "query size", "a whole number >= 1", lambda v: v >= 1 and v == int(v))
        if not sizes or sum(sizes) >= 2**62:
            raise DataFormatError(
                f"{path}: contains {'no size' if not sizes else 'sizes whose sum is larger than any file'}; expected "
                "one query size per line."
            )
        self.ends = np.cumsum(np.array(sizes, dtype=np.int64))

    def ids(self, first: int, last: int, data: str) -> np.ndarray:
        """(last - first,) the query of the rows first .. last - 1 of the file called `data`."""
        if last > (self.ends[-1] if len(self.ends) else 0):
            raise DataFormatError(
                f"{self.path}: the sizes sum to {self.ends[-1]} rows, but {data} has more. The numbers must be equal."
            )
        return self.first + np.searchsorted(self.ends, np.arange(first, last), side="right")

    def check(self, n_rows: int, data: str) -> None:
        """Refuse a file whose number of rows differs from the sum of the sizes."""
        if n_rows != self.ends[-1]:
            raise DataFormatError(
                f"{self.path}: the sizes sum to {self.ends[-1]} rows, but {data} has {n_rows}. The numbers must "
                "be equal."
            )


def side_files(paths: Sequence[str | os.PathLike]) -> list[SideQueries | None]:
    """The side file of each data file, if any; query numbers continue from one file to the next."""
    found, first = [side_file(path) for path in paths], 0
    for queries in found:
        if queries is not None:
            queries.first, first = first, first + len(queries.ends)
    return found


def side_file(path: str | os.PathLike) -> SideQueries | None:
    """The side file of a data file, named like it with one of the suffixes; None if there is none."""
    for suffix in SUFFIXES:
        beside = Path(f"{os.fspath(path)}{suffix}")
        if beside.is_file():
            return SideQueries(beside)
    return None


def with_query_ids(blocks: Iterable[bytes], queries: SideQueries, data: str) -> Iterator[bytes]:
    """Add query ids to whole lines of ranking text without them."""
    row = 0
    for block in blocks:
        lines = block.split(b"\n")
        filled = [i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(b"#")]
        for i, q in zip(filled, queries.ids(row, row + len(filled), data).tolist(), strict=True):
            label, _, rest = lines[i].strip().partition(b" ")
            lines[i] = b"%s qid:%d %s" % (label, q, rest)
        row += len(filled)
        yield b"\n".join(lines)
    queries.check(row, data)
