"""Queries for people to judge next: drawn at random within strata, so that estimates stay unbiased (docs/theory.md,
section 10)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparserank.errors import ParameterError

STRATA = ("none", "low", "middle", "high")  # by how far grades can move the differences of their queries
PER_STRATUM = 10  # queries of people in a stratum, on average; with fewer, there are fewer strata
LEAST_IN_STRATUM = 2  # queries of people, without which a stratum has no variance
# Of the spreads that decide a draw. If all are equal in truth, the draw needs (1 + R)^2 / 4R = 1.04 times the queries
# of a plain one at most.
LARGEST_RATIO = 1.5


def draw(
    spread: np.ndarray, judged: np.ndarray, n: int, seed: int, strata: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw n more queries.

    Parameters
        spread    (N,) of the differences that are expected for each query: a function of the rankings and of the grades
                  of the judge, never of those of people
        judged    (N,) bool, the queries of people: drawn at random from all or, with `strata`, from each stratum
        strata    (N,) their names; by default, they are made from the spreads
    Returns
        (N,) names of the strata; (N,) bool, the queries that were drawn; the variance to expect, relative to that now
    Raises
        ParameterError   fewer than n queries are left, or n is too small for two of people in each stratum
    Source
        docs/theory.md, section 10, (9) and (10)
    """
    n_judged = int(judged.sum())
    shrunk = cautious(spread)
    names, of = np.unique(made(spread, shrunk, n_judged + n) if strata is None else strata, return_inverse=True)
    sizes = np.bincount(of)
    before = np.bincount(of[judged], minlength=len(sizes))
    least = max(int(np.maximum(LEAST_IN_STRATUM - before, 0).sum()), 1)
    left = len(judged) - n_judged
    if not least <= n <= left:
        expected = f"from {least} (two queries of people in each stratum) to {left} (those that people did not judge)"
        raise ParameterError("judge_next", f"must be {expected}; got {n}.")

    # Each query goes where it lowers the variance (9) most, after those that each stratum needs.
    total = np.bincount(of, shrunk)
    after = before.copy()
    for _ in range(n):
        lowers = total**2 / np.maximum(after * (after + 1), 1)
        lowers[after < LEAST_IN_STRATUM] = np.inf
        lowers[after >= sizes] = -1.0
        after[lowers.argmax()] += 1
    rng = np.random.default_rng(seed)
    drawn = np.zeros(len(judged), dtype=bool)
    for s, size in enumerate(after - before):
        drawn[rng.choice(np.flatnonzero((of == s) & ~judged), size, replace=False)] = True
    now = len(judged) * (shrunk @ shrunk) / n_judged if strata is None else (total**2 / before).sum()
    return names[of], drawn, float((total**2 / after).sum() / now)


def made(spread: np.ndarray, shrunk: np.ndarray, n_people: int) -> np.ndarray:
    """(N,) names of strata: queries in which no grade moves a difference, and parts of the others with equal sums of
    the shrunk spread, from which an optimal draw takes equally many. n_people: queries that people will have judged."""
    order = np.argsort(spread, kind="stable")
    n_parts = min(max(n_people // PER_STRATUM, 1), len(STRATA) - 1)
    part = np.zeros(len(order), dtype=int)
    part[order] = np.ceil(np.cumsum(shrunk[order]) / shrunk.sum() * n_parts - 1e-9)
    for wider in (part, np.maximum(part, 1)):
        sizes = np.bincount(wider)
        if sizes[sizes > 0].min() >= LEAST_IN_STRATUM:
            return np.array(STRATA)[wider]
    return np.full(len(part), STRATA[1])


def cautious(spread: np.ndarray) -> np.ndarray:
    """(N,) spreads, relative to their geometric mean, of which none is more than LARGEST_RATIO times another, except
    that one of 0 is certain."""
    some = spread > 0
    if not some.any():
        return np.ones(len(spread))
    middle = np.exp(np.log(spread[some]).mean())
    root = LARGEST_RATIO**0.5
    return np.where(some, np.clip(spread / middle, 1 / root, root), 0.0)
