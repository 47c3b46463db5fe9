"""Simultaneous two-sided intervals of many candidates against a few rivals: explicit loops over draws.

Source: Dunnett (1955), JASA 50, with critical values drawn from the covariance of the values at hand.
"""

import numpy as np
from scipy.stats import norm, t


def critical_value(
    values: np.ndarray, rivals: np.ndarray, confidence: float, n_draws: int, seed: int
) -> tuple[float, np.ndarray]:
    """(c, (m, n_rivals) standard errors): draws of means that differ by chance alone, and the quantile of their largest
    standardised difference, as a t quantile."""
    n, rng = values.shape[1], np.random.default_rng(seed)
    error = np.array([[np.std(v - r, ddof=1) / np.sqrt(n) for r in rivals] for v in values])
    error = np.maximum(error, 0.2 * np.median(error))
    everyone = np.concatenate([values, rivals])
    centred = everyone - everyone.mean(axis=1, keepdims=True)
    largest = []
    for _ in range(n_draws):
        z = centred @ rng.standard_normal(n) / np.sqrt(n * (n - 1.0))
        largest.append(
            max(
                abs(z[i] - z[len(values) + r]) / error[i, r]
                for i in range(len(values))
                for r in range(len(rivals))
                if error[i, r] > 0
            )
        )
    return float(t.ppf(norm.cdf(np.quantile(largest, confidence)), n - 1)), error
