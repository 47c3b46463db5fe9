"""Means from the grades of people for a few queries and those of a judge for many, with an interval that is valid
however wrong the judge is (docs/theory.md, section 10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

LARGEST_LAMBDA = 2.0
LEAST_QUERIES = 8  # of people; intervals of fewer would depend on the normality of their values
# Degrees of freedom for lambda and for the choice of the narrower interval: with fewer, coverage is too low near a
# correlation of 0.5 (`python -m benchmarks judges`).
COST = 3
LEVEL = 0.05  # p values below it are differences beyond noise
SAME = 1e-12  # relative; sums of squares below it are of equal values


@dataclass(frozen=True)
class JudgedMeans:
    """Estimates of m means, each of people alone and with a judge.

    human, human_error     (m,) estimates with the grades of people alone, and their standard errors
    judged, judged_error   (m,) with the judge
    share                  (m,) mean lambda: how much of the judge's difference is believed
    n_human, n_all         queries of people; those of people or of the judge
    freedom                degrees of freedom of people alone
    """

    human: np.ndarray
    human_error: np.ndarray
    judged: np.ndarray
    judged_error: np.ndarray
    share: np.ndarray
    n_human: int
    n_all: int
    freedom: int
    confidence: float

    def _half(self, error: np.ndarray, freedom: int) -> np.ndarray:
        """(m,) half the lengths of intervals; NaN for too few queries."""
        if self.n_human < LEAST_QUERIES or self.freedom <= COST:
            return np.full(len(error), np.nan)
        return np.asarray(stdtrit(freedom, 0.5 + self.confidence / 2) * error)

    @property
    def human_half(self) -> np.ndarray:
        """(m,) half the length of the interval of people alone."""
        return self._half(self.human_error, self.freedom)

    @property
    def judged_half(self) -> np.ndarray:
        """(m,) half the length of the interval with the judge."""
        return self._half(self.judged_error, self.freedom - COST)

    @property
    def used(self) -> np.ndarray:
        """(m,) whether the judge is worth something: its interval is narrower than that of people."""
        return np.asarray(self.judged_half < self.human_half)

    @property
    def mean(self) -> np.ndarray:
        """(m,) the estimate that is decided on."""
        return np.where(self.used, self.judged, self.human)

    @property
    def half(self) -> np.ndarray:
        """(m,) half the length of its interval."""
        return np.where(self.used, self.judged_half, self.human_half)

    @property
    def worth(self) -> np.ndarray:
        """(m,) number of human queries whose interval, without the judge, would be as long; at most all queries."""
        ratio = np.divide(self.human_half, self.half, out=np.ones_like(self.half), where=self.used)
        return np.minimum(self.n_human * ratio**2, self.n_all)


@dataclass(frozen=True)
class Stratum:
    """The queries of one stratum.

    own      (n_s,) positions among the queries of people; both: those that the judge knows too; rest: positions
             among the other queries of the judge
    weight   its share of all queries
    part     c of the theory: the share of `rest` among the judge's queries
    """

    own: np.ndarray
    both: np.ndarray
    rest: np.ndarray
    weight: float

    @property
    def part(self) -> float:
        return len(self.rest) / (len(self.rest) + len(self.both)) if len(self.rest) else 0.0

    @property
    def of_judge(self) -> float:
        """The share of the queries of people that the judge knows."""
        return len(self.both) / len(self.own)


def judged_means(
    human: np.ndarray,
    judge: np.ndarray,
    rest: np.ndarray,
    strata: tuple[np.ndarray, np.ndarray] | None = None,
    confidence: float = 0.95,
) -> JudgedMeans:
    """Estimate means over the traffic from the values of people and of a judge.

    Parameters
        human    (m, n) values by the grades of people, at least one
        judge    (m, n) values of the same queries by the grades of the judge; NaN in the columns of queries that it
                 did not judge
        rest     (m, r) its values of other queries
        strata   ((n,), (r,)) numbers of the strata of both; each has a query of people. None: one stratum
    Source
        docs/theory.md, section 10; equations (5) to (7); of differences, `judge` and `rest` are those of (8).
    """
    m, n = human.shape
    r = rest.shape[1]
    of_human, of_rest = (np.zeros(n, dtype=int), np.zeros(r, dtype=int)) if strata is None else strata
    known = np.isfinite(judge).all(axis=0)
    parts = []
    for s in np.unique(np.concatenate([of_human, of_rest])):
        own = np.flatnonzero(of_human == s)
        others = np.flatnonzero(of_rest == s)
        parts.append(Stratum(own, own[known[own]], others, (len(own) + len(others)) / (n + r)))
    lam = _lambdas(human, judge, parts)
    alone, alone_error = _estimated(human, judge, rest, parts, np.zeros_like(lam))
    both, both_error = _estimated(human, judge, rest, parts, lam)
    return JudgedMeans(
        alone, alone_error, both, both_error, lam.mean(axis=1), n, n + r, n - len(parts), confidence
    )


def _lambdas(human: np.ndarray, judge: np.ndarray, parts: list[Stratum]) -> np.ndarray:
    """(m, n) lambda of each query of people from the others, (6); 0 for those that the judge does not know."""
    lam = np.zeros_like(human)
    # Sums of squares and products within strata, and what each query adds to them.
    sums = np.zeros((3, len(human), 1))
    added = np.zeros((3, *human.shape))
    freedom = -3  # of the residuals without the query
    for part in parts:
        k = len(part.both)
        if k < 2:
            continue
        g = judge[:, part.both]
        h = human[:, part.both]
        g = g - g.mean(axis=1, keepdims=True)
        h = h - h.mean(axis=1, keepdims=True)
        products = np.array([g * g, g * h, h * h])
        products *= part.weight**2 * part.of_judge * part.part / len(part.own) / (k - 1)
        sums += products.sum(axis=2, keepdims=True)
        added[:, :, part.both] = products * (k / (k - 1))
        freedom += k - 1
    if freedom < 1:
        return lam
    gg, gh, hh = sums - added
    varies = (gg > SAME * np.maximum(hh, sums[0])) & (gh > 0)
    slope = np.divide(gh, gg, out=np.ones_like(gg), where=varies)
    error = np.divide(np.maximum(hh - slope * gh, 0.0) / freedom, gg, out=np.zeros_like(gg), where=varies)
    lam = np.where(varies, np.clip(slope - error / slope, 0.0, LARGEST_LAMBDA), 0.0)
    known = np.concatenate([part.both for part in parts if len(part.both) > 1])
    lam[:, np.setdiff1d(np.arange(human.shape[1]), known)] = 0.0
    return lam


def _estimated(
    human: np.ndarray, judge: np.ndarray, rest: np.ndarray, parts: list[Stratum], lam: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(m,) estimates and their standard errors, (5) and (7)."""
    n_all = human.shape[1] + rest.shape[1]
    means, variance = [], np.zeros(len(human))
    for part in parts:
        u = human[:, part.own].copy()
        n_own = len(part.own)
        if part.part and len(part.both):
            # Each value less the judge's, which is compared with the judge's mean over the rest.
            g = judge[:, part.both]
            others = rest[:, part.rest]
            at = np.searchsorted(part.own, part.both)
            u[:, at] -= lam[:, part.both] * part.part * (g - others.mean(axis=1, keepdims=True))
            spread = np.concatenate([g, others], axis=1).var(axis=1, ddof=1)
            factor = part.of_judge * part.part * lam[:, part.both].mean(axis=1)
            variance += part.weight**2 * factor**2 * spread / len(part.rest)
        means.append(u.mean(axis=1))
        variance += part.weight**2 * (u.var(axis=1, ddof=1) / n_own if n_own > 1 else 0.0)
    weights = np.array([part.weight for part in parts])[:, None]
    estimate = (weights * means).sum(axis=0)
    variance += (weights * (means - estimate) ** 2).sum(axis=0) / n_all
    return estimate, np.sqrt(variance)


