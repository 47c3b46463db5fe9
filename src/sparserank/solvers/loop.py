"""The loop that every solver shares: certificate, clock, history, status."""

from __future__ import annotations

import warnings
from typing import Protocol

import numpy as np

from sparserank.errors import ConvergenceWarning, DataError
from sparserank.objective import Evaluation, PairwiseObjective
from sparserank.penalties.base import Penalty
from sparserank.solvers.certificates import duality_gap, kkt_violation
from sparserank.solvers.lockstep import Evaluate, Seconds, Steps, run
from sparserank.solvers.solution import Iterate, Solution, Status, Stop


class Solver(Protocol):
    """A solver is its step, a generator of requests. `begin` prepares for one problem; `step` returns None when no further
    progress is possible."""

    def begin(self, objective: PairwiseObjective, penalty: Penalty, stop: Stop) -> None: ...

    def step(self, iterate: Iterate, violation: float) -> Steps[Iterate | None]: ...

    @property
    def n_iter(self) -> int: ...


def evaluate_at(objective: PairwiseObjective, penalty: Penalty, w: np.ndarray) -> Steps[Iterate]:
    at: Evaluation = yield Evaluate(objective, w)
    return Iterate(w, at, at.value + penalty.value(w))


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
        penalty  a gamma_scale other than 'mean' is resolved here
        w0       start, default 0; features that may not be used, or have the wrong sign, are set to 0
        start    an iterate at which the loss and its gradient are known already; saves a pass
    Warns
        ConvergenceWarning   the tolerance was not reached (unless warn=False; `status` says so in any case)
    """
    solution = run(solving(solver, objective, penalty, w0, stop, start=start))
    if warn and not solution.status.converged:
        threshold = (stop or _default_stop(objective)).threshold
        warnings.warn(
            f"did not converge: kkt_violation {solution.kkt_violation:.3g} > {threshold:.3g} "
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
    penalty = penalty.resolve(objective.curvature, objective.total_weight)
    stop = stop or _default_stop(objective)
    began = yield Seconds()
    solver.begin(objective, penalty, stop)
    if start is not None and _admissible(objective, penalty, start.w).all():
        iterate = Iterate(start.w, start.at, start.loss + penalty.value(start.w))
    else:
        w = np.zeros(objective.n_features) if w0 is None else np.asarray(w0, dtype=np.float64)
        iterate = yield from evaluate_at(objective, penalty, np.where(_admissible(objective, penalty, w), w, 0.0))
    if not np.isfinite(iterate.value):
        raise DataError(
            f"the objective is {iterate.value} at the start: features, weights or strength are too large for their squares "
            "to be numbers. Scale the features."
        )
    history = []
    status = Status.OPTIMAL if penalty.is_convex else Status.STATIONARY
    while True:
        violation = kkt_violation(objective, penalty, iterate.w, iterate.gradient)
        now = yield Seconds()
        history.append((now - began, iterate.value, violation))
        if violation <= stop.threshold:
            break
        if solver.n_iter >= stop.max_iter:
            status = Status.ITERATION_LIMIT
            break
        following = yield from solver.step(iterate, violation)
        if following is None:
            status = Status.STALLED
            break
        iterate = following
    gap = duality_gap(objective, penalty, iterate) if penalty.is_convex else None
    return Solution(iterate, violation, gap, max(solver.n_iter, 1), status, history)


def _default_stop(objective: PairwiseObjective) -> Stop:
    return Stop(scale=float(np.abs(objective.gradient_at_zero).max()))


def _admissible(objective: PairwiseObjective, penalty: Penalty, w: np.ndarray) -> np.ndarray:
    n = len(w)
    return (w == 0) | (
        objective.varying & np.isfinite(penalty.feature_weights(n)) & (w * penalty.feature_signs(n) >= 0)
    )
