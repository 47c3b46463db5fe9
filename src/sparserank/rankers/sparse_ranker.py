"""SparseRanker: one penalty, one regularisation strength (or one number of features)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sparserank.bins import Bins
from sparserank.data.dataset import RankingDataset
from sparserank.data.transformed import transformed
from sparserank.errors import DataError, ParameterError, warn_caller
from sparserank.metrics import Metric
from sparserank.model.ranking_model import step_model
from sparserank.number_checks import kept_in_vain
from sparserank.objective import PairwiseObjective
from sparserank.options import Number, option
from sparserank.paths import (
    PathResult,
    Point,
    SizedMaker,
    feature_scale,
    fit_path_on,
    maker_of,
    on_groups,
    path_start,
    warn_of_missed,
)
from sparserank.penalties import Penalty
from sparserank.penalties.groups import Grouped, like_l1
from sparserank.rankers.base import TrainingSet
from sparserank.rankers.penalty_parameters import DEFAULTS, KINDS, PenalizedRanker, usable_penalty
from sparserank.shards.dask import placed, sums_on
from sparserank.shards.scaling import prepared
from sparserank.solvers import ProxNewton, Solution, Stop, solve

# the linear part of a scaling, which is applied after `prepared`
LINEAR_PART = {"log-standard": "standard", "query-min-max": "none"}
MAX_REFINEMENTS = 6
REFINED_ALPHAS = 12


@dataclass(kw_only=True, eq=False, repr=False)
class SparseRanker(PenalizedRanker):
    """Linear ranker with a sparsity penalty on the mean pairwise loss.

    Minimises (weighted mean over preferred pairs of max(0, 1 - margin)^2) + penalty(w), where w are the weights of
    scaled features.

    Parameters
    ----------
    penalty : str, Penalty or BestK, optional
        'l1', 'l0.5', 'log', 'mcp', 'scad', 'elastic_net', 'ridge', 'best_k' (with k), a call such as 'mcp(gamma=2.0)',
        or a Penalty, whose weights, monotone, keep and drop also apply. Default: 'l1', or 'mcp' with k,
        because mcp shrinks the weights least in models with few features.
    loss : str or PairwiseLoss, default 'squared_hinge'
        'squared_hinge', or a loss object: SquaredHinge(table), which weights pairs by their grades, or a custom loss.
    k : int, optional
        Use the densest point of a path with at most k features; excludes alpha.
    scaling : str, default 'within-query-std'
        'within-query-std' (divide by the standard deviation within queries, because only differences within a query
        affect a ranking), 'standard', 'min-max', 'none' for exact comparisons, 'log-standard' (signed log1p first) or
        'query-min-max' (`predict` then needs qid). The last two exclude transforms, and there is no coef_.
    feature_transform : str, default 'none'
        Transform of the features: 'none', 'log' (sign(x) log(1 + |x|)) or 'asinh' (asinh(x / median |x|)).
        (The name is not transform because scikit-learn's selectors have a method `transform`.)
    monotone : mapping, optional
        {feature: '+'} or {feature: '-'}: a larger value of the feature may only raise, or only lower, the score.
    keep, drop : list of str, optional
        Features that the model always uses, or never uses. Features of an array are called f1, f2, ...
    feature_groups : mapping or path, optional
        {feature: group}, or a file of lines feature,group,cost: features that are computed together enter together.
    costs : list of float, mapping or path, optional
        Costs > 0 of the features, or of the groups as {group: cost}; they weight the penalty.
    missing : str, float or mapping, default 'error'
        Rule for NaN and infinite values: 'error' (rejected), 'zero', 'min' or 'median' (of the known training values of
        the feature), a number, or one of these per feature: {'bm25': 'min', '*': 'median'}.
    pair_weights : {'pair', 'query'}, default 'pair'
        Whether every pair or every query has the same weight.
    tol : float, default 1e-6
        kkt_violation at which the solver stops, relative to the alpha_max of l1.
    n_alphas : int, default 40
        Number of points of the path when k is set. A path that ends with fewer than k features is continued once, to
        weaker strengths.
    metric : str or Metric, default 'ndcg@10'
        Metric that `score` computes.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.
    alpha : float, optional
        Regularisation strength > 0 on the scale of the mean loss. Default: `alpha_ratio` times the strength at which
        the path starts (for l1: alpha_max, the smallest strength whose solution is 0).
    alpha_ratio : float, default 0.05
        Ratio > 0, used when alpha is None.
    max_iter : int, default 500
        Maximum number of solver iterations at one strength.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights in units of X, scaling included. With a transform, transform_ and shaped_coef_ (the weights of
        transform_(X)) replace it. With steps, steps_ replaces it: {feature: StepFunction}, the contribution of each
        to the score.
    scaled_coef_, feature_importances_ : ndarray of shape (n_features,)
        Weights of the scaled features, and their absolute values; with steps, their ranges.
    support_ : ndarray of int
        Features whose scaled_coef_ is not 0.
    scale_ : ndarray of shape (n_features,) or None
        Divisors of the features.
    fill_values_ : ndarray of shape (n_features,)
        Replacements for missing values.
    objective_, loss_ : float
        Mean loss + penalty; mean loss. These and the attributes below refer to the scaled problem.
    kkt_violation_, duality_gap_ : float
        Largest distance of -gradient to the subdifferential; value minus a dual bound (None if not convex).
    n_iter_, status_, certificate_ : int, str, Certificate
        Number of iterations; 'optimal', 'stationary', 'stalled' or 'iteration limit'; the certificate, with its problem
        and the models to which the gap applies.
    alpha_, alpha_max_ : float
        Strength (NaN under best_k); alpha_max of l1, over features that may be used.
    C_sum_, C_mean_, r_ : float
        The same strength, expressed as the papers' weight of the summed loss, as the weight of the mean loss, and as
        the l1 norm of scaled_coef_. Infinite if alpha_ is 0 (no feature can enter) or below 1e-308; NaN under best_k.
    n_pairs_, penalty_ : int, Penalty
        Preferred pairs; the resolved penalty.

    Raises
    ------
    DataError
        There is no preferred pair, no feature varies or may be used, data are not finite, or parameters are invalid.

    Notes
    -----
    Certificates refer to the float64 solution; `coef_` has the dtype of X, as scikit-learn requires. A threshold on
    `coef_` compares weights with different units: pass importance_getter="feature_importances_" to SelectFromModel and
    RFE.

    References
    ----------
    Laporte et al. (2014), equation (5), on the mean over pairs: alpha = 1 / (C n_pairs) for penalties linear in alpha.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 10, n_informative=3, n_redundant=2).data
    >>> ranker = sr.SparseRanker(penalty="mcp", k=3).fit(data.X, data.relevance, qid=data.qid)
    >>> len(ranker.support_), ranker.predict(data.X).shape
    (3, (320,))
    """

    penalty: str | Penalty | SizedMaker | None = None
    alpha: float | None = None
    alpha_ratio: float = DEFAULTS["alpha_ratio"]
    max_iter: int = 500

    _takes_doc_weight = _takes_client = True

    def _check_parameters(self) -> None:
        penalty = self._checked_penalty()
        if isinstance(penalty, SizedMaker) and self.k is None:
            raise ParameterError(
                "penalty", f"{penalty.name} searches over the number of features; set {option('k')}.", owner=self._name
            )
        if self.k is not None and not maker_of(penalty).selects:
            selects_none = f"{penalty.name} selects no features; use a sparse penalty such as 'l1'."
            raise ParameterError("k", selects_none, owner=self._name)
        if self.k is not None and self.alpha is not None:
            raise ParameterError("k", f"cannot be combined with {option('alpha')}.", owner=self._name)

    @property
    def _named_penalty(self) -> str | Penalty | SizedMaker:
        if self.penalty is not None:
            return self.penalty
        return "l1" if self.k is None else "mcp"

    def _prepared(self, data: RankingDataset) -> RankingDataset:
        return prepared(data, self.scaling)

    def _learn(self, training: TrainingSet) -> None:
        data = training.data
        query_weight = training.query_weight
        client = training.client
        penalty = self._completed_penalty(data)
        transform = self._learned_transform(training, penalty)
        penalty = transform.limited(penalty)
        if transform.transform is not None:
            data = transformed(data, transform.transform)
            data = data if client is None else placed(client, data)
        shape = transform.shape
        self.scale_ = None
        if not shape.stepped:
            sums = None if client is None else sums_on(client, data.X)
            self.scale_ = feature_scale(data, LINEAR_PART.get(self.scaling, self.scaling), query_weight, sums)
        objective = self._objective(
            replace(training, data=data), loss=self.loss, pair_weights=self.pair_weights, scale=self.scale_, shape=shape
        )
        if isinstance(penalty, SizedMaker):
            assert self.k is not None
            penalty = penalty.up_to(self.k)
        else:
            penalty = usable_penalty(self._name, penalty, objective)
        varying = np.atleast_1d(objective.varying.reshape(-1, objective.width).any(axis=1))
        if warning := kept_in_vain(penalty.keep, data.sources, varying):
            warn_caller(f"{self._name}: {warning}")
        of_feature = np.abs(objective.gradient_at_zero).reshape(-1, objective.width).max(axis=1)
        self.alpha_max_ = penalty.largest(of_feature)
        if isinstance(penalty, Penalty) and isinstance(grouped := on_groups(penalty, objective), Grouped):
            self.alpha_max_ = like_l1(grouped).alpha_max(objective.gradient_at_zero)
        if self.k is not None:
            self._fit_size(objective, penalty, self.k)
        else:
            assert isinstance(penalty, Penalty)  # a path by size, as for best_k or steps, needs k
            alpha = self.alpha if self.alpha is not None else self.alpha_ratio * path_start(objective, penalty)
            penalty = penalty.with_alpha(alpha)
            one = self._solve(objective, on_groups(penalty, objective))
            alphas = np.array([penalty.alpha])
            # One solution is a path of one point; its signs are those of w, because a path does not store -0.0.
            path = PathResult.of([Point.of(one, 0.0)], penalty, alphas, self.alpha_max_, self.alpha_max_, objective)
            self._keep(np.copysign(path.scaled_coef(0), one.w), path, 0, one.n_iter)
        self.C_mean_ = 1.0 / self.alpha_ if self.alpha_ > 0 else float("inf")
        self.C_sum_ = self.C_mean_ / objective.total_weight
        if isinstance(penalty, SizedMaker):  # a path by size has no strength
            self.alpha_ = self.C_mean_ = self.C_sum_ = float("nan")
        if isinstance(shape, Bins):  # the fitted jumps become steps, and one weight per feature
            model = step_model(shape, self.scaled_coef_, tuple(f"f{j + 1}" for j in range(self.n_features_in_)))
            self.scaled_coef_ = model.coef.copy()
            self.steps_ = {f.index: f.steps.times(f.coef) for f in model.features if f.steps is not None}
        self.r_ = float(np.abs(self.scaled_coef_).sum())
        self.coef_ = self.scaled_coef_ if self.scale_ is None else self.scaled_coef_ / self.scale_

    def _solve(self, objective: PairwiseObjective, penalty: Penalty) -> Solution:
        """Solve at one strength; a concave penalty starts from the l1 solution of the same strength (Algorithm 2's
        first round)."""
        stop = Stop(tol=self.tol, max_iter=self.max_iter, scale=max(self.alpha_max_, 1e-300))
        start = None
        if not penalty.is_convex:
            l1 = like_l1(penalty).with_alpha(penalty.alpha)
            first = solve(ProxNewton(), objective, l1, stop=stop, warn=False)
            start = first.iterate
        return solve(ProxNewton(), objective, penalty, stop=stop, start=start)

    def _fit_size(self, objective: PairwiseObjective, penalty: Penalty | SizedMaker, k: int) -> None:
        groups = self._groups
        penalty = _within(penalty, objective, k) if groups is None else penalty
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "warn": False}
        options["k"] = k if groups is None else None  # the path would count columns, and a feature may have several

        def sizes(path: PathResult) -> np.ndarray:
            return path.nnz if groups is None else groups.counts_of(path.sparse_coefs, path.width)

        def largest(path: PathResult) -> int:
            """The largest size that is at most k; 0 if there is none."""
            return int(sizes(path)[sizes(path) <= k].max(initial=0))

        path = fit_path_on(objective, penalty, n_alphas=self.n_alphas, **options)
        if not isinstance(penalty, SizedMaker) and sizes(path).max() < min(k, _usable(penalty, objective).sum()):
            weaker = path.alphas[-1] * np.geomspace(1.0, DEFAULTS["alpha_min_ratio"], self.n_alphas + 1)[1:]
            further = fit_path_on(objective, penalty, alphas=weaker, **options)
            if largest(further) > sizes(path).max():
                path = further
        finer = path
        for _ in range(MAX_REFINEMENTS):
            if isinstance(penalty, SizedMaker) or largest(path) == k or sizes(finer).max() <= k:
                break
            # The grid skipped size k: refine between its last point of at most k features and its first larger one.
            first_larger = int(np.argmax(sizes(finer) > k))
            above = finer.alphas[first_larger - 1] if first_larger else finer.alphas[0] * 1.5
            between = np.geomspace(above, finer.alphas[first_larger], REFINED_ALPHAS)
            finer = fit_path_on(objective, penalty, alphas=between, **options)
            if largest(finer) > largest(path):
                path = finer
            elif largest(path) > 0:
                break
        warn_of_missed(path, self.tol)
        within = np.flatnonzero((sizes(path) <= k) & (sizes(path) > 0))
        if len(within) == 0:
            raise DataError(
                f"no regularisation strength selects between 1 and {k} features, because too many enter the model at "
                "once. Check for duplicated features."
            )
        best = int(within[np.argmin(path.ranks[within])])
        self._keep(path.scaled_coef(best), path, best, int(path.n_iters.max(initial=1)))

    def _keep(self, w: np.ndarray, path: PathResult, best: int, n_iter: int) -> None:
        """Set the fitted attributes from w, a point of a path."""
        self.scaled_coef_, self.alpha_ = w, float(path.alphas[best])
        self.penalty_ = path.penalty.with_alpha(self.alpha_)
        self.loss_, self.objective_ = float(path.losses[best]), float(path.objectives[best])
        self.kkt_violation_ = float(path.kkt_violations[best])
        self.duality_gap_ = None if np.isnan(path.gaps[best]) else float(path.gaps[best])
        self.n_iter_ = n_iter
        self.status_ = path.statuses[best]
        self.n_pairs_ = path.n_pairs
        self.certificate_ = path.certificate_at(best)


def _usable(penalty: Penalty | SizedMaker, objective: PairwiseObjective) -> np.ndarray:
    """(n_features,) whether a feature varies and may be used."""
    n = objective.n_features // objective.width
    return objective.varying.reshape(n, -1).any(axis=1) & np.isfinite(penalty.feature_weights(n))


def _within(penalty: Penalty | SizedMaker, objective: PairwiseObjective, k: int) -> Penalty | SizedMaker:
    """The penalty, with those groups never used that have more than k features that vary and may be used.

    Raises
        DataError   there is no other group
    """
    if penalty.feature_groups is None:
        return penalty
    usable = _usable(penalty, objective)
    group = penalty.group_of(len(usable))
    size = np.bincount(group, usable)
    if not ((size > 0) & (size <= k)).any():
        raise DataError(
            f"every group has more than {k} features; the smallest has {int(np.min(size[size > 0]))}. Allow at least "
            "that many."
        )
    beyond = set(np.flatnonzero(size[group] > k).tolist())
    keep = tuple(j for j in penalty.keep if j not in beyond)
    return replace(penalty, drop=tuple(sorted({*penalty.drop, *beyond})), keep=keep)


class RankSVM(SparseRanker):
    """RankSVM in the primal: squared hinge over preferred pairs + ridge, by exact Newton steps.

    Parameters
    ----------
    alpha : float, default 0.001
        Strength > 0 of alpha ||w||^2 / 2 on the scale of the mean loss; equals 1 / C of the usual mean-scaled RankSVM.
    pair_weights : {'pair', 'query'}, default 'pair'
        Whether every pair or every query has the same weight.
    tol : float, default 1e-6
        kkt_violation at which the solver stops, relative to the alpha_max of l1.
    max_iter : int, default 500
        Maximum number of solver iterations.
    metric : str or Metric, default 'ndcg@10'
        Metric that `score` computes.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.

    References
    ----------
    Chapelle and Keerthi (2010), 'Efficient algorithms for ranking with SVMs' (RankSVM-Primal), without forming pairs.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> sr.papers.RankSVM().fit(data.X, data.relevance, qid=data.qid).status_
    'optimal'
    """

    def __init__(
        self,
        *,
        alpha: float = 1e-3,
        pair_weights: str = DEFAULTS["pair_weights"],
        tol: float = DEFAULTS["tol"],
        max_iter: int = 500,
        metric: str | Metric = DEFAULTS["metric"],
        n_threads: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.pair_weights = pair_weights
        self.tol = tol
        self.max_iter = max_iter
        self.metric = metric
        self.n_threads = n_threads

    _kinds: ClassVar = {**KINDS, "alpha": Number(above=0)}
    # Parameters of SparseRanker that are fixed here.
    monotone = keep = drop = feature_groups = costs = None
    loss = DEFAULTS["loss"]
    penalty = "ridge"
    alpha_ratio = 1.0
    k = None
    scaling = feature_transform = "none"
    missing = "error"
    n_alphas = DEFAULTS["n_alphas"]
