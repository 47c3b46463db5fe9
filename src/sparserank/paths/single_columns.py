"""The best single column: each is tried until tangents prove that it cannot be the best."""

from __future__ import annotations

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.solvers.lockstep import Evaluate, Steps

MAX_COLUMNS = 1000  # columns tried; if there are more, the most promising by the gradient at 0
MAX_ROUNDS = 40
CLOSE = 1e-9  # accuracy of a minimum, as a share of the loss at 0
VALUES_AT_ONCE = 1 << 21  # coefficients of the models that share one read of X
MODELS_AT_ONCE = 32


def best_column(
    objective: PairwiseObjective, columns: np.ndarray, ridge: float, monotone: np.ndarray | None = None
) -> Steps[int | None]:
    """The column with the lowest minimum over t of f(t e_j) + ridge t^2 / 2; None if no column lowers f.

    Parameters
        columns   candidates, all of which vary; of more than MAX_COLUMNS, the most promising are tried
        monotone     (n_features,) 1 for t >= 0, -1 for t <= 0, 0 if both are allowed; None: 0 for all

    Along a column the objective is convex: two tangents bound its minimum from below, its values from above. A column
    is dropped once its lower bound is above the lowest value of another, so the result is that of complete
    minimisations, to CLOSE (after MAX_ROUNDS: the lowest value seen).
    """
    gradient, at_zero = objective.gradient_at_zero, objective.loss.value_at_zero
    direction = -np.sign(gradient)
    if monotone is not None:
        direction = np.where(direction * monotone < 0, 0.0, direction)
    columns = columns[direction[columns] != 0]
    if len(columns) == 0:
        return None
    curvature = objective.curvature + ridge
    promise = gradient[columns] ** 2 / curvature[columns]
    columns = columns[np.argsort(-promise, kind="stable")[:MAX_COLUMNS]]
    lines = _Lines(at_zero, -np.abs(gradient[columns]), curvature[columns])
    for _ in range(MAX_ROUNDS):
        open_ = lines.open()
        if len(open_) == 0:
            break
        at_once = max(min(MODELS_AT_ONCE, VALUES_AT_ONCE // objective.n_features), 1)
        for some in np.split(open_, range(at_once, len(open_), at_once)):
            u, tried = lines.next_place(some), columns[some]
            W = np.zeros((len(some), objective.n_features))
            W[np.arange(len(some)), tried] = direction[tried] * u
            evaluations = yield Evaluate(objective, W)
            values = np.array([e.value for e in evaluations]) + 0.5 * ridge * u * u
            slopes = (
                np.array([direction[j] * e.gradient[j] for e, j in zip(evaluations, tried, strict=True)]) + ridge * u
            )
            lines.learn(some, u, values, slopes)
    return int(columns[np.argmin(lines.upper)])


class _Lines:
    """Bounds of the minima of convex functions of u >= 0 with F(0) = value and F'(0) = slopes < 0. For each function, a
    point left of its minimum is known and, after some rounds, a point right of it."""

    def __init__(self, value: float, slopes: np.ndarray, curvature: np.ndarray) -> None:
        n = len(slopes)
        self._close = CLOSE * value
        self._left, self._right = np.zeros(n), np.full(n, np.inf)
        self._left_value, self._left_slope = np.full(n, value), slopes.copy()
        self._right_value, self._right_slope = np.full(n, np.inf), np.full(n, np.inf)
        self._stride = -slopes / curvature  # the curvature is an upper bound, so this step falls short of the minimum
        self.upper, self.lower = np.full(n, value), np.full(n, -np.inf)

    def open(self) -> np.ndarray:
        """Functions that may have the lowest minimum, which is not yet known closely."""
        return np.flatnonzero((self.lower < self.upper.min() - self._close) & (self.upper - self.lower > self._close))

    def next_place(self, some: np.ndarray) -> np.ndarray:
        """Next points to evaluate: to the right until the minimum is passed, then the crossing of the tangents."""
        met = np.isfinite(self._right[some])
        with np.errstate(invalid="ignore"):
            return np.where(met, self._crossing(some)[0], self._left[some] + self._stride[some])

    def learn(self, some: np.ndarray, u: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> None:
        self.upper[some] = np.minimum(self.upper[some], values)
        on_left = slopes < 0
        i, k = some[on_left], some[~on_left]
        self._left[i], self._left_value[i], self._left_slope[i] = u[on_left], values[on_left], slopes[on_left]
        self._right[k], self._right_value[k], self._right_slope[k] = u[~on_left], values[~on_left], slopes[~on_left]
        self._stride[i] *= 2.0
        met = some[np.isfinite(self._right[some])]
        self.lower[met] = np.maximum(self.lower[met], self._crossing(met)[1])

    def _crossing(self, some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(position, height) of the crossing of the tangents on both sides: a lower bound of the minimum;
        a slope of 0 is a minimum."""
        a, fa, ga = self._left[some], self._left_value[some], self._left_slope[some]
        b, fb, gb = self._right[some], self._right_value[some], self._right_slope[some]
        with np.errstate(invalid="ignore"):
            where = np.clip((fb - fa + ga * a - gb * b) / (ga - gb), a, b)
        return where, fa + ga * (where - a)
