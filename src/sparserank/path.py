"""Regularisation paths: alphas, warm starts, certificates; data first, pictures second."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.scaling import LINEAR_SCALINGS, FeatureScaling, fit_scaling
from sparserank.errors import ConvergenceWarning, DataError
from sparserank.losses import PairwiseLoss
from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1, Penalty, Ridge, parse_penalty
from sparserank.quoting import brief
from sparserank.solvers import ProxNewton, Solution, Status, Stop, solve
from sparserank.solvers.solution import Iterate

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_SCALING = "within-query-std"
DEFAULT_TOL = 1e-6
ALPHA_MIN_RATIO = 1e-3
ROUGH_TOL = 1e-2  # second starts are solved this far before they are compared: what is left to gain is of its square
REFIT_RATIO = 1e-4  # ridge strength of a refit, relative to the mean curvature on the support: keeps it well-posed


@dataclass(frozen=True)
class PathCertificate:
    """How well a path is solved: statuses met, largest kkt_violation relative to alpha_max of l1, largest gap, seconds."""

    status: str
    kkt_violation: float
    gap: float | None
    time_s: float


@dataclass(frozen=True, repr=False)
class PathResult:
    """Solutions for decreasing `alphas`, each with its certificate.

    alphas (n_alphas,), scaled_coefs (n_alphas, n_features) of the scaled features, losses and objectives (mean loss, +
    penalty), kkt_violations,
    gaps (NaN when nonconvex), n_iters, times_s, statuses ('optimal', 'stationary', 'stalled', 'iteration limit').
    penalty holds the resolved shape parameters; alpha_max is where the path starts, l1_alpha_max the scale of tolerances.
    """

    penalty: Penalty
    alphas: np.ndarray
    scaled_coefs: np.ndarray
    losses: np.ndarray
    objectives: np.ndarray
    kkt_violations: np.ndarray
    gaps: np.ndarray
    n_iters: np.ndarray
    times_s: np.ndarray
    statuses: tuple[str, ...]
    alpha_max: float
    l1_alpha_max: float
    n_pairs: int
    total_weight: float
    feature_names: tuple[str, ...]
    scale: np.ndarray | None = None  # (n_features,) what X was divided by; None: nothing

    def __repr__(self) -> str:
        sizes = f"{self.nnz.min()} to {self.nnz.max()}" if len(self.alphas) else "no"
        return f"PathResult({self.penalty.label}, {len(self.alphas)} points, {sizes} of {self.scaled_coefs.shape[1]} features)"

    @property
    def coefs(self) -> np.ndarray:
        """(n_alphas, n_features) coefficients in units of X."""
        return self.scaled_coefs if self.scale is None else self.scaled_coefs / self.scale

    @property
    def nnz(self) -> np.ndarray:
        """(n_alphas,) number of selected features."""
        return np.count_nonzero(self.scaled_coefs, axis=1)

    def support(self, index: int) -> np.ndarray:
        """Selected features of one point, 0-based."""
        return np.flatnonzero(self.scaled_coefs[index])

    def certificate(self) -> PathCertificate:
        """The worst figures over the whole path."""
        gaps = self.gaps[np.isfinite(self.gaps)]
        return PathCertificate(
            status=" / ".join(dict.fromkeys(self.statuses)),
            kkt_violation=float(self.kkt_violations.max()) / self.l1_alpha_max,
            gap=float(gaps.max()) if len(gaps) else None,
            time_s=float(self.times_s.sum()),
        )

    def truncate(self, k: int) -> PathResult:
        """Every point cut to its k largest |scaled coefficients|, without refit; certificates no longer apply (NaN)."""
        if k < 1:
            raise DataError(f"truncate needs k >= 1; got {k}.")
        coefs = self.scaled_coefs.copy()
        if k < coefs.shape[1]:
            drop = np.argsort(-np.abs(coefs), axis=1, kind="stable")[:, k:]
            np.put_along_axis(coefs, drop, 0.0, axis=1)
        nothing = np.full(len(self.alphas), np.nan)
        return replace(
            self, scaled_coefs=coefs, losses=nothing, objectives=nothing, kkt_violations=nothing, gaps=nothing,
            statuses=("truncated",) * len(self.alphas),
        )  # fmt: skip

    def to_table(self) -> pa.Table:
        """Tidy Arrow table, one row per alpha; C_sum and C_mean are the papers' scales of the same strength, r the l1 norm."""
        import pyarrow as pa

        with np.errstate(divide="ignore"):
            c_mean = 1.0 / self.alphas
        return pa.table(
            {
                "penalty": [self.penalty.label] * len(self.alphas),
                "alpha": self.alphas,
                "alpha_fraction": self.alphas / self.alpha_max if self.alpha_max > 0 else np.ones_like(self.alphas),
                "C_sum": c_mean / self.total_weight,
                "C_mean": c_mean,
                "r": np.abs(self.scaled_coefs).sum(axis=1),
                "nnz": self.nnz,
                "loss": self.losses,
                "objective": self.objectives,
                "kkt_violation": self.kkt_violations,
                "gap": self.gaps,
                "n_iter": self.n_iters,
                "time_s": self.times_s,
                "status": list(self.statuses),
                "features": [[self.feature_names[j] for j in np.flatnonzero(c)] for c in self.scaled_coefs],
            }
        )


