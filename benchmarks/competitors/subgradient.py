"""Projected subgradient method on FSMRank's 2d nonnegative coordinates: u <- max(u - c / sqrt(t) g, 0)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sparserank.papers.solvers.fsm import FsmProblem


@dataclass(frozen=True)
class Subgradient:
    """One pass per iteration gives the objective and g at the same point; on u >= 0 the l1 term is linear."""

    c: float

    def minimise(self, problem: FsmProblem, n_iter: int) -> tuple[np.ndarray, np.ndarray]:
        """Moments (n_iter,) of the clock at which the objectives (n_iter,) of the points, from u = 0 on, were known."""
        from sparserank.solvers.lockstep import run

        moments, objectives = np.empty(n_iter), np.empty(n_iter)
        usable = np.isfinite(problem.costs)
        costs = np.where(usable, problem.costs, 0.0)
        u = np.zeros(problem.dimension)
        for t in range(n_iter):
            here = run(problem.evaluate(u))
            value, gradient = here.loss, here.gradient
            objectives[t] = value + costs @ u
            moments[t] = time.perf_counter()
            u = np.where(usable, np.maximum(u - self.c / np.sqrt(t + 1.0) * (gradient + costs), 0.0), 0.0)
        return moments, objectives
