"""Small ranking problems for tests; never constant, always with ties where asked."""

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.objective import PairwiseObjective
from sparserank.penalties import Penalty
from sparserank.solvers.lockstep import run
from sparserank.solvers.problem import Penalised
from sparserank.solvers.solution import Iterate


def small_problem(seed: int, n_queries: int = 6, d: int = 5, grades: int = 3, real: bool = False) -> RankingDataset:
    """Uneven lists (1 to 9 documents), some without a pair; integer or real relevance."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 10, size=n_queries)
    sizes[0] = 8
    qid = np.repeat(np.arange(n_queries), sizes)
    X = rng.standard_normal((len(qid), d))
    y = rng.random(len(qid)).round(2) if real else rng.integers(0, grades, size=len(qid)).astype(float)
    y[qid == n_queries - 1] = 1.0  # the last query has no pair
    y[:2] = [0.0, grades - 1.0]
    return RankingDataset(X, y, qid)


def long_real_problem(seed: int, m: int = 40, d: int = 4) -> RankingDataset:
    """Two lists of many real grades: the Fenwick tree's case."""
    rng = np.random.default_rng(seed)
    qid = np.repeat([0, 1], m)
    return RankingDataset(rng.standard_normal((2 * m, d)), rng.standard_normal(2 * m).round(1), qid)


def unit_problem(seed: int) -> RankingDataset:
    """Features in [0, 1] with ties: 4 vary within lists, 3 varies only between lists, 5 is constant.

    Five lists of 27 documents in all; the last two have no pair, and the very last has one document.
    """
    rng = np.random.default_rng(seed)
    sizes = np.array([8, 5, 7, 6, 1])
    qid = np.repeat(np.arange(5), sizes)
    X = rng.random((27, 6)).round(1)
    X[:, 3] = rng.random(5)[qid]
    X[:, 5] = 0.1
    y = np.clip(np.round(2.5 * X[:, 0] - 1.5 * X[:, 2] + 0.8 * rng.standard_normal(27)), 0, 2)
    y[qid == 3] = 1.0
    return RankingDataset(X, y, qid)


def copies_of_queries(data: RankingDataset, counts: list[int]) -> RankingDataset:
    """Query q counts[q] times, each time under another id."""
    queries = np.repeat(np.arange(data.n_queries), counts)
    rows = [np.arange(data.query_ptr[q], data.query_ptr[q + 1]) for q in queries]
    qid = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
    taken = np.concatenate(rows)
    return RankingDataset(data.X[taken], data.relevance[taken], qid)


def iterate_at(objective: PairwiseObjective, penalty: Penalty, w: np.ndarray) -> Iterate:
    """The iterate that a solver would have at w."""
    return run(Penalised(objective, penalty).evaluate(w))
