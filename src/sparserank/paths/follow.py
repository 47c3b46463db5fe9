"""Following a path: strength after strength, warm-started, each point certified."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from sparserank.errors import ConvergenceWarning, DataError
from sparserank.objective import PairwiseObjective
from sparserank.paths.result import PathResult, Point
from sparserank.penalties import L1, Penalty, Ridge
from sparserank.solvers import ProxNewton, Solution, Status, Stop, solve
from sparserank.solvers.lockstep import Evaluate, Hessian, Seconds, Steps, run
from sparserank.solvers.loop import solving
from sparserank.solvers.prox_newton import DOCUMENTS_PER_COLUMN
from sparserank.solvers.quadratic import minimise_model
from sparserank.solvers.solution import Iterate

DEFAULT_TOL = 1e-6
ALPHA_MIN_RATIO = 1e-3
ROUGH_TOL = 1e-2  # second starts are solved this far before they are compared: what is left to gain is of its square
REFIT_RATIO = 1e-4  # ridge strength of a refit, relative to the mean curvature on the support: keeps it well-posed
SAME_PLACE = 1e-6  # share of the loss below which the model's quadratic term tells no two places apart
MODEL_DOUBT = 0.5  # share of its quadratic term by which a model of the loss may be wrong, far from where it was made
MODEL_WORK, MODEL_SHARE = 1e7, 0.02  # documents * columns^2, or share of the documents, from which it is made
WINDOW = 10  # points over which an early stop looks back


def path_alphas(objective: PairwiseObjective, penalty: Penalty, n_alphas: int, alpha_min_ratio: float) -> np.ndarray:
    """(n_alphas,) log-spaced strengths, from where the penalty's path starts."""
    if not isinstance(n_alphas, int | np.integer) or n_alphas < 1 or not 0 < alpha_min_ratio < 1:
        raise DataError(f"n_alphas must be >= 1 and alpha_min_ratio in (0, 1); got {n_alphas} and {alpha_min_ratio}.")
    start = path_start(objective, penalty)
    if start <= 0:
        raise DataError(
            "no penalised feature can leave 0: all are constant within queries, unpenalised, never to be used or held by "
            "their sign constraint, so there is no path."
        )
    return start * np.logspace(0, np.log10(alpha_min_ratio), n_alphas) if n_alphas > 1 else np.array([start])


def path_start(objective: PairwiseObjective, penalty: Penalty) -> float:
    """Strength at which the path of this (resolved) penalty starts, computed once always-keep features are fitted."""
    gradient = objective.gradient_at_zero
    curvature = objective.curvature
    kept = objective.varying & (penalty.feature_weights(objective.n_features) == 0)
    if kept.any() and not penalty.smooth_at_zero:
        only_kept = np.where(kept, 0.0, np.inf)
        stop = Stop(scale=max(float(np.abs(gradient).max()), 1e-300))
        gradient = solve(ProxNewton(), objective, L1(1.0, weights=tuple(only_kept)), stop=stop, warn=False).gradient
    if penalty.is_convex and not penalty.smooth_at_zero:
        return penalty.alpha_max(gradient)
    return penalty.path_alpha_max(gradient, curvature)


class Starts(Protocol):
    """Points near the l1 solutions: where a concave penalty's problems are started from, besides the last solution."""

    def at(self, alpha: float, near: Iterate) -> Steps[np.ndarray]:
        """A point for this strength; `near` is the solution found already, all that it may depend on besides."""
        ...


class PathStarts:
    """Starts read off an l1 path between its strengths, along which the solution is nearly linear."""

    def __init__(self, alphas: np.ndarray, scaled_coefs: np.ndarray) -> None:
        """alphas (n,) falling, scaled_coefs (n, n_features)."""
        self.alphas, self.coefs = alphas, scaled_coefs

    def at(self, alpha: float, near: Iterate) -> Steps[np.ndarray]:
        yield from ()
        if alpha >= self.alphas[0]:
            return self.coefs[0]
        after = int(np.searchsorted(-self.alphas, -alpha))  # the first strength of at most alpha
        if after == len(self.alphas):
            return self.coefs[-1]
        high, low = self.alphas[after - 1], self.alphas[after]
        share = (high - alpha) / (high - low)
        before, there = self.coefs[after - 1], self.coefs[after]
        return np.where(there == before, there, (1.0 - share) * before + share * there)


