"""Reweighted l1 for concave penalties: Algorithm 2 of Laporte et al. (2014)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparserank.errors import DataError, ParameterError
from sparserank.options.arguments import check_arguments
from sparserank.penalties.l1 import L1
from sparserank.solvers.lockstep import Steps
from sparserank.solvers.loop import Solver, solving
from sparserank.solvers.problem import Penalised
from sparserank.solvers.prox_newton import ProxNewton
from sparserank.solvers.solution import Iterate, Status, Stop


class Reweighted:
    """Reweighted l1: beta = 1; solve the weighted l1 problem; beta_j = g'(|w_j|) / alpha; repeat, warm-started.

    Parameters
    ----------
    inner : callable, default ProxNewton
        Constructor of the solver of the weighted l1 problems: ProxNewton, or Fista as published.
    inner_options : dict, optional
        Arguments of the constructor.

    Notes
    -----
    Each round after the first minimises a majorisation of the concave penalty, so the objective never increases. The
    round with beta = 1 majorises nothing and may increase the objective. lp has an infinite slope at 0: pass
    `Lp(...).smoothed()`; its smoothed objective never increases.

    References
    ----------
    Laporte et al. (2014), Algorithm 2 and equation (13); as there, beta = 1 in the first round for any start.

    Examples
    --------
    >>> import sparserank as sr
    >>> from sparserank.solvers import PairwiseObjective, Reweighted, solve
    >>> data = sr.datasets.make_ranking(20, 8, 6, n_informative=2, n_redundant=1).data
    >>> solve(Reweighted(), PairwiseObjective(data), sr.penalties.Log(0.02)).status.value
    'stationary'
    """

    gives_up = Status.STALLED

    def __init__(self, inner: Callable[[], Solver] = ProxNewton, inner_options: dict[str, Any] | None = None) -> None:
        check_arguments(Reweighted.__init__, locals())
        try:
            self._inner = inner(**(inner_options or {}))
        except TypeError as error:
            raise ParameterError("inner_options", f"must be arguments of inner: {error}.") from error
        self.n_iter = 0

    def __repr__(self) -> str:
        return f"Reweighted(lambda: {self._inner!r})"

    def begin(self, problem: Penalised, stop: Stop) -> None:
        penalty = problem.penalty
        if not penalty.separable:
            raise DataError(
                f"Reweighted needs a penalty that is a sum over features; {penalty.name} is not. Use Fista."
            )
        if penalty.kkt_is_vacuous_at_zero:
            raise DataError("Reweighted needs a finite slope at 0; pass Lp(...).smoothed() instead of Lp(...).")
        self._problem = problem
        self._objective = problem.objective
        self._penalty = penalty
        self._stop = stop
        self._slopes: np.ndarray | None = None
        self.n_iter = 0

    def step(self, iterate: Iterate, violation: float) -> Steps[Iterate | None]:
        n = self._objective.n_features
        penalty = self._penalty
        slopes = penalty.feature_alphas(n) if self._slopes is None else penalty.derivative(iterate.w)
        if self._slopes is not None and np.array_equal(slopes, self._slopes):
            return None
        self._slopes = slopes
        weighted = L1(1.0, weights=tuple(slopes.tolist()), monotone=penalty.monotone)
        tight = Stop(tol=0.1 * self._stop.tol, max_iter=max(self._stop.max_iter, 1000), scale=self._stop.scale)
        solution = yield from solving(self._inner, self._objective, weighted, stop=tight, start=iterate)
        self.n_iter += 1
        return self._problem.iterate(solution.w, solution.iterate.at)
