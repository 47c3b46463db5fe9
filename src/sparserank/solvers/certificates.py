"""Certificates from one value and gradient of the loss, without pairs or another pass over X."""

from __future__ import annotations

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.penalties.base import Penalty
from sparserank.solvers.solution import Iterate


def kkt_violation(objective: PairwiseObjective, penalty: Penalty, w: np.ndarray, gradient: np.ndarray) -> float:
    """Largest coordinate violation of stationarity at w, in units of the gradient.

    For lp, w = 0 is always stationary, so the coordinate prox with the largest curvature decides instead:
    h_j |w_j - prox(w_j - g_j / h_j)|.
    """
    usable = objective.varying & penalty.usable(len(w))
    if not usable.any():
        return 0.0
    if penalty.kkt_is_vacuous_at_zero:
        h = np.where(usable, objective.curvature, 1.0)
        residual = h * np.abs(w - penalty.prox(w - gradient / h, 1.0 / h))
    else:
        residual = penalty.subdiff_distance(w, gradient)
    return float(residual[usable].max())


def dual_scale(objective: PairwiseObjective, penalty: Penalty, here: Iterate) -> tuple[float, float]:
    """Best scale s of the dual point theta = -s v phi' and the dual value there: the loss's half and the penalty's.

    D(s) = -sum_p v_p phi*(s phi'_p) - c(s), c as in `Penalty.conjugate`. Source: the Fenchel dual of mean loss +
    penalty.
    """
    dual = objective.dual(here.w, here.at)
    conjugate = penalty.conjugate(here.w, here.gradient)
    s = dual.best_scale(conjugate.limit, conjugate.cost, conjugate.slope)
    return s, -dual.value(s) - conjugate.value(s)


def duality_gap(objective: PairwiseObjective, penalty: Penalty, here: Iterate) -> float:
    """loss + penalty(w) - D(s*): an upper bound on the distance to the optimal value, for convex penalties.

    With always-keep features, the bound is valid over |v_j| <= 10 max(1, |w_j|) for those features; w are the fitted
    weights.
    """
    return max(here.loss + penalty.value(here.w) - dual_scale(objective, penalty, here)[1], 0.0)


def gap_safe_screen(objective: PairwiseObjective, penalty: Penalty, here: Iterate) -> np.ndarray:
    """(n_features,) bool: features that are zero in every solution at this alpha, proved by the duality gap.

    The dual point of the solution is within sqrt(2 L gap) of ours, where L is the smoothness of the loss, because the
    conjugate, and so the dual, is strongly concave with 1 / (L v_p). Its gradient is then within that times ||K_j||_v
    of s g_j.
    """
    if not penalty.can_screen(objective.varying):
        return np.zeros(len(here.w), dtype=bool)
    s, dual = dual_scale(objective, penalty, here)
    gap = max(here.loss + penalty.value(here.w) - dual, 0.0)
    # The rounding of gap itself must not shrink the ball: 1e-15 is a few ulps of the terms it is a difference of.
    radius = np.sqrt(2.0 * objective.loss.smoothness * (gap + 1e-15 * (1.0 + here.loss)))
    slack = radius * np.sqrt(objective.pair_norms)
    return penalty.safely_zero(s * here.gradient, slack) & (here.w == 0)
