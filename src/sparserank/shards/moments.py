"""Statistics of features over several sets of queries at once: what scalings are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparserank.execution import BlockExecutor, split_queries
from sparserank.shards._moment_kernels import moments as add_moments
from sparserank.shards.rows import Rows

LARGEST_EXPONENT = 256  # numbers between 2 to the minus and to the plus of this are left in their own units


def coarse_unit(factor: np.ndarray) -> np.ndarray:
    """A power of two near each factor, 1 for all but extreme ones: multiplying by it changes no digit, and squares stay numbers.

    It depends on the factor coarsely, so that weightings of similar scale share one read.
    """
    exponent = np.frexp(factor)[1]
    steps = np.where(np.abs(exponent) > LARGEST_EXPONENT, np.round(exponent / LARGEST_EXPONENT), 0.0)
    return np.ldexp(1.0, np.clip(steps * LARGEST_EXPONENT, -1021, 1022).astype(int))


class Moments(NamedTuple):
    """Of K sets of queries: n_docs (K,); low, high, mean, and the sums of squares within and between queries, (K, n_columns)."""

    n_docs: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    within: np.ndarray
    between: np.ndarray

    @property
    def size(self) -> np.ndarray:
        """Largest |value|."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def feature_moments(
    rows: Rows,
    query_ptr: np.ndarray,
    used: np.ndarray,
    *,
    unit: np.ndarray | None = None,
    around: np.ndarray | None = None,
    n_threads: int | None = None,
) -> Moments:
    """Moments of K sets of queries, used (K, n_queries) bool, in one read; each what it would be alone.

    unit     (K, n_columns) powers of two by which features are multiplied first; sets of other units are read apart
    around   (K, n_columns) points near the means, about which `between` keeps its digits
    """
    K, d = len(used), rows.n_columns
    units = np.ones((K, d)) if unit is None else unit
    around = np.zeros((K, d)) if around is None else around
    distinct, of_unit = np.unique(units, axis=0, return_inverse=True)
    out = Moments(used @ np.diff(query_ptr), *(np.zeros((K, d)) for _ in range(5)))
    for u, common in enumerate(distinct):  # nearly always one: 1
        ks = np.flatnonzero(of_unit.ravel() == u)
        one = _moments(rows, query_ptr, used[ks], common, around[ks], BlockExecutor(n_threads))
        for whole, part in zip(out[1:], one[1:], strict=True):
            whole[ks] = part
    return out


def _moments(
    rows: Rows, query_ptr: np.ndarray, used: np.ndarray, unit: np.ndarray, around: np.ndarray, executor: BlockExecutor
) -> Moments:
    d, K = rows.n_columns, len(used)
    n_docs = used @ np.diff(query_ptr)
    if not rows.is_dense:
        return _sparse_moments(rows.X, query_ptr, used, unit, n_docs)  # type: ignore[attr-defined]
    blocks = split_queries(query_ptr, rows.nbytes / max(rows.n_docs, 1), minimum_bytes=16.0 * 8 * d)

    def block(b: int) -> np.ndarray:
        part = np.zeros((5, K, d))
        part[0], part[1] = np.inf, -np.inf
        lo, hi = query_ptr[blocks[b]], query_ptr[blocks[b + 1]]
        add_moments(rows.query_block(lo, hi), lo, query_ptr, used, unit, around, blocks[b], blocks[b + 1], *part)
        return part

    low, high, sums = np.full((K, d), np.inf), np.full((K, d), -np.inf), np.zeros((3, K, d))
    with np.errstate(over="ignore", invalid="ignore"):  # extreme features come again in units of their own
        for part in executor.few_at_once(block, len(blocks) - 1):
            low, high = np.minimum(low, part[0]), np.maximum(high, part[1])
            sums += part[2:]
        n = np.maximum(n_docs, 1)[:, None]
        mean = sums[0] / n
        between = np.maximum(sums[2] - n * mean * mean, 0.0)
    seen = np.isfinite(low) | np.isfinite(high)
    return Moments(n_docs, np.where(seen, low, 0.0), np.where(seen, high, 0.0), mean + around, sums[1], between)


def _sparse_moments(
    X: sp.csr_matrix, query_ptr: np.ndarray, used: np.ndarray, unit: np.ndarray, n_docs: np.ndarray
) -> Moments:
    """The same from CSR, without a dense row: sums of squares, which cancel to the square root of the rounding."""
    X = sp.csr_matrix((X.data * unit[X.indices], X.indices, X.indptr), shape=X.shape)
    sizes = np.diff(query_ptr)
    members = sp.csr_matrix((np.ones(X.shape[0]), np.arange(X.shape[0]), query_ptr), shape=(len(sizes), X.shape[0]))
    with np.errstate(over="ignore", invalid="ignore"):
        sums = sp.csr_matrix(members @ X)
        squares = sp.csr_matrix(members @ X.multiply(X))
        means = sums.multiply(sums).multiply(1.0 / np.maximum(sizes, 1)[:, None])
        weights = used.astype(np.float64)
        total, square, of_means = weights @ sums, weights @ squares, weights @ sp.csr_matrix(means)
        n = np.maximum(n_docs, 1)[:, None]
        low, high = (np.zeros((len(used), X.shape[1])) for _ in range(2))
        for k, row in enumerate(used):
            part = X if row.all() else X[np.repeat(row, sizes)]
            if part.shape[0]:
                low[k], high[k] = part.min(axis=0).toarray().ravel(), part.max(axis=0).toarray().ravel()
        mean = total / n
        return Moments(
            n_docs, low, high, mean, np.maximum(square - of_means, 0.0), np.maximum(of_means - n * mean * mean, 0.0)
        )
