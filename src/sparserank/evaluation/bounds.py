"""Bounds on what each of many candidates loses against the best of them, valid whichever is chosen after seeing the values:
multiple comparisons with the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtrit

from sparserank.lazy import cached_property

N_DRAWS = 1000
LEAST_QUERIES = 10  # below, differences that happen to be absent would pass for differences that cannot be
LEAST_ERROR = 0.2  # of the median standard error: below, differences of two candidates are taken to be no better known


@dataclass(frozen=True)
class LossBounds:
    """Candidates compared on the same queries.

    means       (m,) mean metric
    upper       (m,) bound on the mean loss of each against the best of all, >= 0; together they hold with probability `confidence`
    error       (m, m) standard error of the difference of two means, no less than LEAST_ERROR of the median one
    quantile    (m,) t quantiles: with candidate j as the best, no other's lead is overestimated by more than quantile[j] error[:, j]
    n_queries   queries that have a value; n_zero of them are 0 for every candidate
    """

    means: np.ndarray
    upper: np.ndarray
    error: np.ndarray
    quantile: np.ndarray
    n_queries: int
    n_zero: int
    confidence: float

    @property
    def resolution(self) -> float:
        """What these queries can show: the smallest bound of any candidate, or where one is clearly the best the smallest error of a lead; 0 where
        no candidate differs from another on any query."""
        return max(float(self.upper.min()), self._least_reach)

    def against(self, i: int, j: int) -> float:
        """Bound on the mean loss of candidate i against candidate j; for one j those of all i hold together, whichever is chosen. Below 0: i gains at
        least as much."""
        return float(self.means[j] + self._reach[j, i] - self.means[i])

    def at(self, means: np.ndarray) -> tuple[np.ndarray, float]:
        """(bounds, resolution) had the means been these, the errors of differences as they are."""
        upper = _upper(means, self._reach)
        return upper, max(float(upper.min()), self._least_reach)

    @cached_property
    def _reach(self) -> np.ndarray:
        """(m, m) by how much a lead may be overestimated."""
        return self.quantile[:, None] * self.error

    @cached_property
    def _least_reach(self) -> float:
        others = self._reach[~np.eye(len(self.means), dtype=bool)]
        return float(others.min()) if len(others) else 0.0

    def queries_needed(self, margin: float) -> float:
        """About how many queries could show a loss of at most `margin`: rather too many than too few."""
        return float(self.n_queries * (self.resolution / margin) ** 2) if margin > 0 else float("inf")


def loss_bounds(values: np.ndarray, confidence: float = 0.95, *, seed: int = 0, n_draws: int = N_DRAWS) -> LossBounds:
    """Compare candidates with the best of them.

    Parameters
        values   (m, n_queries) metric of each candidate on the same queries, NaN where a convention skips the query
    Returns
        LossBounds: with probability about `confidence` every candidate's true mean loss is at most its bound; bounds are infinite for fewer
        than LEAST_QUERIES queries
    Source
        Hsu (1981), Ann. Statist. 9(5), with critical values of Dunnett's kind drawn from the candidates' own covariance, each candidate in
        turn as the best. Departs from it: a normal quantile is turned into one of Student's t with n - 1 degrees of freedom, and
        standard errors below LEAST_ERROR of the median are raised to it.
    """
    V = values[:, np.isfinite(values).all(axis=0)].astype(np.float64)
    m, n = V.shape
    n_zero = int((V == 0).all(axis=0).sum())
    if n < LEAST_QUERIES:
        means = V.mean(axis=1) if n else np.full(m, np.nan)
        unknown = np.full(m, np.inf)
        return LossBounds(means, unknown, np.full((m, m), np.inf), unknown, n, n_zero, confidence)
    means = V.mean(axis=1)
    C = V - means[:, None]
    covariance = (C @ C.T) / (n * (n - 1.0))
    error = _errors(covariance)
    quantile = _quantiles(covariance, error, n, confidence, seed, n_draws)
    upper = _upper(means, quantile[:, None] * error)
    return LossBounds(means, upper, error, quantile, n, n_zero, confidence)


def _upper(means: np.ndarray, reach: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum((means[:, None] + reach).max(axis=0) - means, 0.0))


def _errors(covariance: np.ndarray) -> np.ndarray:
    variance = np.diag(covariance)
    error = np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2.0 * covariance, 0.0))
    others = error[~np.eye(len(error), dtype=bool)]
    least = LEAST_ERROR * float(np.median(others)) if len(others) else 0.0
    error = np.maximum(error, least)
    np.fill_diagonal(error, 0.0)
    return error


def _quantiles(
    covariance: np.ndarray, error: np.ndarray, n: int, confidence: float, seed: int, n_draws: int
) -> np.ndarray:
    """(m,) for each candidate as the best the t quantile of the largest standardised error of the others' leads."""
    m = len(covariance)
    size, directions = np.linalg.eigh(covariance)
    root = directions * np.sqrt(np.maximum(size, 0.0))
    z = (root @ np.random.default_rng(seed).standard_normal((m, n_draws))).astype(np.float32)
    with np.errstate(divide="ignore"):
        inverse = np.where(error > 0, 1.0 / error, 0.0).astype(np.float32)
    largest = np.empty((m, n_draws), dtype=np.float32)
    for j in range(m):
        largest[j] = ((z - z[j]) * inverse[:, j : j + 1]).max(axis=0)
    normal = np.quantile(largest.astype(np.float64), confidence, axis=1)
    below = np.minimum(ndtr(normal), 1.0 - 1e-15)
    return np.asarray(stdtrit(n - 1.0, below))
