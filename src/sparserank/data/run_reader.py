"""Read runs and judgments in all common forms.

Both assign a number to query-document pairs. They come as TREC text, as BEIR's TSV, as JSON {query id: {document id:
number}} (ranx, pytrec_eval, ir_measures), as Parquet or CSV, as a data frame, as a dictionary, or as an object of ranx.
"""

from __future__ import annotations

import io
import math
import os
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.data.read_files import NESTED, existing, head_of
from sparserank.data.runs import Qrels, Run
from sparserank.data.tables.batches import Table, document_texts, is_frame, open_table, table_of
from sparserank.data.text_lines import unzipped
from sparserank.data.trec import (
    DOCUMENT_NAMES,
    GRADE_NAMES,
    QRELS,
    QUERY_NAMES,
    RUN,
    finite_number,
    judgment_entries,
    kind_of_line,
    run_entries,
)
from sparserank.errors import DataError, DataFormatError
from sparserank.files import read_bounded
from sparserank.number_checks import as_real
from sparserank.strict_json import MAX_BYTES, parse_json
from sparserank.text import brief

ROWS_AT_ONCE = 1 << 16
JUDGMENTS, EITHER, TABLE = "judgments", "run or judgments", "table"  # kinds of files, besides "run"


@dataclass(frozen=True)
class Layout:
    """The words for runs or for judgments in messages and in files.

    verb      noun and verb, 'a run must be'; needs: 'a run needs'; values: the word for its numbers
    columns   possible names of the column of numbers in a table, the usual one first
    """

    verb: str
    needs: str
    values: str
    columns: tuple[str, ...]

    @property
    def json(self) -> str:
        return f"{{query id: {{document id: {self.values.removesuffix('s')}}}}}"


OF_RUNS = Layout("a run must be", "a run needs", "scores", ("score",))
OF_QRELS = Layout("judgments must be", "judgments need", "grades", GRADE_NAMES)


class Ids(dict[str, int]):
    """{id: number}; a new id gets the next number, from 0. Runs share one instance, so that each id is stored once."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


class AnyIds(Ids):
    """Ids for which `in` is always true."""

    def __contains__(self, key: object) -> bool:
        return True


class Entries:
    """The entries of a run or of judgments in the order of the source, in packed arrays.

    place     name of the source in messages; unit: 'line', 'row' or 'entry'
    queries   {query id: number}; entries of other queries are only counted (n_other)
    """

    def __init__(self, layout: Layout, place: str, unit: str, queries: Mapping[str, int], documents: Ids) -> None:
        self.layout, self.place, self.unit = layout, place, unit
        self.queries, self.documents = queries, documents
        self._query, self._document, self._at = array("q"), array("q"), array("q")
        self._value, self._rank = array("d"), array("d")
        self.n_other = 0

    def add(self, at: int, qid: str, docno: str, value: float, rank: float = 0.0) -> None:
        """Add the entry at line or row `at`."""
        if qid not in self.queries:
            self.n_other += 1
            return
        self._query.append(self.queries[qid])
        self._document.append(self.documents[docno])
        self._at.append(at)
        self._value.append(value)
        self._rank.append(rank)

    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(n_entries,) each: query numbers, document numbers, places in the source, values, ranks.

        Raises
            DataFormatError   a document occurs twice for a query
        """
        query, document, at = (_as_array(a, np.int64) for a in (self._query, self._document, self._at))
        order = np.lexsort((at, document, query))
        same = np.flatnonzero((np.diff(query[order]) == 0) & (np.diff(document[order]) == 0))
        if len(same):
            first, second = order[same[np.argmin(at[order[same + 1]])] + np.arange(2)]
            qid, docno = list(self.queries)[query[first]], list(self.documents)[document[first]]
            raise DataFormatError(
                f"{self.place}:{at[second]}: document {brief(docno)} of query {brief(qid)} is already on {self.unit} "
                f"{at[first]}; list each document once per query."
            )
        return query, document, at, _as_array(self._value, np.float64), _as_array(self._rank, np.float64)

    def values(self) -> dict[tuple[str, str], float]:
        """{(query id, document id): value}; raises as `columns`."""
        query, document, _, value, _ = self.columns()
        qids, docnos = list(self.queries), list(self.documents)
        entries = zip(query.tolist(), document.tolist(), value.tolist(), strict=True)
        return {(qids[q], docnos[d]): v for q, d, v in entries}


def _as_array(values: array, dtype: type) -> np.ndarray:
    """The packed values without a copy."""
    return np.frombuffer(values, dtype=dtype) if len(values) else np.empty(0, dtype=dtype)


