"""FSMRank: loss + redundancy of large weights + weighted l1, by accelerated gradient with line search."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparserank.errors import DataError
from sparserank.objective import PairwiseObjective
from sparserank.solvers.lockstep import Evaluate, Steps, run
from sparserank.solvers.loop import minimising
from sparserank.solvers.solution import Iterate, Solution, Status, Stop
from sparserank.weighting import LossEvaluation

GROWTH = 2.0
FIRST_L = 2.0**-10  # first L of the line search, as a multiple of L0


@dataclass(frozen=True)
class FsmProblem:
    """(lambda1/2) |w|^T A |w| + lambda2 sum_j |w_j| / importance_j + f(w), or with split=False the quadratic w^T A w.

    Conventions
        `split` is the published equation (2): 2d nonnegative coordinates (u, v), w = u - v, quadratic (u + v)^T A (u +
        v). With A >= 0 no solution has u_j v_j > 0, hence |w|. Equation (1) has w^T A w: a different problem.
        importance (d,) >= 0, and 0 excludes the feature; similarity (d, d) symmetric, entries >= 0.
    """

    objective: PairwiseObjective
    lambda1: float
    lambda2: float
    importance: np.ndarray
    similarity: np.ndarray
    split: bool = True

    @property
    def dimension(self) -> int:
        return self.objective.n_features * (2 if self.split else 1)

    @property
    def costs(self) -> np.ndarray:
        """(dimension,) strength of the l1 term; inf if the feature may not be used."""
        usable = self.objective.varying & (self.importance > 0)
        cost = np.full(len(usable), np.inf)
        with np.errstate(over="ignore"):  # a tiny importance gives inf, like an importance of 0
            cost[usable] = self.lambda2 / self.importance[usable]
        return np.tile(cost, 2) if self.split else cost

    def weights(self, u: np.ndarray) -> np.ndarray:
        """(d,) coefficients w of a point of the solver's space."""
        d = self.objective.n_features
        return u[:d] - u[d:] if self.split else u

    is_convex = False  # unless the similarity is positive semidefinite, which is not required

    def start(self, w: np.ndarray | None) -> np.ndarray:
        return np.zeros(self.dimension) if w is None else w

    def evaluate(self, w: np.ndarray) -> Steps[Iterate]:
        """The iterate at a point of the solver's space; loss and gradient are those of the differentiable part."""
        d = self.objective.n_features
        loss, g, _ = yield Evaluate(self.objective, self.weights(w))
        # Quadratic term: u + v in equation (2), w in equation (1) (theory.md section 4).
        magnitude = w[:d] + w[d:] if self.split else w
        similar = self.similarity @ magnitude
        value = loss + 0.5 * self.lambda1 * float(magnitude @ similar)
        by_similarity = self.lambda1 * similar
        # The loss depends on u - v, so its gradient by v is -g; that of the quadratic is the same for both.
        gradient = np.concatenate([g + by_similarity, -g + by_similarity]) if self.split else g + by_similarity
        used = w != 0
        nonsmooth = float(np.abs(w[used]) @ self.costs[used])
        return Iterate(w, LossEvaluation(value, gradient, 0.0), value + nonsmooth)

    def violation(self, here: Iterate) -> float:
        return self.kkt_violation(here.w, here.gradient)

    def gap(self, here: Iterate) -> float | None:
        return None

    def prox(self, z: np.ndarray, gradient: np.ndarray, L: float) -> np.ndarray:
        """The projection step, in closed form."""
        # Gradient step, then: subtract costs / L and project on u >= 0, or soft-threshold without the split.
        step = z - gradient / L
        shrunk = np.maximum((step if self.split else np.abs(step)) - self.costs / L, 0.0)
        return shrunk if self.split else np.copysign(shrunk, step)

    def kkt_violation(self, u: np.ndarray, gradient: np.ndarray) -> float:
        """Largest distance of -gradient to the subdifferential of the l1 term (and of u >= 0)."""
        costs = self.costs
        usable = np.isfinite(costs)
        g = gradient[usable]
        c = costs[usable]
        x = u[usable]
        # At 0, -g must be at most c (split), or within [-c, c]; elsewhere, -g must be sign(x) c.
        outside = np.maximum(-g - c, 0.0) if self.split else np.maximum(np.abs(g) - c, 0.0)
        return float(np.max(np.where(x != 0, np.abs(g + np.sign(x) * c), outside), initial=0.0))


class Nesterov:
    """Algorithm 1 of Lai et al. (2013): Nesterov's steps with Nemirovski's line search.

    L starts at L0 / 2^10, doubles until the quadratic bound is satisfied, and never shrinks. The method stops when the
    objective changes by a share of at most `tol`, which does not show optimality. The violation does, if A is positive
    semidefinite.
    """

    gives_up = Status.NOT_CERTIFIED

    def __init__(self, tol: float = 1e-4) -> None:
        self.tol = tol
        self.n_iter = 0

    def begin(self, problem: FsmProblem, stop: Stop) -> None:
        self._problem = problem
        # L0 = (4 + 2 lambda1) d of Theorem 1, for features in [0, 1] and similarities in [0, 1]
        self._L = (4.0 + 2.0 * problem.lambda1) * problem.objective.n_features * FIRST_L
        self._momentum = 1.0
        self._from: Iterate | None = None  # the extrapolated point
        self._before: Iterate | None = None
        self.lipschitz: list[float] = []
        self.n_iter = 0

    def step(self, iterate: Iterate, violation: float) -> Steps[Iterate | None]:
        before = self._before
        self._before = iterate
        if before is not None:
            if abs(iterate.value - before.value) <= self.tol * abs(before.value):
                return None
            # Extrapolate: t_{k+1} = (1 + sqrt(1 + 4 t_k^2)) / 2, z = w_k + (t_k - 1) / t_{k+1} (w_k - w_{k-1}).
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self._momentum**2))
            z = iterate.w + (self._momentum - 1.0) / following * (iterate.w - before.w)
            self._momentum = following
            self._from = yield from self._problem.evaluate(z)
        z = self._from or iterate
        # Line search: double L until smooth(trial) <= smooth(z) + gradient.(trial - z) + L / 2 |trial - z|^2.
        while True:
            trial = yield from self._problem.evaluate(self._problem.prox(z.w, z.gradient, self._L))
            change = trial.w - z.w
            bound = z.loss + float(z.gradient @ change) + 0.5 * self._L * float(change @ change)
            if trial.loss <= bound + 1e-14 * (1.0 + abs(bound)):
                break
            self._L *= GROWTH
            if not np.isfinite(self._L):
                raise DataError(
                    "the objective of FSMRank is outside the range of floating-point numbers; multiply the features "
                    "by constants that bring their values near 1, or use smaller strengths."
                )
        self.lipschitz.append(self._L)
        self.n_iter += 1
        return trial


def accelerated_gradient(
    problem: FsmProblem, *, max_iter: int = 400, tol: float = 1e-4, solver: Nesterov | None = None
) -> Solution:
    """Nesterov's method from w = 0 until its published rule or max_iter ends it. The status is 'not certified' if the
    rule ended it; `problem.weights` gives the weights of the features.

    solver   Nesterov with this `tol`, which then has L of each iteration
    """
    s = run(minimising(solver or Nesterov(tol), problem, None, Stop(tol=-1.0, max_iter=max_iter)))
    objectives = [value for _, value, _ in s.history]
    if len(objectives) > 1 and abs(objectives[-1] - objectives[-2]) <= tol * abs(objectives[-2]):
        return replace(s, status=Status.NOT_CERTIFIED)  # met in the last allowed iteration
    return s
