"""Transform the features of data sets, and learn the constants of transforms."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import by_columns, column_products, n_stored, stored_of_column, within_queries
from sparserank.data.query_ids import rows_of_queries
from sparserank.transforms import ASINH, NONE, Transform, parse_kind

COLUMNS_AT_ONCE = 64
SAMPLE_VALUES = 4_000_000  # approximate sample, of evenly spaced queries, for learning and comparing transforms
NEARLY_LINEAR = 0.9  # correlation within queries from which a transformed feature adds nothing to the original


def fit_transform(data: RankingDataset, kind: str) -> Transform:
    """The same transform for every feature, but none for a boolean, of which it could only change the scale. Constants
    are the medians of the nonzero |x|. Both are learned without labels from about SAMPLE_VALUES values.

    Raises
        ParameterError   an unknown kind
    """
    parse_kind(kind)
    kinds = [kind] * data.n_features
    constants = np.ones(data.n_features)
    if kind == NONE:
        return Transform(tuple(kinds), constants)
    X = by_columns(data.X[sample_rows(data)[0]])
    for j in range(data.n_features):
        values = stored_of_column(X, j)
        values = values[values != 0]
        if 0 < len(values) < X.shape[0] and (values == 1).all():
            kinds[j] = NONE
        elif kind == ASINH and len(values):
            constants[j] = float(np.median(np.abs(values.astype(np.float64))))
    return Transform(tuple(kinds), constants)


def sample_rows(data: RankingDataset) -> tuple[np.ndarray, np.ndarray]:
    """(rows, query_ptr) of evenly spaced queries, about SAMPLE_VALUES values in total."""
    X = data.X
    step = max(-(-n_stored(X) // SAMPLE_VALUES), 1)
    queries = np.arange(0, data.n_queries, step)
    return rows_of_queries(data.query_ptr, queries[data.sizes[queries] > 0])


def changes_features(data: RankingDataset, transform: Transform) -> bool:
    """Whether some transformed feature is no longer nearly linear in the original within queries; uses no labels."""
    rows, ptr = sample_rows(data)
    sample = data.X[rows]
    step = data.n_features if sp.issparse(sample) else COLUMNS_AT_ONCE
    for first in range(0, data.n_features, step):
        X = sample[:, first : first + step].astype(np.float64)
        columns = np.arange(first, first + X.shape[1])
        Y = transform.take(columns)(X)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            together = within_queries(column_products, X, Y, ptr)
            of_x = within_queries(column_products, X, X, ptr)
            of_y = within_queries(column_products, Y, Y, ptr)
            correlation = together / np.sqrt(of_x * of_y)
        if (correlation < NEARLY_LINEAR).any():
            return True
    return False


def transformed(data: RankingDataset, transform: Transform | None) -> RankingDataset:
    """`data` under a transform; stored data go to a temporary store."""
    if transform is None or transform.is_identity:
        return data
    if data.is_stored:
        from sparserank.data.store.temporary import DatasetRows, in_temporary_store

        return data.replace_features(in_temporary_store(DatasetRows(data, transform)).X)
    return data.replace_features(transform(data.X))