def read_run(source: Any) -> Run:
    r"""Read a run.

    Parameters
    ----------
    source : path, frame or mapping
        A TREC run file, `qid Q0 docno rank score tag`, where the tag may be absent or followed by other text, and lines
        that begin with '#' are comments; a JSON file {query id: {document id: score}}; a Parquet or CSV file, or a
        frame, with columns qid, docno and score; or a mapping, as in JSON. gzip is recognised by content.

    Returns
    -------
    Run
        Scores by query and document, for `evaluate`.

    Raises
    ------
    DataFormatError
        A malformed line; the message names the file and line, or both lines where a document occurs twice for a query.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import sparserank as sr
    >>> run, qrels = Path(tempfile.mkdtemp(), "a.run"), Path(tempfile.mkdtemp(), "a.qrels")
    >>> _ = run.write_text("q1 Q0 d1 1 0.9 x\nq1 Q0 d2 2 0.4 x\n"), qrels.write_text("q1 0 d1 0\nq1 0 d2 1\n")
    >>> sr.evaluate(sr.read_run(run), sr.read_qrels(qrels), "map")
    {'trec:map': 0.5}
    """
    return run_of(source, "the run")


def run_of(source: Any, name: str) -> Run:
    """Like `read_run`; `name` stands in messages for a source that is not a file."""
    return Run(read_entries(source, name, OF_RUNS, AnyIds(), Ids(), ranks=False).values())


def read_qrels(source: Any) -> Qrels:
    r"""Read judgments.

    Parameters
    ----------
    source : path, frame or mapping
        A TREC file, `qid 0 docno rel`, where the second column may be absent, the first line may name the columns (as
        in BEIR's TSV files), and lines that begin with '#' are comments; a JSON file {query id: {document id: grade}};
        a Parquet or CSV file, or a frame, with columns qid, docno and label; or a mapping, as in JSON. gzip is
        recognised by content.

    Returns
    -------
    Qrels
        Relevance by query and document, for `evaluate`.

    Raises
    ------
    DataFormatError
        A malformed line; the message names the file and line, or both lines where a document occurs twice for a query.
    DataError
        There are no judgments, or they cannot be read.

    Examples
    --------
    >>> import sparserank as sr
    >>> sr.read_qrels({"q1": {"d1": 0, "d2": 1}})["q1", "d2"]
    1.0
    """
    return judgments_of(source, "the judgments")


def judgments_of(source: Any, name: str) -> Qrels:
    """Like `read_qrels`; `name` stands in messages for a source that is not a file."""
    entries = read_entries(source, name, OF_QRELS, AnyIds(), Ids())
    found = Qrels(entries.values())
    if not found:
        if entries.unit == "line":
            raise DataFormatError(f"{entries.place}: contains no judgments; expected lines '{QRELS}'.")
        raise DataError(f"{entries.place}: contains no judgments.")
    return found


def read_entries(
    source: Any, name: str, layout: Layout, queries: Mapping[str, int], documents: Ids, *, ranks: bool = True
) -> Entries:
    """The entries of a run or of judgments; with ranks=False, the ranks in TREC runs are not read.

    Raises
        DataFormatError   a malformed line or row; the message names file and line
        DataError         the source is in none of the forms
    """
    if isinstance(source, str | os.PathLike):
        return _of_file(source, layout, queries, documents, ranks)
    if is_mapping(source):
        entries = Entries(layout, name, "entry", queries, documents)
        return _of_mapping(entries, source if isinstance(source, Mapping) else source.to_dict())
    if is_frame(source):
        return _of_table(table_of(name, source), layout, queries, documents)
    usual = f"a frame with qid, docno and {layout.columns[0]}"
    raise DataError(f"{name}: {layout.verb} a file, {usual}, or {layout.json}; got {brief(source)}.")


def is_mapping(source: Any) -> bool:
    """Whether a source is a mapping, or a ranx object, which can be converted to one."""
    return isinstance(source, Mapping) or (
        hasattr(source, "to_dict") and not hasattr(source, "__array__") and not is_frame(source)
    )


def holds(path: str | os.PathLike) -> str:
    """'run', JUDGMENTS, EITHER or TABLE (which may be a run), by the content of a file; '' for other text."""
    head = head_of(Path(path)) or b""
    if NESTED.match(head):
        return EITHER
    lines = head.decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.lstrip()[:1] not in ("", "#")), "")
    table, kind = _kind_of_table(Path(path), head, OF_RUNS), kind_of_line(first)
    if table == "csv" and kind == JUDGMENTS and first.split()[-1].lower() in OF_RUNS.columns:
        return EITHER  # BEIR calls grades scores
    return TABLE if table == "parquet" or (table == "csv" and kind == "" and {*",\t"} & {*first}) else kind


