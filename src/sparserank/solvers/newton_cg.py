"""Truncated Newton for ridge on many features, with products instead of the full Hessian."""

from __future__ import annotations

import numpy as np

from sparserank.errors import DataError
from sparserank.penalties import Ridge
from sparserank.solvers.lockstep import HessianTimes, Steps
from sparserank.solvers.problem import Penalised
from sparserank.solvers.quadratic import TIGHT, shortened
from sparserank.solvers.solution import Iterate, Status, Stop

MAX_PRODUCTS = 200  # Hessian products per step
LOOSEST = 0.1  # largest residual of the Newton system of a step, relative to the gradient
SUFFICIENT = 1e-4  # share of the predicted decrease that a step must achieve
MAX_TRIALS = 30


class NewtonCG:
    """Truncated Newton. Each step runs conjugate gradients on the Newton system, until its residual is a fraction of
    the gradient that shrinks with the violation; then a line search. Memory is a few vectors of n_features.

    Source
        Dembo and Steihaug (1983), truncated Newton; Lee and Lin (2014) for RankSVM.
    """

    gives_up = Status.STALLED

    n_iter = 0

    def __repr__(self) -> str:
        return "NewtonCG()"

    def begin(self, problem: Penalised, stop: Stop) -> None:
        if not isinstance(problem.penalty, Ridge):
            raise DataError(
                f"NewtonCG solves only problems with the ridge penalty; {problem.penalty.name} is not "
                "smooth. Use ProxNewton."
            )
        self._problem = problem
        self._stop = stop
        objective = problem.objective
        self._usable = objective.varying & problem.penalty.usable(objective.n_features)
        self._scaling = np.where(self._usable, objective.curvature + problem.penalty.alpha, 1.0)
        self.n_iter = 0

    def step(self, iterate: Iterate, violation: float) -> Steps[Iterate | None]:
        self.n_iter += 1
        alpha = self._problem.penalty.alpha
        gradient = np.where(self._usable, iterate.gradient + alpha * iterate.w, 0.0)
        direction = yield from self._direction(iterate, gradient, violation)
        slope = float(gradient @ direction)
        length = 1.0
        for _ in range(MAX_TRIALS):
            trial = yield from self._problem.evaluate(iterate.w + length * direction)
            change = trial.value - iterate.value
            if change <= SUFFICIENT * length * slope < 0.0 or self._problem.violation(trial) < 0.5 * violation:
                return trial
            length = shortened(length, slope, change)
        return None

    def _direction(self, iterate: Iterate, gradient: np.ndarray, violation: float) -> Steps[np.ndarray]:
        alpha = self._problem.penalty.alpha
        p = np.zeros_like(gradient)
        r = -gradient
        wanted = min(LOOSEST, np.sqrt(violation / self._stop.scale)) * float(np.linalg.norm(gradient))
        wanted = max(wanted, TIGHT * self._stop.threshold)
        z = r / self._scaling
        v = z
        rz = float(r @ z)
        for _ in range(MAX_PRODUCTS):
            product = yield HessianTimes(self._problem.objective, iterate.w, v)
            product = np.where(self._usable, product + alpha * v, 0.0)
            step = rz / max(float(v @ product), 1e-300)
            p = p + step * v
            r = r - step * product
            if float(np.linalg.norm(r)) <= wanted:
                break
            z = r / self._scaling
            rz, before = float(r @ z), rz
            v = z + rz / before * v
        return p
