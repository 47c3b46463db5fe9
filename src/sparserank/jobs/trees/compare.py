"""`compare_with_trees`: the comparison in one call; the command line calls it too."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from sparserank import defaults
from sparserank.crossval.trees import TreeSettings, check_trees
from sparserank.data.reading import Reading
from sparserank.data.sources import as_datasets
from sparserank.jobs.trees.comparison_job import SIZES, ComparisonPlan, compare
from sparserank.jobs.trees.files import COMPARISON_FILES, write_comparison
from sparserank.metrics import Metric
from sparserank.paths import SizedMaker
from sparserank.penalties import Penalty
from sparserank.runs.progress import Progress
from sparserank.runs.work_store import work_store_in
from sparserank.selection.comparison import ComparisonResult
from sparserank.selection.plan import make_plan


def compare_with_trees(
    data: Any,
    *,
    label: Any = None,
    qid: Any = None,
    docid: Any = None,
    penalties: str | Penalty | SizedMaker | Sequence[str | Penalty | SizedMaker] = defaults.PENALTIES,
    metric: str | Metric = defaults.METRIC,
    convention: str = defaults.CONVENTION,
    transform: str = defaults.TRANSFORM,
    shapes: str = defaults.SHAPES,
    n_knots: int = defaults.N_KNOTS,
    sizes: Sequence[int] = SIZES,
    folds: int = defaults.N_FOLDS,
    repeats: int = 1,
    n_seeds: int = 5,
    seed: int = defaults.SEED,
    n_trees: int = defaults.N_TREES,
    n_leaves: int = defaults.N_LEAVES,
    out: str | os.PathLike | None = None,
    restart: bool = False,
    n_threads: int | None = None,
    progress: Progress | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
) -> ComparisonResult:
    """Our models of every size beside LightGBM, on the same folds: trees on all features, and on k features of their
    own choice or of ours.

    Parameters
        data      a path or paths, a RankingDataset, a frame, or (X, y, qid), as in `select`; label to n_knots as there
        sizes     numbers of features
        repeats   times that all folds are drawn anew; n_seeds: of the trees on all features, whose mean is shown
        out       directory to keep finished work in, and to write the results to; the same call goes on after a kill
    Returns
        ComparisonResult: .sentences(), .rows(), .choice, .all_features
    Raises
        DataError            LightGBM is not installed, or does not take the relevance
        ParameterError       names the parameter that is out of its range
        RunDirectoryError    `out` cannot be used
    """
    plan = ComparisonPlan(
        make_plan(
            penalties=penalties,
            metric=metric,
            also=(),
            convention=convention,
            transform=transform,
            shapes=shapes,
            n_knots=n_knots,
            n_folds=folds,
            seed=seed,
        ),
        TreeSettings(n_trees, n_leaves),
        tuple(sizes),
        repeats,
        n_seeds,
    )
    held = as_datasets({"data": data}, label=label, qid=qid, docid=docid, reading=reading)["data"]
    assert held is not None
    check_trees(held)
    with work_store_in(out, plan.identity(held), restart=restart, kind="compare", results=COMPARISON_FILES) as store:
        result = compare(held, plan, progress, store, n_threads=n_threads)
        if store is not None:
            write_comparison(result, store.path)
    return result
