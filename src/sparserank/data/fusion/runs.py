"""Runs of retrievers, as files or objects, read into lists."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.bounded import read_bounded
from sparserank.data.faults import no_such_file
from sparserank.data.fusion.returned import Ids, Returned, of_ranks, ordered
from sparserank.data.tables.batches import Table, document_texts, is_frame, open_table, table_of
from sparserank.data.text_lines import GZIP
from sparserank.data.trec import RUN, finite_number, trec_lines
from sparserank.errors import DataError, DataFormatError
from sparserank.quoting import brief
from sparserank.strict_json import MAX_BYTES, parse_json

QUERY, DOCUMENT, SCORE, RANK = ("qid", "query_id", "topic"), ("docno", "docid", "doc_id"), ("score",), ("rank",)
JSON_RUN = "{query id: {document id: score}}"
NO_QUERY = "contains none of the judged queries; do the query ids agree?"
NO_ENTRY = f"contains no entry; expected lines '{RUN}'."
ROWS_AT_ONCE = 1 << 16
MAX_SCORE, MAX_RANK = 1e100, 1e9  # squares of scores, and ranks as numbers of documents, must not overflow
SUFFIXES = (".gz", ".run", ".txt", ".trec", ".json", ".parquet", ".pq", ".csv", ".tsv")


@dataclass
class Entries:
    """Entries of a run in the order of the source. place: what messages call the source; unit: 'line' or 'row'; at:
    their numbers."""

    name: str
    place: str
    unit: str
    queries: Mapping[str, int]
    documents: Ids

    def __post_init__(self) -> None:
        self.query, self.document, self.at = array("q"), array("q"), array("q")
        self.score, self.rank = array("d"), array("d")
        self.n_other = 0

    def add(self, at: int, qid: str, docno: str, score: float, rank: float = 0.0) -> None:
        if qid not in self.queries:
            self.n_other += 1
            return
        self.query.append(self.queries[qid])
        self.document.append(self.documents[docno])
        self.at.append(at)
        self.score.append(score)
        self.rank.append(rank)

    def lists(self, least: int = 1) -> Returned:
        """The lists, in order.

        Raises
            DataFormatError   a document is twice in a list
            DataError         fewer than `least` entries are of known queries
        """
        if len(self.query) < least:
            raise DataError(f"{self.place}: {NO_QUERY if self.n_other else NO_ENTRY}")
        if not len(self.query):
            none, ptr = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
            return Returned(self.name, none, ptr, none, np.zeros(0), none)
        query, document, at = (np.frombuffer(a, dtype=np.int64) for a in (self.query, self.document, self.at))
        order = np.lexsort((at, document, query))
        same = np.flatnonzero((np.diff(query[order]) == 0) & (np.diff(document[order]) == 0))
        if len(same):
            first, second = order[same[0]], order[same[0] + 1]
            docno = next(d for d, k in self.documents.items() if k == document[first])
            raise DataFormatError(
                f"{self.place}:{at[second]}: document {brief(docno)} of this query is already on {self.unit} "
                f"{at[first]}; list each document once per query."
            )
        score, rank = (np.frombuffer(a, dtype=np.float64) for a in (self.score, self.rank))
        far = np.flatnonzero(np.abs(score) > MAX_SCORE)
        if len(far):
            raise DataFormatError(
                f"{self.place}:{at[far[0]]}: the score {score[far[0]]:g} is too large; scale scores to at most "
                f"{MAX_SCORE:g} in absolute value."
            )
        return ordered(self.name, query, document, score, rank, self._ties(query, score, rank, document), self.n_other)

    def _ties(self, query: np.ndarray, score: np.ndarray, rank: np.ndarray, document: np.ndarray) -> np.ndarray:
        """(n_entries,) places by document id of entries with equal scores and ranks; 0 for others."""
        order = np.lexsort((rank, score, query))
        equal = np.ones(max(len(order) - 1, 0), dtype=bool)
        for values in (query, score, rank):
            equal &= np.diff(values[order]) == 0
        places = np.zeros(len(query), dtype=np.int64)
        if equal.any():  # the ids of entries that others equal, as places in their order
            tied = order[np.flatnonzero(np.concatenate([[False], equal]) | np.concatenate([equal, [False]]))]
            names = list(self.documents)
            for place, at in enumerate(sorted(tied.tolist(), key=lambda i: names[document[i]])):
                places[at] = place
        return places


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


def names_of_runs(paths: Sequence[str | os.PathLike]) -> list[str]:
    """The name of the retriever of each file: that of the file without endings, with its folder if names repeat.

    Raises
        DataError   two files have the same name even so
    """
    stems = [_stem(Path(p)) for p in paths]
    names = [s if stems.count(s) == 1 else f"{Path(p).parent.name}/{s}" for s, p in zip(stems, paths, strict=True)]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise DataError(f"two runs are called {brief(twice)}; each retriever needs a name of its own.")
    return names


def _stem(path: Path) -> str:
    name = path.name
    while (suffix := Path(name).suffix) in SUFFIXES and name != suffix:
        name = name.removesuffix(suffix)
    return name


def lists_of_columns(
    X: np.ndarray,
    names: Sequence[str],
    query_ptr: np.ndarray,
    *,
    ranks: bool,
    docno: np.ndarray,
    document: np.ndarray,
) -> list[Returned]:
    """The lists of each column of X (n_docs, n_columns), NaN where a retriever did not return a document: of ranks
    (1 is best) or of scores. document (n_docs,): their numbers; docno (n_docs,): their ids, which decide ties.

    Raises
        DataError   a column contains no number, or a rank below 1
    """
    query, out = np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr)), []
    for j, name in enumerate(names):
        at = np.flatnonzero(~np.isnan(X[:, j]))
        values = X[at, j].astype(np.float64)
        if not len(at):
            raise DataError(f"column {brief(name)} contains no number; leave it out.")
        if ranks and not (values.min() >= 1 and values.max() <= MAX_RANK):
            odd = values.min() if values.min() < 1 else values.max()
            raise DataError(f"column {brief(name)} contains the rank {odd:g}; ranks are from 1 to {MAX_RANK:g}.")
        if np.abs(values).max() > MAX_SCORE:
            raise DataError(f"column {brief(name)} contains a score above {MAX_SCORE:g}; scale the scores.")
        if ranks:
            out.append(of_ranks(name, query[at], document[at], values))
        else:
            out.append(ordered(name, query[at], document[at], values, np.zeros(len(at)), docno[at].astype(str)))
    return out


def _of_file(path: str | os.PathLike, name: str, queries: Mapping[str, int], documents: Ids) -> Entries:
    place = Path(path)
    if "\0" in str(path) or not place.exists():
        raise no_such_file(path)
    if place.is_dir():
        raise DataFormatError(f"{path}: is a directory; name a run file.")
    head = _head(place)
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


def _head(place: Path) -> bytes:
    if not place.is_file():  # a pipe can be read once only
        return b""
    try:
        with open(place, "rb") as raw:
            head = raw.read(1024)
        if head[:2] == GZIP:
            with gzip.open(place) as zipped:
                head = zipped.read(1024)
    except (OSError, EOFError):
        return b""  # whose reader says what is wrong
    return head


def _of_mapping(content: Any, name: str, place: str, queries: Mapping[str, int], documents: Ids) -> Entries:
    entries = Entries(name, place, "entry", queries, documents)
    for at, (qid, docno, value) in enumerate(_scored(content, place), start=1):
        known = isinstance(value, int | float | np.number) and not isinstance(value, bool) and np.isfinite(value)
        if not known:
            raise DataError(
                f"{place}: scores must be finite numbers; document {brief(docno)} of query {brief(qid)} has "
                f"{brief(value)}."
            )
        entries.add(at, str(qid), str(docno), float(value))
    return entries


def _scored(content: Any, place: str) -> Iterator[tuple[Any, Any, Any]]:
    if not isinstance(content, Mapping):
        raise DataError(f"{place}: a run must be {JSON_RUN}; got {brief(content)}.")
    for key, value in content.items():
        if isinstance(key, tuple) and len(key) == 2:
            yield *key, value
        elif isinstance(value, Mapping):
            for docno, score in value.items():
                yield key, docno, score
        else:
            raise DataError(f"{place}: a run must be {JSON_RUN}; query {brief(key)} has {brief(value)}.")


def _of_table(table: Table, name: str, queries: Mapping[str, int], documents: Ids) -> Entries:
    columns = _columns(table.schema.names, table.place)
    entries = Entries(name, table.place, "row", queries, documents)
    _add(entries, table.raw_batches([c for c in columns if c is not None], ROWS_AT_ONCE), columns)
    return entries


def _columns(found: Sequence[str], place: str) -> list[str | None]:
    """The columns of query, document, score and, if there is one, rank."""
    out: list[str | None] = []
    for known, needed in ((QUERY, True), (DOCUMENT, True), (SCORE, True), (RANK, False)):
        column = next((c for c in known if c in found), None)
        if needed and column is None:
            raise DataError(
                f"{place}: a run needs the columns qid, docno and score; {known[0]} is not among "
                f"{brief(', '.join(map(str, found)))}."
            )
        out.append(column)
    return out


def _add(entries: Entries, batches: Iterable[Any], columns: Sequence[str | None]) -> None:
    qid, docno, score, rank = columns
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


def _numbers(batch: Any, column: str | None, entries: Entries, row: int) -> np.ndarray:
    import pyarrow as pa

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
