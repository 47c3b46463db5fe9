"""Second starts of concave penalties: a nearby l1 solution, tried if the model of the loss predicts that it may lead to
a lower objective (theory.md section 2, Not proved)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from sparserank.objective import PairwiseObjective
from sparserank.penalties import Penalty
from sparserank.penalties.groups import like_l1
from sparserank.solvers import ProxNewton, Solution, Stop
from sparserank.solvers.curvature import corrected, secant
from sparserank.solvers.lockstep import Steps
from sparserank.solvers.loop import solving
from sparserank.solvers.problem import Penalised
from sparserank.solvers.quadratic import TIGHT, minimise_model
from sparserank.solvers.solution import Iterate

SAME_PLACE = 1e-5  # two points are the same if the quadratic term between them is below this share of the loss
MODEL_DOUBT = 0.5  # possible error of the model far from its iterate, as a share of its quadratic term
MODEL_TRUST = 0.1  # the same for a model that was corrected to agree with the point


class Starts(Protocol):
    """Points near the l1 solutions: additional starts for the problems of a concave penalty."""

    def at(self, alpha: float, last: Iterate | None) -> Steps[np.ndarray]:
        """A point for this strength. It may depend only on the strength and on the solution for the previous
        strength."""
        ...


class PathStarts:
    """Starts interpolated on an l1 path between its strengths, along which the solution is nearly linear."""

    def __init__(
        self,
        alphas: np.ndarray,
        sparse_coefs: sp.csr_array,
        losses: np.ndarray,
        scale: float | None = None,
    ) -> None:
        """The path that starts are taken from.

        alphas          (n,) decreasing
        sparse_coefs    (n, n_features) coefficients of the scaled features
        losses, scale   (n,) losses, and the scale of the path's tolerances, for refits; default: the largest gradient
        """
        self.alphas, self.coefs, self.losses, self.scale = alphas, sparse_coefs, losses, scale

    def at(self, alpha: float, last: Iterate | None) -> Steps[np.ndarray]:
        yield from ()
        if alpha >= self.alphas[0]:
            return self.coef(0)
        after = int(np.searchsorted(-self.alphas, -alpha))  # the first strength of at most alpha
        if after == len(self.alphas):
            return self.coef(len(self.alphas) - 1)
        # Interpolate linearly between the two neighbouring strengths; equal coefficients stay exactly equal.
        high, low = self.alphas[after - 1], self.alphas[after]
        share = (high - alpha) / (high - low)
        before, there = self.coef(after - 1), self.coef(after)
        return np.where(there == before, there, (1.0 - share) * before + share * there)

    def coef(self, index: int) -> np.ndarray:
        """(n_features,) coefficients of one point."""
        return np.asarray(self.coefs[[index]].toarray()[0])


class SolvedStarts:
    """Starts that are solved to a rough tolerance as the path continues."""

    def __init__(self, objective: PairwiseObjective, like: Penalty, rough: Callable[[float], Stop]) -> None:
        self._objective, self._l1, self._rough = objective, like_l1(like), rough

    def at(self, alpha: float, last: Iterate | None) -> Steps[np.ndarray]:
        l1 = self._l1.with_alpha(alpha)
        solution = yield from solving(ProxNewton(), self._objective, l1, stop=self._rough(alpha), start=last)
        return solution.w


def better(
    solver: ProxNewton, problem: Penalised, best: Solution, start: np.ndarray, stop: Stop, rough: Stop
) -> Steps[Solution]:
    """The lower of `best`, which the solver has just found, and the solution from `start`.

    The solver's quadratic model of the loss near `best` is minimised from `start` first. If that leads back, or to a
    point that is higher by more than the model's possible error, no data are read. Otherwise that point is tried, then
    `start` itself, which often is in another basin. Each is evaluated, and the model is corrected to agree with it and
    minimised again. If it still leads to a new and lower point, a solve begins, first to the rough tolerance, and to
    the end if it is lower there.
    """
    here, curvature = best.iterate, solver.curvature
    assert curvature is not None
    columns = np.flatnonzero((here.w != 0) | (start != 0))
    if len(columns) == 0:
        return best
    H = yield from curvature.near(here, columns)

    def minimum(near: Iterate, begin: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Minimise the model of the loss at `near` plus the penalty, from `begin`. Returns the minimum, by how much its
        value is below that of `best`, and the quadratic term there."""
        part = problem.penalty.restrict(columns, len(start))
        slope = near.gradient[columns] + H @ (begin - near.w)[columns]
        w = begin.copy()
        w[columns] = minimise_model(H, slope, begin[columns], part, TIGHT * rough.threshold)
        moved = (w - near.w)[columns]
        quadratic = 0.5 * float(moved @ H @ moved)
        value = near.loss + float(near.gradient[columns] @ moved) + quadratic + problem.penalty.value(w)
        return w, best.value - value, quadratic

    # First test, without data: minimise the model near `best` from the second start. Give up if it leads back, or to a
    # point that is higher by more than the model's possible error.
    led, lower, quadratic = minimum(here, start)
    if quadratic <= SAME_PLACE * here.loss or lower <= -MODEL_DOUBT * quadratic:
        return best
    known = [here.w]
    for begin in (led, start):
        # Second test: evaluate the point, correct the model along the way to it (BFGS), and minimise again.
        trial = yield from problem.evaluate(problem.start(begin))
        H = corrected(H, *secant(here, trial), columns)
        end, lower, quadratic = minimum(trial, trial.w)
        # The corrected model leads back if its minimum has the signs of a known point and about the value of `best`.
        leads_back = (
            any(np.array_equal(np.sign(end), np.sign(w)) for w in known) and abs(lower) <= MODEL_TRUST * quadratic
        )
        known.append(end)
        if trial.value >= best.value and (leads_back or lower <= -MODEL_DOUBT * quadratic):
            continue
        # Solve roughly, and to the end only if that is lower than `best` already.
        other = yield from solving(solver, problem.objective, problem.penalty, stop=rough, start=trial)
        if other.value < best.value:
            other = yield from solving(solver, problem.objective, problem.penalty, stop=stop, start=other.iterate)
            return other if other.value < best.value else best
    return best
