"""Weights of rows as weights of queries: a metric has one value per query."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.given_weights import usable_weights
from sparserank.quoting import brief


def query_weights(owner: str, sample_weight: Any, data: RankingDataset) -> np.ndarray:
    """(n_queries,) from sample_weight (n_docs,), one weight per row that the data set was made of.

    Raises
        DataError   other than one finite number >= 0 per row; weights that differ within a query
    """
    weights = usable_weights(sample_weight, data.n_docs)
    if weights is None:
        raise DataError(
            f"{owner}: sample_weight must hold one finite weight >= 0 per row ({data.n_docs}); got "
            f"{brief(sample_weight)}."
        )
    rows = data.from_input_order(weights)
    of_query = rows[data.query_ptr[:-1]]
    differs = rows != np.repeat(of_query, np.diff(data.query_ptr))
    if differs.any():
        row = int(np.argmax(differs))
        q = int(np.searchsorted(data.query_ptr, row, side="right")) - 1
        raise DataError(
            f"{owner}: sample_weight must be the same for all rows of a query, whose weight it is; query "
            f"{brief(data.query_ids.tolist()[q])} has {of_query[q]:g} and, in row {data.row_index[row]}, "
            f"{rows[row]:g}."
        )
    return of_query


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    """Over the queries that have a value; NaN where none has.

    Raises
        DataError   no query that has a value has a positive weight
    """
    known = np.isfinite(values)
    if not known.any():
        return float("nan")
    largest = float(weights[known].max())
    if largest == 0:
        raise DataError("sample_weight must be positive for a query that has a value; all are 0.")
    shares = weights[known] / largest  # whose sum is finite
    return float(np.average(values[known], weights=shares))
