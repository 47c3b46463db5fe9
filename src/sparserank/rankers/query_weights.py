"""Conversion of row weights to query weights: a metric has one value per query."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.given_weights import usable_weights
from sparserank.quoting import brief


def query_weights(owner: str, sample_weight: Any, data: RankingDataset) -> np.ndarray:
    """(n_queries,) from sample_weight (n_docs,), one weight per input row of the data set.

    Raises
        DataError   not one finite number >= 0 per row; weights differ within a query
    """
    weights = usable_weights(sample_weight, data.n_docs)
    if weights is None:
        raise DataError(
            f"{owner}: sample_weight must contain one finite weight >= 0 per row ({data.n_docs}); got "
            f"{brief(sample_weight)}."
        )
    rows = data.from_input_order(weights)
    of_query = rows[data.query_ptr[:-1]]
    differs = rows != np.repeat(of_query, np.diff(data.query_ptr))
    if differs.any():
        row = int(np.argmax(differs))
        q = int(np.searchsorted(data.query_ptr, row, side="right")) - 1
        raise DataError(
            f"{owner}: sample_weight is the weight of the query, so it must be the same for all rows of a query; the "
            f"first row of query {brief(data.query_ids.tolist()[q])} has {of_query[q]:g}, row {data.row_index[row]} "
            f"has {rows[row]:g}."
        )
    return of_query


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean over the queries that have a value; NaN if none has.

    Raises
        DataError   no query with a value has a positive weight
    """
    known = np.isfinite(values)
    if not known.any():
        return float("nan")
    largest = float(weights[known].max())
    if largest == 0:
        raise DataError("sample_weight must be positive for at least one query with a metric value; all are 0.")
    shares = weights[known] / largest  # whose sum is finite
    return float(np.average(values[known], weights=shares))
