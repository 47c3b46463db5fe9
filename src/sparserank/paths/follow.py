"""Following a path: one strength after another, warm-started, with a certificate for each point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from sparserank.errors import ConvergenceWarning, DataError, ParameterError, warn_caller
from sparserank.losses import PairwiseLoss, SquaredHinge
from sparserank.number_checks import finite_numbers, rounded
from sparserank.objective import PairwiseObjective
from sparserank.options.arguments import Positions, check_arguments
from sparserank.options.paths import FIT_PATH
from sparserank.paths.result import PathResult, Point, n_used, significant
from sparserank.paths.starts import SolvedStarts, Starts
from sparserank.paths.strengths import Concave, Convex, Large, Problems, Strengths, roughly
from sparserank.penalties import L1, Penalty, Ridge
from sparserank.penalties.groups import Grouped, grouped
from sparserank.solvers import ProxNewton, Solution, Status, Stop, solve
from sparserank.solvers.lockstep import Seconds, Steps
from sparserank.solvers.loop import solving
from sparserank.solvers.solution import Iterate
from sparserank.text import brief

DEFAULT_TOL = 1e-6
REFIT_RATIO = 1e-4  # ridge strength of a refit, relative to the mean curvature on the support: keeps it well-posed
WINDOW = 10  # points over which an early stop measures the decrease of the loss


def _falling(start: float, n_alphas: int, alpha_min_ratio: float) -> np.ndarray:
    """(n_alphas,) strengths from `start` down to alpha_min_ratio of it, evenly spaced on a logarithmic scale."""
    if not isinstance(n_alphas, int | np.integer) or n_alphas < 1 or not 0 < alpha_min_ratio < 1:
        raise DataError(f"n_alphas must be >= 1 and alpha_min_ratio in (0, 1); got {n_alphas} and {alpha_min_ratio}.")
    if start <= 0:
        raise DataError(
            "no weight of a penalised feature can become nonzero, so there is no path. Every feature is constant "
            "within queries, unpenalised, excluded, or kept at 0 by its sign constraint."
        )
    return start * np.logspace(0, np.log10(alpha_min_ratio), n_alphas) if n_alphas > 1 else np.array([start])


def path_start(objective: PairwiseObjective, penalty: Penalty) -> float:
    """Strength at which the path of this (resolved) penalty starts, computed after always-keep features are fitted."""
    penalty = on_groups(penalty, objective)
    return _start(objective, penalty, _first_iterate(objective, penalty))


def _start(objective: PairwiseObjective, penalty: Penalty, first: Iterate | None) -> float:
    """The first strength of a path that begins at `kept`, or at 0."""
    gradient = objective.gradient_at_zero if first is None else first.gradient
    # l1 type: alpha_max from the KKT conditions at the start (theory.md sections 1 and 7). Other penalties declare
    # the start of their path.
    if penalty.is_convex and not penalty.smooth_at_zero:
        return penalty.alpha_max(gradient)
    return penalty.path_alpha_max(gradient, objective.curvature)


def _first_iterate(objective: PairwiseObjective, penalty: Penalty, tol: float = DEFAULT_TOL) -> Iterate | None:
    """The solution with only always-keep features, at which the path starts; None if the path starts at 0."""
    # Fit the features of weight 0 without a penalty, and no others.
    always = objective.varying & (penalty.feature_weights(objective.n_features) == 0)
    if not always.any() or penalty.smooth_at_zero:
        return None
    monotone = None if penalty.monotone is None else tuple(penalty.feature_signs(objective.n_features).tolist())
    only_always = L1(1.0, weights=tuple(np.where(always, 0.0, np.inf)), monotone=monotone)
    stop = Stop(tol=tol, scale=max(penalty.largest(objective.gradient_at_zero), 1e-300))
    return solve(ProxNewton(), objective, only_always, stop=stop, warn=False).iterate


MAX_IN_HESSIAN = 2000  # varying features; with more, a smooth penalty uses products with the Hessian, not the matrix


@dataclass(frozen=True)
class PathPlan:
    """How paths are fitted: settings shared by all paths of a job, and the state of one path.

    k          the path ends after the first point with more than k features
    enough     a path from large models to small ones may end after a point for which this is true
    starts     starting points for problems of a concave penalty; default: l1 solutions, computed on the way
    tell       called after each point with the number of points in all, for progress
    scaling, pair_weights, loss   settings of the objective, which makers do not read
    round      number of significant digits of the weights that are evaluated, or None: all digits
    units      (column, weight): the first of these columns that a model uses gets this weight; empty: any scale
    """

    n_alphas: int = FIT_PATH["n_alphas"].default
    alpha_min_ratio: float = FIT_PATH["alpha_min_ratio"].default
    tol: float = DEFAULT_TOL
    max_iter: int = FIT_PATH["max_iter"].default
    k: int | None = None
    enough: Callable[[Point], bool] | None = None
    starts: Starts | None = None
    tell: Callable[[int], None] | None = None
    scaling: str = FIT_PATH["scaling"].default
    pair_weights: str = FIT_PATH["pair_weights"].default
    loss: PairwiseLoss = field(default_factory=SquaredHinge)
    round: int | None = None
    units: tuple[tuple[int, float], ...] = ()

    def rounded(self, coefs: sp.csr_array) -> sp.csr_array:
        """Weights (n_models, n_columns) with so many digits, those of each model in its units."""
        if self.round is None:
            return coefs
        values, rows = coefs.data, np.repeat(np.arange(coefs.shape[0]), np.diff(coefs.indptr))
        if self.units:
            columns, wanted = np.array([j for j, _ in self.units]), np.array([weight for _, weight in self.units])
            of_units = coefs[:, columns].toarray()
            first = (of_units > 0).argmax(axis=1)
            of_first = of_units[np.arange(len(first)), first]
            values = values * np.where(of_first > 0, wanted[first] / np.where(of_first > 0, of_first, 1.0), 1.0)[rows]
        return sp.csr_array((rounded(values, self.round), coefs.indices, coefs.indptr), shape=coefs.shape)


def following(
    objective: PairwiseObjective,
    penalty: Penalty,
    plan: PathPlan,
    *,
    alphas: Sequence[float] | np.ndarray | None = None,
    early_stop: float | None = None,
) -> Steps[PathResult]:
    """`fit_path` on an objective, as a generator of requests that a driver answers; it never warns."""
    tol, k, starts = plan.tol, plan.k, plan.starts
    if not (tol > 0 and plan.max_iter >= 1):
        raise DataError(f"tol must be positive and max_iter >= 1; got {tol} and {plan.max_iter}.")
    # Put the penalty on the coefficients of the objective, and find where its path starts.
    whole = resolved(penalty, objective)
    penalty = on_groups(whole, objective)
    first = _first_iterate(objective, penalty, tol)
    alpha_max = _start(objective, penalty, first)
    if alphas is None:
        alphas = _falling(alpha_max, plan.n_alphas, plan.alpha_min_ratio)
    else:
        chosen = finite_numbers(alphas, np.size(alphas))
        if chosen is None or len(chosen) == 0 or chosen.min() <= 0:
            raise ParameterError("alphas", f"must be finite and > 0; got {brief(alphas)}.")
        alphas = np.sort(chosen)[::-1]
    # The tolerance is relative to the largest gradient at 0 (theory.md section 2).
    scale = penalty.largest(objective.gradient_at_zero)
    stop = Stop(tol=tol, max_iter=plan.max_iter, scale=scale)
    problems = Problems(objective, penalty, alphas)
    if starts is None and not penalty.is_convex:
        starts = SolvedStarts(objective, penalty, partial(roughly, stop))
    # Choose how each strength is solved: ridge with very many features, concave with second starts, or convex.
    strengths: Strengths
    if penalty.smooth_at_zero and int(objective.varying.sum()) > MAX_IN_HESSIAN and penalty.monotone is None:
        strengths = Large(problems, stop)
    elif starts is not None:
        strengths = Concave(problems, stop, first, starts)
    else:
        strengths = Convex(problems, stop, first)
    points: list[Point] = []
    for i in range(len(alphas)):
        if _enough(points, objective, k, early_stop):
            break
        # Solve strength after strength, each warm-started from the points before it.
        began = yield Seconds()
        best = yield from strengths.solve(i)
        now = yield Seconds()
        points.append(Point.of(best, now - began))
        if plan.tell is not None:
            plan.tell(len(alphas))
    return PathResult.of(points, whole, alphas[: len(points)], alpha_max, scale, objective)


def _enough(points: Sequence[Point], objective: PairwiseObjective, k: int | None, early_stop: float | None) -> bool:
    """Whether the path may end after these points."""
    if not points:
        return False
    # The path ends at the first point with more than k features, or when the loss has decreased too little over the
    # last WINDOW points; the loss must have left its value at 0 first.
    if k is not None and n_used(significant(points[-1].coef, objective), objective.width)[0] > k:
        return True
    if early_stop is None or len(points) <= WINDOW:
        return False
    before, now = points[-1 - WINDOW].loss, points[-1].loss
    return before < (1.0 - 1e-3) * objective.loss.value_at_zero and before - now < early_stop * before


def warn_of_missed(path: PathResult, tol: float) -> None:
    """Issue ConvergenceWarning, once per reason, if points of the path did not reach the tolerance."""
    for status in (Status.STALLED, Status.ITERATION_LIMIT):
        missed = path.statuses.count(status.value)
        if missed:
            warn_caller(
                f"{missed} of {len(path.alphas)} points of the {path.penalty.label} path did not reach kkt_violation "
                f"{tol * path.l1_alpha_max:.3g} ({status.value}): {status.remedy}.",
                ConvergenceWarning,
            )


def refit_strength(objective: PairwiseObjective, support: np.ndarray) -> float:
    """Strength of the ridge of a refit on these features: REFIT_RATIO of their mean curvature."""
    return REFIT_RATIO * 2.0 * float(objective.pair_norms[support].mean())


def refit_on_support(
    objective: PairwiseObjective, support: np.ndarray, alpha: float | None = None, tol: float = 1e-8
) -> Solution:
    """Refit RankSVM (ridge) on the given features only.

    Parameters
    ----------
    objective : PairwiseObjective
        The loss and the data.
    support : ndarray of int
        The features.
    alpha : float, optional
        Strength of the ridge. Default: 1e-4 of the mean curvature of these features.
    tol : float, default 1e-8
        The kkt_violation at which the solver stops.

    Returns
    -------
    Solution
        The solution, 0 outside `support`.

    Warns
    -----
    ConvergenceWarning
        The tolerance was not reached.

    Examples
    --------
    >>> import numpy as np
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 10, n_informative=3, n_redundant=2).data
    >>> refit = sr.refit_on_support(sr.solvers.PairwiseObjective(data), np.array([0, 4]))
    >>> np.flatnonzero(refit.w).tolist()
    [0, 4]
    """
    check_arguments(refit_on_support, locals())
    check_arguments(refit_on_support, {"support": support}, support=Positions(objective.n_features, "feature"))
    penalty, stop = refit_problem(objective, np.asarray(support), alpha, tol, None)
    return solve(ProxNewton(), objective, penalty, stop=stop)


def refitting(
    objective: PairwiseObjective,
    start: np.ndarray,
    tol: float = 1e-8,
    monotone: tuple[int, ...] | None = None,
    last: Iterate | None = None,
    scale: float | None = None,
) -> Steps[Solution]:
    """`refit_on_support` on the features of `start`, as a generator of requests that a driver answers; it never warns.

    monotone: signs to respect; last: a known refit on mostly the same features, from which the solve starts instead of
    `start`; scale: of the tolerance, default the largest gradient at 0.
    """
    penalty, stop = refit_problem(objective, np.flatnonzero(start), None, tol, monotone)
    stop = stop if scale is None else replace(stop, scale=max(scale, 1e-300))
    return solving(ProxNewton(), objective, penalty, start, stop, start=last)


def refit_problem(
    objective: PairwiseObjective, support: np.ndarray, alpha: float | None, tol: float, monotone: tuple[int, ...] | None
) -> tuple[Ridge, Stop]:
    """The ridge penalty restricted to these features, and the stopping rule of the solve."""
    if len(support) == 0:
        raise DataError("cannot refit a model without features.")
    if alpha is None:
        alpha = refit_strength(objective, support)
    # An infinite weight excludes a feature, so the ridge is on the support only.
    weights = np.full(objective.n_features, np.inf)
    weights[support] = 1.0
    scale = max(float(np.abs(objective.gradient_at_zero).max()), 1e-300)
    return Ridge(alpha, weights=tuple(weights.tolist()), monotone=monotone), Stop(tol=tol, scale=scale)


def resolved(penalty: Penalty, objective: PairwiseObjective) -> Penalty:
    """The penalty with its shape parameters on the scale of the mean loss (theory.md section 2)."""
    return penalty.resolve(objective.curvature, objective.total_weight)


def on_groups(penalty: Penalty, objective: PairwiseObjective) -> Penalty:
    """The penalty on the norms of its groups, if it has any; constant features do not count as members."""
    if isinstance(penalty, Grouped) or penalty.feature_groups is None:
        return penalty
    never = {*penalty.drop, *np.flatnonzero(~objective.varying).tolist()}
    keep = tuple(j for j in penalty.keep if j not in never)
    return grouped(replace(penalty, drop=tuple(sorted(never)), keep=keep))
