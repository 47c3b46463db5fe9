"""Bounds on the loss of each of many candidates compared with the best of them, valid whichever is chosen after seeing
the values: multiple comparisons with the best."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaincinv, ndtr, stdtrit

from sparserank.evaluation.leads import Leads
from sparserank.evaluation.statistics import check_confidence
from sparserank.execution import one_blas_thread
from sparserank.lazy import cached_property

# Draws go on until the standard error of each bound, relative to it (or to the resolution, if that is larger), is at
# most this, or until MAX_ROUNDS.
DRAW_ERROR = 0.0035
DRAW_ERROR_BEYOND = 0.007  # the same for a confidence above 0.95
MIN_ROUNDS = 8  # independent randomisations of the draws, at least; their spread estimates the error
MAX_ROUNDS = 128
MIN_QUERIES = 10  # with fewer queries, bounds are infinite: differences may be absent by chance
MIN_DIFFERENT = 10  # candidates that differ from the best on fewer queries are examined by `_n_rare`
ABSENT = 0.01  # tail probability of the observed count, at the largest Poisson mean that is considered
MIN_ERROR = 0.2  # standard errors below this share of the median one are raised to it


@dataclass(frozen=True)
class LossBounds:
    """Candidates compared on the same queries.

    means       (m,) mean metric
    upper       (m,) bound on the mean loss of each compared with the best of all, >= 0; all are valid simultaneously
                with probability `confidence`
    error       (m, m) standard error of the difference of two means, no less than MIN_ERROR of the median one
    quantile    (m,) t quantiles: with candidate j as the best, no other's lead is overestimated by more than
                quantile[j] error[:, j]
    n_queries   queries that have a value; n_zero of them are 0 for every candidate
    draw_error  (m,) standard error of each upper bound due to the draws alone, as it would appear between seeds
    n_rare      candidates whose bound may be too small, because they differ from the best on few queries
    """

    means: np.ndarray
    upper: np.ndarray
    error: np.ndarray
    quantile: np.ndarray
    n_queries: int
    n_zero: int
    confidence: float
    draw_error: np.ndarray
    n_rare: int = 0

    @cached_property
    def resolution(self) -> float:
        """Smallest loss that these queries can detect: the smallest bound of any candidate, or, if one is clearly the
        best, the smallest error of a lead; 0 if no candidate differs from another on any query."""
        others = self._reach[~np.eye(len(self.means), dtype=bool)]
        return max(float(self.upper.min()), float(others.min()) if len(others) else 0.0)

    def at(self, means: np.ndarray) -> np.ndarray:
        """(m,) bounds if the means were these (m,), with the same errors of differences."""
        return _upper(means, self._reach)

    @cached_property
    def _reach(self) -> np.ndarray:
        """(m, m) amount by which a lead may be overestimated."""
        return self.quantile[:, None] * self.error

    def queries_needed(self, margin: float) -> float:
        """Approximate number of queries that could show a loss of at most `margin`; tends to be too large."""
        return float(self.n_queries * (self.resolution / margin) ** 2) if margin > 0 else float("inf")


def loss_bounds(
    values: np.ndarray,
    confidence: float = 0.95,
    *,
    seed: int = 0,
    shown: np.ndarray | None = None,
) -> LossBounds:
    """Compare candidates with the best of them.

    Parameters
        values       (m, n_queries) metric of each candidate on the same queries, NaN where the metric has no value
        confidence   > 0.5 and <= 0.99
        seed         of the draws
        shown        (m, n_queries) the metric alone, if a judge has corrected the values; it is counted on how many
                     queries candidates differ
    Returns
        LossBounds: with probability about `confidence`, every candidate's true mean loss is at most its bound; bounds
        are infinite for fewer than MIN_QUERIES queries. They may be too small where candidates differ on few queries:
        `n_rare`. Bits do not depend on the number of threads
    Raises
        ParameterError   confidence is out of its range
    Cost
        m^2 n_queries, then memory of m^2 and 4096 m values, and time between m^2 / 32 and m^2 for each draw; 33,000
        draws or more
    Source
        Hsu (1981), Ann. Statist. 9(5), with critical values of Dunnett's kind drawn from the candidates' own
        covariance, each candidate in turn as the best. Two differences: a normal quantile is converted to one of
        Student's t with n - 1 degrees of freedom, and standard errors below MIN_ERROR of the median are raised to it.
    """
    check_confidence(confidence)
    # Only queries on which every candidate has a value are compared.
    compared = np.isfinite(values).all(axis=0)
    V = values[:, compared].astype(np.float64)
    alone = V if shown is None else shown[:, compared]
    m, n = V.shape
    n_zero = int((alone == 0).all(axis=0).sum())
    means = V.mean(axis=1) if n else np.full(m, np.nan)
    if n < MIN_QUERIES:
        unknown = np.full(m, np.inf)
        return LossBounds(means, unknown, np.full((m, m), np.inf), unknown, n, n_zero, confidence, np.zeros(m))
    precise = DRAW_ERROR if confidence <= 0.95 else DRAW_ERROR_BEYOND
    # Covariance of the means from the paired values, and standard errors of all differences.
    C = V - means[:, None]
    normal = []
    uppers = []
    with one_blas_thread():
        covariance = (C @ C.T) / (n * (n - 1.0))
        error = _errors(covariance)
        leads = Leads(covariance, error, confidence, seed) if error.any() else None
        while True:
            # Each round of draws gives a quantile and a bound for every candidate.
            normal.append(np.zeros(m) if leads is None else leads.round())
            uppers.append(_upper(means, student_of_normal(normal[-1], n)[:, None] * error))
            if len(uppers) < MIN_ROUNDS:
                continue
            # Average the quantiles over rounds. The spread of the rounds' bounds is the error of the draws.
            quantile = student_of_normal(np.sum(normal, axis=0) / len(uppers), n)
            noise = np.std(uppers, axis=0, ddof=1) / np.sqrt(len(uppers))
            upper = _upper(means, quantile[:, None] * error)
            bounds = LossBounds(means, upper, error, quantile, n, n_zero, confidence, noise)
            # Stop when that error is small enough relative to the bounds, or after MAX_ROUNDS.
            if len(uppers) >= MAX_ROUNDS or (noise <= precise * np.maximum(upper, bounds.resolution)).all():
                return replace(bounds, n_rare=_n_rare(alone, means, upper))


def _upper(means: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Bounds of multiple comparisons with the best (Hsu 1981): U_i = max(0, max over j of mean_j - mean_i +
    reach_ji)."""
    return np.asarray(np.maximum((means[:, None] + reach).max(axis=0) - means, 0.0))


