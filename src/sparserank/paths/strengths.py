"""Solving one strength of a path from the previous ones: for convex penalties, for concave ones, and for smooth ones
with very many features."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.paths.starts import Starts, better
from sparserank.penalties import Penalty
from sparserank.solvers import ProxNewton, Solution, Stop
from sparserank.solvers.ahead import Ahead
from sparserank.solvers.curvature import Curvature, Samples
from sparserank.solvers.lockstep import Steps
from sparserank.solvers.loop import solving
from sparserank.solvers.newton_cg import NewtonCG
from sparserank.solvers.problem import Penalised
from sparserank.solvers.solution import Iterate
from sparserank.solvers.working_set import working_sets_to_come

FARTHEST = 0.5  # the next strength is evaluated in advance if it is at least this share of the present one
SEEN = 3  # last points whose differences predict how the Hessian changes
ROUGH_TOL = 1e-2  # tolerance of second starts until they are compared; the remaining gain is of the order of its square


class Problems:
    """The problems of a path, made on request, because a penalty stores vectors with one entry per feature."""

    def __init__(self, objective: PairwiseObjective, penalty: Penalty, alphas: np.ndarray) -> None:
        self.objective, self._penalty, self.alphas = objective, penalty, alphas.tolist()

    def __getitem__(self, i: int) -> Penalised:
        return Penalised(self.objective, self._penalty.with_alpha(self.alphas[i]))


class Strengths(Protocol):
    """Solves the problems of one path in turn."""

    def solve(self, i: int) -> Steps[Solution]:
        """Solve problem i, given that the problems before it have been solved."""
        ...


class Convex:
    """Each problem begins at the last solution or at the point evaluated in advance, whichever is lower. Hessians are
    sampled along the path."""

    def __init__(self, problems: Problems, stop: Stop, first: Iterate | None) -> None:
        """first: the solution with only always-keep features, at which the path begins; None if it begins at 0."""
        self._problems, self._stop, self._first = problems, stop, first
        self._samples = Samples(problems.objective)
        self._seen: list[Iterate] = []
        self._predicted: Iterate | None = None  # prediction for the next strength, evaluated in advance

    def solve(self, i: int) -> Steps[Solution]:
        problem, last = self._problems[i], self._seen[-1] if self._seen else self._first
        # Begin at the better of the last solution and the prediction. A start that satisfies the tolerance
        # needs no Hessian.
        start = self.start(problem, last)
        if start is not None and problem.violation(start) > self._stop.threshold:
            yield from self._sample(i, last)
        # The Hessian comes from samples along the path, corrected by the secants of the last solutions.
        way = self._seen if start is last or start is None else [*self._seen, start]
        curvature = Curvature(problem.objective, way, samples=self._samples, strides=int(start is last))
        # While this problem is solved, the next solution is predicted and evaluated in the same passes over the data.
        ahead = Ahead(self._problems[i + 1], self._stop) if self._looks_ahead(i) else None
        solver = ProxNewton(curvature, ahead)
        best = yield from solving(solver, problem.objective, problem.penalty, stop=self._stop, start=start)
        self._seen = [*self._seen, best.iterate][-SEEN:]
        self._predicted = None if ahead is None else ahead.best
        return best

    def _looks_ahead(self, i: int) -> bool:
        """Whether the next strength is evaluated in advance. It is not if it is too far for a prediction, or so near
        that this solution satisfies its tolerance."""
        alphas = self._problems.alphas
        if i + 1 == len(alphas) or not self._problems.objective.shares_reads:
            return False
        return FARTHEST <= alphas[i + 1] / alphas[i] < 1.0 - self._stop.tol

    def start(self, problem: Penalised, last: Iterate | None) -> Iterate | None:
        """The starting point with the lower objective of this problem; None: start from 0."""
        if last is None or self._predicted is None:
            return last if self._predicted is None else self._predicted
        return self._predicted if self._predicted.value < problem.iterate(last.w, last.at).value else last

    def _sample(self, i: int, last: Iterate | None) -> Steps[None]:
        """Sample the Hessian at `last`, the solution of the problem before i. Does nothing if there is none."""
        problem = self._problems[i]
        if last is not None:
            yield from self._samples.add(last, working_sets_to_come(problem.objective, problem.penalty, last), i)


class Concave:
    """Each problem is solved from the last solution, and from a second start if that may lead to a lower objective
    (theory.md section 2: different starts reach different stationary points).

    Solutions of concave penalties jump, so Hessians sampled earlier on the path are not reused.
    """

    def __init__(self, problems: Problems, stop: Stop, first: Iterate | None, starts: Starts) -> None:
        self._problems, self._stop, self._first, self._starts = problems, stop, first, starts
        self._seen: list[Iterate] = []

    def solve(self, i: int) -> Steps[Solution]:
        problem, last = self._problems[i], self._seen[-1] if self._seen else self._first
        # The second start is near the l1 solution of this strength.
        other = yield from self._starts.at(problem.penalty.alpha, last)
        solver = ProxNewton(Curvature(problem.objective, self._seen, np.flatnonzero(other)))
        best = yield from solving(solver, problem.objective, problem.penalty, stop=self._stop, start=last)
        # Keep the lower of both, and solve from the second start only if a model predicts that it may win.
        best = yield from better(solver, problem, best, other, self._stop, roughly(self._stop, problem.penalty.alpha))
        self._seen = [*self._seen, best.iterate][-2:]
        return best


class Large:
    """Ridge on more features than fit into a Hessian: Newton-CG, which needs only products with the Hessian."""

    def __init__(self, problems: Problems, stop: Stop) -> None:
        self._problems, self._stop = problems, stop
        self._last: Iterate | None = None

    def solve(self, i: int) -> Steps[Solution]:
        problem = self._problems[i]
        best = yield from solving(NewtonCG(), problem.objective, problem.penalty, stop=self._stop, start=self._last)
        self._last = best.iterate
        return best


def roughly(stop: Stop, alpha: float) -> Stop:
    """Stopping rule for the solve from a second start at this strength until it is compared."""
    return replace(stop, tol=max(stop.tol, min(ROUGH_TOL, 0.1 * alpha / stop.scale)))