def _of_file(
    path: str | os.PathLike, layout: Layout, queries: Mapping[str, int], documents: Ids, ranks: bool
) -> Entries:
    place = existing(path)
    if place.is_dir():
        raise DataFormatError(f"{path}: is a directory; name a {'run ' if layout is OF_RUNS else ''}file.")
    head = head_of(place) or b""
    table = _kind_of_table(place, head, layout)
    if table is not None:
        return _of_table(open_table(place, table), layout, queries, documents)
    if head.lstrip()[:1] == b"{":
        try:
            content = parse_json(_unzipped(read_bounded(place, MAX_BYTES)))
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise DataFormatError(
                f"{path}: cannot be read ({error}); expected {layout.json}, and not lines of JSON, such as responses: "
                f"write their hits as lines '{RUN}'."
            ) from error
        return _of_mapping(Entries(layout, str(path), "entry", queries, documents), content)
    entries = Entries(layout, str(path), "line", queries, documents)
    if layout is OF_QRELS:
        for line, (qid, docno, grade) in judgment_entries(path):
            entries.add(line, qid, docno, finite_number(path, line, grade))
        return entries
    for line, (qid, docno, position, value) in run_entries(path):
        rank = finite_number(path, line, position, " as rank") if ranks else 0.0
        entries.add(line, qid, docno, finite_number(path, line, value, " as score"), rank)
    return entries


def _kind_of_table(place: Path, head: bytes, layout: Layout) -> str | None:
    """'parquet' or 'csv' for a table, else None. Tab-separated judgments, with or without a header, are not tables."""
    if head[:4] == b"PAR1":
        return "parquet"
    suffixes = {".csv"} if layout is OF_QRELS else {".csv", ".tsv"}
    return "csv" if suffixes.intersection(place.suffixes) else None


def _unzipped(content: bytes) -> bytes:
    """The bytes, decompressed if they are gzip, of at most MAX_BYTES."""
    out = bytes(unzipped(io.BufferedReader(io.BytesIO(content))).read(MAX_BYTES + 1))
    if len(out) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES // 2**20} MB")
    return out


def _of_mapping(entries: Entries, content: Any) -> Entries:
    place, layout = entries.place, entries.layout
    for at, (qid, docno, value) in enumerate(_keyed_values(content, f"{place}: {layout.verb} {layout.json}"), start=1):
        if not (isinstance(value, int | float | np.number) and math.isfinite(as_real(value))):
            raise DataError(
                f"{place}: {layout.values} must be finite numbers; document {brief(docno)} of query {brief(qid)} has "
                f"{brief(value)}."
            )
        entries.add(at, str(qid), str(docno), float(value))
    return entries


def _keyed_values(content: Any, must: str) -> Iterator[tuple[Any, Any, Any]]:
    """(query id, document id, value) of {query id: {document id: value}} or {(query id, document id): value}.

    Raises
        DataError   it is neither; the message begins with `must`
    """
    if not isinstance(content, Mapping):
        raise DataError(f"{must}; got {brief(content)}.")
    for key, value in content.items():
        if isinstance(key, tuple) and len(key) == 2:
            yield *key, value
        elif isinstance(value, Mapping):
            for docno, number in value.items():
                yield key, docno, number
        else:
            raise DataError(f"{must}; query {brief(key)} has {brief(value)}.")


def _of_table(table: Table, layout: Layout, queries: Mapping[str, int], documents: Ids) -> Entries:
    names = table.schema.names
    needs = f"{table.place}: {layout.needs} the columns qid, docno and {layout.columns[0]}"
    qid, docno, number = (_column(names, known, needs) for known in (QUERY_NAMES, DOCUMENT_NAMES, layout.columns))
    rank = "rank" if layout is OF_RUNS and "rank" in names else None
    entries, row = Entries(layout, table.place, "row", queries, documents), 0
    for batch in table.record_batches([qid, docno, number, *([] if rank is None else [rank])], ROWS_AT_ONCE):
        ids = [document_texts(batch.column(c)) for c in (qid, docno)]
        values = _numbers(batch, number, entries, row)
        ranks = np.zeros(len(values)) if rank is None else _numbers(batch, rank, entries, row)
        columns = zip(*(i.tolist() for i in ids), values.tolist(), ranks.tolist(), strict=True)
        for at, (q, d, value, r) in enumerate(columns, start=row + 1):
            if not q or not d:
                raise DataFormatError(f"{entries.place}:{at}: the {'document' if q else 'query'} id is missing.")
            entries.add(at, q, d, value, r)
        row += len(values)
    return entries


def _column(names: Sequence[str], known: Iterable[str], needs: str) -> str:
    """The first of the known names among the columns.

    Raises
        DataError   there is none; the message begins with `needs`
    """
    usual, *others = known
    column = next((name for name in (usual, *others) if name in names), None)
    if column is None:
        raise DataError(f"{needs}; {usual} is not among {brief(', '.join(map(str, names)))}.")
    return column


def _numbers(batch: Any, column: str, entries: Entries, row: int) -> np.ndarray:
    from sparserank.arrow import pa

    try:
        values = batch.column(column).cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowException as error:
        raise DataFormatError(f"{entries.place}: column {column} must contain numbers.") from error
    odd = np.flatnonzero(~np.isfinite(values))
    if len(odd):
        raise DataFormatError(
            f"{entries.place}:{row + odd[0] + 1}: expected a finite number as {column}; got {values[odd[0]]:g}."
        )
    return np.asarray(values, dtype=np.float64)
