"""Centring per query: the map from the pairwise squared loss to ridge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError

MAX_DENSE_BYTES = 8 << 30


@dataclass(frozen=True)
class CentredData:
    """Features and relevance with the mean of each query removed: 1 / (2 l) sum_ij (c_i - c_j)^2 = sum_i (c_i - mean c)^2.

    X (n_docs, n_features) float64, y (n_docs,), query_ptr; rows of query q are scaled by sqrt(query_weight[q]).
    varying (n_features,) bool: features that differ within some query of positive weight; the others are never candidates.
    """

    X: np.ndarray
    y: np.ndarray
    query_ptr: np.ndarray
    varying: np.ndarray

    @property
    def n_queries(self) -> int:
        return len(self.query_ptr) - 1


def centre(data: RankingDataset, query_weight: np.ndarray | None = None) -> CentredData:
    """Centre a data set; a sparse X becomes dense, so this is for data whose dense form fits into memory.

    Raises
        DataError   the copies that a search makes of it would take more than 8 GiB
    """
    dense_bytes = 3 * 8.0 * data.n_docs * data.n_features
    if dense_bytes > MAX_DENSE_BYTES:
        raise DataError(
            f"this needs {dense_bytes / (1 << 30):.0f} GiB of dense copies for {data.n_docs} documents x "
            f"{data.n_features} features; use GreedyRankRLS(search='backfitting')."
        )
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    scale = row_scale(data, query_weight)
    return CentredData(
        centre_rows(X.astype(np.float64), data.query_ptr) * scale[:, None],
        centre_rows(data.relevance.astype(np.float64), data.query_ptr) * scale,
        data.query_ptr,
        varying_features(data, query_weight),
    )


def centre_rows(values: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """`values` (n_docs,) or (n_docs, k) minus the mean of each query."""
    lengths = np.diff(query_ptr)
    sums = np.add.reduceat(values, query_ptr[:-1], axis=0)
    means = sums / lengths.reshape(-1, *[1] * (values.ndim - 1))
    return values - np.repeat(means, lengths, axis=0)


def held_out_blocks(data: RankingDataset) -> np.ndarray:
    """Row offsets of what is left out together: the queries, or single documents when there is only one query."""
    return data.query_ptr if data.n_queries > 1 else np.arange(data.n_docs + 1)


def row_scale(data: RankingDataset, query_weight: np.ndarray | None) -> np.ndarray:
    """(n_docs,) square root of the weight of each row's query."""
    if query_weight is None:
        return np.ones(data.n_docs)
    weight = np.asarray(query_weight, dtype=np.float64)
    if weight.shape != (data.n_queries,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise DataError(f"query_weight must hold {data.n_queries} finite weights >= 0, one per query.")
    return np.repeat(np.sqrt(weight), np.diff(data.query_ptr))


def varying_features(data: RankingDataset, query_weight: np.ndarray | None = None) -> np.ndarray:
    """(n_features,) bool: features that differ within some query of positive weight."""
    if query_weight is not None and (np.asarray(query_weight) == 0).any():
        data = data.take_queries(np.flatnonzero(np.asarray(query_weight)))
    return ~data.constant_features()


def refuse_without_preference(data: RankingDataset, query_weight: np.ndarray | None) -> None:
    """Raise DataError when no query of positive weight has two different grades."""
    starts = data.query_ptr[:-1]
    graded = np.maximum.reduceat(data.relevance, starts) > np.minimum.reduceat(data.relevance, starts)
    if not (graded if query_weight is None else graded & (np.asarray(query_weight) > 0)).any():
        raise DataError(
            f"no preferred pair (n_samples={data.n_docs}): within every query all documents have the same relevance; "
            "learning to rank needs at least one query with two different grades."
        )
