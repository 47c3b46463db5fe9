"""`select_for_trees`: the features that a tree ranker should keep, chosen by what trees make of them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from sparserank import defaults
from sparserank.crossval.trees import TreeSettings, lengths_of
from sparserank.data.joining import concatenate
from sparserank.data.reading import Reading
from sparserank.data.sources import as_datasets
from sparserank.data.suspects import warn_of_suspects
from sparserank.errors import ParameterError
from sparserank.jobs.trees.files import write_judged
from sparserank.jobs.trees.list_job import asked_of_lists, select_list
from sparserank.metrics import Metric
from sparserank.paths import SizedMaker
from sparserank.penalties import Penalty
from sparserank.runs.progress import Progress
from sparserank.runs.work_store import work_store_in
from sparserank.selection.for_trees import JUDGED_FILES, JudgedSelection
from sparserank.selection.inputs import check_overlap
from sparserank.selection.plan import make_plan
from sparserank.warmup import warming_up

SIZES = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 45)
N_SEEDS = 3


def select_for_trees(
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    label: Any = None,
    qid: Any = None,
    docid: Any = None,
    penalty: str | Penalty | SizedMaker = "mcp",
    metric: str | Metric = defaults.METRIC,
    also: Sequence[str | Metric] = defaults.ALSO,
    convention: str = defaults.CONVENTION,
    transform: str = defaults.TRANSFORM,
    folds: int = defaults.N_FOLDS,
    seed: int = defaults.SEED,
    margin: float | str = defaults.MARGIN,
    confidence: float = defaults.CONFIDENCE,
    k: int | None = None,
    budget: float | None = None,
    costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None = None,
    groups: str | os.PathLike | Mapping[str, str] | None = None,
    keep: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    sizes: Sequence[int] = SIZES,
    n_trees: int = TreeSettings.n_trees,
    n_leaves: int = TreeSettings.n_leaves,
    learning_rate: float = TreeSettings.learning_rate,
    n_seeds: int = N_SEEDS,
    allow_overlap: bool = False,
    out: str | os.PathLike | None = None,
    restart: bool = False,
    n_threads: int | None = None,
    progress: Progress | None = None,
    reading: Reading | Mapping[str, Any] | None = None,
) -> JudgedSelection:
    """Select the shortest list of features on which LightGBM ranks as well as on the best that was tried.

    Lists of each size come from three makers, each without the queries of the fold: the largest total gain of trees on
    all features, their largest mean |SHAP value|, and the path of a penalty of ours. Trees on each list, and on all
    features, rank the queries of the fold; the rule of `select` then takes the shortest list whose loss against the
    best of all is bounded by the margin, all features if need be. What is kept is that maker's list from all queries,
    and costs are its. Groups come whole, so that lists may be longer than asked for.

    Parameters
        penalty, transform   of our path: on features in the last of the shapes that `select` would try
        sizes                lengths of lists, those below the number of features that vary; k, where given, is one of
                             them and the longest
        n_trees, n_leaves, learning_rate   of LightGBM's lambdarank; rows and features are sampled at 80%
        n_seeds              of the trees on every list; values are means over them
        costs, groups, budget   price lists, as in `select`; the others as there
    Returns
        JudgedSelection: .features, .sentence, .sizes(), .save(folder), .to_json()
    Raises
        DataError            LightGBM is not installed, or does not take the relevance
        ParameterError       names the parameter that is out of its range
        RunDirectoryError    `out` cannot be used
    """
    plan = make_plan(
        penalties=penalty,
        metric=metric,
        also=also,
        convention=convention,
        n_folds=folds,
        seed=seed,
        margin=margin,
        confidence=confidence,
        k=k,
        budget=budget,
        transform=transform,
    )
    if len(plan.penalties) != 1:
        raise ParameterError("penalty", "must be one.")
    settings, lengths = TreeSettings(n_trees, n_leaves, learning_rate), lengths_of(sizes)
    with warming_up():
        parts = as_datasets(
            {"train": train, "validation": valid, "test": test}, label=label, qid=qid, docid=docid, reading=reading
        )
    if not allow_overlap:
        check_overlap(parts)
    train_data, valid_data, test_data = parts.values()
    assert train_data is not None
    data = train_data if valid_data is None else concatenate([train_data, valid_data], join_queries=False)
    warn_of_suspects(train_data, "--drop {0}, drop=['{0}']", drop if isinstance(drop, Sequence) else ())
    plan = plan.for_features(tuple(data.feature_names or ()), costs=costs, groups=groups, keep=keep, drop=drop)
    asked = asked_of_lists(data, plan, settings, lengths, n_seeds)
    identity = asked.identity(plan, data)
    with work_store_in(out, identity, restart=restart, kind="judge", results=JUDGED_FILES) as store:
        result = select_list(data, test_data, plan, asked, store, progress, n_threads=n_threads)
        if store is not None:
            write_judged(result, store.path)
    return result
