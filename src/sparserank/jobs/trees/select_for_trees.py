"""`select_for_trees`: the shortest list of features in one call, which the command line also uses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from sparserank.crossval.options import TREES
from sparserank.crossval.tree_rivals import LIGHTGBM, is_file, rival_of_file
from sparserank.crossval.trees import TreeSettings
from sparserank.data.joining import concatenate
from sparserank.data.sources import read_sources
from sparserank.data.suspects import names_in, warn_of_suspects
from sparserank.errors import ParameterError
from sparserank.jobs.trees.files import write_lists
from sparserank.jobs.trees.list_job import asked_of_lists, select_list
from sparserank.jobs.trees.options import SELECT_FOR_TREES, SIZES
from sparserank.jobs.typed import TreesOptions
from sparserank.metrics import Metric
from sparserank.options import asked, option
from sparserank.options.arguments import check_arguments
from sparserank.paths import SizedMaker
from sparserank.penalties import Penalty
from sparserank.quoting import brief
from sparserank.runs.directory import refuse_unusable
from sparserank.runs.progress import Progress
from sparserank.runs.work_store import work_store_in
from sparserank.selection import options as of_selection
from sparserank.selection.for_trees import LIST_FILES, TreesSelection
from sparserank.selection.inputs import check_overlap, check_relevant
from sparserank.selection.plan import SelectionPlan, make_plan, planned
from sparserank.warmup import warming_up


def select_for_trees(
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    label: Any = None,
    qid: Any = None,
    penalty: str | Penalty | SizedMaker = "mcp",
    metric: str | Metric = of_selection.METRIC.default,
    margin: float = of_selection.MARGIN.default,
    sizes: Sequence[int] = SIZES.default,
    k: int | None = None,
    budget: float | None = None,
    out: str | os.PathLike | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[TreesOptions],
) -> TreesSelection:
    """Select the shortest list of features on which LightGBM ranks as well as on the best list that was tried.

    Parameters
    ----------
    train, valid, test : path, list of paths, RankingDataset, frame or (X, y, qid)
        Judged documents, as in `select`.
    label, qid : str or array_like, optional
        Columns of a frame, as in `select`.
    penalty : str, Penalty or SizedMaker, default 'mcp'
        Penalty of our path, on features transformed by feature_transform.
    metric : str or Metric, default 'ndcg@10'
        Metric by which models are compared and chosen.
    margin : float, default 0.01
        Largest acceptable estimated loss, relative to the best, in [0, 1).
    sizes : sequence of int, optional
        Lengths of lists, below the number of features that vary. Default: an eighth and a third of it. If k is given,
        it is the longest length.
    k, budget : int, float, optional
        Choose the best list of at most k features, or of at most this total cost, instead of by margin.
    out : path, optional
        Directory for finished work and results.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.
    progress : callable, optional
        As in `select`.
    **options
        for_model (lightgbm, or a file with the settings of your trees), n_trees, n_leaves, learning_rate (of LightGBM's
        lambdarank; rows and features are sampled at 80%), n_seeds, costs, feature_groups, ... `TreesOptions` and
        docs/options.md give the type, default and meaning of each.

    Returns
    -------
    TreesSelection
        .features, .sentence, .sizes(), .save(folder), .to_json()

    Raises
    ------
    DataError
        LightGBM is not installed, or does not accept the relevance.
    ParameterError
        A parameter is unknown or out of its range; the message names it.
    RunDirectoryError
        `out` cannot be used.

    Notes
    -----
    In each fold, lists of each size are built in two ways, without the queries of the fold. They contain the features
    with the largest total gain of trees on all features, or those on the path of one of our penalties.
    Trees on each list, and on all features, rank the queries of the fold. The rule of `select` then chooses the
    shortest list whose estimated loss against the best of all is within the margin, or all features if necessary. The
    result is the list that the chosen method builds from all queries, with the costs of that list. A group
    is added as a whole, so a list may be longer than its size.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> found = sr.trees.select_for_trees(data, k=2, sizes=[2], n_trees=5, n_seeds=1, cv=2)
    >>> len(found.features)
    2
    """
    check_arguments(select_for_trees, {"out": out, "progress": progress})
    given = {"label": label, "qid": qid, "penalty": penalty, "metric": metric, "margin": margin, "sizes": sizes, "k": k}
    given |= {"budget": budget, "out": out, "n_threads": n_threads, "progress": progress, **options}
    sources = {"train": train, "validation": valid, "test": test}
    return _select(sources, asked("select_for_trees", SELECT_FOR_TREES, given))


def _select(sources: dict[str, Any], chosen: dict[str, Any]) -> TreesSelection:
    try:
        plan = make_plan(penalties=chosen["penalty"], **planned(chosen))
    except ParameterError as error:
        name = "penalty" if error.parameter == "penalties" else error.parameter
        raise ParameterError(name, error.message) from error
    of_file = not isinstance(chosen["for_model"], str) or chosen["for_model"] != LIGHTGBM
    if of_file and not is_file(chosen["for_model"]):
        raise ParameterError(
            "for_model", f"must be {LIGHTGBM}, or an existing LightGBM file; got {brief(chosen['for_model'])}."
        )
    own = next((o.name for o in TREES if of_file and chosen[o.name] != o.default), None)
    if own is not None:
        raise ParameterError(own, f"is set by the file of {option('for_model')}; leave it out.")
    refuse_unusable(chosen["out"], "select_for_trees")
    with warming_up():
        parts = read_sources(sources, chosen)
    if not chosen["allow_overlap"]:
        check_overlap(parts)
    train, valid, test = parts.values()
    assert train is not None
    data = train if valid is None else concatenate([train, valid], join_queries=False)
    check_relevant(plan.metrics, data.relevance)
    warn_of_suspects(train, names_in(chosen["keep"], chosen["drop"]))
    said = {name: chosen[name] for name in ("costs", "feature_groups", "keep", "drop")}
    names, settings = tuple(data.feature_names or ()), None
    notes: tuple[str, ...] = ()
    unknown = np.empty(0, dtype=np.int64)
    if of_file:
        rival, notes = rival_of_file(chosen["for_model"], names, np.arange(len(names)))
        settings = rival.settings
        unknown = np.setdiff1d(np.arange(len(names)), rival.columns)
    settings = settings or TreeSettings(**{o.name: chosen[o.name] for o in TREES})
    plan = plan.for_features(names, **said)
    if len(unknown):
        plan = _without(plan, unknown, names)
    on_lists = asked_of_lists(data, plan, settings, chosen["sizes"], chosen["n_seeds"])
    place = {"restart": chosen["restart"], "kind": "select_for_trees", "results": LIST_FILES}
    with work_store_in(chosen["out"], on_lists.identity(plan, data), **place) as store:
        result = select_list(
            data,
            test,
            plan,
            on_lists,
            store,
            chosen["progress"],
            n_threads=chosen["n_threads"],
        )
        result = replace(result, notes=notes)
        if store is not None:
            write_lists(result, store.path)
    return result


def _without(plan: SelectionPlan, unknown: np.ndarray, names: Sequence[str]) -> SelectionPlan:
    """The plan for trees that do not know some features.

    Raises
        ParameterError   keep names one of these features
    """
    (p,) = plan.penalties
    kept = [names[j] for j in p.keep if j in unknown]
    if kept:
        raise ParameterError(
            "keep", f"names {brief(kept[0])}, which is not a feature of the trees in {option('for_model')}."
        )
    never = tuple(sorted({*p.drop, *unknown.tolist()}))
    return replace(plan, penalties=(replace(p, drop=never),))
