"""Find features that vary within queries; no other feature can distinguish documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

ROUNDING = 1e-14  # differences this small relative to the values are rounding errors of sums and products


def varying_dense(X: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """(n_features,) bool: features that take at least two values within some query."""
    starts = query_ptr[:-1][np.diff(query_ptr) > 0]
    if len(starts) == 0:
        return np.zeros(X.shape[1], dtype=bool)
    low = np.minimum.reduceat(X, starts, axis=0)
    high = np.maximum.reduceat(X, starts, axis=0)
    return np.asarray(differ(low, high).any(axis=0))


def varying_sparse(X: sp.csr_matrix, query_ptr: np.ndarray) -> np.ndarray:
    """Features that take at least two values within some query; a document that does not store a feature has 0."""
    varying = np.zeros(X.shape[1], dtype=bool)
    sizes = np.diff(query_ptr)
    query = np.repeat(np.repeat(np.arange(len(sizes)), sizes), np.diff(X.indptr))
    key = query * X.shape[1] + X.indices
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    if len(starts):
        low = np.minimum.reduceat(X.data[order], starts)
        high = np.maximum.reduceat(X.data[order], starts)
        some = np.diff(np.append(starts, len(key))) < sizes[query[order[starts]]]
        low = np.where(some, np.minimum(low, 0.0), low)
        high = np.where(some, np.maximum(high, 0.0), high)
        varying[X.indices[order[starts[differ(low, high)]]]] = True
    return varying


def extremes(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(smallest, largest, whether some are missing) of the values of each feature, including those that a sparse X does
    not store; NaN where all are missing."""
    if sp.issparse(X):
        low, high = (np.asarray(getattr(X, name)(axis=0).toarray()).ravel() for name in ("nanmin", "nanmax"))
        missing = np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1]) > 0
        return low, high, missing
    if len(X) == 0:
        nothing = np.full(X.shape[1], np.nan)
        return nothing, nothing, np.zeros(X.shape[1], dtype=bool)
    return np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0), np.isnan(X).any(axis=0)


def differ(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether the smallest and largest values of features differ by more than the rounding error of their
    computation."""
    low = low.astype(np.float64)
    high = high.astype(np.float64)
    with np.errstate(over="ignore"):  # an infinite difference counts
        return np.asarray(high - low > ROUNDING * np.maximum(np.abs(low), np.abs(high)))


def nothing_varies(n_docs: int) -> str:
    """The message for data in which every feature is constant within every query."""
    return f"no feature varies within the queries (n_samples={n_docs}), so there is nothing to learn or to select."
