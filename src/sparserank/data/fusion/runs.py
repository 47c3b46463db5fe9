"""Runs of retrievers, as files or objects, read into lists."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.bounded import read_bounded
from sparserank.data.fusion.entries import Entries
from sparserank.data.fusion.keyed import DOCUMENT, QUERY, column_of, is_finite_number, keyed_values
from sparserank.data.fusion.returned import AnyIds, Ids, Returned
from sparserank.data.kinds import existing, head_of
from sparserank.data.tables.batches import Table, document_texts, is_frame, open_table, table_of
from sparserank.data.text_lines import GZIP
from sparserank.data.trec import Run, finite_number, run_entries
from sparserank.errors import DataError, DataFormatError
from sparserank.quoting import brief
from sparserank.strict_json import MAX_BYTES, parse_json

SCORE, RANK = ("score",), ("rank",)
NESTED = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')  # the beginning of a mapping of mappings in JSON
JSON_RUN = "{query id: {document id: score}}"
ROWS_AT_ONCE = 1 << 16


def read_lists(source: Any, name: str, queries: Mapping[str, int], documents: Ids, *, least: int = 1) -> Returned:
    """The lists of a run: a TREC run file (plain or gzip), a JSON file {query id: {document id: score}}, a Parquet or
    CSV file or a frame with columns qid, docno, score and perhaps rank, or a dictionary {query id: {document id:
    score}} or {(query id, document id): score}. Queries that `queries` does not number are counted and left out.

    Raises
        DataFormatError   a malformed line or row, or a document twice in a list; the message names file and line(s)
        DataError         fewer than `least` entries are of known queries, or the source is none of these
    """
    return _entries(source, name, queries, documents).lists(least)


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
    name = str(source) if isinstance(source, str | os.PathLike) else "the run"
    return _entries(source, name, AnyIds(), AnyIds(), ranks=False).run()


def _entries(source: Any, name: str, queries: Mapping[str, int], documents: Ids, *, ranks: bool = True) -> Entries:
    """The entries of a run; without `ranks`, those of TREC runs are not read."""
    if isinstance(source, str | os.PathLike):
        return _of_file(source, name, queries, documents, ranks)
    if hasattr(source, "to_dict") and not is_frame(source):  # a Run of ranx
        return _of_mapping(source.to_dict(), name, name, queries, documents)
    if isinstance(source, Mapping):
        return _of_mapping(source, name, name, queries, documents)
    if is_frame(source):
        return _of_table(table_of(name, source), name, queries, documents)
    raise DataError(
        f"{name}: a run must be a file, a frame with qid, docno and score, or {JSON_RUN}; got {brief(source)}."
    )


def _of_file(path: str | os.PathLike, name: str, queries: Mapping[str, int], documents: Ids, ranks: bool) -> Entries:
    place = existing(path)
    if place.is_dir():
        raise DataFormatError(f"{path}: is a directory; name a run file.")
    head = head_of(place) or b""
    kind = _table_kind(place, head)
    if kind is not None:
        return _of_table(open_table(place, kind), name, queries, documents)
    if head.lstrip()[:1] == b"{":
        try:
            content = parse_json(_unzipped(read_bounded(place, MAX_BYTES)))
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise DataFormatError(f"{path}: cannot be read ({error}); expected {JSON_RUN}.") from error
        return _of_mapping(content, name, str(path), queries, documents)
    entries = Entries(name, str(path), "line", queries, documents)
    for line, (qid, docno, position, value) in run_entries(path):
        rank = finite_number(path, line, position, " as rank") if ranks else 0.0
        entries.add(line, qid, docno, finite_number(path, line, value, " as score"), rank)
    return entries


def _table_kind(place: Path, head: bytes) -> str | None:
    """'parquet' or 'csv' for a table."""
    if head[:4] == b"PAR1":
        return "parquet"
    return "csv" if {".csv", ".tsv"}.intersection(place.suffixes) else None


def is_run_file(path: str | os.PathLike) -> bool:
    """Whether a file is a run in another form than lines: a table of several columns, or JSON of mappings."""
    place = Path(path)
    head = head_of(place) or b""
    kind = _table_kind(place, head)
    first = head.lstrip().partition(b"\n")[0]
    return kind == "parquet" or (kind == "csv" and bool({*b",\t"} & {*first})) or bool(NESTED.match(head))


def _unzipped(content: bytes) -> bytes:
    """The bytes, decompressed if they are gzip, of at most MAX_BYTES."""
    if content[:2] != GZIP:
        return content
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        out = stream.read(MAX_BYTES + 1)
    if len(out) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES // 2**20} MB")
    return out


def _of_mapping(content: Any, name: str, place: str, queries: Mapping[str, int], documents: Ids) -> Entries:
    entries = Entries(name, place, "entry", queries, documents)
    for at, (qid, docno, value) in enumerate(keyed_values(content, f"{place}: a run must be {JSON_RUN}"), start=1):
        if not is_finite_number(value):
            raise DataError(
                f"{place}: scores must be finite numbers; document {brief(docno)} of query {brief(qid)} has "
                f"{brief(value)}."
            )
        entries.add(at, str(qid), str(docno), float(value))
    return entries


def _of_table(table: Table, name: str, queries: Mapping[str, int], documents: Ids) -> Entries:
    needs = f"{table.place}: a run needs the columns qid, docno and score"
    columns = [column_of(table.schema.names, names, needs) for names in (QUERY, DOCUMENT, SCORE)]
    rank = next((name for name in RANK if name in table.schema.names), None)
    entries = Entries(name, table.place, "row", queries, documents)
    _add(entries, table.raw_batches([*columns, *([] if rank is None else [rank])], ROWS_AT_ONCE), columns, rank)
    return entries


def _add(entries: Entries, batches: Iterable[Any], columns: Sequence[str], rank: str | None) -> None:
    qid, docno, score = columns
    row = 0
    for batch in batches:
        ids = [document_texts(batch.column(c)) for c in (qid, docno)]
        scores = _numbers(batch, score, entries, row)
        ranks = np.zeros(len(scores)) if rank is None else _numbers(batch, rank, entries, row)
        values = zip(*(i.tolist() for i in ids), scores.tolist(), ranks.tolist(), strict=True)
        for at, (q, d, s, r) in enumerate(values, start=row + 1):
            if not q or not d:
                raise DataFormatError(f"{entries.place}:{at}: the {'document' if q else 'query'} id is missing.")
            entries.add(at, q, d, s, r)
        row += len(scores)


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
