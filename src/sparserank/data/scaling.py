"""Feature scaling, fitted on training queries; by default the within-query standard deviation."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError

SMALLEST_SPREAD, LARGEST_SPREAD = 1e-290, 1e290  # a weight divided by its scale must be a number too
LINEAR_SCALINGS = ("within-query-std", "none", "min-max", "standard")  # a weight per feature undoes them
SCALINGS = ("within-query-std", "none", "min-max", "standard", "log-standard", "query-min-max")


@dataclass(frozen=True)
class FeatureScaling:
    """x -> (t(x) - center) / scale per feature, t the identity or the signed log1p; or min-max within each query.

    center, scale (n_features,). For sparse X the centre is left out: a shift inside a query changes no ranking.
    """

    method: str
    center: np.ndarray = field(default_factory=lambda: np.zeros(0))
    scale: np.ndarray = field(default_factory=lambda: np.ones(0))

    @property
    def per_query(self) -> bool:
        """True when a value depends on the other documents of its query: not expressible in a search engine."""
        return self.method == "query-min-max"

    @property
    def logarithmic(self) -> bool:
        return self.method == "log-standard"

    def transform(self, X: Any, query_ptr: np.ndarray | None = None) -> Any:
        """Scaled copy of X (n_docs, n_features); `query_ptr` is needed by per-query scaling only."""
        if self.method == "none":
            return X
        if self.per_query:
            if query_ptr is None:
                raise DataError("per-query scaling needs the query of every document; pass qid.")
            return _query_min_max(X, query_ptr)
        values = _signed_log(X) if self.logarithmic else X
        if not sp.issparse(X):
            values = values - self.center
        return _divided(values, self.scale).astype(X.dtype, copy=False)

    def apply(self, data: RankingDataset) -> RankingDataset:
        return data if self.method == "none" else data.replace_features(self.transform(data.X, data.query_ptr))


def fit_scaling(data: RankingDataset, method: str = "within-query-std") -> FeatureScaling:
    """Scaling learned from `data`.

    Parameters
        method  'within-query-std' (divide by the root mean squared deviation from the query's mean: the only part that
                matters to a ranker), 'none', 'min-max', 'standard', 'log-standard' (signed log1p, then standard) or
                'query-min-max' (LETOR's QueryLevelNorm: to [0, 1] within each query, constants to 0)
    Raises
        DataError   unknown method, or a feature whose spread is too large or too small to divide by
    Notes
        A feature without spread keeps scale 1. 'standard' uses the population standard deviation.
    """
    if method not in SCALINGS:
        raise DataError(f"scaling must be one of {', '.join(SCALINGS)}; got {method!r}.")
    d = data.n_features
    if method in ("none", "query-min-max"):
        return FeatureScaling(method, np.zeros(d), np.ones(d))
    center, spread, size = _fit_spread(data, method)
    # A spread at rounding level of the values is no spread: dividing by it would turn noise into a feature.
    flat = spread <= (1e-7 if data.is_sparse else 1e-12) * size  # sparse sums of squares cancel to sqrt(eps)
    bad = np.flatnonzero(~flat & ~((spread >= SMALLEST_SPREAD) & (spread <= LARGEST_SPREAD)))
    if len(bad):
        j = int(bad[0])
        assert data.feature_names is not None
        raise DataError(
            f"feature {data.feature_names[j]} cannot be scaled: its spread is {spread[j]:.3g} (values up to {size[j]:.3g}), and "
            f"{SMALLEST_SPREAD:g} to {LARGEST_SPREAD:g} is usable. Multiply it by a constant, or clip it."
        )
    return FeatureScaling(method, np.zeros(d) if data.is_sparse else center, np.where(flat, 1.0, spread))


def _fit_spread(data: RankingDataset, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(center, spread, largest size), each (n_features,); columns near the ends of the number range are moved by a power of
    two first, which changes no digit, so that their squares are numbers."""
    X = _signed_log(data.X) if method == "log-standard" else data.X
    size = np.asarray(abs(X).max(axis=0).toarray() if sp.issparse(X) else np.abs(X).max(axis=0, initial=0.0)).ravel()
    size = size.astype(np.float64)
    extreme = (size > 0) & ~((size > 1e-100) & (size < 1e100))
    unit = np.where(extreme, np.ldexp(1.0, np.clip(np.frexp(size)[1], -1021, 1023)), 1.0)
    if extreme.any():
        X = _divided(X.astype(np.float64), unit)
    if method == "within-query-std":
        center, spread = np.zeros(len(size)), _within_query_std(X, data.query_ptr)
    elif method == "min-max":
        low, high = _column_range(X)
        center, spread = low, high - low
    else:
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        square = X.multiply(X).mean(axis=0) if sp.issparse(X) else np.square(X - mean).mean(axis=0)
        variance = np.asarray(square, dtype=np.float64).ravel() - (mean**2 if sp.issparse(X) else 0.0)
        center, spread = mean, np.sqrt(np.maximum(variance, 0.0))
    with np.errstate(over="ignore"):
        return center * unit, spread * unit, size


def _divided(X: Any, scale: np.ndarray) -> Any:
    """X with every column divided by its scale, dense or CSR."""
    if not sp.issparse(X):
        return X / scale
    out = sp.csr_matrix(X, copy=True)
    out.data = out.data / scale[out.indices]
    return out


def _signed_log(X: Any) -> Any:
    if sp.issparse(X):
        out = X.copy()
        out.data = np.sign(out.data) * np.log1p(np.abs(out.data))
        return out
    return np.sign(X) * np.log1p(np.abs(X))


def _column_range(X: Any) -> tuple[np.ndarray, np.ndarray]:
    if sp.issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)


def _within_query_std(X: Any, query_ptr: np.ndarray) -> np.ndarray:
    n_docs = max(X.shape[0], 1)
    total = np.zeros(X.shape[1])
    if sp.issparse(X):  # sum x^2 - sum over queries of (sum x)^2 / size
        sizes = np.diff(query_ptr)
        members = sp.csr_matrix((np.ones(X.shape[0]), np.arange(X.shape[0]), query_ptr), shape=(len(sizes), X.shape[0]))
        sums = members @ X
        total = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        total = total - np.asarray(sums.multiply(sums).multiply(1.0 / sizes[:, None]).sum(axis=0)).ravel()
    else:
        for lo, hi in itertools.pairwise(query_ptr):
            block = X[lo:hi].astype(np.float64)
            block -= block[0]
            block -= block.mean(axis=0)
            total += np.square(block).sum(axis=0)
    return np.sqrt(np.maximum(total, 0.0) / n_docs)


def _query_min_max(X: Any, query_ptr: np.ndarray) -> np.ndarray:
    dense = X.toarray() if sp.issparse(X) else X
    starts, sizes = query_ptr[:-1], np.diff(query_ptr)
    low = np.repeat(np.minimum.reduceat(dense, starts, axis=0), sizes, axis=0)
    high = np.repeat(np.maximum.reduceat(dense, starts, axis=0), sizes, axis=0)
    span = high - low
    return np.divide(dense - low, span, out=np.zeros_like(dense), where=span > 0)
