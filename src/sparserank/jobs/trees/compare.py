"""`compare_with_trees`: the comparison in one call, which the command line also uses."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Unpack

from sparserank.crossval.trees import TreeSettings, check_trees
from sparserank.data.sources import read_sources
from sparserank.jobs.trees.comparison_job import ComparisonPlan, compare
from sparserank.jobs.trees.files import COMPARISON_FILES, write_comparison
from sparserank.jobs.trees.options import COMPARE
from sparserank.jobs.typed import CompareOptions
from sparserank.metrics import Metric
from sparserank.options import asked
from sparserank.options.arguments import check_arguments
from sparserank.paths import SizedMaker
from sparserank.penalties import Penalty
from sparserank.runs.directory import refuse_unusable
from sparserank.runs.progress import Progress
from sparserank.runs.work_store import work_store_in
from sparserank.selection import options as of_selection
from sparserank.selection.comparison import ComparisonResult
from sparserank.selection.plan import make_plan, planned


def compare_with_trees(
    data: Any,
    *,
    label: Any = None,
    qid: Any = None,
    penalties: str | Penalty | SizedMaker | Sequence[str | Penalty | SizedMaker] = of_selection.PENALTIES.default,
    metric: str | Metric = of_selection.METRIC.default,
    out: str | os.PathLike | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[CompareOptions],
) -> ComparisonResult:
    """Compare our models of every size with LightGBM, on the same folds.

    The trees use all features, or k features that they or our models choose.

    Parameters
    ----------
    data : path, list of paths, RankingDataset, frame or (X, y, qid)
        Judged documents, as in `select`.
    label, qid : str or array_like, optional
        Columns of a frame, as in `select`.
    penalties : str, Penalty, SizedMaker, or sequence of them, default ('l1', 'log', 'mcp')
        As in `select`.
    metric : str or Metric, default 'ndcg@10'
        Metric by which models are compared and chosen.
    out : path, optional
        Directory for finished work and results.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.
    progress : callable, optional
        As in `select`.
    **options
        sizes (numbers of features), repeats (number of times that all folds are redrawn), n_seeds (seeds of the trees
        on all features, averaged), n_trees, n_leaves, feature_transform, cv, ... `CompareOptions` and docs/options.md
        give the type, default and meaning of each.

    Returns
    -------
    ComparisonResult
        .sentences(), .rows(), .plot(), .choice, .all_features

    Raises
    ------
    DataError
        LightGBM is not installed, or does not accept the relevance.
    ParameterError
        A parameter is unknown or out of its range; the message names it.
    RunDirectoryError
        `out` cannot be used.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> result = sr.trees.compare_with_trees(data, penalties="mcp", sizes=[2], n_trees=5, n_seeds=1, cv=2, repeats=1)
    >>> result.n_queries
    30
    """
    check_arguments(compare_with_trees, {"out": out, "progress": progress})
    given = {"label": label, "qid": qid, "penalties": penalties, "metric": metric, "out": out, "n_threads": n_threads}
    chosen = asked("compare_with_trees", COMPARE, {**given, "progress": progress, **options})
    plan = ComparisonPlan(
        make_plan(penalties=penalties, report_metrics=(), **planned(chosen)),
        TreeSettings(chosen["n_trees"], chosen["n_leaves"]),
        tuple(chosen["sizes"]),
        chosen["repeats"],
        chosen["n_seeds"],
    )
    refuse_unusable(out, "compare")
    held = read_sources({"data": data}, chosen)["data"]
    assert held is not None
    check_trees(held)
    place = {"restart": chosen["restart"], "kind": "compare", "results": COMPARISON_FILES}
    with work_store_in(out, plan.identity(held), **place) as store:
        result = compare(held, plan, progress, store, n_threads=n_threads)
        if store is not None:
            write_comparison(result, store.path)
    return result
