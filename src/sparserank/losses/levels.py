"""Relevance as ranks from 0, the input form of pair sweeps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.losses._sizes import AT_ONCE
from sparserank.number_checks import as_floats
from sparserank.text import brief

MAX_TABLE_LEVELS = 12  # up to this number, a scan over levels is faster than a Fenwick tree
# approximate number of documents that are ranked at once; sorting needs ten times the memory of their relevance
CHUNK = 1 << 16

Table = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class RelevanceLevels:
    """levels (n_docs,), uint8 with a table of at most 256 levels, because every pass reads them, else int32;
    n_levels (n_queries,) int64, 0 for an empty query; table (K, K): pair weights below the diagonal and 0 elsewhere, or
    (0, 0) for the tree. K - 1 is a multiple of AT_ONCE, whatever the number of levels.
    """

    levels: np.ndarray
    n_levels: np.ndarray
    table: np.ndarray


def checked_table(value: Any) -> np.ndarray:
    """A table (K, K) of weights for pairs of grades, as float64.

    Raises
        DataError   the table is not numeric, not square, not finite or negative
    """
    try:
        table = np.ascontiguousarray(as_floats(value))
    except (TypeError, ValueError, OverflowError):
        table = np.empty(0)
    square = table.ndim == 2 and table.shape[0] == table.shape[1] > 0
    if not square or not np.isfinite(table).all() or (table < 0).any():
        raise DataError(f"grade_pair_weights must be a square table of finite weights >= 0; got {brief(value)}.")
    return table


def relevance_levels(
    relevance: np.ndarray, query_ptr: np.ndarray, grade_pair_weights: np.ndarray | Table | None = None
) -> RelevanceLevels:
    """Rank the grades from 0, within each query. With a K x K weight table, the ranks are the grades 0..K-1 of all
    queries.

    Parameters
        grade_pair_weights  (K, K), entry [a, b] >= 0 weights a pair of grades a > b; relevance must then be integers in
                            0..K-1
    Raises
        DataError           relevance is outside the table, or the table is not square, not finite or negative
    """
    n_queries = len(query_ptr) - 1
    if grade_pair_weights is not None:
        table = checked_table(grade_pair_weights)
        levels = relevance.astype(np.int32)
        if (levels != relevance).any() or (len(levels) and (np.min(levels) < 0 or np.max(levels) >= len(table))):
            raise DataError(f"with grade_pair_weights, relevance must be integers in 0..{len(table) - 1}.")
        n_levels = np.where(np.diff(query_ptr) > 0, len(table), 0).astype(np.int64)
        return RelevanceLevels(_narrow(levels, table), n_levels, _padded(np.tril(table, -1)))
    levels = np.empty(len(relevance), dtype=np.int32)
    n_levels = np.zeros(n_queries, dtype=np.int64)
    chunk_of = query_ptr[:-1] // CHUNK
    cuts = [0, *(np.flatnonzero(np.diff(chunk_of)) + 1).tolist(), n_queries]
    for first, last in itertools.pairwise(cuts):
        lo = query_ptr[first]
        hi = query_ptr[last]
        levels[lo:hi], n_levels[first:last] = _ranks(relevance[lo:hi], query_ptr[first : last + 1] - lo)
    most = int(np.max(n_levels, initial=1))
    table = _padded(np.tril(np.ones((most, most)), -1)) if most <= MAX_TABLE_LEVELS else np.zeros((0, 0))
    return RelevanceLevels(_narrow(levels, table), n_levels, table)


def _narrow(levels: np.ndarray, table: np.ndarray) -> np.ndarray:
    return levels.astype(np.uint8) if 0 < len(table) <= 256 else levels


def _ranks(relevance: np.ndarray, query_ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n_docs,) ranks of the grades within each query, and (n_queries,) the number of grades."""
    # One pass over all queries: sort by (query, relevance), count the steps within each query.
    sizes = np.diff(query_ptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    by_grade = np.lexsort((relevance, query))
    graded = relevance[by_grade]
    step = np.zeros(len(relevance), dtype=np.int64)
    step[1:] = graded[1:] > graded[:-1]
    filled = sizes > 0
    step[query_ptr[:-1][filled]] = 0
    climbed = np.cumsum(step)
    ranks = climbed - np.repeat(climbed[query_ptr[:-1][filled]], sizes[filled])
    levels = np.empty(len(relevance), dtype=np.int32)
    levels[by_grade] = ranks
    n_levels = np.zeros(len(sizes), dtype=np.int64)
    n_levels[filled] = ranks[query_ptr[1:][filled] - 1] + 1
    return levels, n_levels


def _padded(table: np.ndarray) -> np.ndarray:
    n_missing = -(len(table) - 1) % AT_ONCE
    return np.pad(table, (0, n_missing))


def pair_totals(lv: RelevanceLevels, query_ptr: np.ndarray, doc_weight: np.ndarray | None = None) -> np.ndarray:
    """(n_queries,) total pair weight of each query; doc_weight (n_docs,) weights pairs by their preferred document."""
    n_queries = len(query_ptr) - 1
    query = np.repeat(np.arange(n_queries), np.diff(query_ptr))
    width = int(lv.n_levels.max(initial=1))
    if len(lv.table) == 0 and width > MAX_TABLE_LEVELS:
        totals = np.empty(n_queries)
        for q, (lo, hi) in enumerate(itertools.pairwise(query_ptr)):
            counts = np.bincount(lv.levels[lo:hi]).astype(float)
            upper = counts if doc_weight is None else np.bincount(lv.levels[lo:hi], doc_weight[lo:hi])
            totals[q] = (upper[1:] * np.cumsum(counts)[:-1]).sum()
        return totals

    def per_level(weights: np.ndarray | None) -> np.ndarray:
        flat = np.bincount(query * width + lv.levels, weights, minlength=n_queries * width)
        return flat.reshape(n_queries, width).astype(float)

    lower = per_level(None)
    upper = lower if doc_weight is None else per_level(doc_weight)
    return np.einsum("qa,ab,qb->q", upper, lv.table[:width, :width], lower)
