"""How many human queries do the strata of `evaluate --judge-next` save, beside queries drawn at random from all?

Worlds of the pools of `judges`: N queries of a judge, of which people graded n at random; then n more are drawn, in
strata by how far the grades of single documents can move the difference, or at random from all. Pools: lists, with
these spreads; normal values whose spreads are equal, while the expected ones vary as those of lists or more; and
normal values whose spreads are the expected ones.
Factor: (mean length of a plain draw / mean length with strata)^2, in human queries; errors: the same, from mean squared
errors. Bias: mean error of the estimate, in its standard deviations. Expected: the mean of the width that is expected,
divided by that which people's grades then show. Largest: the queries for which the judge says most, without a draw;
forgotten: the draw of the strata, evaluated without them.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.cases import judges
from benchmarks.report import Verdict, table

if TYPE_CHECKING:
    from sparserank.evaluation.judges import Estimates

N_WORLDS = int(os.environ.get("SPARSERANK_WORLDS", "4000"))
POOL = 20_000
N_ALL, MORE = 400, 20
BEFORE = (15, 25)
EQUAL = "equal spreads, "


@dataclass(frozen=True)
class Pool:
    """(POOL,) differences by people and by a judge, the spread that is expected of each, and the judge's room for
    favour; None: nowhere."""

    human: np.ndarray
    judge: np.ndarray
    spread: np.ndarray
    room: np.ndarray | None = None

    def estimates(self, judged: np.ndarray, strata: np.ndarray | None = None) -> Estimates:
        """From the values of people for some of these queries, and those of the judge for all."""
        from sparserank.evaluation.judges import judged_means

        of = None if strata is None else np.unique(strata, return_inverse=True)[1]
        numbers = None if of is None else (of[judged], of[~judged])
        values = (self.human[None, judged], self.judge[None, judged], self.judge[None, ~judged])
        room = None if self.room is None else np.concatenate([self.room[judged], self.room[~judged]])[None]
        return judged_means(*values, numbers, room).decided


@dataclass(frozen=True)
class Found:
    """(n_worlds,) errors of the estimates, and half the lengths of their intervals."""

    error: np.ndarray
    half: np.ndarray

    @property
    def covered(self) -> float:
        return float((np.abs(self.error) <= self.half).mean())

    @property
    def bias(self) -> float:
        """In standard deviations of the estimate; that of `n_worlds` worlds is known to 1 / sqrt(n_worlds)."""
        return float(self.error.mean() / self.error.std())


def list_pools(rng: np.random.Generator, different: float, size: int = POOL) -> Iterator[tuple[str, Pool]]:
    """different: the share of queries that the systems rank differently; a judge of medium quality, one of little, and
    one that knows nothing."""
    relevance = rng.normal(0, 0.7, size=(size, 1)) + rng.normal(size=(size, judges.DOCUMENTS))
    a = relevance + 1.2 * rng.normal(size=relevance.shape)
    b = np.where(rng.random((size, 1)) < different, relevance + 1.1 * rng.normal(size=relevance.shape), a)
    human = judges._ndcg(b, judges._grades(relevance)) - judges._ndcg(a, judges._grades(relevance))
    graded = {
        f"noise {s:g}": judges._grades((relevance + s * rng.normal(size=a.shape)) / (1 + s * s) ** 0.5)
        for s in judges.NOISES[:2]
    }
    graded["random grades"] = judges._grades(rng.normal(size=a.shape))
    for name, grades in graded.items():
        judge = judges._ndcg(b, grades) - judges._ndcg(a, grades)
        yield name, Pool(human, judge, spreads(a, b, grades), judges._room(judges._ndcg, a, b, grades))


def spreads(a: np.ndarray, b: np.ndarray, grades: np.ndarray) -> np.ndarray:
    """(n,) by (9) of docs/theory.md, section 10: what the grade of each shown document can move."""
    now = judges._ndcg(b, grades) - judges._ndcg(a, grades)
    squares = np.zeros(len(now))
    shown = (judges._ranks(a) < judges.CUTOFF) | (judges._ranks(b) < judges.CUTOFF)
    for document in range(judges.DOCUMENTS):
        moved = np.zeros(len(now))
        for grade in range(len(judges.GRADES) + 1):
            other = grades.copy()
            other[:, document] = grade
            moved = np.maximum(moved, np.abs(judges._ndcg(b, other) - judges._ndcg(a, other) - now))
        squares += np.where(shown[:, document], moved, 0.0) ** 2
    return np.sqrt(squares)


def normal_pool(rng: np.random.Generator, log_spread: float, *, true: bool, size: int = POOL) -> Pool:
    """Correlation 0.6; log_spread: the standard deviation of the logarithms of expected spreads; true: whether they are
    those of the values."""
    spread = np.exp(log_spread * rng.normal(size=size))
    scale = spread if true else np.ones(size)
    g, e = rng.normal(size=(2, size)) * scale
    return Pool(0.6 * g + 0.8 * e + 0.3 * spread, g + 0.3 * spread, spread)


def pools(rng: np.random.Generator, size: int = POOL) -> Iterator[tuple[str, Pool]]:
    for kind, different in (("lists", 1.0), ("mostly equal lists", judges.SOME)):
        yield from ((f"{kind}, {name}", pool) for name, pool in list_pools(rng, different, size))
    for log_spread in (0.4, 1.0):
        yield f"{EQUAL}{log_spread:g} expected", normal_pool(rng, log_spread, true=False, size=size)
        yield f"normal, spreads {log_spread:g}", normal_pool(rng, log_spread, true=True, size=size)


def worlds(rng: np.random.Generator, pool: Pool, n: int, n_worlds: int) -> tuple[dict[str, Found], float]:
    """What each way to judge MORE queries finds; and the mean of the expected widths, relative to that with strata."""
    from sparserank.evaluation.judge_next import draw

    truth = pool.human.mean()
    seen = defaultdict(list)
    first = np.arange(N_ALL) < n
    for seed in range(n_worlds):
        chosen = rng.integers(0, len(pool.human), size=N_ALL)
        room = None if pool.room is None else pool.room[chosen]
        world = Pool(pool.human[chosen], pool.judge[chosen], pool.spread[chosen], room)
        drawn = draw(world.spread, first, MORE, seed)
        largest = np.argsort(np.where(first, np.inf, -np.abs(world.judge)), kind="stable")[:MORE]
        ways = {
            "plain": world.estimates(np.arange(N_ALL) < n + MORE),
            "strata": world.estimates(first | drawn.drawn, drawn.strata),
            "forgotten": world.estimates(first | drawn.drawn),
            "largest": world.estimates(first | np.isin(np.arange(N_ALL), largest)),
            "expected": drawn.expected(world.estimates(first), world.human[None, first].var(axis=1, ddof=1) / N_ALL),
        }
        for name, estimate in ways.items():
            seen[name].append((float(estimate.mean[0] - truth), float(estimate.half()[0])))
    found = {name: Found(*np.array(pairs).T) for name, pairs in seen.items()}
    return found, float(found["expected"].half.mean() / found["strata"].half.mean())


def factor(found: dict[str, Found]) -> float:
    """How many times the human queries a plain draw needs for the same length."""
    return float((found["plain"].half.mean() / found["strata"].half.mean()) ** 2)


def run() -> list[Verdict]:
    rng = np.random.default_rng(66)
    rows = []
    factors: dict[str, float] = {}
    biases, covered, off = [], [], []
    for name, pool in pools(rng):
        for n in BEFORE:
            found, expected = worlds(rng, pool, n, N_WORLDS)
            strata, plain = found["strata"], found["plain"]
            factors[f"{name}, {n}"] = factor(found)
            squared = (plain.error**2).mean() / (strata.error**2).mean()
            biases.append(abs(strata.bias))
            covered.append(plain.covered - strata.covered)
            off.append(abs(expected - 1))
            shares = [f"{100 * found[k].covered:.1f}" for k in ("plain", "strata", "largest", "forgotten")]
            bias = [f"{found[k].bias:+.2f}" for k in ("strata", "largest", "forgotten")]
            rows.append([name, n, f"{factor(found):.2f}", f"{squared:.2f}", *shares, *bias, f"{expected:.2f}"])
    head = ["pool", "n", "factor", "errors", "plain: covered %", "strata", "largest", "forgotten"]
    print(table([*head, "bias: strata", "largest", "forgotten", "expected"], rows))
    equal = min(value for name, value in factors.items() if name.startswith(EQUAL))
    mostly = min(value for name, value in factors.items() if name.startswith("mostly"))
    return [
        Verdict("judge_next", "factor, equal spreads", equal, 0.95, True, unit=""),
        Verdict("judge_next", "factor, two of five lists differ", mostly, 1.5, True, unit=""),
        Verdict("judge_next", "largest bias, in standard deviations", max(biases), 0.06, False, unit=""),
        Verdict("judge_next", "coverage below that of a plain draw", max(covered), 0.015, False, unit=""),
        Verdict("judge_next", "expected width, off", max(off), 0.1, False, unit=""),
    ]
