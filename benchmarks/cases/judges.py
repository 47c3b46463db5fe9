"""People grade a few queries, a judge many: do the intervals of `evaluate --judge` hold, and how long are they beside
those of people alone? Worlds in which the truth is known: n queries graded by people, drawn from the N of the judge.

Pools of queries: normal differences with judges of a stated correlation; lists of 20 graded documents that two systems
rank (NDCG@10, b - a), all of them or two in five differently, with judges that see the documents' relevance
through noise, grade all too high, grade 30 or all of 100 documents that b ranks first too high, grade at random, or
alike, or copy those of people but for a few; precision at 1 of one system, and b - a of the reciprocal rank, with
judges that are mostly right. A world draws N
queries from a pool; the mean of the pool is the truth. Strata: people graded 30 of 40 queries, and few of 400.
Width: mean length of the interval, divided by that of people alone; theory: sqrt(1 - r^2 (1 - n/N)) with the
correlation r of the pool. Naive: the judge as if it were a person.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.report import Verdict, table

if TYPE_CHECKING:
    from sparserank.evaluation.judges import JudgedMeans

N_WORLDS = int(os.environ.get("SPARSERANK_WORLDS", "10000"))
AT_ONCE = 2000  # worlds in memory
POOL = 100_000
SIZES = (8, 15, 25, 50, 100)
TIMES = (4, 40)  # N / n; N = n is checked by itself
TAILS = (2, 3, 5, 10)  # queries of people in the larger of two strata
CORRELATIONS = (0.0, 0.3, 0.6, 0.9)
DOCUMENTS, CUTOFF = 20, 10
GRADES = (0.5, 1.2, 2.0)  # thresholds of the relevance of a document
NOISES = (1.3, 0.55, 0.12)  # of judges: correlations of about 0.3, 0.6 and 0.9
SOME = 0.4  # share of queries that the systems rank differently, in the pool of mostly equal lists
FAVOUR = 0.3  # share of the first three documents of b whose grade is one too high
STRONG = "favours b always"
RIGHT = (0.8, 0.95, 0.99)  # shares of the queries, or documents, of which judges know the right grade
USELESS = ("constant", "random grades", "r = 0")


@dataclass(frozen=True)
class Pool:
    """(POOL,) values of each query: by people, by each judge; what the head queries have more of, and a value of the
    judges of which the warning can see it; for differences of two rankings, the judges' room for favour."""

    human: np.ndarray
    judges: dict[str, np.ndarray]
    traffic: np.ndarray
    levels: dict[str, np.ndarray]
    rooms: dict[str, np.ndarray] = field(default_factory=dict)

    def correlation(self, name: str) -> float:
        g = self.judges[name]
        return float(np.corrcoef(self.human, g)[0, 1]) if g.std() > 0 else 0.0


@dataclass
class Seen:
    """Sums over worlds: whose interval contains the truth, and the lengths."""

    n_worlds: int = 0
    human: float = 0.0
    judged: float = 0.0
    differ: float = 0.0
    naive: float = 0.0
    human_length: float = 0.0
    judged_length: float = 0.0
    used: float = 0.0
    warned: float = 0.0

    def shares(self) -> dict[str, float]:
        return {name: value / self.n_worlds for name, value in vars(self).items()}


def normal_pool(rng: np.random.Generator, size: int = POOL) -> Pool:
    g, e, z = rng.normal(size=(3, size))
    human = g + 0.1
    judges = {f"r = {r:g}": r * g + (1 - r * r) ** 0.5 * e for r in CORRELATIONS}
    judges["r = 0.6, biased"] = judges["r = 0.6"] - 0.7
    judges["r = 0.6, half as large"] = judges["r = 0.6"] / 2
    judges["constant"] = np.full(size, 0.3)
    return Pool(human, judges, g + z, judges)


