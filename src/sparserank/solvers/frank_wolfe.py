"""FenchelRank: Frank-Wolfe on the l1 ball, and the exact solution of the same problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from sparserank.errors import DataError
from sparserank.execution.threads import one_blas_thread
from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1
from sparserank.solvers.line_search import exact_minimum
from sparserank.solvers.loop import solve
from sparserank.solvers.prox_newton import ProxNewton
from sparserank.solvers.solution import Iterate, Stop

STEPS = ("exact", "closed_form")
LOG_ALPHA_RANGE = 25.0  # the constraint counts as inactive when it still is not reached at exp(-25) alpha_max
EXACT_GAP = 1e-7  # radius times the KKT violation bounds what it adds to the gap
EXACT_TOL = 1e-9  # of alpha_max: kkt_violation of the penalised problems behind the exact solution


@dataclass(frozen=True)
class BallSolution:
    """A point of the ball ||w||_1 <= radius, in original units, and its certificate.

    gap        radius max|g| + w.g >= loss - minimum, from the gradient g of the mean loss
    alpha      multiplier of the constraint: w also minimises loss + alpha ||w||_1 (0: the constraint is not active)
    features, signs, steps   (n_iter,) what each iteration chose; empty for the exact solution
    gaps, losses             (n_iter + 1,) before each iteration and at the end
    """

    w: np.ndarray
    loss: float
    gap: float
    alpha: float
    n_iter: int
    features: np.ndarray
    signs: np.ndarray
    steps: np.ndarray
    gaps: np.ndarray
    losses: np.ndarray


def frank_wolfe(
    objective: PairwiseObjective, radius: float, *, epsilon: float = 1e-3, max_iter: int = 1000, step: str = "exact"
) -> BallSolution:
    """FenchelRank as published, without pairs: one feature per iteration, stop at gap <= epsilon or after max_iter.

    Parameters
        radius   of the l1 ball, > 0, in the units of w
        step     'exact' minimises along the segment (equation 19); 'closed_form' is the alternative rule of Section 5.6
    Notes
        Its loop is its own: the published stopping rule, a duality gap, is part of the algorithm.
    Source
        Lai et al. (2012), Algorithm 1, in original units w' = radius w: the paper's D(w_t) is minus the mean loss, its
        d^T K is -radius times the gradient. The closed form is clip(p <d, Kb> / (2 r^2 ||Kb||^2), 0, 1): the paper prints
        min and max swapped and leaves out the factor.
    """
    if step not in STEPS:
        raise DataError(f"step must be one of {', '.join(STEPS)}; got {step!r}.")
    w = np.zeros(objective.n_features)
    features: list[int] = []
    signs: list[float] = []
    steps: list[float] = []
    gaps: list[float] = []
    losses: list[float] = []
    with one_blas_thread():
        while True:
            loss, gradient = objective.value_and_gradient(w)
            j = int(np.argmax(np.abs(gradient)))
            gap = radius * abs(float(gradient[j])) + float(w @ gradient)
            gaps.append(gap)
            losses.append(loss)
            if gap <= epsilon or len(steps) >= max_iter:
                break
            sign = 1.0 if -gradient[j] >= 0 else -1.0
            direction = -w
            direction[j] += radius * sign
            line = objective.along(w, direction)
            if step == "exact":
                mu = exact_minimum(line, line(0.0))
            else:
                mu = min(max(gap / (2.0 * objective.pair_square(direction)), 0.0), 1.0)
            w = w + mu * direction
            features.append(j)
            signs.append(sign)
            steps.append(mu)
    return BallSolution(
        w, loss, gap, abs(float(gradient[j])), len(steps),
        np.array(features, dtype=np.int64), np.array(signs), np.array(steps), np.array(gaps), np.array(losses),
    )  # fmt: skip


def solve_ball(objective: PairwiseObjective, radius: float) -> BallSolution:
    """The exact minimum of the loss over ||w||_1 <= radius.

    Finds the alpha at which the norm of the l1-penalised optimum passes the radius (it falls as alpha grows), by Brent's
    method on log alpha with warm starts. Almost collinear features let the norm jump there: the two sides are then
    both optimal at that alpha, and so is the point between them whose norm is the radius. Where the norm stays below
    the radius for every alpha the constraint is not active.
    """
    top = float(np.abs(objective.gradient_at_zero).max())
    if top == 0:  # there is no strength to search
        return _exact(objective, radius, np.zeros(objective.n_features), 0)
    stop = Stop(tol=min(EXACT_TOL, EXACT_GAP / (radius * top)), max_iter=1000, scale=top)
    start: Iterate | None = None
    n_iter = 0
    highest = float(np.log(top))
    inside, outside = (-radius, np.zeros(objective.n_features)), (np.inf, np.zeros(objective.n_features))

    def excess(log_alpha: float) -> float:
        nonlocal start, n_iter, inside, outside
        if log_alpha >= highest:
            return -radius  # there w = 0 is the optimum
        s = solve(ProxNewton(), objective, L1(float(np.exp(log_alpha))), stop=stop, start=start, warn=False)
        start = s.iterate
        n_iter += s.n_iter
        value = float(np.abs(s.w).sum()) - radius
        if inside[0] <= value <= 0:
            inside = value, s.w
        elif 0 < value <= outside[0]:
            outside = value, s.w
        return value

    low = highest - 1.0
    while excess(low) < 0 and low > highest - LOG_ALPHA_RANGE:
        low -= 1.0
    w = inside[1]
    if np.isfinite(outside[0]):
        brentq(excess, low, highest, xtol=1e-13, rtol=1e-14, maxiter=100)
        w = _of_norm(radius, inside[1], outside[1])
    return _exact(objective, radius, w, n_iter)


def _exact(objective: PairwiseObjective, radius: float, w: np.ndarray, n_iter: int) -> BallSolution:
    """The certificate of an exact solution, without a history of steps."""
    loss, g = objective.value_and_gradient(w)
    alpha = float(np.abs(g).max())
    gap = radius * alpha + float(w @ g)
    none = np.zeros(0)
    return BallSolution(
        w, loss, gap, alpha, n_iter, none.astype(np.int64), none, none, np.array([gap]), np.array([loss])
    )


def _of_norm(radius: float, inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """The point of norm `radius` between one of at most and one of more than that norm."""

    def excess(share: float) -> float:
        return float(np.abs(inside + share * (outside - inside)).sum()) - radius

    if excess(0.0) >= 0:
        return inside
    w = inside + float(brentq(excess, 0.0, 1.0, xtol=1e-300, maxiter=2000)) * (outside - inside)
    return np.asarray(w * min(1.0, radius / float(np.abs(w).sum())))
