"""Sorting of documents for all metrics, with one tie rule per convention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.metrics._ranking_kernels import order_lists
from sparserank.metrics.conventions import Convention

DIGITS = 13  # significant digits to which the scores of a run are rounded


@dataclass(frozen=True)
class RankedLists:
    """Relevance of every document in ranked order, list after list.

    order (n_docs,) row numbers; relevance (n_docs,) in ranked order; query_ptr (n_queries + 1,); rank (n_docs,) from 1;
    lengths (n_queries,); scores (n_docs,) in ranked order; retrieved (n_docs,) bool, False at the end of a list for
    documents that a run does not rank: they count only in the number of relevant documents; None: all are ranked;
    known: cache of values that depend only on the lists, shared by all rankings of them.
    """

    order: np.ndarray
    relevance: np.ndarray
    query_ptr: np.ndarray
    rank: np.ndarray
    lengths: np.ndarray
    scores: np.ndarray
    known: dict[Any, np.ndarray] = field(default_factory=dict)
    retrieved: np.ndarray | None = None

    def once(self, key: Any, make: Callable[[], np.ndarray]) -> np.ndarray:
        """A value that depends only on relevance, lengths and `key`, not on the ranking; made once."""
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def sum_per_query(self, values: np.ndarray) -> np.ndarray:
        """(n_queries,) sums of per-document values; every query has at least one document."""
        return np.add.reduceat(values, self.query_ptr[:-1]) if len(values) else np.zeros(len(self.lengths))

    def quotient(self, values: np.ndarray, totals: np.ndarray, without: float = 0.0) -> np.ndarray:
        """values / totals, and `without` where the total is 0."""
        return np.divide(values, totals, out=np.full(len(values), without), where=totals > 0)

    def first(self, n: int) -> np.ndarray:
        """(n_docs,) bool, in the order of the rows: the documents on the first n ranks."""
        shown = self.rank <= n
        out = np.zeros(len(shown), dtype=bool)
        out[self.order] = shown if self.retrieved is None else shown & self.retrieved
        return out


def rank_documents(
    scores: np.ndarray, relevance: np.ndarray, query_ptr: np.ndarray, ties: str, docid: np.ndarray | None = None
) -> np.ndarray:
    """(n_docs,) row numbers, query after query, by descending score.

    Ties: 'pessimistic' puts the less relevant first, so the result does not depend on row order; 'file' keeps row
    order; 'docid' puts the larger document id first (row order without ids) and compares scores in single precision,
    as trec_eval does.
    """
    second = np.zeros(len(scores))
    if ties == "pessimistic":
        second = relevance
    elif ties == "docid" and docid is not None:
        _, rank_of_id = np.unique(docid.astype(str), return_inverse=True)
        second = -rank_of_id.ravel().astype(np.float64)
    # A writable copy: the kernel would be compiled again for a read-only array.
    ptr = np.array(query_ptr, dtype=np.int64)
    if ties == "docid":
        with np.errstate(over="ignore"):
            scores = np.asarray(scores, dtype=np.float32)
    return order_lists(np.array(scores, dtype=np.float64), np.array(second, dtype=np.float64), ptr)


def settled(scores: np.ndarray) -> np.ndarray:
    """Scores of runs, rounded to DIGITS significant digits. Sums of the same values in another order differ in the last
    bits; rounding makes such documents tied, wherever the sums are computed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.abs(scores))) - DIGITS + 1)
    usable = np.isfinite(unit) & (unit > 0)
    return np.where(usable, np.round(scores / np.where(usable, unit, 1.0)) * unit, scores)


def in_order(scores: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Scores (n_docs,) in the same order. Two of them are equal only if the documents have equal scores and equal
    ranks."""
    score = settled(scores)
    order = np.lexsort((ranks, -score))
    falls = (np.diff(score[order]) != 0) | (np.diff(ranks[order]) != 0)
    places = np.zeros(len(scores))
    places[order[1:]] = -np.cumsum(falls)
    return places


def rank_lists(
    scores: np.ndarray,
    relevance: np.ndarray,
    query_ptr: np.ndarray,
    convention: Convention,
    docid: np.ndarray | None = None,
    known: dict[Any, np.ndarray] | None = None,
    retrieved: np.ndarray | None = None,
    returned: np.ndarray | None = None,
) -> RankedLists:
    """Sort each query once; all metrics of a convention share the result, and all rankings of the same lists `known`.
    retrieved (n_docs,) bool: documents that are ranked at all; scores of the others are ignored. By default all
    that are `returned` (n_docs,) and have a score other than 0 or a small enough rank, by the convention.

    Raises
        DataError   shapes disagree, or a score is not finite
    """
    scores = np.asarray(scores, dtype=np.float64)
    relevance = np.asarray(relevance, dtype=np.float64)
    query_ptr = np.asarray(query_ptr)
    if scores.shape != relevance.shape or scores.ndim != 1 or query_ptr[-1] != len(scores):
        raise DataError(
            f"scores, relevance and query_ptr must describe the same documents; got {scores.shape}, {relevance.shape} "
            f"and {query_ptr[-1]} documents in query_ptr."
        )
    if retrieved is None:
        retrieved = returned
        if convention.zero_scores == "left_out":
            retrieved = (scores != 0.0) & (True if returned is None else returned)
    if retrieved is not None:
        scores = np.where(retrieved, settled(scores), 0.0)
    if not np.isfinite(scores).all():
        raise DataError(f"scores must be finite; document {int(np.argmin(np.isfinite(scores)))} has no finite score.")
    order = rank_documents(scores, relevance, query_ptr, convention.ties, docid)
    if retrieved is not None:  # documents that were not retrieved follow in any order
        if not retrieved.all() and scores[retrieved].min(initial=np.inf) <= 0.0:  # otherwise they are last already
            of_query = np.repeat(np.arange(len(query_ptr) - 1), np.diff(query_ptr))
            order = order[np.lexsort((~retrieved[order], of_query))]
        scores = np.where(retrieved, scores, -np.inf)
    known = {} if known is None else known
    lengths = known.setdefault("lengths", np.diff(query_ptr))
    if "rank" not in known:
        known["rank"] = np.arange(len(scores)) - np.repeat(query_ptr[:-1], lengths) + 1
    shown = None if retrieved is None else retrieved[order]
    if convention.longest is not None:
        within = known["rank"] <= convention.longest
        shown = within if shown is None else shown & within
    return RankedLists(order, relevance[order], query_ptr, known["rank"], lengths, scores[order], known, shown)
