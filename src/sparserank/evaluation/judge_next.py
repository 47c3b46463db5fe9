"""Queries for people to judge next: drawn at random within strata, so that estimates stay unbiased (docs/theory.md,
section 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparserank.errors import ParameterError
from sparserank.evaluation.judges import Estimates

PER_STRATUM = 10  # queries of people, on average; with fewer, there are fewer strata
LEAST_IN_STRATUM = 2  # queries of people, without which a stratum has no variance
# Of the spreads that decide a draw. If all are equal in truth, the draw needs (1 + R)^2 / 4R = 1.03 times the queries
# of a plain one at most. More than two strata of these cost more degrees of freedom than they save queries.
LARGEST_RATIO = 1.4


class Draw(NamedTuple):
    """Queries that were drawn for people.

    drawn         (N,) bool
    strata        (N,) names of the strata
    probability   (N,) that people judge a query, together with those before
    ratio         the variance to expect afterwards, relative to that now
    """

    drawn: np.ndarray
    strata: np.ndarray
    probability: np.ndarray
    ratio: float

    def expected(self, now: Estimates, census: np.ndarray) -> Estimates:
        """The errors to expect, around the means of today; census: (m,) variances if people judged all N queries."""
        variance = self.ratio * now.error**2 + (1.0 - self.ratio) * census
        return now._replace(error=np.sqrt(variance), freedom=now.freedom + self.drawn.sum())


def draw(spread: np.ndarray, judged: np.ndarray, n: int, seed: int, strata: Sequence[str] | None = None) -> Draw:
    """Draw n more queries.

    Parameters
        spread   (N,) of the differences that are expected for each query: a function of the rankings and of the grades
                 of the judge, never of those of people
        judged   (N,) bool, the queries of people: drawn at random from all or, with `strata`, from each stratum
        strata   (N,) their names; by default, they are made from the spreads
    Raises
        ParameterError   fewer than n queries are left, or n is too small for two of people in each stratum
    Source
        docs/theory.md, section 10, (9) to (11)
    """
    n_judged = int(judged.sum())
    shrunk = cautious(spread)
    named = made(spread, shrunk, n_judged + n) if strata is None else np.array(strata)
    of = np.unique(named, return_inverse=True)[1]
    sizes = np.bincount(of)
    before = np.bincount(of[judged], minlength=len(sizes))
    after = np.maximum(before, LEAST_IN_STRATUM)
    least = int((after - before).sum())
    left = len(judged) - n_judged
    if not least <= n <= left:
        why = f"each stratum needs {LEAST_IN_STRATUM} queries of people, and they did not judge {left}"
        raise ParameterError("judge_next", f"must be from {max(least, 1)} to {left} queries: {why}; got {n}.")

    # Each query goes where it lowers the variance (10) most, after those that each stratum needs; none is drawn twice.
    squares = sizes * np.bincount(of, shrunk**2)
    for _ in range(n - least):
        lowers = np.where(after < sizes, squares / (after * (after + 1)), -1.0)
        after[lowers.argmax()] += 1
    rng = np.random.default_rng(seed)
    drawn = np.zeros(len(judged), dtype=bool)
    for s, size in enumerate(after - before):
        drawn[rng.choice(np.flatnonzero((of == s) & ~judged), size, replace=False)] = True
    now = len(judged) * (shrunk @ shrunk) / n_judged if strata is None else (squares / np.maximum(before, 1)).sum()
    return Draw(drawn, named, (after / sizes)[of], float((squares / after).sum() / now))


def made(spread: np.ndarray, shrunk: np.ndarray, n_people: int) -> np.ndarray:
    """(N,) names of strata: queries in which no grade moves a difference, and two parts of the others with equal sums
    of the shrunk spread, from which an optimal draw takes equally many.

    n_people   number of queries that people will have judged
    """
    order = np.argsort(spread, kind="stable")
    names = np.where(shrunk > 0, "low", "none")
    names[order[np.cumsum(shrunk[order]) > shrunk.sum() / 2]] = "high"
    counts = np.unique(names, return_counts=True)[1]
    enough = counts.min() >= LEAST_IN_STRATUM and n_people >= 2 * PER_STRATUM
    return names if enough else np.full(len(names), "all")


def cautious(spread: np.ndarray) -> np.ndarray:
    """(N,) spreads, relative to their geometric mean, of which none is more than LARGEST_RATIO times another, except
    that one of 0 is certain."""
    some = spread > 0
    if not some.any():
        return np.ones(len(spread))
    middle = np.exp(np.log(spread[some]).mean())
    root = LARGEST_RATIO**0.5
    return np.where(some, np.clip(spread / middle, 1 / root, root), 0.0)
