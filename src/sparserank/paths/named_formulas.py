"""Formulas with fixed weights as a path: nothing is fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import PathPlan
from sparserank.paths.makers import OnColumns
from sparserank.paths.result import PathResult, Point
from sparserank.solvers import Solution, Status
from sparserank.solvers.lockstep import Evaluate, Seconds, Steps
from sparserank.solvers.solution import Iterate


@dataclass(frozen=True)
class NamedFormulas(OnColumns):
    """A path maker with one point for each formula, the same on any training queries.

    names     of the formulas
    columns   of each formula, the columns whose sum is its score
    """

    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        scale, points = objective.weighting.scale_of(objective.k), []
        for columns in self.columns:
            began = yield Seconds()
            w = np.zeros(objective.n_features)
            w[list(columns)] = 1.0 if scale is None else scale[0, list(columns)]  # 1 in units of the columns
            here = yield Evaluate(objective, w)
            now = yield Seconds()
            solution = Solution(Iterate(w, here, here.value), np.nan, None, 0, Status.NOT_CERTIFIED)
            points.append(Point.of(solution, now - began))
        alpha_max = float(np.abs(objective.gradient_at_zero).max())
        return PathResult.of(
            points,
            self.rules,
            np.ones(len(points)),
            1.0,
            alpha_max,
            objective,
            plan.feature_names,
        )

    def n_points(self, plan: PathPlan) -> int:
        return len(self.names)
