"""Means from the grades of people for a few queries and those of a judge for many, unbiased however wrong the judge is
(docs/theory.md, section 10)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

LARGEST_LAMBDA = 2.0
LEAST_QUERIES = 8  # of people; an interval from fewer would depend on the normality of their values
# Queries on which the judge's value is not that of people. With fewer, the spread of its errors is not known, and
# intervals are far too short for metrics of few values (`python -m benchmarks judges`).
LEAST_APART = 2
# Degrees of freedom for lambda and for the choice of the narrower interval: with fewer, coverage is too low near a
# correlation of 0.5 (`python -m benchmarks judges`).
COST = 4
TINY = 1e-150  # a variance whose square is above 0
SAME = 1e-12  # values that are no further apart, and sums of squares that are relatively smaller, are of equal values


class Estimates(NamedTuple):
    """(m,) estimates of means, their standard errors, and the degrees of freedom of these."""

    mean: np.ndarray
    error: np.ndarray
    freedom: np.ndarray

    def half(self, confidence: float = 0.95) -> np.ndarray:
        """(m,) half the lengths of their intervals; NaN without degrees of freedom."""
        return np.asarray(stdtrit(self.freedom, 0.5 + confidence / 2) * self.error)


@dataclass(frozen=True)
class JudgedMeans:
    """Estimates of m means.

    people, with_judge    with the grades of people alone, and with the judge
    lam                   (m,) mean lambda: how much of what the judge says is believed
    n_human, n_all        queries of people; those of people or of the judge
    n_apart               (m,) queries of both on which their values differ
    """

    people: Estimates
    with_judge: Estimates
    lam: np.ndarray
    n_human: int
    n_all: int
    n_apart: np.ndarray

    @property
    def worth(self) -> np.ndarray:
        """(m,) number of human queries whose interval, without the judge, would be as long; at most all queries. It is
        n_human, where that is less than one query more, people graded too few queries, or too few of the judge's errors
        are known."""
        ratio = self.people.half() / np.maximum(self.with_judge.half(), TINY)
        as_long = np.minimum(self.n_human * ratio**2, self.n_all)
        enough = (self.n_human >= LEAST_QUERIES) & (self.n_apart >= LEAST_APART)
        return np.where(enough & (as_long >= self.n_human + 1), as_long, self.n_human)

    @property
    def used(self) -> np.ndarray:
        """(m,) whether the judge is worth something."""
        return self.worth > self.n_human

    @property
    def decided(self) -> Estimates:
        """The estimates with the judge where it is worth something, elsewhere those of people."""
        return Estimates(*np.where(self.used, self.with_judge, self.people))


def judged_means(
    human: np.ndarray,
    judge: np.ndarray,
    rest: np.ndarray,
    strata: Sequence[np.ndarray] | None = None,
    room: np.ndarray | None = None,
) -> JudgedMeans:
    """Estimate means over the traffic from the values of people and of a judge.

    Parameters
        human         (m, n) values by the grades of people, at least one
        judge         (m, n) values of the same queries by the grades of the judge; NaN in the columns of queries that
                      it did not judge
        rest          (m, r) its values of other queries
        strata        ((n,), (r,)) numbers from 0 of the strata of both; each has a query of people. None: one stratum
        room          (m, n + r) how far the judge could favour one of two systems, for the queries of `human`, then of
                      `rest`; 0 in rows that are not differences. None: nowhere
    Source
        docs/theory.md, section 10; equations (5) to (8).
    """
    n = human.shape[1]
    r = rest.shape[1]
    of, of_rest = np.split(np.zeros(n + r, dtype=int), [n]) if strata is None else strata
    known = np.isfinite(judge).all(axis=0)
    n_apart = ((np.abs(human - judge) > SAME) & known).sum(axis=1)
    every = np.concatenate([judge, rest], axis=1)
    if room is not None:
        every = without_favour(every, room)
    g = np.where(known, every[:, :n], 0.0)
    rest = every[:, n:]
    # Members of each stratum: queries of people, those that the judge knows too, and its other queries.
    one_hot = np.eye(int(of.max()) + 1)
    in_people = one_hot[of]
    in_rest = one_hot[of_rest]
    in_both = in_people * known[:, None]
    n_people, n_both, n_rest = (members.sum(axis=0) for members in (in_people, in_both, in_rest))
    weight = (n_people + n_rest) / (n + r)
    of_judge = n_both / n_people
    part = n_rest / np.maximum(n_both + n_rest, 1)  # c of the theory

    # Lambda of each query from the others, (6): sums of squares and products within strata, without what it adds.
    g_centred, h_centred = (x - _means(x, in_both)[:, of] for x in (g, human))
    scale = (weight**2 * of_judge * part / n_people / np.maximum(n_both - 1, 1))[of] * known
    without = (n_both / np.maximum(n_both - 1, 1))[of]
    gg, gh, hh = (
        np.sum(scale * x * y, axis=1, keepdims=True) - without * scale * x * y
        for x, y in ((g_centred, g_centred), (g_centred, h_centred), (h_centred, h_centred))
    )
    # One fewer than a slope has, which errs towards 0.
    freedom = np.maximum(n_both - 1, 0).sum() - 2 - (n_both > 1)[of]
    varies = (gg > SAME * np.maximum(hh, gg.max(axis=1, keepdims=True))) & (gh > 0) & known & (freedom > 0)
    with np.errstate(divide="ignore", invalid="ignore"):  # where they do not vary
        slope = gh / gg
        error = np.maximum(hh - slope * gh, 0.0) / freedom / gg
        lambdas = np.where(varies, np.clip(slope - error / slope, 0.0, LARGEST_LAMBDA), 0.0)

    # Spread of the judge's values within strata, and their means over its other queries.
    together = (g @ in_both + rest @ in_rest) / np.maximum(n_both + n_rest, 1)
    squares = (g - together[:, of]) ** 2 @ in_both + (rest - together[:, of_rest]) ** 2 @ in_rest
    spread = squares / np.maximum(n_both + n_rest - 1, 1)
    rest_mean = _means(rest, in_rest)

    def estimates(lam: np.ndarray, cost: int) -> Estimates:
        u = human - lam * part[of] * (g - rest_mean[:, of])
        means = _means(u, in_people)
        of_sample = (u - means[:, of]) ** 2 @ in_people / np.maximum(n_people - 1, 1) / n_people
        of_rest = (of_judge * part * _means(lam, in_both)) ** 2 * spread / np.maximum(n_rest, 1)
        mean = means @ weight
        of_strata = (of_sample + of_rest) * weight**2
        variance = of_strata.sum(axis=1) + (means - mean[:, None]) ** 2 @ weight / (n + r)
        # Satterthwaite's degrees of freedom of a sum of variances; with one stratum, n - 1.
        parts = np.maximum(of_strata, TINY)
        freedom = parts.sum(axis=1) ** 2 / (parts**2 / np.maximum(n_people - 1, 1)).sum(axis=1)
        return Estimates(mean, np.sqrt(variance), freedom - cost)

    people = estimates(np.zeros_like(lambdas), 0)
    return JudgedMeans(people, estimates(lambdas, COST), lambdas.mean(axis=1), n, n + r, n_apart)


def _means(values: np.ndarray, members: np.ndarray) -> np.ndarray:
    """(m, n_strata) means within strata; 0 for a stratum without members. values: (m, n); members: (n, n_strata)."""
    return np.asarray(values @ members / np.maximum(members.sum(axis=0), 1))


def without_favour(judge: np.ndarray, room: np.ndarray) -> np.ndarray:
    """(m, N) differences of two systems by a judge, each row less its projection on the room for favour, (8).

    A judge that favours one of the systems does so in proportion to this room, which depends only on the rankings and
    on its own grades. With the favour left in, a judge looks most useful when the estimate is too large, and intervals
    miss too often.
    """
    known = np.isfinite(judge)
    product = np.sum(judge * room, axis=1, keepdims=True, where=known)
    square = np.sum(room**2, axis=1, keepdims=True, where=known)
    return np.asarray(judge - product / np.maximum(square, TINY) * room)


def p_of_selection(judge: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """(m,) p values that the judge's own means on the queries of people and on its other queries are equal (Welch's
    test); 1 where that cannot be tested. Arguments as in `judged_means`."""
    from scipy.stats import ttest_ind

    judge = judge[:, np.isfinite(judge).all(axis=0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of values that do not vary
        p = ttest_ind(judge, rest, axis=1, equal_var=False).pvalue
        varies = judge.std(axis=1) + rest.std(axis=1) > SAME
    return np.where(varies & np.isfinite(p), p, 1.0)
