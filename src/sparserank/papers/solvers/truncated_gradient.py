"""Truncated gradient: gradient steps, with the shrinkage of the l1 norm applied once per window."""

from __future__ import annotations

import numpy as np

from sparserank.errors import DataError
from sparserank.solvers.lockstep import Steps
from sparserank.solvers.problem import Problem
from sparserank.solvers.solution import Iterate, Status, Stop


class TruncatedGradient:
    """max_iter steps w <- w - step * gradient(w); after each `window` of them, soft thresholding by window * step *
    alpha.

    Between truncations, every coefficient moves. The sum of small gradients within a window survives unless the
    accumulated shrinkage exceeds it. The last step always ends a window. An iteration of the loop is a window.

    Raises
        DataError   the steps diverge because step is too long
    Source
        Langford, Li and Zhang (2009), 'Sparse online learning via truncated gradient', with an infinite truncation
        threshold and full gradients; used by Sun et al. (2009) and Lai et al. (2012), who print neither step nor
        window.
    """

    gives_up = Status.NOT_CERTIFIED

    def __init__(self, alpha: float, *, step: float, window: int = 10, max_iter: int = 1000) -> None:
        self.alpha, self.length, self.window, self.max_iter = alpha, step, window, max_iter
        self.n_iter = 0

    def begin(self, problem: Problem, stop: Stop) -> None:
        self._problem = problem
        self.n_iter = 0

    def step(self, iterate: Iterate, violation: float) -> Steps[Iterate | None]:
        steps = min(self.window, self.max_iter - self.n_iter)
        if steps == 0:
            return None
        here, w = iterate, iterate.w
        with np.errstate(over="ignore", invalid="ignore"):
            for t in range(steps):
                w = w - self.length * here.gradient
                if t < steps - 1:
                    here = yield from self._problem.evaluate(w)
            w = np.sign(w) * np.maximum(np.abs(w) - steps * self.length * self.alpha, 0.0)
        self.n_iter += steps
        if not np.isfinite(w).all():
            raise DataError(
                f"the gradient steps diverge: after {self.n_iter} of {self.max_iter} steps, the weights are no longer "
                "finite; use a smaller step."
            )
        return (yield from self._problem.evaluate(w))
