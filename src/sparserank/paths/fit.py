"""Regularisation paths from data: scaling, strengths, warm starts, certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.sources import as_datasets
from sparserank.errors import DataError, ParameterError
from sparserank.objective import PairwiseObjective
from sparserank.options import asked
from sparserank.paths.by_name import parse_maker
from sparserank.paths.follow import DEFAULT_TOL, following, warn_of_missed
from sparserank.paths.makers import PathPlan, SizedMaker
from sparserank.paths.options import FIT_PATH, LINEAR_SCALING
from sparserank.paths.result import PathResult, Point
from sparserank.paths.typed import PathOptions
from sparserank.penalties import Penalty
from sparserank.quoting import brief
from sparserank.shards.dask import placed, sums_on
from sparserank.shards.moments import MomentSums
from sparserank.shards.scaling import LINEAR_SCALINGS, fit_scalings
from sparserank.solvers.lockstep import run


def alpha_max(
    X: Any,
    y: np.ndarray,
    *,
    qid: np.ndarray | None = None,
    query_weight: np.ndarray | None = None,
    doc_weight: np.ndarray | None = None,
    pair_weights: str = "pair",
    scaling: str = LINEAR_SCALING.default,
) -> float:
    """Smallest l1 strength whose solution is w = 0: the largest |gradient| of the mean loss at 0.

    Parameters
        X (n_docs, n_features), y (n_docs,) relevance, qid (n_docs,) in any order (None: one query)
        scaling   as in SparseRanker: the strength is that of the scaled problem
    Raises
        DataError   no preferred pair
    """
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
    """Fit a path of models, from the sparsest to the densest, warm-started.

    Parameters
        data             documents grouped by query, whose doc_weight counts; or files, a frame, (X, y, qid), as in
                         `select`
        label, qid       names of a frame's columns (default 'label' and 'qid'); docid: that of the document ids, which
                         is no feature
        loss             as in SparseRanker
        scaling          as in SparseRanker; strengths and certificates belong to the scaled problem, `coefs` to X
        penalty          name ('l1', 'mcp(gamma=2.0)', 'best_k') or Penalty, whose alpha is ignored, or SizedMaker
        n_alphas         points, log-spaced from the penalty's own start down to alpha_min_ratio times it
        alphas           strictly positive strengths instead; sorted downwards. Under best_k, whose path goes through
                         sizes 1 to k_max, n_alphas and alpha_min_ratio mean nothing, alphas and early_stop are refused
        tol              kkt_violation to reach, relative to the alpha_max of l1
        k                stop after the first point with more features than this
        early_stop       stop once ten successive points together lower the loss by less than this share of it; None:
                         never
        n_threads        threads; None for all cores. Results do not depend on it
        progress         called with (points done, points in all)
        client           a dask.distributed Client whose workers do the reading, of a store that they all see (anything
                         else is written to one in the folder for temporary files first)
    Returns
        PathResult with n_alphas points (fewer after an early stop)
    Raises
        DataError            no preferred pair, parameters out of range
    Warns
        ConvergenceWarning   once per reason, if points did not reach the tolerance
    Notes
        A nonconvex problem is solved at each alpha from the neighbour's solution and, where a quadratic model of the
        loss says that this leads elsewhere, from the l1 solution of that alpha; the lower objective wins (a path
        followed from w = 0 alone never leaves 0 for lp).
    """
    chosen = asked("fit_path", FIT_PATH, options)
    loss, pair_weights, scaling = (chosen.pop(name) for name in ("loss", "pair_weights", "scaling"))
    made = parse_maker(penalty)
    if not isinstance(data, RankingDataset):
        data = as_datasets({"data": data}, label=label, qid=qid, docid=docid)["data"]
    data = data if client is None else placed(client, data)
    sums_of = None if client is None else sums_on(client, data.X)
    scale = feature_scale(data, scaling, query_weight, sums_of)
    objective = PairwiseObjective(
        data,
        loss=loss,
        query_weight=query_weight,
        pair_weights=pair_weights,
        scale=scale,
        n_threads=n_threads,
        client=client,
    )
    names = tuple(data.feature_names or ())
    path = fit_path_on(objective, made.for_features(names), progress=progress, feature_names=names, **chosen)
    return replace(path, scale=scale)


def fit_path_on(
    objective: PairwiseObjective,
    penalty: Penalty | SizedMaker,
    *,
    progress: Callable[[int, int], None] | None = None,
    warn: bool = True,
    **options: Any,
) -> PathResult:
    """`following` with these options, driven to its end; warns like `fit_path`, unless warn=False. A limit on size has
    no strengths: of the options it takes tol, max_iter, k and feature_names; n_alphas and alpha_min_ratio
    mean nothing there.

    Raises
        ParameterError   alphas or early_stop under a limit on size
    """
    done = 0

    def keep(point: Point, n: int) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, n)

    if isinstance(penalty, SizedMaker):
        for name in ("alphas", "early_stop"):
            if options.get(name) is not None:
                raise ParameterError(
                    name, f"means nothing under {penalty.name}, whose path goes through sizes; leave it out."
                )
        known = {name: options[name] for name in ("tol", "max_iter", "k", "feature_names") if name in options}
        path = run(penalty.path(objective, PathPlan(keep=keep, **known)))
    else:
        path = run(following(objective, penalty, keep=keep, **options))
    if warn:
        warn_of_missed(path, float(options.get("tol", DEFAULT_TOL)), stacklevel=3)
    return path


def feature_scale(
    data: RankingDataset, scaling: str, query_weight: np.ndarray | None = None, sums_of: MomentSums | None = None
) -> np.ndarray | None:
    """(n_features,) what features are divided by, learned on queries of positive weight; None for scaling='none'.

    Centres are left out: a shift inside a query changes no ranking.
    """
    if scaling not in LINEAR_SCALINGS:
        raise DataError(f"scaling must be one of {', '.join(LINEAR_SCALINGS)}; got {brief(scaling)}.")
    if scaling == "none":
        return None
    used = np.ones(data.n_queries, dtype=bool) if query_weight is None else np.asarray(query_weight) > 0
    return fit_scalings(data, scaling, used[None, :], sums_of)[1][0]