def _n_rare(V: np.ndarray, means: np.ndarray, upper: np.ndarray) -> int:
    """Number of candidates that differ from the best on fewer than MIN_DIFFERENT queries and may lose more than their
    bound.

    Normal errors cannot tell how many different queries are missing by chance. The count itself can: the largest
    Poisson mean that gives so few with probability ABSENT. Each of these queries is taken to cost the root mean square
    of the differences of such candidates (if these have none, of all).
    """
    best = int(np.argmax(means))
    # Find the candidates that differ from the best on few queries.
    differences = V - V[best]
    count = np.count_nonzero(differences, axis=1)
    square = (differences**2).sum(axis=1)
    few = count < MIN_DIFFERENT
    few[best] = False
    # Size of a difference on such a query: root mean square over these candidates.
    of = few if count[few].any() else np.ones(len(V), dtype=bool)
    size = np.sqrt(square[of].sum() / max(int(count[of].sum()), 1))
    # The upper confidence limit of each count, minus the count, is the number of differences that may be missing.
    missing = (gammaincinv(count + 1.0, 1.0 - ABSENT) - count) * size / V.shape[1]
    return int((few & (upper < means[best] - means + missing)).sum())


def _errors(covariance: np.ndarray) -> np.ndarray:
    """(m, m) standard errors of differences of means, at least MIN_ERROR of the median one; 0 on the diagonal."""
    variance = np.diag(covariance)
    error = np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2.0 * covariance, 0.0))
    others = error[~np.eye(len(error), dtype=bool)]
    least = MIN_ERROR * float(np.median(others)) if len(others) else 0.0
    error = np.maximum(error, least)
    np.fill_diagonal(error, 0.0)
    return error


def student_of_normal(normal: np.ndarray, n: int) -> np.ndarray:
    """Quantiles of Student's t with n - 1 degrees of freedom at the probabilities of these normal quantiles."""
    return np.asarray(stdtrit(n - 1.0, np.minimum(ndtr(normal), 1.0 - 1e-15)))
