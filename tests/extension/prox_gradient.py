"""A solver: plain proximal gradient, for any penalty with a prox."""

from sparserank.solvers.lockstep import Steps
from sparserank.solvers.problem import Penalised
from sparserank.solvers.solution import Iterate, Status, Stop


class ProxGradient:
    gives_up = Status.STALLED
    n_iter = 0

    def begin(self, problem: Penalised, stop: Stop) -> None:
        self._problem, self.n_iter = problem, 0
        self._L = float(problem.objective.curvature.sum())

    def step(self, iterate: Iterate, violation: float) -> Steps[Iterate | None]:
        self.n_iter += 1
        w = self._problem.penalty.prox(iterate.w - iterate.gradient / self._L, 1.0 / self._L)
        return (yield from self._problem.evaluate(w))
