"""FenchelRank: Frank-Wolfe on the l1 ball, and the exact solution of the same problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from sparserank.errors import DataError
from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1
from sparserank.solvers.lockstep import Evaluate, Steps, run
from sparserank.solvers.loop import minimising, solve
from sparserank.solvers.prox_newton import ProxNewton
from sparserank.solvers.solution import Iterate, Solution, Status, Stop
from sparserank.weighting import LossEvaluation

MAX_EVALUATIONS = 60
FLAT = 1e-13  # a slope this small relative to the first one is zero up to rounding
STEPS = ("exact", "closed_form")
Point = tuple[float, float, float]  # value, slope and curvature of a function of one variable
LOG_ALPHA_RANGE = 25.0  # the constraint is inactive if it is not reached at exp(-25) alpha_max
EXACT_GOAL = 1e-6  # largest gap for which the exact solution is called optimal
EXACT_GAP = 1e-7  # target for radius times the KKT violation, a bound on its contribution to the gap
EXACT_TOL = 1e-9  # tolerance, relative to alpha_max, of the penalised problems that the exact solution solves


@dataclass(frozen=True)
class Ball:
    """The loss on ||w||_1 <= radius; its violation is Frank-Wolfe's duality gap."""

    objective: PairwiseObjective
    radius: float

    is_convex = True

    def start(self, w: np.ndarray | None) -> np.ndarray:
        return np.zeros(self.objective.n_features) if w is None else w

    def evaluate(self, w: np.ndarray) -> Steps[Iterate]:
        at: LossEvaluation = yield Evaluate(self.objective, w)
        return Iterate(w, at, at.value)

    def violation(self, here: Iterate) -> float:
        return self.radius * float(np.abs(here.gradient).max()) + float(here.w @ here.gradient)

    def gap(self, here: Iterate) -> float | None:
        return self.violation(here)


class FrankWolfe:
    """One feature per iteration: a step towards the vertex of the ball that the gradient points to.

    Parameters
        step   'exact' minimises along the segment (equation 19); 'closed_form' is the alternative rule of Section 5.6
    Attributes
        choices   (feature, sign, share of the segment) of each iteration
    """

    gives_up = Status.STALLED

    def __init__(self, step: str = "exact") -> None:
        if step not in STEPS:
            raise DataError(f"step must be one of {', '.join(STEPS)}; got {step!r}.")
        self.rule = step
        self.n_iter = 0
        self.choices: list[tuple[int, float, float]] = []

    def begin(self, problem: Ball, stop: Stop) -> None:
        self._problem = problem
        self.n_iter = 0
        self.choices.clear()

    def step(self, iterate: Iterate, violation: float) -> Steps[Iterate | None]:
        objective = self._problem.objective
        gradient = iterate.gradient
        j = int(np.argmax(np.abs(gradient)))
        sign = 1.0 if -gradient[j] >= 0 else -1.0
        direction = -iterate.w
        direction[j] += self._problem.radius * sign
        if self.rule == "exact":
            line = objective.along(iterate.w, direction)
            mu = exact_minimum(line, line(0.0))
        else:
            mu = min(max(violation / (2.0 * objective.pair_square(direction)), 0.0), 1.0)
        self.choices.append((j, sign, mu))
        self.n_iter += 1
        return (yield from self._problem.evaluate(iterate.w + mu * direction))


def frank_wolfe(
    objective: PairwiseObjective,
    radius: float,
    *,
    epsilon: float = 1e-3,
    max_iter: int = 1000,
    solver: FrankWolfe | None = None,
) -> Solution:
    """FenchelRank as published, without pairs: one feature per iteration, stop at gap <= epsilon or after max_iter.

    Parameters
        radius   radius of the l1 ball, > 0, in the units of w
        solver   FrankWolfe with the rule of the step, which then has the choices of each iteration; default exact steps
    Source
        Lai et al. (2012), Algorithm 1, in original units w' = radius w: the paper's D(w_t) is minus the mean loss, its
        d^T K is -radius times the gradient. The closed form is clip(p <d, Kb> / (2 r^2 ||Kb||^2), 0, 1); the paper
        swaps min and max and omits the factor.
    """
    stop = Stop(tol=epsilon, max_iter=max_iter)
    return run(minimising(solver or FrankWolfe(), Ball(objective, radius), None, stop))


def solve_ball(objective: PairwiseObjective, radius: float) -> Solution:
    """The exact minimum of the loss over ||w||_1 <= radius.

    Finds the alpha at which the norm of the l1-penalised optimum passes the radius (it falls as alpha grows), by
    Brent's method on log alpha with warm starts. With almost collinear features, the norm can jump there. Both sides
    are then optimal at that alpha, and so is the point between them whose norm is the radius. If the norm stays below
    the radius for every alpha, the constraint is not active.
    """
    top = float(np.abs(objective.gradient_at_zero).max())
    if top == 0:  # no strength needs to be searched
        return _exact(objective, radius, np.zeros(objective.n_features), 0)
    stop = Stop(tol=min(EXACT_TOL, EXACT_GAP / (radius * top)), max_iter=1000, scale=top)
    start: Iterate | None = None
    n_iter = 0
    highest = float(np.log(top))
    inside = (-radius, np.zeros(objective.n_features))
    outside = (np.inf, np.zeros(objective.n_features))

    def excess(log_alpha: float) -> float:
        nonlocal start, n_iter, inside, outside
        if log_alpha >= highest:
            return -radius  # at alpha_max, w = 0 is the optimum
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


def _exact(objective: PairwiseObjective, radius: float, w: np.ndarray, n_iter: int) -> Solution:
    """The certificate of an exact solution, whose history is the solution alone."""
    ball = Ball(objective, radius)
    iterate = run(ball.evaluate(w))
    gap = ball.violation(iterate)
    status = Status.OPTIMAL if gap <= EXACT_GOAL else Status.STALLED
    return Solution(iterate, gap, gap, n_iter, status, [(0.0, iterate.value, gap)])


def _of_norm(radius: float, inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """The point of l1 norm `radius` between `inside`, of at most that norm, and `outside`, of a larger norm."""

    def excess(share: float) -> float:
        return float(np.abs(inside + share * (outside - inside)).sum()) - radius

    if excess(0.0) >= 0:
        return inside
    w = inside + float(brentq(excess, 0.0, 1.0, xtol=1e-300, maxiter=2000)) * (outside - inside)
    return np.asarray(w * min(1.0, radius / float(np.abs(w).sum())))


def exact_minimum(at: Callable[[float], Point], first: Point) -> float:
    """argmin over 0 <= mu <= 1 of a convex, piecewise quadratic function with slope < 0 at 0.

    Newton steps on the piecewise linear slope, kept in a bracket. Once a step stays on its piece, it reaches the
    minimum.

    Parameters
        at     mu -> (value, slope, curvature)
        first  the same at mu = 0
    """
    low = 0.0
    mu = 0.0
    _, slope, curvature = first
    flat = FLAT * abs(slope)
    top: float | None = None  # smallest mu known to have slope > 0
    for _ in range(MAX_EVALUATIONS):
        newton = mu - slope / curvature if curvature > 0 else 1.0
        following = min(newton, 1.0)
        if top is not None and not low < following < top:
            following = 0.5 * (low + top)
        if following == mu:
            break
        mu = following
        _, slope, curvature = at(mu)
        if abs(slope) <= flat or (mu >= 1.0 and slope < 0):
            break
        if slope < 0:
            low = mu
        else:
            top = mu
    return mu
