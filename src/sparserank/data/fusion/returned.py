"""What one retriever returned: for each query its documents, best first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


class Ids(dict[str, int]):
    """{id: number}, shared by all runs so that an id is kept once; numbers count from 0."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


class AnyIds(Ids):
    """Like Ids; every id is known, and gets its number when it is first asked for."""

    def __contains__(self, key: object) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class Returned:
    """The list of each query, best first.

    name        of the retriever
    query       (n_lists,) numbers of the queries, ascending; list_ptr (n_lists + 1,): the entries of each
    document    (n_entries,) numbers of the documents; score (n_entries,), descending within a list; rank (n_entries,)
                from 1, ascending within a list
    n_contrary  lists whose ranks, as the run numbers them, contradict the scores
    n_other     entries of queries without judgments, which are left out
    """

    name: str
    query: np.ndarray
    list_ptr: np.ndarray
    document: np.ndarray
    score: np.ndarray
    rank: np.ndarray
    n_contrary: int = 0
    n_other: int = 0

    @property
    def depths(self) -> np.ndarray:
        """(n_lists,) numbers of documents."""
        return np.diff(self.list_ptr)

    @property
    def merged(self) -> float:
        """The share of neighbours in a list whose different scores are equal in single precision."""
        after = np.delete(np.arange(len(self.score)), self.list_ptr[:-1])  # entries that have one before them
        differ = after[self.score[after] != self.score[after - 1]]
        with np.errstate(over="ignore"):
            single = self.score.astype(np.float32)
        return float((single[differ] == single[differ - 1]).mean()) if len(differ) else 0.0

    def cut(self, depth: int) -> Returned:
        """The documents of rank `depth` or less."""
        if not len(self.query):
            return self
        kept = self.rank <= depth
        counts = np.add.reduceat(kept.astype(np.int64), self.list_ptr[:-1])
        some = counts > 0
        return Returned(
            self.name,
            self.query[some],
            np.concatenate([[0], np.cumsum(counts[some])]),
            self.document[kept],
            self.score[kept],
            self.rank[kept],
            self.n_contrary,
            self.n_other,
        )


def ordered(
    name: str,
    query: np.ndarray,
    document: np.ndarray,
    score: np.ndarray,
    rank: np.ndarray,
    docno: np.ndarray,
    n_other: int = 0,
) -> Returned:
    """Lists of entries in any order: by descending score, equal scores by rank, equal ranks by document id."""
    order = np.lexsort((docno, rank, -score, query))
    query, document, score, rank = query[order], document[order], score[order], rank[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(query) != 0]))
    list_ptr = np.concatenate([starts, [len(query)]])
    falls = (np.diff(rank) < 0) & (np.diff(query) == 0)
    contrary = np.unique(query[1:][falls])
    places = (np.arange(len(query)) - np.repeat(starts, np.diff(list_ptr)) + 1).astype(np.int32)
    small = document.astype(np.int32) if document.max() < 2**31 else document
    return Returned(name, query[starts], list_ptr, small, score, places, len(contrary), n_other)


def of_ranks(name: str, query: np.ndarray, document: np.ndarray, rank: np.ndarray) -> Returned:
    """Lists of entries in any order, with their ranks in place of scores; equal ranks by number of document."""
    lists = ordered(name, query, document, -rank, np.zeros(len(rank)), document)
    return replace(lists, rank=-lists.score)
