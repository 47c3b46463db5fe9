"""Feature scaling, fitted on training queries; by default the within-query standard deviation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import apply_to_values, as_dense, divided_columns
from sparserank.errors import DataError, ParameterError
from sparserank.options import Choice, option
from sparserank.options.arguments import check_arguments
from sparserank.options.paths import LINEAR_SCALINGS, SCALINGS
from sparserank.shards import as_rows
from sparserank.shards.moments import MomentSums, feature_moments, local_sums
from sparserank.text import brief

# a weight divided by its scale must not overflow
SMALLEST_SPREAD = 1e-290
LARGEST_SPREAD = 1e290


@dataclass(frozen=True)
class FeatureScaling:
    """Scaling (t(x) - center) / scale of each feature, where t is the identity or the signed log1p.

    Alternatively, min-max scaling within each query.

    Parameters
    ----------
    method : str
        As in `fit_scaling`.
    center : ndarray of shape (n_features,)
        Subtracted from dense X. Sparse X is not shifted, because a shift within a query changes no ranking.
    scale : ndarray of shape (n_features,)
        Divisors of the features.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.RankingDataset([[0.0, 5.0], [4.0, 5.0]], [0, 1], ["a", "a"])
    >>> sr.fit_scaling(data, "none").method
    'none'
    """

    method: str
    center: np.ndarray = field(default_factory=lambda: np.zeros(0))
    scale: np.ndarray = field(default_factory=lambda: np.ones(0))

    @property
    def per_query(self) -> bool:
        """True if a value depends on the other documents of its query, which a search engine cannot express."""
        return self.method == "query-min-max"

    @property
    def logarithmic(self) -> bool:
        return self.method == "log-standard"

    def transform(self, X: Any, query_ptr: np.ndarray | None = None) -> Any:
        """Scaled copy of X (n_docs, n_features); only per-query scaling needs `query_ptr`."""
        if not (sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2)):
            raise ParameterError("X", f"must be a matrix (n_docs, n_features); got {brief(X)}.")
        if self.method == "none":
            return X
        if self.per_query:
            if query_ptr is None:
                raise DataError("per-query scaling needs the query of every document; pass qid.")
            return _query_min_max(X, query_ptr)
        values = _signed_log(X) if self.logarithmic else X
        if not sp.issparse(X):
            values = values - self.center
        return divided_columns(values, self.scale).astype(X.dtype, copy=False)

    @property
    def is_linear(self) -> bool:
        """True if the scaling can be undone by one factor per weight, so that X need not be scaled."""
        return not self.per_query and not self.logarithmic

    def apply(self, data: RankingDataset) -> RankingDataset:
        check_arguments(FeatureScaling.apply, locals())
        return data if self.method == "none" else data.replace_features(self.transform(data.X, data.query_ptr))


def fit_scaling(data: RankingDataset, method: str = "within-query-std") -> FeatureScaling:
    """Learn a scaling of the features.

    Parameters
    ----------
    data : RankingDataset
        The training data.
    method : str, default 'within-query-std'
        'within-query-std' (divide by the root mean squared deviation from the mean of the query, the only part that
        affects a ranking), 'none', 'min-max', 'standard' (population standard deviation), 'log-standard' (signed
        log1p, then standard) or 'query-min-max' (LETOR's QueryLevelNorm: to [0, 1] within each query, constants to 0).

    Returns
    -------
    FeatureScaling
        The scaling, for any data with these features. A feature with zero spread has scale 1.

    Raises
    ------
    DataError
        The method is unknown, or the spread of a feature is too large or too small to divide by.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.RankingDataset([[0.0, 5.0], [4.0, 5.0]], [0, 1], ["a", "a"])
    >>> sr.fit_scaling(data, "min-max").scale.tolist()
    [4.0, 1.0]
    """
    check_arguments(fit_scaling, locals(), method=Choice(SCALINGS))
    center, scale = fit_scalings(prepared(data, method), method, np.ones((1, data.n_queries), dtype=bool))
    return FeatureScaling(method, center[0], scale[0])


def prepared(data: RankingDataset, method: str) -> RankingDataset:
    """`data` with the nonlinear part of a scaling applied (signed log, min-max within queries);
    the same object if there is none."""
    if method not in SCALINGS:
        raise DataError(f"scaling must be one of {', '.join(SCALINGS)}; got {method!r}.")
    if data.is_stored and method not in LINEAR_SCALINGS:
        raise DataError(
            f"scaling {method!r} would copy all features, but features in a store are read in place. Use one of "
            f"{', '.join(LINEAR_SCALINGS)}, or write the store from scaled features."
        )
    if method == "log-standard":
        return data.replace_features(_signed_log(data.X))
    return data.replace_features(_query_min_max(data.X, data.query_ptr)) if method == "query-min-max" else data


def fit_scalings(
    data: RankingDataset,
    method: str,
    used: np.ndarray,
    sums_of: MomentSums | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(centers, scales), each (K, n_features), learned from K sets of queries of `prepared` data, used (K, n_queries)
    bool; sums_of: computes the sums of the features, default in this process.

    Raises
        DataError   as in `fit_scaling`
    """
    shape = (len(used), data.n_features)
    if method in ("none", "query-min-max"):
        return np.zeros(shape), np.ones(shape)
    center, spread, size = _fit_spread(data, method, used, sums_of or local_sums(as_rows(data.X), data.query_ptr))
    # A spread at the rounding level of the values counts as 0: dividing by it would amplify noise.
    flat = spread <= (1e-7 if data.is_sparse else 1e-12) * size  # sparse sums of squares cancel to sqrt(eps)
    bad = np.argwhere(~flat & ~((spread >= SMALLEST_SPREAD) & (spread <= LARGEST_SPREAD)))
    if len(bad):
        k, j = (int(i) for i in bad[0])
        assert data.feature_names is not None
        raise DataError(
            f"feature {data.feature_names[j]} cannot be scaled: its spread is {spread[k, j]:.3g} (values up to "
            f"{size[k, j]:.3g}), and the usable range is {SMALLEST_SPREAD:g} to {LARGEST_SPREAD:g}. Multiply it by a "
            f"constant, clip it, or take its logarithm ({option('transform', 'log')})."
        )
    return np.zeros(shape) if data.is_sparse else center, np.where(flat, 1.0, spread)


def _fit_spread(
    data: RankingDataset,
    method: str,
    used: np.ndarray,
    sums_of: MomentSums,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(center, spread, largest size), each (K, n_features). Columns near the ends of the number range are first
    multiplied by a power of two, which changes no digit, so that their squares do not overflow."""
    measured = partial(feature_moments, sums_of, data.sizes, used, data.n_features)
    moments = measured()
    size = moments.size
    extreme = (size > 0) & ~((size > 1e-100) & (size < 1e100))
    exponent = np.clip(np.frexp(size)[1], -1021, 1022)
    unit = np.where(extreme, np.ldexp(1.0, -exponent), 1.0)
    if extreme.any():
        moments = measured(unit=unit)
    if method == "within-query-std":
        center = np.zeros_like(size)
        spread = np.sqrt(moments.within / np.maximum(moments.n_docs, 1)[:, None])
    elif method == "min-max":
        center = moments.low
        spread = moments.high - moments.low
    else:
        moments = measured(unit=unit, around=None if data.is_sparse else moments.mean)
        center = moments.mean
        spread = np.sqrt((moments.within + moments.between) / np.maximum(moments.n_docs, 1)[:, None])
    with np.errstate(over="ignore"):
        return center / unit, spread / unit, size


def _signed_log(X: Any) -> Any:
    return apply_to_values(X, lambda x: np.sign(x) * np.log1p(np.abs(x)))


def _query_min_max(X: Any, query_ptr: np.ndarray) -> np.ndarray:
    dense = as_dense(X)
    starts = query_ptr[:-1]
    sizes = np.diff(query_ptr)
    low = np.repeat(np.minimum.reduceat(dense, starts, axis=0), sizes, axis=0)
    high = np.repeat(np.maximum.reduceat(dense, starts, axis=0), sizes, axis=0)
    span = high - low
    return np.divide(dense - low, span, out=np.zeros_like(dense), where=span > 0)
