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
    from sparserank.solvers.certificates import duality_gap, kkt_violation

    data, penalty = problem.data, L1(problem.alpha)
    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=problem.n_threads)
    w = w.astype(np.float64)
    loss, gradient = objective.value_and_gradient(w)
    kkt = kkt_violation(objective, penalty, w, gradient) / problem.alpha_max
    return Certificate(loss + penalty.value(w), kkt, duality_gap(objective, penalty, w, loss, gradient))


def alpha_max(data: Ranking, n_threads: int = 1) -> float:
    """Largest |gradient| of the mean loss at w = 0."""
    from sparserank.objective import PairwiseObjective

    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=n_threads)
    return float(np.abs(objective.gradient_at_zero).max())


def ndcg_at_10(data: Ranking, scores: np.ndarray) -> float:
    from sparserank.metrics import parse_metric

    return float(np.mean(parse_metric("ndcg@10")(scores, data.relevance, data.query_ptr)))
