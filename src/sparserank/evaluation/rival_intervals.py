"""Intervals for the differences between many candidates and a few rivals named beforehand, valid whichever candidate
is chosen after seeing the values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.evaluation.leads import ROUND, neighbours_of_quantile, normal_points
from sparserank.evaluation.loss_bounds import (
    DRAW_ERROR,
    MAX_ROUNDS,
    MIN_ERROR,
    MIN_QUERIES,
    MIN_ROUNDS,
    student_of_normal,
)
from sparserank.evaluation.statistics import check_confidence
from sparserank.execution import one_blas_thread

# Out-of-fold values are dependent: queries of one fold are in the training sets of the others. Intervals that ignore
# this are too narrow (Bates, Hastie and Tibshirani 2023): in 100 refitted simulations with 100 queries, they missed too
# many differences (`python -m benchmarks coverage`). Ours are 1 + DEPENDENCE / n_queries times as long.
DEPENDENCE = 20.0


@dataclass(frozen=True)
class RivalIntervals:
    """Differences of mean metrics, candidate minus rival: below 0 the rival is better.

    differences   (m, n_rivals)
    reach         (m, n_rivals) half the length of each interval; all are valid simultaneously with the requested
                  confidence; inf for fewer than MIN_QUERIES queries
    """

    differences: np.ndarray
    reach: np.ndarray

    def interval(self, i: int, r: int) -> tuple[float, float]:
        """The interval of candidate i and rival r."""
        difference = float(self.differences[i, r])
        reach = float(self.reach[i, r])
        return difference - reach, difference + reach


def rival_intervals(
    values: np.ndarray, rivals: np.ndarray, confidence: float = 0.95, *, seed: int = 0, out_of_fold: bool = False
) -> RivalIntervals:
    """Compare candidates with rivals that were named before the values were seen.

    Parameters
        values       (m, n_queries) metric of each candidate, NaN where the metric has no value
        rivals       (n_rivals, n_queries) metric of each rival on the same queries
        confidence   > 0.5 and <= 0.99
        seed         of the draws
        out_of_fold  whether the values come from models trained on the other queries of the table
    Returns
        RivalIntervals: with probability about `confidence`, every difference of true means lies in its interval
    Raises
        ParameterError   confidence is out of its range
    Source
        Dunnett (1955), JASA 50, two-sided, with a quantile drawn from the candidates' and rivals' own covariance: that
        of the largest |z_i - z_r| / error_ir over all i and r. As in `loss_bounds`, the normal
        quantile is converted to one of Student's t with n - 1 degrees of freedom, and errors below MIN_ERROR of the
        median are raised to it; DEPENDENCE lengthens intervals.
    """
    check_confidence(confidence)
    V = np.concatenate([values, rivals]).astype(np.float64)
    V = V[:, np.isfinite(V).all(axis=0)]
    m = len(values)
    n = V.shape[1]
    means = V.mean(axis=1) if n else np.full(len(V), np.nan)
    differences = means[:m, None] - means[None, m:]
    if n < MIN_QUERIES:
        return RivalIntervals(differences, np.full(differences.shape, np.inf))
    with one_blas_thread():
        # Factor the covariance of all means, root root^T. The errors of the differences follow from it; errors that are
        # too small are raised as in `loss_bounds`.
        C = (V - means[:, None]) / np.sqrt(n * (n - 1.0))
        sizes, directions = np.linalg.eigh(C @ C.T)
        # Components at rounding level are left out.
        is_significant = sizes > max(sizes[-1], 0.0) * len(C) * np.finfo(float).eps
        root = directions[:, is_significant][:, ::-1] * np.sqrt(sizes[is_significant][::-1])
        squares = (root**2).sum(axis=1)
        variance = squares[:m, None] + squares[None, m:] - 2.0 * root[:m] @ root[m:].T
        error = np.sqrt(np.maximum(variance, 0.0))
        error = np.maximum(error, MIN_ERROR * float(np.median(error)))
        # Half-lengths: the simultaneous quantile times the error, longer for values out of fold because they depend on
        # each other.
        reach = _quantile(root[:m], root[m:], error, n, confidence, seed) * error
        reach *= 1.0 + (DEPENDENCE / n if out_of_fold else 0.0)
    return RivalIntervals(differences, reach)


def _quantile(
    candidates: np.ndarray, rivals: np.ndarray, error: np.ndarray, n: int, confidence: float, seed: int
) -> float:
    """Simultaneous critical value (Student's t): the quantile of the largest standardised |candidate - rival| if all
    means are equal. Rounds are drawn until the standard error of the quantile is at most DRAW_ERROR of it."""
    if not error.any() or candidates.shape[1] == 0:
        return 0.0
    inverse = np.divide(1.0, error, out=np.zeros_like(error), where=error > 0)
    rng = np.random.default_rng([seed, 2])
    rounds = []
    while True:
        points = normal_points(rng, ROUND // 2, candidates.shape[1])  # a mirror image has the same largest |difference|
        z = points @ candidates.T
        rival = points @ rivals.T
        # The largest |z_i - z_r| / error_ir over all candidates i and rivals r, for each draw.
        largest = np.max([(np.abs(z - rival[:, [r]]) * inverse[:, r]).max(axis=1) for r in range(len(rivals))], axis=0)
        low, high, share = neighbours_of_quantile(largest, confidence)
        rounds.append(float(low + share * (high - low)))
        if len(rounds) < MIN_ROUNDS:
            continue
        # The mean over rounds is the quantile, and their spread its standard error.
        quantile = float(np.mean(rounds))
        noise = float(np.std(rounds, ddof=1)) / np.sqrt(len(rounds))
        if len(rounds) >= MAX_ROUNDS or noise <= DRAW_ERROR * quantile:
            return float(student_of_normal(np.array(quantile), n))
