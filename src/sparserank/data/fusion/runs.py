"""Runs of retrievers, as files or objects, read into lists."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sparserank.bounded import read_bounded
from sparserank.data.fusion.entries import Entries
from sparserank.data.fusion.keyed import DOCUMENT, QUERY, column_of, is_finite_number, keyed_values
from sparserank.data.fusion.returned import Ids, Returned
from sparserank.data.kinds import existing, head_of
from sparserank.data.tables.batches import Table, document_texts, is_frame, open_table, table_of
from sparserank.data.text_lines import GZIP
from sparserank.data.trec import RUN, finite_number, trec_lines
from sparserank.errors import DataError, DataFormatError
from sparserank.quoting import brief
from sparserank.strict_json import MAX_BYTES, parse_json

SCORE, RANK = ("score",), ("rank",)
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
    if isinstance(source, str | os.PathLike):
        entries = _of_file(source, name, queries, documents)
    elif hasattr(source, "to_dict") and not is_frame(source):  # a Run of ranx
        entries = _of_mapping(source.to_dict(), name, name, queries, documents)
    elif isinstance(source, Mapping):
        entries = _of_mapping(source, name, name, queries, documents)
    elif is_frame(source):
        entries = _of_table(table_of(name, source), name, queries, documents)
    else:
        raise DataError(
            f"{name}: a run must be a file, a frame with qid, docno and score, or {JSON_RUN}; got {brief(source)}."
        )
    return entries.lists(least)


def _of_file(path: str | os.PathLike, name: str, queries: Mapping[str, int], documents: Ids) -> Entries:
    place = existing(path)
    if place.is_dir():
        raise DataFormatError(f"{path}: is a directory; name a run file.")
    head = head_of(place) or b""
    if head[:4] == b"PAR1" or {".csv", ".tsv"}.intersection(place.suffixes):
        kind = "parquet" if head[:4] == b"PAR1" else "csv"
        return _of_table(open_table(place, kind), name, queries, documents)
    if head.lstrip()[:1] == b"{":
        try:
            content = parse_json(_unzipped(read_bounded(place, MAX_BYTES)))
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise DataFormatError(f"{path}: cannot be read ({error}); expected {JSON_RUN}.") from error
        return _of_mapping(content, name, str(path), queries, documents)
    entries = Entries(name, str(path), "line", queries, documents)
    for line, (qid, _, docno, position, value, _) in trec_lines(path, RUN):
        rank = finite_number(path, line, position, " as rank")
        entries.add(line, qid, docno, finite_number(path, line, value, " as score"), rank)
    return entries


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
