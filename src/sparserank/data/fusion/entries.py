"""Entries of a run in any order, collected into lists."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparserank.data.fusion.returned import Ids, Returned, ordered
from sparserank.data.trec import RUN, Run, twice
from sparserank.errors import DataError, DataFormatError

NO_QUERY = "contains none of the judged queries; do the query ids agree?"
NO_ENTRY = f"contains no entry; expected lines '{RUN}'."
MAX_SCORE = 1e100  # squares of scores must not overflow


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
        self._refuse_repeated()
        query, document, at = (np.frombuffer(a, dtype=np.int64) for a in (self.query, self.document, self.at))
        score, rank = (np.frombuffer(a, dtype=np.float64) for a in (self.score, self.rank))
        far = np.flatnonzero(np.abs(score) > MAX_SCORE)
        if len(far):
            raise DataFormatError(
                f"{self.place}:{at[far[0]]}: the score {score[far[0]]:g} is too large; scale scores to at most "
                f"{MAX_SCORE:g} in absolute value."
            )
        return ordered(self.name, query, document, score, rank, self._ties(query, score, rank, document), self.n_other)

    def run(self) -> Run:
        """The entries as they are.

        Raises
            DataFormatError   a document is twice in a list
        """
        self._refuse_repeated()
        queries, documents = list(self.queries), list(self.documents)
        entries = zip(self.query, self.document, self.score, strict=True)
        return Run({(queries[q], documents[d]): score for q, d, score in entries})

    def _refuse_repeated(self) -> None:
        query, document, at = (np.array(a, dtype=np.int64) for a in (self.query, self.document, self.at))
        order = np.lexsort((at, document, query))
        same = np.flatnonzero((np.diff(query[order]) == 0) & (np.diff(document[order]) == 0))
        if len(same):
            first, second = order[same[np.argmin(at[order[same + 1]])] + np.arange(2)]
            qid, docno = list(self.queries)[query[first]], list(self.documents)[document[first]]
            raise DataFormatError(twice(f"{self.place}:{at[second]}", qid, docno, f"{self.unit} {at[first]}"))

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