def alpha_max(
    X: Any,
    y: np.ndarray,
    *,
    qid: np.ndarray | None = None,
    query_weight: np.ndarray | None = None,
    doc_weight: np.ndarray | None = None,
    pair_weights: str = "pair",
    scaling: str = DEFAULT_SCALING,
) -> float:
    """Smallest l1 strength whose solution is w = 0: the largest |gradient| of the mean loss at 0.

    Parameters
        X (n_docs, n_features), y (n_docs,) relevance, qid (n_docs,) in any order (None: one query)
        scaling   as in SparseRanker: the strength is that of the scaled problem
    Raises
        DataError   no preferred pair
    """
    data, _ = scale_features(RankingDataset(X, y, qid, doc_weight=doc_weight), scaling, query_weight)
    objective = PairwiseObjective(data, query_weight=query_weight, pair_weights=pair_weights)
    return float(np.abs(objective.gradient_at_zero).max())


def fit_path(
    data: RankingDataset,
    penalty: str | Penalty = "l1",
    *,
    n_alphas: int = 100,
    alpha_min_ratio: float = ALPHA_MIN_RATIO,
    alphas: np.ndarray | None = None,
    query_weight: np.ndarray | None = None,
    pair_weights: str = "pair",
    loss: PairwiseLoss | None = None,
    scaling: str = DEFAULT_SCALING,
    tol: float = DEFAULT_TOL,
    max_iter: int = 300,
    max_features: int | None = None,
    early_stop: float | None = None,
    n_threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> PathResult:
    """Fit a path of models, from the sparsest to the densest, warm-started.

    Parameters
        data             documents grouped by query; their doc_weight counts
        scaling          as in SparseRanker; strengths and certificates belong to the scaled problem, `coefs` to X
        penalty          name ('l1', 'mcp(gamma=2.0)') or Penalty; its alpha is ignored
        n_alphas         points, log-spaced from the penalty's own start down to alpha_min_ratio times it
        alphas           strictly positive strengths instead; sorted downwards
        tol              kkt_violation to reach, relative to the alpha_max of l1
        max_features     stop after the first point with more features than this
        early_stop       stop once ten successive points together lower the loss by less than this share of it; None: never
        progress         called with (points done, points in all)
    Returns
        PathResult with n_alphas points (fewer after an early stop)
    Raises
        DataError            no preferred pair, parameters out of range
    Warns
        ConvergenceWarning   once per reason, if points did not reach the tolerance
    Notes
        A nonconvex problem is solved at each alpha from the l1 solution of that alpha and from the neighbour's
        solution; the lower objective wins (a path followed from w = 0 alone never leaves 0 for lp).
    """
    scaled, scale = scale_features(data, scaling, query_weight)
    objective = PairwiseObjective(
        scaled, loss=loss, query_weight=query_weight, pair_weights=pair_weights, n_threads=n_threads
    )
    path = fit_path_on(
        objective, parse_penalty(penalty), n_alphas=n_alphas, alpha_min_ratio=alpha_min_ratio, alphas=alphas, tol=tol,
        max_iter=max_iter, max_features=max_features, early_stop=early_stop, progress=progress,
        feature_names=tuple(data.feature_names or ()),
    )  # fmt: skip
    return replace(path, scale=scale)


def scale_features(
    data: RankingDataset, scaling: str, query_weight: np.ndarray | None = None
) -> tuple[RankingDataset, np.ndarray | None]:
    """(data with features divided by a scale of their own, the scale (n_features,)), learned on queries of positive weight.

    Centres are left out: a shift inside a query changes no ranking. scaling='none' gives the data as they are, and None.
    """
    if scaling not in LINEAR_SCALINGS:
        raise DataError(f"scaling must be one of {', '.join(LINEAR_SCALINGS)}; got {brief(scaling)}.")
    if scaling == "none":
        return data, None
    used = data if query_weight is None or np.all(query_weight) else data.take_queries(np.flatnonzero(query_weight))
    fitted = fit_scaling(used, scaling)
    shift = FeatureScaling(scaling, np.zeros(data.n_features), fitted.scale)
    return shift.apply(data), fitted.scale


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


def fit_path_on(
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
    progress: Callable[[int, int], None] | None = None,
    feature_names: tuple[str, ...] = (),
) -> PathResult:
    """`fit_path` on an objective that exists already."""
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
    follower = _PathFollower(objective, penalty, stop)
    solutions: list[Solution] = []
    times: list[float] = []
    for alpha in alphas:
        began = time.perf_counter()
        solutions.append(follower.at(float(alpha)))
        times.append(time.perf_counter() - began)
        if progress is not None:
            progress(len(solutions), len(alphas))
        if max_features is not None and np.count_nonzero(solutions[-1].w) > max_features:
            break
        if early_stop is not None and len(solutions) > 10:
            before, now = solutions[-11].loss, solutions[-1].loss
            if before < (1.0 - 1e-3) * objective.loss.value_at_zero and before - now < early_stop * before:
                break
    for status in (Status.STALLED, Status.ITERATION_LIMIT):
        missed = sum(s.status is status for s in solutions)
        if missed:
            warnings.warn(
                f"{missed} of {len(solutions)} points of the {penalty.label} path did not reach kkt_violation "
                f"{stop.threshold:.3g} ({status.value}): {status.remedy}.",
                ConvergenceWarning,
                stacklevel=3,
            )
    return PathResult(
        penalty=penalty,
        alphas=alphas[: len(solutions)].copy(),
        scaled_coefs=np.array([s.w for s in solutions]),
        losses=np.array([s.loss for s in solutions]),
        objectives=np.array([s.value for s in solutions]),
        kkt_violations=np.array([s.kkt_violation for s in solutions]),
        gaps=np.array([np.nan if s.gap is None else s.gap for s in solutions]),
        n_iters=np.array([s.n_iter for s in solutions]),
        times_s=np.array(times),
        statuses=tuple(s.status.value for s in solutions),
        alpha_max=start,
        l1_alpha_max=scale,
        n_pairs=objective.n_pairs,
        total_weight=objective.total_weight,
        feature_names=feature_names or tuple(f"f{j + 1}" for j in range(objective.n_features)),
    )


class _PathFollower:
    """Solves one alpha after another, each from where the last one ended."""

    def __init__(self, objective: PairwiseObjective, penalty: Penalty, stop: Stop) -> None:
        self.objective, self.penalty, self.stop = objective, penalty, stop
        self.solver, self.l1_solver, self.rough_solver = ProxNewton(), ProxNewton(), ProxNewton()
        self.last: Iterate | None = None
        self.last_l1: Iterate | None = None
        p = penalty
        self.l1 = L1(1.0, p.weights, p.signs, p.always_keep, p.never_use)

    def at(self, alpha: float) -> Solution:
        penalty = self.penalty.with_alpha(alpha)
        best = self._solve(self.solver, penalty, self.last, self.stop)
        if not penalty.is_convex:
            rough = replace(self.stop, tol=max(self.stop.tol, min(ROUGH_TOL, 0.1 * alpha / self.stop.scale)))
            self.last_l1 = _iterate(self._solve(self.l1_solver, self.l1.with_alpha(alpha), self.last_l1, rough))
            other = self._solve(self.rough_solver, penalty, self.last_l1, rough)
            if other.value < best.value:
                other = self._solve(self.rough_solver, penalty, _iterate(other), self.stop)
                best = other if other.value < best.value else best
        self.last = _iterate(best)
        return best

    def _solve(self, solver: ProxNewton, penalty: Penalty, start: Iterate | None, stop: Stop) -> Solution:
        return solve(solver, self.objective, penalty, stop=stop, start=start, warn=False)


def _iterate(solution: Solution) -> Iterate:
    return Iterate(solution.w, solution.loss, solution.gradient, solution.value)


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