class SolvedStarts:
    """Starts solved for, roughly, as the path goes on."""

    def __init__(self, objective: PairwiseObjective, like: Penalty, rough: Callable[[float], Stop]) -> None:
        self._objective, self._l1, self._rough = objective, l1_like(like), rough

    def at(self, alpha: float, near: Iterate) -> Steps[np.ndarray]:
        l1 = self._l1.with_alpha(alpha)
        solution = yield from solving(ProxNewton(), self._objective, l1, stop=self._rough(alpha), start=near)
        return solution.w


def l1_like(penalty: Penalty) -> L1:
    """l1 under the same rules: weights, signs, features that are always or never used."""
    return L1(1.0, penalty.weights, penalty.signs, penalty.always_keep, penalty.never_use)


def following(
    objective: PairwiseObjective,
    penalty: Penalty,
    *,
    n_alphas: int = 100,
    alpha_min_ratio: float = ALPHA_MIN_RATIO,
    alphas: np.ndarray | None = None,
    tol: float = DEFAULT_TOL,
    max_iter: int = 300,
    max_features: int | None = None,
    early_stop: float | None = None,
    starts: Starts | None = None,
    done: Sequence[Point] = (),
    keep: Callable[[Point, int], None] | None = None,
    feature_names: tuple[str, ...] = (),
) -> Steps[PathResult]:
    """`fit_path` on an objective, as steps for a driver; it never warns.

    Parameters
        starts   where problems of a concave penalty are started from; default: l1 solutions, made on the way
        done     points of this path that are known already, as `keep` gave them; the path goes on behind them, to the same bits
        keep     called with each new point and the number of points in all: nothing else crosses from strength to strength
    """
    if not (tol > 0 and max_iter >= 1):
        raise DataError(f"tol must be positive and max_iter >= 1; got {tol} and {max_iter}.")
    penalty = penalty.resolve(objective.curvature, objective.total_weight)
    start = path_start(objective, penalty)
    if alphas is None:
        alphas = path_alphas(objective, penalty, n_alphas, alpha_min_ratio)
    else:
        alphas = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
        if len(alphas) == 0 or not np.isfinite(alphas).all() or alphas[-1] <= 0:
            raise DataError("alphas must be finite and > 0.")
    scale = float(np.abs(objective.gradient_at_zero).max())
    stop = Stop(tol=tol, max_iter=max_iter, scale=scale)

    def rough(alpha: float) -> Stop:
        return replace(stop, tol=max(tol, min(ROUGH_TOL, 0.1 * alpha / scale)))

    if starts is None and not penalty.is_convex:
        starts = SolvedStarts(objective, penalty, rough)
    points = list(done)
    last: Iterate | None = None
    if points:
        at = yield Evaluate(objective, points[-1].w)
        last = Iterate(points[-1].w, at, points[-1].objective)
    for alpha in alphas[len(points) :].tolist():
        if _enough(points, objective, max_features, early_stop):
            break
        began = yield Seconds()
        here = penalty.with_alpha(alpha)
        solver = ProxNewton()  # a new one: no Hessian crosses from strength to strength
        best = yield from solving(solver, objective, here, stop=stop, start=last)
        if starts is not None:
            other = yield from starts.at(alpha, best.iterate)
            best = yield from _better(solver, objective, here, best, other, stop, rough(alpha))
        last = best.iterate
        now = yield Seconds()
        points.append(Point.of(best, now - began))
        if keep is not None:
            keep(points[-1], len(alphas))
    return PathResult.of(
        points, penalty, alphas[: len(points)], start, scale, objective.n_pairs, objective.total_weight,
        feature_names or tuple(f"f{j + 1}" for j in range(objective.n_features)),
    )  # fmt: skip


