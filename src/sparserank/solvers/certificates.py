"""Certificates from one value and gradient of the loss: no pair, no further pass over X."""

from __future__ import annotations

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.penalties.base import NONNEGATIVE, NONPOSITIVE, Penalty
from sparserank.solvers.solution import Iterate

KEEP_BOX = 10.0  # always-keep coefficients are certified within KEEP_BOX * max(1, |w_j|): the dual needs a bound


def kkt_violation(objective: PairwiseObjective, penalty: Penalty, w: np.ndarray, gradient: np.ndarray) -> float:
    """Largest coordinate violation of stationarity at w, in units of the gradient.

    For lp, w = 0 is always stationary, so the coordinate prox with the largest curvature decides instead:
    h_j |w_j - prox(w_j - g_j / h_j)|.
    """
    usable = objective.varying & np.isfinite(penalty.feature_weights(len(w)))
    if not usable.any():
        return 0.0
    if penalty.kkt_is_vacuous_at_zero:
        h = np.where(usable, objective.curvature, 1.0)
        residual = h * np.abs(w - penalty.prox(w - gradient / h, 1.0 / h))
    else:
        residual = penalty.subdiff_distance(w, gradient)
    return float(residual[usable].max())


def _pull(gradient: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """What the penalty must hold back: |g_j|, or only the side that a sign constraint leaves open."""
    return np.where(
        signs == NONNEGATIVE,
        np.maximum(-gradient, 0.0),
        np.where(signs == NONPOSITIVE, np.maximum(gradient, 0.0), np.abs(gradient)),
    )


def dual_scale(objective: PairwiseObjective, penalty: Penalty, here: Iterate) -> tuple[float, float]:
    """Best scale s of the dual point theta = -s v phi' and the dual value D(s) there.

    D(s) = -sum_p v_p phi*(s phi'_p) - s sum_keep M_j |g_j| - sum_j (s |g_j| - alpha_j)_+^2 / (2 alpha2), the last term for
    ridge and elastic net only; without it s |g_j| <= alpha_j bounds s. Source: the Fenchel dual of mean loss + penalty.
    """
    w = here.w
    alphas = penalty.feature_alphas(len(w))
    pull = _pull(here.gradient, penalty.feature_signs(len(w)))
    finite = np.isfinite(alphas)
    alpha2 = penalty.shape()[0]  # convex penalties are the elastic-net family: their first shape parameter is alpha2
    dual = objective.dual(w, here.at)
    if alpha2 > 0:
        a, p = alphas[finite], pull[finite]
        s = dual.best_scale(np.inf, 0.0, lambda s: float(p @ np.maximum(s * p - a, 0.0)) / alpha2)
        return s, -dual.value(s) - float((np.maximum(s * p - a, 0.0) ** 2).sum()) / (2.0 * alpha2)
    kept = finite & (alphas == 0)
    cost = float((KEEP_BOX * np.maximum(1.0, np.abs(w[kept])) * pull[kept]).sum())
    limited = finite & (alphas > 0) & (pull > 0)
    s = dual.best_scale(float(np.min(alphas[limited] / pull[limited], initial=np.inf)), cost, None)
    return s, -dual.value(s) - s * cost


def duality_gap(objective: PairwiseObjective, penalty: Penalty, here: Iterate) -> float:
    """loss + penalty(w) - D(s*): an upper bound on the distance to the optimal value, for convex penalties.

    With always-keep features the bound holds over |w_j| <= 10 max(1, |w_j|) for those.
    """
    return max(here.loss + penalty.value(here.w) - dual_scale(objective, penalty, here)[1], 0.0)


def gap_safe_screen(objective: PairwiseObjective, penalty: Penalty, here: Iterate) -> np.ndarray:
    """(n_features,) bool: features that are zero in every solution at this alpha, proved by the duality gap.

    j is discarded when s |g_j| + sqrt(2 L gap) ||K_j||_v < alpha_j, L the smoothness of the loss: its conjugate, and so the
    dual, is strongly concave with 1 / (L v_p). Only for l1 (weights and signs included): with a quadratic part, or a concave
    penalty, nothing is discarded.
    """
    w, loss, gradient = here.w, here.loss, here.gradient
    if not penalty.is_convex or penalty.shape()[0] > 0:
        return np.zeros(len(w), dtype=bool)
    alphas = penalty.feature_alphas(len(w))
    if (alphas[objective.varying] == 0).any():  # the dual point is then only feasible within a box
        return np.isinf(alphas)
    s, dual = dual_scale(objective, penalty, here)
    gap = max(loss + penalty.value(w) - dual, 0.0)
    # The rounding of gap itself must not shrink the ball: 1e-15 is a few ulps of the terms it is a difference of.
    radius = np.sqrt(2.0 * objective.loss.smoothness * (gap + 1e-15 * (1.0 + loss)))
    discarded: np.ndarray = (
        s * _pull(gradient, penalty.feature_signs(len(w))) + radius * np.sqrt(objective.pair_norms) < alphas
    )
    return discarded & (w == 0)
