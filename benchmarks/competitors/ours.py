"""sparserank itself: from arrays to coefficients, alpha_max computed on the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.competitors.base import KKT, Fit, Problem


@dataclass(frozen=True)
class Ours:
    packages: tuple[str, ...] = ("sparserank",)
    tolerances: tuple[float, ...] = (KKT,)
    minimises_ours: bool = True

    def fit(self, problem: Problem, tol: float) -> Fit:
        from sparserank.objective import PairwiseObjective
        from sparserank.penalties import L1
        from sparserank.solvers import ProxNewton, Stop, solve

        data = problem.data
        objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=problem.n_threads)
        scale = float(np.abs(objective.gradient_at_zero).max())
        solution = solve(ProxNewton(), objective, L1(problem.alpha), stop=Stop(tol=tol, scale=scale), warn=False)
        return Fit(solution.w, note=f"{solution.n_iter} Newton steps")
