"""Multiple comparisons with the best, the slow way: explicit loops over candidates and draws. Imports nothing from the package."""

from __future__ import annotations

import numpy as np
from scipy import stats


def bounds(values: np.ndarray, confidence: float, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """(m,) upper bounds on the loss of each row against the best row; the draws are bootstrap-free: means of Gaussian queries."""
    m, n = values.shape
    means = [float(np.mean(values[i])) for i in range(m)]
    error = np.zeros((m, m))
    for i in range(m):
        for j in range(m):
            if i != j:
                error[i, j] = float(np.std(values[i] - values[j], ddof=1)) / n**0.5
    least = 0.2 * float(np.median([error[i, j] for i in range(m) for j in range(m) if i != j])) if m > 1 else 0.0
    for i in range(m):
        for j in range(m):
            if i != j:
                error[i, j] = max(error[i, j], least)
    centred = values - values.mean(axis=1, keepdims=True)
    draws = np.array([centred @ rng.standard_normal(n) / (n * (n - 1)) ** 0.5 for _ in range(n_draws)])
    upper = []
    quantile = []
    for j in range(m):
        largest = []
        for z in draws:
            leads = [0.0]
            for i in range(m):
                if i != j and error[i, j] > 0:
                    leads.append((z[i] - z[j]) / error[i, j])
            largest.append(max(leads))
        normal = float(np.quantile(largest, confidence))
        quantile.append(float(stats.t.ppf(stats.norm.cdf(normal), n - 1)))
    for i in range(m):
        worst = 0.0
        for j in range(m):
            worst = max(worst, means[j] - means[i] + quantile[j] * error[i, j])
        upper.append(worst)
    return np.array(upper)


def pairwise_bounds_against_the_picked_best(values: np.ndarray, confidence: float) -> np.ndarray:
    """The rule that is wrong: each candidate's own one-sided t bound against the best of the sample, as if that had been fixed before."""
    n = values.shape[1]
    best = values[int(np.argmax(values.mean(axis=1)))]
    out = []
    for row in values:
        loss = best - row
        out.append(float(loss.mean() + stats.t.ppf(confidence, n - 1) * loss.std(ddof=1) / n**0.5))
    return np.array(out)
