"""A path maker: for k = 1, 2, ..., the model of the k features whose gradient at 0 is largest,
refitted with a little ridge."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.paths import PathPlan, PathResult, Point, SizedMaker
from sparserank.penalties import Ridge
from sparserank.solvers import ProxNewton, Stop
from sparserank.solvers.lockstep import Seconds, Steps
from sparserank.solvers.loop import solving


@dataclass(frozen=True, repr=False)
class GradientSizes(SizedMaker):
    most: int = 3
    strength: float = 1e-3

    name: ClassVar[str] = "gradient_sizes"

    def n_points(self, plan: PathPlan) -> int:
        return self.most

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        usable = objective.varying & self.usable(objective.n_features)
        worth = np.where(usable, np.abs(objective.gradient_at_zero), -1.0)
        order = np.argsort(-worth, kind="stable")
        top = float(np.abs(objective.gradient_at_zero).max())
        points: list[Point] = []
        for k in range(1, self.most + 1):
            began = yield Seconds()
            ridge = Ridge(self.strength, drop=tuple(map(int, order[k:])))
            solution = yield from solving(ProxNewton(), objective, ridge, stop=Stop(plan.tol, plan.max_iter, top))
            now = yield Seconds()
            points.append(Point.of(solution, now - began))
            if plan.tell is not None:
                plan.tell(self.most)
        strengths = np.full(self.most, self.strength)
        return PathResult.of(points, self, strengths, self.strength, top, objective)
