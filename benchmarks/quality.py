"""What a result is worth, judged alike for everybody: certificate and held-out NDCG@10."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.competitors.base import Problem
from benchmarks.datasets import Ranking


@dataclass(frozen=True)
class Certificate:
    """value: objective; kkt: kkt_violation / alpha_max; gap: duality gap, an upper bound on value - optimum."""

    value: float
    kkt: float
    gap: float


def certify(problem: Problem, w: np.ndarray) -> Certificate:
    """Certificate of any w, wherever it comes from."""
    from sparserank.objective import PairwiseObjective
    from sparserank.penalties import L1
    from sparserank.solvers.problem import Penalised

    data = problem.data
    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=problem.n_threads)
    w, judged = w.astype(np.float64), Penalised(objective, L1(problem.alpha))
    here = judged.iterate(w, objective.evaluate(w))
    gap = judged.gap(here)
    assert gap is not None
    return Certificate(here.value, judged.violation(here) / problem.alpha_max, gap)


def alpha_max(data: Ranking, n_threads: int = 1) -> float:
    """Largest |gradient| of the mean loss at w = 0."""
    from sparserank.objective import PairwiseObjective

    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=n_threads)
    return float(np.abs(objective.gradient_at_zero).max())


def ndcg_at_10(data: Ranking, scores: np.ndarray) -> float:
    from sparserank.metrics import parse_metric

    return float(np.mean(parse_metric("ndcg@10")(scores, data.relevance, data.query_ptr)))
