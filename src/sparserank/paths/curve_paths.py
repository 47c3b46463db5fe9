"""A path on curves: features enter straight, or bent at a further price."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparserank.curves import CURVE_FREEDOM
from sparserank.objective import PairwiseObjective
from sparserank.paths.makers import PathPlan, PenaltyPath
from sparserank.paths.result import PathResult
from sparserank.penalties import Penalty
from sparserank.penalties.curved import Curved, curved
from sparserank.solvers.lockstep import Steps

MOST_FEATURES = (
    50  # where the path ends: curves of more features are neither small nor, from a few hundred queries, to be learned
)


@dataclass(frozen=True)
class CurvePath:
    """A path maker: that of a penalty on an objective with knots, whose coefficients are linear parts and bends; it ends behind MOST_FEATURES
    features. The penalty of its path is the scalar one, resolved, without its rules."""

    maker: PenaltyPath

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        penalty = on_curves(self.maker.penalty, objective)
        most = MOST_FEATURES if plan.max_features is None else min(plan.max_features, MOST_FEATURES)
        path = yield from replace(self.maker, penalty=penalty).path(objective, replace(plan, max_features=most))
        return replace(path, penalty=of_curves(path.penalty))

    def n_points(self, plan: PathPlan) -> int:
        return self.maker.n_points(plan)


def of_curves(penalty: Penalty) -> Penalty:
    """The scalar penalty that a penalty on curves is made of, at its strength."""
    assert isinstance(penalty, Curved)
    return penalty.of.with_alpha(penalty.alpha)


def on_curves(penalty: Penalty, objective: PairwiseObjective) -> Curved:
    """The penalty on the coefficients of curves; a feature bends at the price of as many coefficients as its bends have degrees of freedom."""
    knots = objective.knots
    assert knots is not None
    bends = objective.curvature.reshape(-1, objective.width)[:, 1:].sum(axis=1)  # 1 / (1 + rho d_k) each
    freedom = np.where(knots.directions == 0, bends, np.clip(knots.n_segments - 1.0, 0.0, CURVE_FREEDOM))
    kappa = np.sqrt(freedom)
    return curved(penalty, objective.width, kappa, np.abs(knots.directions))
