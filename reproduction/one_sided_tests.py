"""One-sided paired tests over queries, as the papers run them."""

from __future__ import annotations

import numpy as np

from sparserank.evaluation.statistics import paired_comparison


def one_sided_t(better: np.ndarray, worse: np.ndarray) -> float:
    """p value of the paired one-sided t test that the mean of `better` is larger;
    over the pairs where both have a value."""
    two_sided = paired_comparison(better, worse)
    if not np.isfinite(two_sided.p_value):
        return float("nan")
    return two_sided.p_value / 2 if two_sided.difference > 0 else 1.0 - two_sided.p_value / 2


def randomisation_test(better: np.ndarray, worse: np.ndarray, *, n_samples: int = 10_000, seed: int = 0) -> float:
    """One-sided p value of the paired randomisation test: how often random signs give at least the observed mean
    difference.

    Source
        Smucker, Allan and Carterette (2007), doi:10.1145/1321440.1321528; the observed assignment counts as one sample.
    """
    difference = (better - worse)[np.isfinite(better) & np.isfinite(worse)]
    if len(difference) == 0:
        return float("nan")
    difference = difference[difference != 0]
    observed = difference.sum()
    rng = np.random.default_rng(seed)
    hits = 0
    for start in range(0, n_samples, 1000):
        signs = rng.integers(0, 2, size=(min(1000, n_samples - start), len(difference))) * 2.0 - 1.0
        hits += int(np.count_nonzero(signs @ difference >= observed - 1e-12 * np.abs(difference).sum()))
    return (hits + 1) / (n_samples + 1)
