"""Query-wise folds: made once, before any loop over parameters."""

from __future__ import annotations

import numpy as np

from sparserank.errors import DataError


def query_folds(n_queries: int, n_folds: int = 5, random_state: int = 0) -> np.ndarray:
    """(n_queries,) fold number of each query, 0..n_folds - 1, sizes equal to within one.

    Raises
        DataError   fewer queries than folds, or fewer than two folds
    """
    if n_folds < 2:
        raise DataError(f"n_folds must be at least 2; got {n_folds}.")
    if n_queries < n_folds:
        raise DataError(f"{n_folds} folds need at least {n_folds} queries; the data have {n_queries}.")
    shuffled = np.random.default_rng(random_state).permutation(n_queries)
    fold = np.empty(n_queries, dtype=np.int64)
    fold[shuffled] = np.arange(n_queries) % n_folds
    return fold
