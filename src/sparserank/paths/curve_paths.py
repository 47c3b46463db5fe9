"""A path on curves, which ends when it has many curves."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sparserank.objective import PairwiseObjective
from sparserank.paths.makers import PathMaker, PathPlan
from sparserank.paths.result import PathResult
from sparserank.solvers.lockstep import Steps

MAX_FEATURES = (
    30  # where the path ends: curves of more features are neither small nor, from a few hundred queries, to be learned
)


@dataclass(frozen=True)
class CurvePath:
    """A path maker: the path of a penalty on an objective with knots; it ends after MAX_FEATURES features."""

    maker: PathMaker

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        most = MAX_FEATURES if plan.k is None else min(plan.k, MAX_FEATURES)
        return self.maker.path(objective, replace(plan, k=most))

    def n_points(self, plan: PathPlan) -> int:
        return self.maker.n_points(plan)