def graded_pool(rng: np.random.Generator, different: float, size: int = POOL) -> Pool:
    """different: the share of queries that the systems rank differently."""
    level = rng.normal(0, 0.7, size=(size, 1))
    relevance = level + rng.normal(size=(size, DOCUMENTS))
    a = relevance + 1.2 * rng.normal(size=relevance.shape)
    b = np.where(rng.random((size, 1)) < different, relevance + 1.1 * rng.normal(size=relevance.shape), a)
    graded = {f"noise {s:g}": _grades((relevance + s * rng.normal(size=a.shape)) / (1 + s * s) ** 0.5) for s in NOISES}
    noisy = graded[f"noise {NOISES[1]:g}"]
    graded["too high"] = np.minimum(noisy + 1, len(GRADES))
    first = _ranks(b) < 3
    graded["favours b"] = np.minimum(noisy + (first & (rng.random(a.shape) < FAVOUR)), len(GRADES))
    graded[STRONG] = np.minimum(noisy + first, len(GRADES))
    graded["random grades"] = _grades(rng.normal(size=a.shape))
    graded["constant"] = np.ones_like(noisy)
    people = _grades(relevance)
    judges = {name: _ndcg(b, y) - _ndcg(a, y) for name, y in graded.items()}
    levels = {name: _ndcg(a, y) for name, y in graded.items()}
    rooms = {name: _room(_ndcg, a, b, y) for name, y in graded.items()}
    return Pool(_ndcg(b, people) - _ndcg(a, people), judges, level[:, 0] + 0.7 * rng.normal(size=size), levels, rooms)


def copied_pool(rng: np.random.Generator, size: int = POOL) -> Pool:
    """Lists; grades of people that are copies of the judge's but for a share of documents or of queries."""
    relevance = rng.normal(0, 0.7, size=(size, 1)) + rng.normal(size=(size, DOCUMENTS))
    a, b = (relevance + s * rng.normal(size=relevance.shape) for s in (1.2, 1.1))
    people = _grades(relevance)
    noisy = _grades((relevance + NOISES[1] * rng.normal(size=a.shape)) / (1 + NOISES[1] ** 2) ** 0.5)
    shares = {"copied but 1% of documents": (0.01, DOCUMENTS), "copied but 5% of queries": (0.05, 1)}
    graded = {name: np.where(rng.random((size, k)) < s, noisy, people) for name, (s, k) in shares.items()}
    judges = {name: _ndcg(b, y) - _ndcg(a, y) for name, y in graded.items()}
    rooms = {name: _room(_ndcg, a, b, y) for name, y in graded.items()}
    return Pool(_ndcg(b, people) - _ndcg(a, people), judges, relevance.mean(axis=1), judges, rooms)


def precision_pool(rng: np.random.Generator, mean: float, size: int = POOL) -> Pool:
    """Precision at 1 of one system."""
    human = (rng.random(size) < mean).astype(float)
    judges = {f"right in {100 * p:g}%": np.where(rng.random(size) < p, human, 1 - human) for p in RIGHT}
    return Pool(human, judges, rng.normal(size=size), judges)


