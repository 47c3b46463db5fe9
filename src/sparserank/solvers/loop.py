"""The loop shared by all solvers: certificate, clock, history, status."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np

from sparserank.errors import ConvergenceWarning, DataError
from sparserank.objective import PairwiseObjective
from sparserank.options.arguments import Numbers, check_arguments
from sparserank.penalties.base import Penalty
from sparserank.solvers.lockstep import Seconds, Steps, run
from sparserank.solvers.problem import Penalised, Problem
from sparserank.solvers.solution import Iterate, Solution, Status, Stop


class Solver(Protocol):
    """A solver is its step, a generator of requests; loop, clock, certificate and status are shared.

    `begin` prepares for one problem. `step` returns the next iterate, or None if the solver stops by itself. The
    meaning of None is `gives_up`: STALLED (no further progress is possible) or NOT_CERTIFIED (a published rule that
    proves nothing).
    """

    gives_up: Status

    def begin(self, problem: Any, stop: Stop) -> None: ...

    def step(self, iterate: Iterate, violation: float) -> Steps[Iterate | None]: ...

    @property
    def n_iter(self) -> int: ...


def solve(
    solver: Solver,
    objective: PairwiseObjective,
    penalty: Penalty,
    w0: np.ndarray | None = None,
    stop: Stop | None = None,
    *,
    start: Iterate | None = None,
    warn: bool = True,
) -> Solution:
    """Minimise objective + penalty.

    Parameters
    ----------
    solver : Solver
        ProxNewton, Fista, Reweighted, or a custom solver.
    objective : PairwiseObjective
        The loss and the data.
    penalty : Penalty
        The penalty. A gamma_scale other than 'mean' is resolved here.
    w0 : ndarray of shape (n_features,), optional
        Starting point, default 0. Coefficients of features that may not be used, or with the wrong sign, are set to 0.
    stop : Stop, optional
        Tolerance and maximum number of iterations.
    start : Iterate, optional
        An iterate at which the loss and its gradient are known, which saves a pass.
    warn : bool, default True
        Whether to warn if the tolerance is not reached; `status` always shows this.

    Returns
    -------
    Solution
        The point and its certificate.

    Warns
    -----
    ConvergenceWarning
        The tolerance was not reached.

    Examples
    --------
    >>> import sparserank as sr
    >>> from sparserank.solvers import PairwiseObjective, ProxNewton, solve
    >>> data = sr.datasets.make_ranking(20, 8, 6, n_informative=2, n_redundant=1).data
    >>> solution = solve(ProxNewton(), PairwiseObjective(data), sr.penalties.L1(0.1))
    >>> solution.status.value, solution.gap < 1e-5
    ('optimal', True)
    """
    check_arguments(solve, locals())
    if w0 is not None:
        check_arguments(solve, {"w0": w0}, w0=Numbers(objective.n_features, "coefficient"))
    stop = stop or _default_stop(objective, penalty)
    solution = run(solving(solver, objective, penalty, w0, stop, start=start))
    if warn and not solution.status.converged:
        warnings.warn(
            f"did not converge: kkt_violation {solution.kkt_violation:.3g} > {stop.threshold:.3g} "
            f"after {solution.n_iter} iterations; {solution.status.remedy}.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return solution


def solving(
    solver: Solver,
    objective: PairwiseObjective,
    penalty: Penalty,
    w0: np.ndarray | None = None,
    stop: Stop | None = None,
    *,
    start: Iterate | None = None,
) -> Steps[Solution]:
    """`solve` as steps, for a driver; it never warns."""
    problem = Penalised(objective, penalty.resolve(objective.curvature, objective.total_weight))
    stop = stop or _default_stop(objective, penalty)
    if start is not None:
        w0 = start.w
        start = problem.iterate(w0, start.at) if np.array_equal(problem.start(w0), w0) else None
    return (yield from minimising(solver, problem, w0, stop, start=start))


def minimising(
    solver: Solver, problem: Problem, w0: np.ndarray | None, stop: Stop, *, start: Iterate | None = None
) -> Steps[Solution]:
    """The loop shared by all solvers, from w0 or from an iterate of the problem."""
    began = yield Seconds()
    solver.begin(problem, stop)
    iterate = start if start is not None else (yield from problem.evaluate(problem.start(w0)))
    if not np.isfinite(iterate.value):
        raise DataError(
            f"the objective is {iterate.value} at the start: features, weights or strength are so large that their "
            "squares overflow. Scale the features."
        )
    history = []
    status = Status.OPTIMAL if problem.is_convex else Status.STATIONARY
    while True:
        violation = problem.violation(iterate)
        now = yield Seconds()
        history.append((now - began, iterate.value, violation))
        if violation <= stop.threshold:
            break
        if solver.n_iter >= stop.max_iter:
            status = Status.ITERATION_LIMIT
            break
        following = yield from solver.step(iterate, violation)
        if following is None:
            status = solver.gives_up
            break
        iterate = following
    return Solution(iterate, violation, problem.gap(iterate), solver.n_iter, status, history)


def _default_stop(objective: PairwiseObjective, penalty: Penalty) -> Stop:
    return Stop(scale=penalty.largest(objective.gradient_at_zero))
