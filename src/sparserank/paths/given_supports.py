"""Models on supports that are given: a refit of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import refit_strength, refitting
from sparserank.paths.makers import PathPlan
from sparserank.paths.refits import LEAST_TOL
from sparserank.paths.result import PathResult, Point
from sparserank.penalties import Ridge
from sparserank.solvers.lockstep import Seconds, Steps

TOUCH = 1e-100  # a weight that is in the support and moves no score


@dataclass(frozen=True, eq=False)
class GivenSupports:
    """A path maker: the ridge solution on each of these sets of coefficients, as `refits` have it.

    starts   (n_sets, n_coefficients) where each solve starts; its non-zero entries are the set
    signs    of all coefficients, or None
    """

    starts: np.ndarray
    signs: tuple[int, ...] | None = None

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        points, ridge = [], []
        for start in self.starts:
            began = yield Seconds()
            solution = yield from refitting(objective, start, max(plan.tol, LEAST_TOL), self.signs)
            now = yield Seconds()
            points.append(Point.of(solution, now - began))
            ridge.append(refit_strength(objective, np.flatnonzero(start)))
        return PathResult.of(
            points,
            Ridge(),
            np.array(ridge),
            max(ridge),
            float(np.abs(objective.gradient_at_zero).max()),
            objective.n_pairs,
            objective.total_weight,
            plan.feature_names or tuple(f"f{j + 1}" for j in range(objective.n_features // objective.width)),
            width=objective.width,
            ridge=np.array(ridge),
        )

    def n_points(self, plan: PathPlan) -> int:
        return len(self.starts)


def touching(n_coefficients: int, columns: np.ndarray) -> np.ndarray:
    """(n_coefficients,) a start on these columns that moves no score."""
    start = np.zeros(n_coefficients)
    start[columns] = TOUCH
    return start
