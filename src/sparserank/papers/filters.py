"""Filters: orders of features, computed before any model is fitted."""

from __future__ import annotations

import numpy as np

from sparserank.errors import DataError


def gas_order(importance: np.ndarray, similarity: np.ndarray, c: float, k: int) -> np.ndarray:
    """(k,) features in the order of the greedy search algorithm GAS.

    k times: take the feature of largest importance, then lower every other one's importance by 2 c times its similarity
    to it.

    Parameters
        importance (d,), similarity (d, d), c >= 0 (0: importance alone), 1 <= k <= d
    Source
        Geng, Liu, Qin and Li (2007), doi:10.1145/1277741.1277811, Algorithm 1. Ties are broken in favour of the smaller
        index.
    """
    importance = np.asarray(importance, dtype=np.float64).copy()
    if not 1 <= k <= len(importance):
        raise DataError(f"GAS selects between 1 and {len(importance)} features; got {k}.")
    if not c >= 0:
        raise DataError(f"GAS: c must be >= 0; got {c}.")
    order = []
    for _ in range(k):
        j = int(np.argmax(importance))
        order.append(j)
        importance -= 2.0 * c * similarity[j]
        importance[order] = -np.inf
    return np.array(order)