def _better(
    solver: ProxNewton,
    objective: PairwiseObjective,
    penalty: Penalty,
    best: Solution,
    start: np.ndarray,
    stop: Stop,
    rough: Stop,
) -> Steps[Solution]:
    """The lower of `best` and what is found from `start`.

    The quadratic model of the loss at `best` is minimised from there first, which reads nothing: where it leads back to `best`,
    or to a place that is higher by more than the model can be wrong, nothing is solved; and only what is lower at the
    rough tolerance is solved to the end.
    """
    here = best.iterate
    columns = np.flatnonzero((here.w != 0) | (start != 0))
    if len(columns) == 0:
        return best
    n_docs = max(
        int(MODEL_WORK / len(columns) ** 2),
        int(MODEL_SHARE * objective.n_useful_docs),
        DOCUMENTS_PER_COLUMN * len(columns),
    )
    H = yield Hessian(objective, here.w, columns, n_docs if n_docs < 0.5 * objective.n_useful_docs else None)
    away = start[columns] - here.w[columns]
    part, tol = penalty.restrict(columns, len(start)), 0.1 * rough.threshold
    w = start.copy()
    w[columns] = minimise_model(H, here.gradient[columns] + H @ away, start[columns], part, tol)
    moved = w[columns] - here.w[columns]
    bend = 0.5 * float(moved @ H @ moved)
    change = float(here.gradient[columns] @ moved) + bend + penalty.value(w) - penalty.value(here.w)
    if bend <= SAME_PLACE * here.loss or change >= MODEL_DOUBT * bend:
        return best
    for begin in (w, start):  # two basins, as often as not
        other = yield from solving(solver, objective, penalty, begin, rough)
        if other.value < best.value:
            other = yield from solving(solver, objective, penalty, stop=stop, start=other.iterate)
            return other if other.value < best.value else best
    return best


def _enough(
    points: Sequence[Point], objective: PairwiseObjective, max_features: int | None, early_stop: float | None
) -> bool:
    """Whether the path may end behind these points."""
    if not points:
        return False
    if max_features is not None and np.count_nonzero(points[-1].w) > max_features:
        return True
    if early_stop is None or len(points) <= WINDOW:
        return False
    before, now = points[-1 - WINDOW].loss, points[-1].loss
    return before < (1.0 - 1e-3) * objective.loss.value_at_zero and before - now < early_stop * before


def fit_path_on(
    objective: PairwiseObjective,
    penalty: Penalty,
    *,
    progress: Callable[[int, int], None] | None = None,
    **options: object,
) -> PathResult:
    """`following` with these options, driven to its end; warns like `fit_path`."""
    done = 0

    def keep(point: Point, n: int) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, n)

    path = run(following(objective, penalty, keep=keep, **options))  # type: ignore[arg-type]
    warn_of_missed(path, float(options.get("tol", DEFAULT_TOL)), stacklevel=3)  # type: ignore[arg-type]
    return path


def warn_of_missed(path: PathResult, tol: float, stacklevel: int) -> None:
    """ConvergenceWarning, once per reason, if points of the path did not reach the tolerance."""
    for status in (Status.STALLED, Status.ITERATION_LIMIT):
        missed = path.statuses.count(status.value)
        if missed:
            warnings.warn(
                f"{missed} of {len(path.alphas)} points of the {path.penalty.label} path did not reach kkt_violation "
                f"{tol * path.l1_alpha_max:.3g} ({status.value}): {status.remedy}.",
                ConvergenceWarning,
                stacklevel=stacklevel + 1,
            )


def refit_on_support(
    objective: PairwiseObjective, support: np.ndarray, alpha: float | None = None, tol: float = 1e-8
) -> Solution:
    """RankSVM (ridge) on the given features alone; `alpha` defaults to 1e-4 of their mean curvature."""
    if len(support) == 0:
        raise DataError("cannot refit a model without features.")
    if alpha is None:
        alpha = REFIT_RATIO * 2.0 * float(objective.pair_norms[support].mean())
    weights = np.full(objective.n_features, np.inf)
    weights[support] = 1.0
    scale = max(float(np.abs(objective.gradient_at_zero).max()), 1e-300)
    return solve(ProxNewton(), objective, Ridge(alpha, weights=tuple(weights)), stop=Stop(tol=tol, scale=scale))
