"""The loop shared by all solvers: certificate, clock, history, status."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sparserank.errors import ConvergenceWarning, DataError, warn_caller
from sparserank.objective import PairwiseObjective
from sparserank.options.arguments import Numbers, check_arguments
from sparserank.penalties.base import Penalty
from sparserank.solvers.lockstep import Seconds, Steps, run
from sparserank.solvers.problem import Penalised, Problem
from sparserank.solvers.solution import Iterate, Solution, Status, Stop


class Solver(Protocol):
    """A solver implements one step, as a generator of requests; the loop, the clock, the certificate and the status are
    shared.

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
        warn_caller(
            f"did not converge: kkt_violation {solution.kkt_violation:.3g} > {stop.threshold:.3g} "
            f"after {solution.n_iter} iterations; {solution.status.remedy}.",
            ConvergenceWarning,
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
    """Like `solve`, as a generator of requests that a driver answers; it never warns."""
    # Shape parameters, such as MCP's gamma, are converted to the scale of the mean loss (theory.md section 2).
    problem = Penalised(objective, penalty.resolve(objective.curvature, objective.total_weight))
    stop = stop or _default_stop(objective, penalty)
    # The evaluation at `start` is reused only if every coefficient is allowed in this problem; otherwise the solver
    # begins at the nearest allowed point.
    if start is not None:
        w0 = start.w
        start = problem.iterate(w0, start.at) if np.array_equal(problem.start(w0), w0) else None
    return (yield from minimising(solver, problem, w0, stop, start=start))


def minimising(
    solver: Solver, problem: Problem, w0: np.ndarray | None, stop: Stop, *, start: Iterate | None = None
) -> Steps[Solution]:
    """Step from w0, or from `start`, until the violation is at most the threshold, max_iter is reached, or the solver
    stops by itself."""
    began = yield Seconds()
    solver.begin(problem, stop)
    # Evaluate the loss and its gradient at w0, with forbidden coefficients set to 0, unless `start` contains both.
    iterate = start if start is not None else (yield from problem.evaluate(problem.start(w0)))
    if not np.isfinite(iterate.value):
        raise DataError(
            f"the objective is {iterate.value} at the start: features, weights or strength are so large that their "
            "squares overflow. Scale the features."
        )
    history = []
    # A converged solve is optimal if the problem is convex, and only stationary otherwise (theory.md section 0, Terms).
    status = Status.OPTIMAL if problem.is_convex else Status.STATIONARY
    while True:
        # The violation decides when to stop: the KKT violation of a penalised problem, the duality gap of FenchelRank
        # (theory.md sections 1 to 3).
        violation = problem.violation(iterate)
        now = yield Seconds()
        history.append((now - began, iterate.value, violation))
        if violation <= stop.threshold:
            break
        if solver.n_iter >= stop.max_iter:
            status = Status.ITERATION_LIMIT
            break
        # Take one step of the solver; it may read the data several times, by yielding requests.
        following = yield from solver.step(iterate, violation)
        if following is None:
            status = solver.gives_up
            break
        iterate = following
    # The duality gap follows from the last loss and gradient, without another pass over the data (theory.md section 1).
    return Solution(iterate, violation, problem.gap(iterate), solver.n_iter, status, history)


def _default_stop(objective: PairwiseObjective, penalty: Penalty) -> Stop:
    """The default tolerance, relative to the largest gradient at 0 that the penalty counts."""
    return Stop(scale=penalty.largest(objective.gradient_at_zero))
