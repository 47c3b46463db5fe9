"""Lower bounds for the best set of k features: an upper limit on how much lower the objective of another set could be,
compared with a model of best_k."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.errors import DataError
from sparserank.objective import PairwiseObjective
from sparserank.paths.best_k import BestK
from sparserank.paths.result import PathResult
from sparserank.weighting import Evaluation

MAX_COLUMNS = 1000  # of the Hessian
MAX_STEPS = 300
CLOSE = 1e-4  # share of the decrease from w = 0 that a bound may stay below the best of its kind
MIN_SHARE = 1e-6  # of a feature that has nearly left: it may come back
MAX_HALVINGS = 30


@dataclass(frozen=True)
class BestKBounds:
    """Bounds for the sizes k = 1 .. K of a path of best_k; the objective is loss + ridge |w|^2 / 2.

    objectives  (K,) of the path's models
    bounds      (K,) no model with at most k features has a lower objective
    relaxed     (K,) upper limit of all bounds of this kind, whatever they are computed from
    of_all      a bound for any number of features: the objective of the model with all of them, to CLOSE
    """

    ridge: float
    objectives: np.ndarray
    bounds: np.ndarray
    relaxed: np.ndarray
    of_all: float

    @property
    def gaps(self) -> np.ndarray:
        """(K,) largest amount by which the objective of another set could be lower."""
        return np.maximum(self.objectives - self.bounds, 0.0)


def best_k_bounds(objective: PairwiseObjective, path: PathResult) -> BestKBounds:
    """Bounds for every size of a path of best_k on this objective.

    Parameters
        path   a path that `BestK` made on `objective`; with groups, k counts groups. Features that it never uses are
               left out of the bounds too. Signs and always-kept features only exclude models, so the bounds are valid,
               but may be loose
    Raises
        DataError   the path is not of best_k or not of this objective; more than 1,000 coefficients vary
    Notes
        The best set is min over z in {0, 1}^d, sum z <= k, of phi(z) = min over w of f(w) + (ridge/2) sum_j w_j^2 /
        z_j, w_j a feature's coefficients. With 0 <= z_j <= 1 it is convex in (w, z): the penalty becomes the squared
        k-support norm (Argyriou, Foygel and Srebro 2012). Steps alternate: z for the current w, in closed form; for
        that z, a Newton step in w. Each w gives the bound of `lower_bound`, and the relaxed objective there shows how
        much the bound can still rise. Source of the relaxation: Pilanci, Wainwright and El Ghaoui (2015).
    Cost    a Hessian of all varying columns and a pass for each step: a few to some hundred steps for each size
    """
    penalty = path.penalty
    if not isinstance(penalty, BestK) or path.sparse_coefs.shape[1] != objective.n_features:
        raise DataError("best_k_bounds needs a path of best_k and the objective on which it was fitted.")
    at_last = objective.evaluate(path.scaled_coef(len(path.alphas) - 1)).value
    if not np.isclose(at_last, path.losses[-1], rtol=1e-6, atol=0.0):
        raise DataError(
            "best_k_bounds needs the objective on which the path was fitted; the loss of the path's last model is "
            f"{path.losses[-1]:.6g} in the path, but {at_last:.6g} under this objective."
        )
    usable = penalty.usable(objective.n_features // objective.width)
    columns = np.flatnonzero(objective.varying & np.repeat(usable, objective.width))
    ridge = penalty.strength(objective.curvature[columns])
    relaxation = _Relaxation(objective, ridge, columns, penalty.group_of(len(usable))[columns // objective.width])
    of_all, _, w = relaxation.solve(len(usable), np.zeros(objective.n_features))
    sizes = len(path.alphas)
    bounds, relaxed = np.zeros(sizes), np.zeros(sizes)
    for k in range(sizes, 0, -1):
        bounds[k - 1], relaxed[k - 1], w = relaxation.solve(k, w)
    return BestKBounds(ridge, path.objectives.copy(), bounds, relaxed, of_all)


def lower_bound(objective: PairwiseObjective, w: np.ndarray, k: int, ridge: float) -> float:
    """Lower bound of f(u) + ridge |u|^2 / 2 over models u with at most k features; from any w (n_features,), sharpest
    at the relaxed minimum.

    For the squared hinge (2f - w.g)^2 / (4f + (2/ridge) * sum of the k largest g_j^2), 0 if f = 0; g_j is a feature's
    part of the gradient g. In general max over s of -sum_p v_p phi*(s phi'_p) - s^2 / (2 ridge) * that sum: the Fenchel
    dual of the ridge problem on the worst set of k.

    Raises
        DataError   k < 1, ridge <= 0, or w is not one number per coefficient
    """
    if k < 1 or not ridge > 0:
        raise DataError(f"lower_bound needs k >= 1 and ridge > 0; got {k} and {ridge}.")
    every = np.flatnonzero(objective.varying)
    return _Relaxation(objective, ridge, every, every // objective.width).bound(w, objective.evaluate(w), k)


class _Relaxation:
    """min over w and z of f + (ridge/2) sum_j w_j^2 / z_j on some columns, j their elements (n_columns,):
    features or groups, numbered from 0."""

    def __init__(self, objective: PairwiseObjective, ridge: float, columns: np.ndarray, elements: np.ndarray) -> None:
        self._objective, self._ridge, self._columns, self._element = objective, ridge, columns, elements
        self._n = int(elements.max(initial=-1)) + 1

    def solve(self, k: int, w: np.ndarray) -> tuple[float, float, np.ndarray]:
        """(best lower bound, lowest relaxed objective, the last w) for at most k features, from w."""
        if len(self._columns) > MAX_COLUMNS:
            raise DataError(
                f"best_k_bounds takes at most {MAX_COLUMNS} coefficients of varying columns; got {len(self._columns)}."
            )
        at_zero = self._objective.at_zero.value
        at = self._objective.evaluate(w)
        bound, relaxed = 0.0, np.inf
        for _ in range(MAX_STEPS):
            squares = self._squares(w)
            z = _shares(np.sqrt(squares), k)
            used = squares > 0
            relaxed = min(relaxed, at.value + 0.5 * self._ridge * float((squares[used] / z[used]).sum()))
            bound = max(bound, self.bound(w, at, k))
            if relaxed - bound <= CLOSE * (at_zero - relaxed):
                break
            following = self._step(w, at, np.maximum(z, MIN_SHARE)[self._element])
            if following is None:
                break
            w, at = following
        return bound, relaxed, w

    def bound(self, w: np.ndarray, at: Evaluation, k: int) -> float:
        """`lower_bound` from an existing evaluation of f."""
        largest = float(np.sort(self._squares(at.gradient))[::-1][:k].sum())
        dual = self._objective.dual(w, at)
        s = dual.best_scale(np.inf, 0.0, lambda s: s * largest / self._ridge)
        return max(-dual.value(s) - s * s * largest / (2.0 * self._ridge), 0.0)

    def _step(self, w: np.ndarray, at: Evaluation, z: np.ndarray) -> tuple[np.ndarray, Evaluation] | None:
        """A Newton step for these shares (n_columns,), halved until the objective falls; None if it does not. In units
        of sqrt(z), in which the ridge is the same for every column."""
        c, root = self._columns, np.sqrt(z)

        def value(w: np.ndarray, at: Evaluation) -> float:
            return at.value + 0.5 * self._ridge * float((w[c] ** 2 / z).sum())

        A = root[:, None] * self._objective.hessian(w, c) * root + self._ridge * np.eye(len(c))
        step = np.zeros_like(w)
        step[c] = -root * np.linalg.solve(A, root * at.gradient[c] + self._ridge * w[c] / root)
        for _ in range(MAX_HALVINGS):
            trial = w + step
            there = self._objective.evaluate(trial)
            if value(trial, there) < value(w, at):
                return trial, there
            step *= 0.5
        return None

    def _squares(self, v: np.ndarray) -> np.ndarray:
        """(n_elements,) squared norms of the elements' parts of a vector."""
        return np.bincount(self._element, v[self._columns] ** 2, minlength=self._n)


def _shares(norms: np.ndarray, k: int) -> np.ndarray:
    """The z with 0 <= z_j <= 1, sum z <= k, that minimises sum norms_j^2 / z_j: min(1, norms_j / tau);
    1 if at most k features are in use."""
    if k >= np.count_nonzero(norms):
        return np.ones(len(norms))
    falling = np.sort(norms)[::-1]
    rest = np.cumsum(falling[::-1])[::-1]  # rest[r]: sum of all but the r largest
    tau = next(rest[r] / (k - r) for r in range(k) if falling[r] * (k - r) <= rest[r])
    return np.minimum(norms / tau, 1.0)