def reciprocal_pool(rng: np.random.Generator, different: float, size: int = POOL) -> Pool:
    """Reciprocal rank of the first of 10 documents, relevant or not; different: as in `graded_pool`."""
    level = rng.normal(0, 0.7, size=(size, 1)) + rng.normal(size=(size, 10))
    a = level + 0.5 * rng.normal(size=level.shape)
    b = np.where(rng.random((size, 1)) < different, level + 0.45 * rng.normal(size=level.shape), a)
    people = level > 1.0

    def first(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
        return np.asarray(1 / np.where(relevant, _ranks(scores) + 1.0, np.inf).min(axis=1))

    graded = {f"right in {100 * p:g}%": people ^ (rng.random(a.shape) >= p) for p in RIGHT}
    judges = {name: first(b, y) - first(a, y) for name, y in graded.items()}
    rooms = {name: _room(first, a, b, y) for name, y in graded.items()}
    return Pool(first(b, people) - first(a, people), judges, rng.normal(size=size), judges, rooms)


def _grades(relevance: np.ndarray) -> np.ndarray:
    return np.searchsorted(GRADES, relevance)


def _ranks(scores: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(-scores, axis=1), axis=1)


def _room(
    value: Callable[[np.ndarray, np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray, grades: np.ndarray
) -> np.ndarray:
    """The room for favour: the absolute difference of two rankings if the grades followed the one, plus that if they
    followed the other."""
    best_first = -np.sort(-grades.astype(int), axis=1)
    room = np.zeros(len(grades))
    for scores in (a, b):
        following = np.take_along_axis(best_first, _ranks(scores), axis=1).astype(grades.dtype)
        room += np.abs(value(b, following) - value(a, following))
    return room


def _ndcg(scores: np.ndarray, grades: np.ndarray) -> np.ndarray:
    """NDCG@10; 0 for a query without relevant documents."""
    discount = np.where(np.arange(DOCUMENTS) < CUTOFF, 1 / np.log2(np.arange(DOCUMENTS) + 2.0), 0.0)
    gains = 2.0**grades - 1
    best = (-np.sort(-gains, axis=1) * discount).sum(axis=1)
    return np.divide((gains * discount[_ranks(scores)]).sum(axis=1), best, out=np.zeros(len(gains)), where=best > 0)


def worlds(
    rng: np.random.Generator, pool: Pool, n: int, n_all: int, n_worlds: int, *, head: bool = False
) -> dict[str, Seen]:
    """What is seen of each judge. head: people grade those of the N queries with the most traffic."""
    from scipy.special import stdtrit

    from sparserank.evaluation.judge_rows import LEVEL
    from sparserank.evaluation.judges import judged_means, p_of_selection

    truth = pool.human.mean()
    seen = {name: Seen() for name in pool.judges}
    for first in range(0, n_worlds, AT_ONCE):
        drawn = rng.integers(0, len(pool.human), size=(min(AT_ONCE, n_worlds - first), n_all))
        if head:
            drawn = np.take_along_axis(drawn, np.argsort(-pool.traffic[drawn], axis=1), axis=1)
        human = pool.human[drawn[:, :n]]
        for name, values in pool.judges.items():
            judge, rest, s = values[drawn[:, :n]], values[drawn[:, n:]], seen[name]
            room = pool.rooms[name][drawn] if name in pool.rooms else None
            found = judged_means(human, judge, rest, room=room)
            mixed = np.concatenate([human, rest], axis=1)
            mixed_half = stdtrit(n_all - 1, 0.975) * mixed.std(axis=1, ddof=1) / n_all**0.5
            level = pool.levels[name]
            s.n_worlds += len(drawn)
            alone, alone_half = found.people.mean, found.people.half()
            decided, half = found.decided.mean, found.decided.half()
            by_human, by_judge = np.abs(alone - truth) <= alone_half, np.abs(decided - truth) <= half
            s.human += by_human.sum()
            s.judged += by_judge.sum()
            s.differ += (by_human != by_judge).sum()
            s.naive += (np.abs(mixed.mean(axis=1) - truth) <= mixed_half).sum()
            s.human_length += 2 * alone_half.sum()
            s.judged_length += 2 * half.sum()
            s.used += found.used.sum()
            s.warned += (p_of_selection(level[drawn[:, :n]], level[drawn[:, n:]]) < LEVEL).sum()
    return seen


def with_strata(
    rng: np.random.Generator, pool: Pool, name: str, n_tail: int, n_worlds: int, more_in_tail: float = 1.0
) -> tuple[JudgedMeans, float]:
    """Estimates of n_worlds means of differences, and the truth: a stratum of 40 queries, of which people graded 30,
    and one of 400, of which they graded n_tail. more_in_tail: by how much the values of the latter are larger."""
    from sparserank.evaluation.judges import judged_means

    sizes = np.array([[30, n_tail], [10, 400 - n_tail]])
    of, of_rest = (np.repeat([0, 1], row) for row in sizes)
    drawn = rng.integers(0, len(pool.human), size=(n_worlds, sizes.sum()))
    factor = np.array([1.0, more_in_tail])
    n = len(of)
    human = pool.human[drawn[:, :n]] * factor[of]
    judge, rest = pool.judges[name][drawn[:, :n]] * factor[of], pool.judges[name][drawn[:, n:]] * factor[of_rest]
    truth = pool.human.mean() * (sizes.sum(axis=0) @ factor) / sizes.sum()
    return judged_means(human, judge, rest, (of, of_rest)), truth


def pools(rng: np.random.Generator) -> Iterator[tuple[str, Pool]]:
    yield "normal", normal_pool(rng)
    yield "graded lists", graded_pool(rng, 1.0)
    yield "mostly equal lists", graded_pool(rng, SOME)
    yield "copied grades", copied_pool(rng)
    yield "P@1 of 0.9", precision_pool(rng, 0.9)
    yield "P@1 of 0.7", precision_pool(rng, 0.7)
    yield "reciprocal rank", reciprocal_pool(rng, 1.0)
    yield "mostly equal, reciprocal rank", reciprocal_pool(rng, SOME)


def run() -> list[Verdict]:
    rng = np.random.default_rng(65)
    rows, heads = [], []
    reached: dict[str, list[float]] = defaultdict(list)
    for kind, pool in pools(rng):
        for n in SIZES:
            alike = worlds(rng, pool, n, n, AT_ONCE)
            assert all(s.judged_length == s.human_length and s.used == 0 for s in alike.values())
            for times in TIMES:
                for name, s in worlds(rng, pool, n, times * n, N_WORLDS).items():
                    found, r = s.shares(), pool.correlation(name)
                    theory = (1 - r * r * (1 - 1 / times)) ** 0.5
                    ratio = s.judged_length / s.human_length
                    percents = [f"{100 * found[k]:.1f}" for k in ("human", "judged", "naive", "used", "warned")]
                    widths = [f"{ratio:.3f}", f"{theory:.3f}", f"{100 * (ratio / theory - 1):+.1f}%"]
                    rows.append([kind, name, f"{r:.2f}", n, times * n, *percents[:3], *widths, *percents[3:]])
                    if kind == "normal":
                        reached["coverage"].append(found["judged"])
                        reached[f"off theory {n}"].append(abs(ratio / theory - 1))
                    else:
                        # two standard errors of the difference of two shares of the same worlds
                        noise = 2 * s.differ**0.5 / s.n_worlds
                        reached[f"below {name == STRONG}"].append(found["human"] - found["judged"] - noise)
                    if name in USELESS:
                        reached[f"useless {15 if n == 15 else 25 if n >= 25 else n}"].append(ratio)
            heads += [
                [kind, name, n, *(f"{100 * s.shares()[k]:.1f}" for k in ("human", "judged", "warned"))]
                for name, s in worlds(rng, pool, n, 4 * n, AT_ONCE, head=True).items()
            ]
    strata = []
    for more_in_tail in (0.5, 1.0, 2.0):
        for n_tail in TAILS:
            row = [more_in_tail, f"30 + {n_tail}"]
            means, truth = with_strata(rng, normal_pool(rng), "r = 0.6", n_tail, N_WORLDS, more_in_tail)
            for by in (means.people, means.decided):
                covered = float((np.abs(by.mean - truth) <= by.half()).mean())
                reached[f"strata {n_tail > 2}"].append(covered)
                row.append(f"{100 * covered:.1f}")
            strata.append([*row, f"{means.decided.half().mean() / means.people.half().mean():.3f}"])
    head = ["pool", "judge", "r", "n", "N", "people: covered %", "with judge", "naive"]
    print(table([*head, "width", "theory", "off", "judge used %", "warned %"], rows))
    print("\nPeople grade the quarter of the queries with the most traffic:\n")
    print(table(["pool", "judge", "n", "people: covered %", "with judge", "warned %"], heads))
    print("\nNormal values, r = 0.6; strata of 40 and 400 queries:\n")
    print(table(["spread of the second", "queries of people", "people: covered %", "with judge", "width"], strata))
    claims = [
        ("coverage below that of people, not normal, beyond noise", max(reached["below False"]), 0.007),
        (f"the same, {STRONG}", max(reached["below True"]), 0.007),
        ("highest coverage, normal", max(reached["coverage"]), 0.97),
        ("width off theory, n = 15", max(reached["off theory 15"]), 0.1),
        ("width off theory, n = 50", max(reached["off theory 50"]), 0.03),
        ("width, useless judge, n = 15", max(reached["useless 15"]), 1.05),
        ("width, useless judge, n >= 25", max(reached["useless 25"]), 1.03),
    ]
    least = [
        ("lowest coverage, normal", min(reached["coverage"]), 0.94),
        ("lowest coverage, strata, 3 queries or more", min(reached["strata True"]), 0.935),
    ]
    return [
        Verdict("judges", claim, value, target, at_least, unit="")
        for some, at_least in ((least, True), (claims, False))
        for claim, value, target in some
    ]
