"""Refits of models on given supports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import PathPlan, refit_strength, refitting
from sparserank.paths.makers import OnColumns
from sparserank.paths.relaxed import MIN_TOL
from sparserank.paths.result import PathResult, Point
from sparserank.penalties import Ridge
from sparserank.solvers import Solution, Status
from sparserank.solvers.lockstep import Evaluate, Seconds, Steps
from sparserank.solvers.solution import Iterate

TOUCH = 1e-100  # a weight that is in the support and moves no score


@dataclass(frozen=True, eq=False)
class GivenSupports(OnColumns):
    """A path maker: the ridge solution on each of these sets of coefficients, as in `relaxed`.

    starts   (n_sets, n_coefficients) CSR, the start of each solve; its entries are the set; an empty set gives the
             model 0
    monotone    of all coefficients, or None
    """

    starts: sp.csr_array
    monotone: tuple[int, ...] | None = None

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        points, ridge = [], []
        for i in range(self.starts.shape[0]):
            began = yield Seconds()
            start = self.starts[[i]].toarray()[0]
            if start.any():
                solution = yield from refitting(objective, start, max(plan.tol, MIN_TOL), self.monotone)
                ridge.append(refit_strength(objective, np.flatnonzero(start)))
            else:
                here = yield Evaluate(objective, start)
                solution = Solution(Iterate(start, here, here.value), np.nan, None, 0, Status.NOT_CERTIFIED)
                ridge.append(np.nan)
            now = yield Seconds()
            points.append(Point.of(solution, now - began))
        return PathResult.of(
            points,
            Ridge(),
            np.array(ridge),
            float(np.nanmax([*ridge, 0.0])),
            float(np.abs(objective.gradient_at_zero).max()),
            objective,
            plan.feature_names,
            ridge=np.array(ridge),
        )

    def n_points(self, plan: PathPlan) -> int:
        return int(self.starts.shape[0])
