"""What one retriever returned: for each query its documents, best first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparserank.data.trec import RUN, finite_number, trec_lines
from sparserank.errors import DataError, DataFormatError
from sparserank.quoting import brief


class Ids(dict[str, int]):
    """{id: number}, shared by all runs so that an id is kept once; numbers count from 0."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


@dataclass(frozen=True, eq=False)
class Returned:
    """The list of each query, best first.

    name        of the retriever
    query       (n_lists,) numbers of the queries, ascending; list_ptr (n_lists + 1,): the entries of each
    document    (n_entries,) numbers of the documents; score (n_entries,), descending within a list
    n_contrary  lists whose ranks, as the run numbers them, contradict the scores
    """

    name: str
    query: np.ndarray
    list_ptr: np.ndarray
    document: np.ndarray
    score: np.ndarray
    n_contrary: int = 0

    @property
    def depths(self) -> np.ndarray:
        """(n_lists,) numbers of documents."""
        return np.diff(self.list_ptr)

    @property
    def rank(self) -> np.ndarray:
        """(n_entries,) ranks from 1."""
        return np.arange(len(self.document)) - np.repeat(self.list_ptr[:-1], self.depths) + 1

    def cut(self, depth: int) -> Returned:
        """The first `depth` documents of each list."""
        kept = self.rank <= depth
        list_ptr = np.concatenate([[0], np.cumsum(np.minimum(self.depths, depth))])
        return Returned(self.name, self.query, list_ptr, self.document[kept], self.score[kept], self.n_contrary)


def returned_of(
    name: str, run: Mapping[tuple[str, str], float], queries: Mapping[str, int], documents: Ids
) -> Returned:
    """The lists of a run in memory, {(query id, document id): score}. Queries that `queries` does not number are left
    out.

    Raises
        DataError   the run returns nothing for these queries, or a score is not finite
    """
    entries = [(queries[q], documents[d], float(score), d) for (q, d), score in run.items() if q in queries]
    if not entries:
        raise DataError(f"{name}: returns no document for any judged query; do the query ids agree?")
    query, document, score, docnos = (np.array(column) for column in zip(*entries, strict=True))
    if not np.isfinite(score).all():
        raise DataError(f"{name}: scores must be finite; document {brief(docnos[~np.isfinite(score)][0])} has none.")
    return _sorted(name, query, document, score, np.zeros(len(query)), docnos)


def read_returned(path: str | os.PathLike, name: str, queries: Mapping[str, int], documents: Ids) -> Returned:
    """The lists of a TREC run file, `qid Q0 docno rank score tag`, plain or gzip, read line by line. Queries that
    `queries` does not number are left out.

    Raises
        DataFormatError   a malformed line, or a document twice in a list; the message names file and line(s)
        DataError         the run returns nothing for these queries
    """
    query, document, rank, score, at, docnos = [], [], [], [], [], []
    for line, (qid, _, docno, position, value, _) in trec_lines(path, RUN):
        numbers = finite_number(path, line, position, " as rank"), finite_number(path, line, value, " as score")
        if qid in queries:
            query.append(queries[qid])
            document.append(documents[docno])
            docnos.append(docno)
            rank.append(numbers[0])
            score.append(numbers[1])
            at.append(line)
    if not query:
        raise DataError(f"{path}: returns no document for any judged query; do the query ids agree?")
    columns = np.array(query, dtype=np.int64), np.array(document, dtype=np.int64)
    order = np.lexsort((np.array(at), columns[1], columns[0]))
    same = np.flatnonzero((np.diff(columns[0][order]) == 0) & (np.diff(columns[1][order]) == 0))
    if len(same):
        first, second = (at[order[same[0] + i]] for i in (0, 1))
        raise DataFormatError(
            f"{path}:{second}: document {brief(docnos[order[same[0]]])} of this query is already on line {first}; list "
            "each document once per query."
        )
    return _sorted(name, *columns, np.array(score), np.array(rank), np.array(docnos))


def _sorted(
    name: str, query: np.ndarray, document: np.ndarray, score: np.ndarray, rank: np.ndarray, docno: np.ndarray
) -> Returned:
    """Lists by descending score, equal scores by rank, equal ranks by document id."""
    order = np.lexsort((docno, rank, -score, query))
    query, document, score, rank = query[order], document[order], score[order], rank[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(query) != 0]))
    list_ptr = np.concatenate([starts, [len(query)]])
    falls = (np.diff(rank) < 0) & (np.diff(query) == 0)
    contrary = np.unique(query[1:][falls])
    return Returned(name, query[starts], list_ptr, document, score, len(contrary))
