"""Paths from data, and their makers and options by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from sparserank.bins import STRAIGHT, fit_bins
from sparserank.data.dataset import RankingDataset
from sparserank.data.read import as_datasets
from sparserank.errors import DataError, ParameterError
from sparserank.number_checks import checked_weights
from sparserank.objective import PairwiseObjective
from sparserank.options import asked
from sparserank.options.arguments import check_arguments
from sparserank.options.paths import FIT_PATH, LINEAR_SCALINGS, PathOptions
from sparserank.paths.best_k import BestK
from sparserank.paths.boosting import BoostedSteps
from sparserank.paths.equal_columns import equal_columns
from sparserank.paths.follow import PathPlan, following, warn_of_missed
from sparserank.paths.makers import PenaltyPath, RuledMaker, SizedMaker
from sparserank.paths.result import PathResult
from sparserank.penalties import PENALTIES, FeatureRules, Penalty, parse_among
from sparserank.shards.dask import placed, sums_on
from sparserank.shards.moments import MomentSums
from sparserank.shards.scaling import FeatureScaling, fit_scalings
from sparserank.solvers.lockstep import run
from sparserank.text import brief

MAKERS: dict[str, type[FeatureRules]] = {**PENALTIES, BestK.name: BestK, BoostedSteps.name: BoostedSteps}


def parse_maker(spec: str | Penalty | SizedMaker, **parameters: Any) -> Penalty | SizedMaker:
    """Parse a penalty as `parse_penalty` does, or 'best_k', 'best_k(k_max=30)', `BestK(...)`, or a custom maker.

    Raises
        DataError   the name or a parameter is unknown, or a value has the wrong type
    """
    maker = spec if isinstance(spec, FeatureRules) else parse_among(MAKERS, spec, **parameters)
    if not isinstance(maker, Penalty | SizedMaker):
        raise DataError(f"penalty must be a Penalty or a SizedMaker; got {maker!r}.")
    return maker


def maker_of(penalty: Penalty | SizedMaker) -> RuledMaker:
    """The path maker of a penalty, or the maker itself."""
    return penalty if isinstance(penalty, SizedMaker) else PenaltyPath(penalty)


def alpha_max(
    X: Any,
    y: np.ndarray,
    *,
    qid: np.ndarray | None = None,
    query_weight: np.ndarray | None = None,
    doc_weight: np.ndarray | None = None,
    pair_weights: str = "pair",
    scaling: str = FIT_PATH["scaling"].default,
) -> float:
    """Compute the smallest l1 strength at which all coefficients are 0: the largest |gradient| of the mean loss at 0.

    Parameters
    ----------
    X : array_like or SciPy sparse matrix of shape (n_docs, n_features)
        Features.
    y : array_like of shape (n_docs,)
        Relevance.
    qid : array_like of shape (n_docs,), optional
        Query ids in any order. Default: one query.
    query_weight : array_like of shape (n_queries,), optional
        Weights >= 0 of the queries, in order of first appearance.
    doc_weight : array_like of shape (n_docs,), optional
        Weights >= 0 of the pairs in which a document is the preferred one.
    pair_weights : {'pair', 'query'}, default 'pair'
        Whether every pair or every query has the same weight.
    scaling : str, default 'within-query-std'
        As in `SparseRanker`; the strength applies to the scaled problem.

    Returns
    -------
    float
        The strength, on the scale of the mean loss.

    Raises
    ------
    DataError
        There is no preferred pair.

    Examples
    --------
    >>> import sparserank as sr
    >>> X, y, qid = [[1.0], [3.0], [2.0], [5.0]], [0, 1, 0, 1], [1, 1, 2, 2]
    >>> strength = sr.alpha_max(X, y, qid=qid)
    >>> sr.SparseRanker(alpha=strength).fit(X, y, qid=qid).coef_.tolist()
    [0.0]
    """
    check_arguments(alpha_max, locals())
    data = RankingDataset(X, y, qid, doc_weight=doc_weight)
    scale = feature_scale(data, scaling, query_weight)
    objective = PairwiseObjective(data, query_weight=query_weight, pair_weights=pair_weights, scale=scale)
    return float(np.abs(objective.gradient_at_zero).max())


def fit_path(
    data: Any,
    penalty: str | Penalty | SizedMaker = "l1",
    *,
    label: Any = None,
    qid: Any = None,
    docid: Any = None,
    query_weight: np.ndarray | None = None,
    n_threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    client: Any = None,
    **options: Unpack[PathOptions],
) -> PathResult:
    """Fit a path of models, warm-started from the sparsest to the densest.

    Parameters
    ----------
    data : path, list of paths, RankingDataset, frame or (X, y, qid)
        Training documents, as in `select`, with their `doc_weight`.
    penalty : str, Penalty or SizedMaker, default 'l1'
        A name ('l1', 'mcp(gamma=2.0)', 'best_k'), a Penalty (its alpha is ignored), or a maker of paths by size.
    label, qid : str or array_like, optional
        Columns of a frame, by default 'label' and 'qid'.
    docid : str, optional
        Column of document ids of a frame, which is then not a feature.
    query_weight : array_like of shape (n_queries,), optional
        Weights >= 0 of the queries.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.
    progress : callable, optional
        Function that is called with (points done, total points).
    client : dask.distributed.Client, optional
        Workers that read a store on a shared file system. Other data are first written to a store in the directory for
        temporary files.
    **options
        Fields of `PathOptions`, also listed in docs/options.md. The most common: loss and scaling, as in `SparseRanker`
        (strengths and certificates refer to the scaled problem, `coefs` to X); n_alphas, the number of points,
        log-spaced from the start of the penalty's path down to alpha_min_ratio times it; alphas, strictly positive
        strengths that replace these, sorted in decreasing order; tol, the kkt_violation at which the solver stops,
        relative to the alpha_max of l1; k, to stop after the first point with more features; early_stop, to stop once
        ten successive points together lower the loss by less than this fraction. With 'best_k' the path has one point
        per size from 1 to k_max: n_alphas and alpha_min_ratio are ignored, alphas and early_stop are rejected.

    Returns
    -------
    PathResult
        The path, with n_alphas points, or fewer after an early stop.

    Raises
    ------
    DataError
        There is no preferred pair, or a parameter is out of range.

    Warns
    -----
    ConvergenceWarning
        Once per reason, if points did not reach the tolerance.

    Notes
    -----
    At each alpha, a nonconvex problem is solved starting from the solution at the neighbouring alpha. If a quadratic
    model of the loss predicts another solution from the l1 solution at that alpha, it is also solved from there, and
    the solution with the lower objective is kept. (For lp, a path that starts only from w = 0 never leaves 0.)

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 10, n_informative=3, n_redundant=2).data
    >>> path = sr.fit_path(data, "mcp", n_alphas=10)
    >>> len(path.alphas), bool(path.kkt_violations.max() < 1e-5)
    (10, True)
    """
    check_arguments(fit_path, locals())
    chosen: dict[str, Any] = {**asked("fit_path", FIT_PATH, options)}
    loss, pair_weights, scaling = (chosen.pop(name) for name in ("loss", "pair_weights", "scaling"))
    maker = parse_maker(penalty)
    if data is None:
        raise ParameterError("data", "must be training data; got None.")
    if not isinstance(data, RankingDataset):
        data = as_datasets({"data": data}, label=label, qid=qid, docid=docid)["data"]
    data = data if client is None else placed(client, data)
    sums_of = None if client is None else sums_on(client, data.X)
    maker = maker.for_features(data.names, data.sources)
    equal, _ = equal_columns(data, maker, per_query=not maker.on_steps)
    maker = replace(maker, drop=(*maker.drop, *equal))
    scale = None if maker.on_steps else feature_scale(data, scaling, query_weight, sums_of)
    objective = PairwiseObjective(
        data,
        loss=loss,
        query_weight=query_weight,
        pair_weights=pair_weights,
        scale=scale,
        shape=fit_bins(data) if maker.on_steps else STRAIGHT,
        n_threads=n_threads,
        client=client,
    )
    path = fit_path_on(objective, maker, progress=progress, **chosen)
    return path if scale is None else replace(path, scaling=FeatureScaling(scaling, np.zeros_like(scale), scale))


def fit_path_on(
    objective: PairwiseObjective,
    penalty: Penalty | SizedMaker,
    *,
    progress: Callable[[int, int], None] | None = None,
    warn: bool = True,
    alphas: Sequence[float] | np.ndarray | None = None,
    early_stop: float | None = None,
    **options: Any,
) -> PathResult:
    """Run `following` to its end, with fields of `PathPlan` and alphas or early_stop as options; warns like `fit_path`,
    unless warn=False. A path by size has no strengths, so n_alphas and alpha_min_ratio have no effect on it.

    Raises
        ParameterError   alphas or early_stop for a path by size
    """
    done = 0

    def tell(n: int) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, n)

    plan = PathPlan(tell=tell, **options)
    if isinstance(penalty, SizedMaker):
        for name, value in (("alphas", alphas), ("early_stop", early_stop)):
            if value is not None:
                raise ParameterError(
                    name, f"has no meaning with {penalty.name}, whose path has one point per size; leave it out."
                )
        path = run(penalty.path(objective, plan))
    else:
        path = run(following(objective, penalty, plan, alphas=alphas, early_stop=early_stop))
    if warn:
        warn_of_missed(path, float(plan.tol))
    return path


def feature_scale(
    data: RankingDataset, scaling: str, query_weight: np.ndarray | None = None, sums_of: MomentSums | None = None
) -> np.ndarray | None:
    """(n_features,) divisors of the features, learned on queries with a positive weight; None for scaling='none'.

    Features are not centred, because a shift within a query changes no ranking.
    """
    if scaling not in LINEAR_SCALINGS:
        raise ParameterError("scaling", f"must be one of {', '.join(LINEAR_SCALINGS)}; got {brief(scaling)}.")
    weights = np.ones(data.n_queries) if query_weight is None else query_weight
    used = checked_weights("query_weight", weights, data.n_queries) > 0
    if scaling == "none":
        return None
    return fit_scalings(data, scaling, used[None, :], sums_of)[1][0]