def without_favour(judge: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Differences of two systems by a judge, each row less its mean over the queries where it is not 0, (8).

    A judge that favours one of two systems does so only where their rankings differ. Unless that is subtracted, lambda
    and the length of the interval depend on the sign of the error of the estimate, and intervals miss too often.
    """
    every = np.concatenate([judge, rest], axis=1)
    differs = np.isfinite(every) & (every != 0)
    mean = every.sum(axis=1, keepdims=True, where=differs) / np.maximum(differs.sum(axis=1, keepdims=True), 1)
    every = np.where(differs, every - mean, every)
    return every[:, : judge.shape[1]], every[:, judge.shape[1] :]


def p_of_selection(judge: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """(m,) p values that the judge's own means on the queries of people and on its other queries are equal (Welch's
    test); 1 where neither varies, or where one of them has fewer than two queries."""
    judge = judge[:, np.isfinite(judge).all(axis=0)]
    n, r = judge.shape[1], rest.shape[1]
    if n < 2 or r < 2:
        return np.ones(len(judge))
    own, others = judge.var(axis=1, ddof=1) / n, rest.var(axis=1, ddof=1) / r
    error = own + others
    varies = error > 0
    t = np.divide(judge.mean(axis=1) - rest.mean(axis=1), np.sqrt(error), out=np.zeros_like(error), where=varies)
    freedom = np.divide(error**2, own**2 / (n - 1) + others**2 / (r - 1), out=np.ones_like(error), where=varies)
    return np.asarray(2.0 * stdtr(freedom, -np.abs(t)))
