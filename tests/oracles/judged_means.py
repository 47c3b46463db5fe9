"""Means from grades of people for a few queries and of a judge for many, the slow way: one loop per sum of the formulas
in docs/theory.md, section 10. Imports nothing from the package."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from scipy import stats

MOST = 2.0  # the largest lambda
COST = 4  # degrees of freedom for lambda and for the choice of the narrower interval
LEAST_QUERIES = 8
LEAST_APART = 2  # queries on which people and the judge differ

Values = Mapping[str, float]


class Estimate(NamedTuple):
    """An estimated mean, half of the length of its interval, and the mean of lambda over the queries of people."""

    mean: float
    half: float
    lam: float


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def variance(values: list[float]) -> float:
    """Of a sample; 0 for one value, as a stratum of one query has no spread that could be estimated."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return sum((v - middle) ** 2 for v in values) / (len(values) - 1)


def best_lambda(human: Values, judge: Values, strata: Mapping[str, str], weights: Mapping[str, float]) -> float:
    """(6): the lambda of the smallest variance, estimated on these queries of people, and drawn towards 0 by its
    error."""
    gg = gh = hh = 0.0
    freedom = -2
    for s, weight in weights.items():
        own = [q for q in human if strata[q] == s and q in judge]
        if len(own) < 2:
            continue
        freedom += len(own) - 1
        mean_g = mean([judge[q] for q in own])
        mean_h = mean([human[q] for q in own])
        gg += weight * sum((judge[q] - mean_g) ** 2 for q in own)
        gh += weight * sum((judge[q] - mean_g) * (human[q] - mean_h) for q in own)
        hh += weight * sum((human[q] - mean_h) ** 2 for q in own)
    if gg <= 1e-12 * hh or gh <= 0.0 or freedom < 1:
        return 0.0
    slope = gh / gg
    error = max(hh - slope * gh, 0.0) / freedom / gg
    return min(max(slope - error / slope, 0.0), MOST)


def with_judge(
    human: Values, judge: Values, strata: Mapping[str, str] | None = None, confidence: float = 0.95
) -> Estimate:
    """The estimate with the lambdas of `best_lambda`, each from the other queries of people; strata: {query: name}."""
    return _estimate(human, judge, strata, confidence, use_judge=True)


def human_only(
    human: Values, judge: Values, strata: Mapping[str, str] | None = None, confidence: float = 0.95
) -> Estimate:
    """The estimate with lambda = 0; the judge only says how many queries each stratum has."""
    return _estimate(human, judge, strata, confidence, use_judge=False)


def decided(
    human: Values,
    judge: Values,
    strata: Mapping[str, str] | None = None,
    confidence: float = 0.95,
    room: Values | None = None,
) -> Estimate:
    """That of people, where the judge is not worth a whole query, or differs from people on too few; else that with the
    judge. room: for differences of two systems, how far a judge could favour one, for (8)."""
    apart = [q for q in human if q in judge and abs(human[q] - judge[q]) > 1e-12]
    if room is not None:
        judge = without_favour(judge, room)
    alone = human_only(human, judge, strata, confidence)
    if len(apart) < LEAST_APART:
        return alone
    both = with_judge(human, judge, strata, confidence)
    queries = min(len(human) * (alone.half / both.half) ** 2, len({*human, *judge}))
    return both if queries >= len(human) + 1 else alone


def _estimate(
    human: Values, judge: Values, strata: Mapping[str, str] | None, confidence: float, use_judge: bool
) -> Estimate:
    everything = {*human, *judge}
    named = dict.fromkeys(everything, "all") if strata is None else strata
    names = sorted({named[q] for q in everything})
    whole = {s: [q for q in everything if named[q] == s] for s in names}
    own = {s: [q for q in human if named[q] == s] for s in names}
    both = {s: [q for q in own[s] if q in judge] for s in names}
    rest = {s: [judge[q] for q in whole[s] if q not in human] for s in names}

    # c of each stratum, and the weight of its sums in lambda
    part = {s: len(rest[s]) / (len(rest[s]) + len(both[s])) if rest[s] else 0.0 for s in names}
    weights = {}
    for s in names:
        if len(both[s]) >= 2:
            of_judge = len(both[s]) / len(own[s])
            share = len(whole[s]) / len(everything)
            weights[s] = share**2 * of_judge * part[s] / len(own[s]) / (len(both[s]) - 1)

    means, shares = {}, []
    within = {}
    for s in names:
        rest_mean = mean(rest[s]) if rest[s] else 0.0
        values, lambdas = [], []
        for q in own[s]:
            lam = 0.0
            if use_judge and q in both[s]:
                others = {other: human[other] for other in human if other != q}
                lam = best_lambda(others, judge, named, weights)
                lambdas.append(lam)
            values.append(human[q] - (lam * part[s] * (judge[q] - rest_mean) if lam else 0.0))
            shares.append(lam)
        means[s] = mean(values)
        of_sample = variance(values) / len(own[s])
        of_rest = 0.0
        if lambdas and rest[s]:
            spread = variance([judge[q] for q in both[s]] + rest[s])
            factor = len(both[s]) / len(own[s]) * part[s] * mean(lambdas)
            of_rest = factor**2 * spread / len(rest[s])
        within[s] = (len(whole[s]) / len(everything)) ** 2 * (of_sample + of_rest)
    estimate = sum(len(whole[s]) / len(everything) * means[s] for s in names)
    between = sum(len(whole[s]) / len(everything) * (means[s] - estimate) ** 2 for s in names) / len(everything)
    # Satterthwaite: the variance is a sum of those of the strata, each with its own degrees of freedom.
    total = sum(within.values())
    squares = sum(v**2 / max(len(own[s]) - 1, 1) for s, v in within.items() if v > 0)
    freedom = (total**2 / squares if squares > 0 else len(human) - len(names)) - (COST if use_judge else 0)
    enough = len(human) >= LEAST_QUERIES and freedom > 0
    quantile = float(stats.t.ppf(0.5 + confidence / 2, freedom)) if enough else math.nan
    return Estimate(estimate, quantile * math.sqrt(total + between), mean(shares))


def without_favour(judge: Values, room: Values) -> dict[str, float]:
    """(8): differences of two systems, less their projection on the room for favour."""
    square = sum(room[q] ** 2 for q in judge)
    favour = sum(judge[q] * room[q] for q in judge) / square if square > 0 else 0.0
    return {q: g - favour * room[q] for q, g in judge.items()}


def naive_mixture(human: Values, judge: Values, confidence: float = 0.95) -> Estimate:
    """Wrong variant: the judge's values as if they were those of people, where people gave none."""
    values = [human.get(q, judge.get(q, math.nan)) for q in {*human, *judge}]
    half = float(stats.t.ppf(0.5 + confidence / 2, len(values) - 1)) * math.sqrt(variance(values) / len(values))
    return Estimate(mean(values), half, 1.0)
