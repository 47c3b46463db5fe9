"""FSMRank's accelerated gradient with line search: loss + redundancy of large weights + weighted l1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.errors import DataError
from sparserank.execution.threads import one_blas_thread
from sparserank.objective import PairwiseObjective

GROWTH = 2.0
FIRST_L = 2.0**-10  # of L0


@dataclass(frozen=True)
class FsmProblem:
    """(lambda1/2) |w|^T A |w| + lambda2 sum_j |w_j| / importance_j + f(w), or with split=False the quadratic w^T A w.

    Conventions
        `split` is the published equation (2): 2d nonnegative coordinates (u, v), w = u - v, quadratic (u + v)^T A (u + v).
        With A >= 0 no solution has u_j v_j > 0, hence |w|. Equation (1) has w^T A w: a different problem.
        importance (d,) >= 0, where 0 forbids the feature; similarity (d, d) symmetric, entries >= 0.
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
    def lipschitz_bound(self) -> float:
        """L0 = (4 + 2 lambda1) d of Theorem 1, for features in [0, 1] and similarities in [0, 1]."""
        return (4.0 + 2.0 * self.lambda1) * self.objective.n_features

    @property
    def costs(self) -> np.ndarray:
        """(dimension,) strength of the l1 term; inf where the feature may not be used."""
        usable = self.objective.varying & (self.importance > 0)
        cost = np.full(len(usable), np.inf)
        with np.errstate(over="ignore"):  # next to no importance: inf, as for none
            cost[usable] = self.lambda2 / self.importance[usable]
        return np.tile(cost, 2) if self.split else cost

    def weights(self, u: np.ndarray) -> np.ndarray:
        """(d,) coefficients w of a point of the solver's space."""
        d = self.objective.n_features
        return u[:d] - u[d:] if self.split else u

    def smooth(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        """The differentiable part and its gradient (dimension,)."""
        d = self.objective.n_features
        loss, g = self.objective.value_and_gradient(self.weights(u))
        magnitude = u[:d] + u[d:] if self.split else u
        pull = self.similarity @ magnitude
        value = loss + 0.5 * self.lambda1 * float(magnitude @ pull)
        if self.split:
            return value, np.concatenate([g + self.lambda1 * pull, -g + self.lambda1 * pull])
        return value, g + self.lambda1 * pull

    def nonsmooth(self, u: np.ndarray) -> float:
        used = u != 0
        return float(np.abs(u[used]) @ self.costs[used])

    def prox(self, z: np.ndarray, gradient: np.ndarray, L: float) -> np.ndarray:
        """The projection step, in closed form."""
        step = z - gradient / L
        shrunk = np.maximum((step if self.split else np.abs(step)) - self.costs / L, 0.0)
        return shrunk if self.split else np.copysign(shrunk, step)

    def kkt_violation(self, u: np.ndarray, gradient: np.ndarray) -> float:
        """Largest distance of -gradient to the subdifferential of the l1 term (and of u >= 0)."""
        costs = self.costs
        usable = np.isfinite(costs)
        g, c, x = gradient[usable], costs[usable], u[usable]
        outside = np.maximum(-g - c, 0.0) if self.split else np.maximum(np.abs(g) - c, 0.0)
        return float(np.max(np.where(x != 0, np.abs(g + np.sign(x) * c), outside), initial=0.0))


@dataclass(frozen=True)
class FsmSolution:
    """w (d,), objective and L of each iteration, `stopped` True when the relative change fell below the tolerance."""

    w: np.ndarray
    objectives: np.ndarray
    lipschitz: np.ndarray
    kkt_violation: float
    n_iter: int
    stopped: bool


def accelerated_gradient(problem: FsmProblem, *, max_iter: int = 400, tol: float = 1e-4) -> FsmSolution:
    """Algorithm 1 of Lai et al. (2013): Nesterov's steps with Nemirovski's line search.

    L starts at L0 / 2^10, doubles until the quadratic bound holds, never shrinks; stop when the objective changes by at most
    `tol` of itself (objectives[0] is that of w = 0).

    Notes
        Its loop is its own: the published stopping rule is part of the algorithm. It says nothing about optimality;
        `kkt_violation` does, where A is positive semidefinite.
    """
    with one_blas_thread():
        w = np.zeros(problem.dimension)
        value, gradient = problem.smooth(w)
        z, z_value, z_gradient = w, value, gradient
        L, momentum = problem.lipschitz_bound * FIRST_L, 1.0
        objectives: list[float] = [value]
        lipschitz: list[float] = []
        stopped = False
        while len(lipschitz) < max_iter and not stopped:
            while True:
                following = problem.prox(z, z_gradient, L)
                change = following - z
                value, gradient = problem.smooth(following)
                bound = z_value + float(z_gradient @ change) + 0.5 * L * float(change @ change)
                if value <= bound + 1e-14 * (1.0 + abs(bound)):
                    break
                L *= GROWTH
                if not np.isfinite(L):
                    raise DataError(
                        "the objective of FSMRank leaves the range of numbers; multiply the features by constants that bring "
                        "their values near 1, or take smaller strengths."
                    )
            previous, w = w, following
            objectives.append(value + problem.nonsmooth(w))
            lipschitz.append(L)
            stopped = abs(objectives[-1] - objectives[-2]) <= tol * abs(objectives[-2])
            next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            z = w + (momentum - 1.0) / next_momentum * (w - previous)
            momentum = next_momentum
            if not stopped:
                z_value, z_gradient = problem.smooth(z)
    return FsmSolution(
        problem.weights(w), np.array(objectives), np.array(lipschitz), problem.kkt_violation(w, gradient),
        len(lipschitz), stopped,
    )  # fmt: skip
