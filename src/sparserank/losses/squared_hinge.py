"""The pairwise squared hinge in score space: RankSVM's smooth loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparserank.losses import _grade_sweeps, _tree_sweeps
from sparserank.losses.levels import RelevanceLevels, pair_totals, relevance_levels


@dataclass(frozen=True)
class SquaredHinge:
    """Squared hinge over all preferred pairs of each query, without pairs.

    Definition: sum over queries q of weights[q] * sum over pairs (i, j) of t(y_i, y_j) max(0, 1 - (s_i - s_j))^2

    Conventions
        scores (n_docs,) float64, finite; relevance (n_docs,) float64, any finite reals; query_ptr (n_queries + 1,);
        weights (n_queries,) >= 0. Pair weights t come from `grade_pair_weights` (K, K), default 1.
        Values are sums: whoever normalises divides once. A shift of the scores of a query changes nothing; equal
        relevance makes no pair; equal scores count with margin 0; a margin of exactly 1 is not active.
    Cost
        O(n log n + n K) for K <= 12 grades or a table, O(n log n) with a Fenwick tree otherwise.
    Source
        Laporte et al. (2014), equation (4) with the squared hinge; sweeps after Lee and Lin (2014), never subtracting.
    """

    grade_pair_weights: np.ndarray | None = None

    def levels(self, relevance: np.ndarray, query_ptr: np.ndarray) -> RelevanceLevels:
        """The relevance in the form that the kernels take."""
        return relevance_levels(relevance, query_ptr, self.grade_pair_weights)

    def sweeps(self, levels: RelevanceLevels) -> tuple[Callable, Callable]:
        """The compiled (sweep, hessian_sweep) that suit these grades; queries with fewer than two grades are not swept."""
        module = _grade_sweeps if len(levels.table) else _tree_sweeps
        return module.sweep, module.hessian_sweep

    def n_pairs(self, relevance: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
        """(n_queries,) total pair weight of each query: the number of pairs unless a table is given."""
        return pair_totals(self.levels(relevance, query_ptr), query_ptr)

    def value_and_gradient(
        self, scores: np.ndarray, relevance: np.ndarray, query_ptr: np.ndarray, weights: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """Loss and its gradient (n_docs,) with respect to the scores."""
        lv = self.levels(relevance, query_ptr)
        sweep, _ = self.sweeps(lv)
        scores = np.asarray(scores, dtype=np.float64)
        gradient = np.zeros(len(scores))
        work = np.empty((5, max(int(np.diff(query_ptr).max(initial=0)), len(lv.table)) + 1))
        value = 0.0
        for q in np.flatnonzero(lv.n_levels > 1):
            lo, hi = query_ptr[q], query_ptr[q + 1]
            weight = 1.0 if weights is None else float(weights[q])
            order = np.arange(hi - lo, dtype=np.int32)
            block = gradient[lo:hi]
            value += weight * sweep(scores[lo:hi], lv.levels[lo:hi], lv.n_levels[q], lv.table, order, block, work)
            block *= weight
        return value, gradient

    def hessian_matmul(
        self,
        scores: np.ndarray,
        relevance: np.ndarray,
        query_ptr: np.ndarray,
        weights: np.ndarray | None,
        Z: np.ndarray,
    ) -> np.ndarray:
        """W Z (n_docs, k): the generalised Hessian in score space, block-diagonal by query, times a block of columns."""
        lv = self.levels(relevance, query_ptr)
        _, hessian_sweep = self.sweeps(lv)
        scores = np.asarray(scores, dtype=np.float64)
        out = np.zeros(Z.shape)
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        for q in np.flatnonzero(lv.n_levels > 1):
            lo, hi = query_ptr[q], query_ptr[q + 1]
            order = np.arange(hi - lo, dtype=np.int32)
            block = out[lo:hi]
            hessian_sweep(scores[lo:hi], lv.levels[lo:hi], lv.n_levels[q], lv.table, order, Z[lo:hi], block)
            block *= 1.0 if weights is None else float(weights[q])
        return out
