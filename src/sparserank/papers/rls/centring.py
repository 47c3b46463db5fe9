"""Centring per query, which maps the pairwise squared loss to ridge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import as_dense
from sparserank.data.varying import ROUNDING, nothing_varies
from sparserank.errors import DataError
from sparserank.number_checks import LARGEST, SMALLEST, checked_weights

MAX_DENSE_BYTES = 8 << 30
DETERMINED = 1e-12  # hold-out systems this close to singular leave fewer than four digits


@dataclass(frozen=True)
class CentredData:
    """Features and relevance with the mean of each query removed: 1 / (2 l) sum_ij (c_i - c_j)^2 = sum_i (c_i - mean
    c)^2.

    X (n_docs, n_features) float64, y (n_docs,), query_ptr; rows of query q are scaled by sqrt(query_weight[q]).
    varying (n_features,) bool: features that differ within some query with positive weight; others are never
    candidates.
    """

    X: np.ndarray
    y: np.ndarray
    query_ptr: np.ndarray
    varying: np.ndarray

    @property
    def n_queries(self) -> int:
        return len(self.query_ptr) - 1


def centre(data: RankingDataset, query_weight: np.ndarray | None = None) -> CentredData:
    """Centre a data set. A sparse X becomes dense, so its dense form must fit in memory.

    Raises
        DataError   the copies that a search makes would need more than 8 GiB
    """
    dense_bytes = 3 * 8.0 * data.n_docs * data.n_features
    if dense_bytes > MAX_DENSE_BYTES:
        raise DataError(
            f"this needs {dense_bytes / (1 << 30):.0f} GiB of dense copies for {data.n_docs} documents x "
            f"{data.n_features} features; use GreedyRankRLS(search='backfitting')."
        )
    X = as_dense(data.X)
    scale = row_scale(data, query_weight)
    varying = varying_features(data, query_weight)
    X = X.astype(np.float64)
    X[:, ~varying] = 0.0  # never candidates; their means may be beyond the range of numbers
    return CentredData(
        centre_rows(X, data.query_ptr) * scale[:, None],
        centred_relevance(data, scale),
        data.query_ptr,
        varying,
    )


def centre_rows(values: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """`values` (n_docs,) or (n_docs, k) minus the mean of each query."""
    lengths = np.diff(query_ptr)
    sums = np.add.reduceat(values, query_ptr[:-1], axis=0)
    means = sums / lengths.reshape(-1, *[1] * (values.ndim - 1))
    return values - np.repeat(means, lengths, axis=0)


def centred_relevance(data: RankingDataset, scale: np.ndarray) -> np.ndarray:
    """(n_docs,) relevance minus the mean of the query, times the scale of the row."""
    return centre_rows(data.relevance.astype(np.float64), data.query_ptr) * scale


def held_out_blocks(data: RankingDataset) -> np.ndarray:
    """Row offsets of the blocks that are left out: queries, or single documents if there is only one query."""
    return data.query_ptr if data.n_queries > 1 else np.arange(data.n_docs + 1)


def row_scale(data: RankingDataset, query_weight: np.ndarray | None) -> np.ndarray:
    """(n_docs,) square root of the weight of each row's query."""
    if query_weight is None:
        return np.ones(data.n_docs)
    weight = checked_weights("query_weight", query_weight, data.n_queries)
    if ((weight > 0) & ((weight < SMALLEST) | (weight > LARGEST))).any():
        raise DataError(
            f"each weight in query_weight must be 0 or within {SMALLEST:g} ... {LARGEST:g}; multiply the weights by a "
            "constant."
        )
    return np.repeat(np.sqrt(weight), data.sizes)


def varying_features(data: RankingDataset, query_weight: np.ndarray | None = None) -> np.ndarray:
    """(n_features,) bool: features that differ within some query with positive weight.

    Raises
        DataError   no such feature; or values so large, or differences within queries so small, that their squares are
                    not numbers
    """
    if query_weight is not None and (np.asarray(query_weight) == 0).any():
        data = data.take_queries(np.flatnonzero(np.asarray(query_weight)))
    spread, size = _spread_and_size(data)
    varying = spread > ROUNDING * size
    if not varying.any():
        raise DataError(nothing_varies(data.n_docs))
    for j in np.flatnonzero(varying & ((spread < SMALLEST) | (size > LARGEST))).tolist():
        what = f"values as large as {size[j]:.3g}" if size[j] > LARGEST else f"differences of at most {spread[j]:.3g}"
        raise DataError(
            f"feature {data.names[j]} has {what} within the queries; squares can be computed only for "
            f"absolute values within {SMALLEST:g} ... {LARGEST:g}. Multiply the feature by a constant, or use a "
            "scaling."
        )
    return np.asarray(varying)


def _spread_and_size(data: RankingDataset) -> tuple[np.ndarray, np.ndarray]:
    """(n_features,) largest difference within a query, and largest absolute value."""
    spread = np.zeros(data.n_features)
    size = np.zeros(data.n_features)
    for lo, hi in pairwise(data.query_ptr):  # one query at a time: n_queries x n_features may be more than memory holds
        rows = data.X[lo:hi].astype(np.float64)
        ends = rows.min(axis=0), rows.max(axis=0)
        low, high = (end.toarray().ravel() if data.is_sparse else end for end in ends)
        with np.errstate(over="ignore"):
            spread = np.maximum(spread, high - low)
        size = np.maximum(size, np.maximum(np.abs(low), np.abs(high)))
    return spread, size


def refuse_without_preference(data: RankingDataset, query_weight: np.ndarray | None) -> None:
    """Raise DataError if no query with positive weight has two different labels,
    or if the squares of labels are not numbers."""
    starts = data.query_ptr[:-1]
    size = float(np.abs(data.relevance).max(initial=0.0))
    if size > LARGEST:
        raise DataError(
            f"the absolute value of relevance must be at most {LARGEST:g}; got {size:.3g}. Multiply it by a constant."
        )
    spread = np.maximum.reduceat(data.relevance, starts) - np.minimum.reduceat(data.relevance, starts)
    if query_weight is not None:
        spread = spread[np.asarray(query_weight) > 0]
    largest = float(spread.max(initial=0.0))
    if largest == 0:
        raise DataError(
            f"no preferred pair (n_samples={data.n_docs}): within every query all documents have the same relevance; "
            "learning to rank needs at least one query with two different labels."
        )
    if largest < SMALLEST:
        raise DataError(
            f"relevance differs by at most {largest:.3g} within each query; the minimum is {SMALLEST:g}. Multiply it "
            "by a constant."
        )


def lam_too_small(lam: float) -> DataError:
    """The error for models without one query that are not determined in floating point."""
    return DataError(
        f"lam {lam:g} is too small for the scale of these data: models that leave out a query are not determined in "
        "floating point. Raise lam, or multiply the features by a constant below 1."
    )


@contextmanager
def determined(lam: float) -> Iterator[None]:
    """Raise the error that lam is too small if a system inside is singular."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise lam_too_small(lam) from error
