"""The explicit list of pairs that the competitors need."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from benchmarks.datasets import Ranking


def explicit_pairs(data: Ranking) -> tuple[np.ndarray, float]:
    """Differences x_i - x_j (n_pairs, n_features) of all pairs with relevance_i > relevance_j, and the seconds it took.

    One subtraction per grade and query into an array of the final size: no copy is left to save.
    """
    began = time.perf_counter()
    pairs = np.empty((data.n_pairs, data.X.shape[1]))
    at = 0
    for lo, hi in pairwise(data.query_ptr):
        X, relevance = data.X[lo:hi], data.relevance[lo:hi]
        for grade in np.unique(relevance)[1:]:
            better, worse = X[relevance == grade], X[relevance < grade]
            n = len(better) * len(worse)
            block = pairs[at : at + n].reshape(len(better), len(worse), -1)
            np.subtract(better[:, None, :], worse[None, :, :], out=block)
            at += n
    return pairs, time.perf_counter() - began


def pair_objective(pairs: np.ndarray, w: np.ndarray, alpha: float) -> float:
    """The objective as its definition reads: what every adapter has to minimise."""
    return float(np.mean(np.maximum(1.0 - pairs @ w, 0.0) ** 2) + alpha * np.abs(w).sum())
