"""Multiple comparisons with the best, the slow way: explicit loops over candidates and draws.
Imports nothing from the package."""

import numpy as np
from scipy import stats


def bounds(values: np.ndarray, confidence: float, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """(m,) upper bounds on the loss of each row against the best row; the draws are bootstrap-free:
    means of Gaussian queries."""
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


def largest_leads(z: np.ndarray, error: np.ndarray) -> np.ndarray:
    """(m, n_draws) how far, in errors, the candidate that leads most is ahead of each candidate; z (n_draws, m).
    All candidates are kept."""
    n_draws, m = z.shape
    out = np.zeros((m, n_draws))
    for j in range(m):
        for d in range(n_draws):
            for i in range(m):
                if error[j, i] > 0:
                    out[j, d] = max(out[j, d], (float(z[d, i]) - float(z[d, j])) / error[j, i])
    return out


def quantile_of_independent_candidates(m: int, confidence: float) -> float:
    """The quantile of the largest (z_i - z_j) / sqrt(2) over the m - 1 others of one of m independent standard normal
    variables, by integration."""
    x = np.linspace(-9.0, 9.0, 20_001)
    low, high = 0.0, 10.0
    for _ in range(60):
        q = (low + high) / 2
        probability = float(np.sum(stats.norm.pdf(x) * stats.norm.cdf(np.sqrt(2.0) * q + x) ** (m - 1)) * (x[1] - x[0]))
        low, high = (q, high) if probability < confidence else (low, q)
    return low


def pairwise_bounds_against_the_picked_best(values: np.ndarray, confidence: float) -> np.ndarray:
    """The rule that is wrong: each candidate's own one-sided t bound against the best of the sample,
    as if that had been fixed before."""
    n = values.shape[1]
    best = values[int(np.argmax(values.mean(axis=1)))]
    out = []
    for row in values:
        loss = best - row
        out.append(float(loss.mean() + stats.t.ppf(confidence, n - 1) * loss.std(ddof=1) / n**0.5))
    return np.array(out)


def critical_value(
    values: np.ndarray, rivals: np.ndarray, confidence: float, n_draws: int, seed: int
) -> tuple[float, np.ndarray]:
    """Simultaneous two-sided intervals of many candidates against a few rivals, after Dunnett (1955), JASA 50, with
    critical values drawn from the covariance of the values at hand.

    (c, (m, n_rivals) standard errors): draws of means that differ by chance alone, and the quantile of their largest
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
    return float(stats.t.ppf(stats.norm.cdf(np.quantile(largest, confidence)), n - 1)), error
