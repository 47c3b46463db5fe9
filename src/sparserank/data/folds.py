"""Query-wise folds: made once, before any loop over parameters."""

from __future__ import annotations

import numpy as np

from sparserank.errors import DataError
from sparserank.options import Count
from sparserank.options.arguments import check_arguments


def query_folds(n_queries: int, n_folds: int = 5, random_state: int = 0) -> np.ndarray:
    """Assign queries to folds at random.

    Parameters
    ----------
    n_queries : int
        Number of queries.
    n_folds : int, default 5
        Number of folds, at least 2.
    random_state : int, default 0
        Random seed.

    Returns
    -------
    ndarray of shape (n_queries,)
        Fold of each query, 0 to n_folds - 1; sizes differ by at most one.

    Raises
    ------
    DataError
        Fewer queries than folds, or fewer than two folds.

    Examples
    --------
    >>> import numpy as np
    >>> import sparserank as sr
    >>> np.bincount(sr.query_folds(10, 3)).tolist()
    [4, 3, 3]
    """
    check_arguments(query_folds, locals(), n_queries=Count(0), n_folds=Count(2), random_state=Count(0, 2**128 - 1))
    if n_queries < n_folds:
        raise DataError(f"{n_folds} folds need at least {n_folds} queries; the data have {n_queries}.")
    shuffled = np.random.default_rng(random_state).permutation(n_queries)
    fold = np.empty(n_queries, dtype=np.int64)
    fold[shuffled] = np.arange(n_queries) % n_folds
    return fold
