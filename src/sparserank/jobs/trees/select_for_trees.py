"""`select_for_trees`: the features that a tree ranker should keep, chosen by what trees make of them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from sparserank.crossval.choice import Candidate
from sparserank.crossval.engine import CrossValidation
from sparserank.crossval.families import Trial
from sparserank.crossval.folded_paths import FINAL
from sparserank.crossval.groups import each_alone
from sparserank.crossval.looks import looks
from sparserank.crossval.options import TREES
from sparserank.crossval.trees import TreeSettings, check_trees, fit_trees, identity_of_trees, lengths_of
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.data.joining import concatenate
from sparserank.data.reading import reading_from
from sparserank.data.sources import as_datasets
from sparserank.data.suspects import warn_of_suspects
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation import evaluate
from sparserank.execution import available_cores
from sparserank.jobs.trees.comparison_job import largest_within, systems_of
from sparserank.jobs.trees.files import write_judged
from sparserank.jobs.trees.options import SELECT_FOR_TREES, SIZES
from sparserank.jobs.trees.out_of_fold import GAIN, OURS, SHAP, Arrays, TreesOfFold, on_list, ranked, whole_groups
from sparserank.jobs.typed import TreesOptions
from sparserank.metrics import Metric
from sparserank.options import asked
from sparserank.paths import SizedMaker, maker_of
from sparserank.penalties import Penalty
from sparserank.runs.progress import Progress
from sparserank.runs.work import Work
from sparserank.runs.work_store import WorkStore, work_store_in
from sparserank.selection import options as of_selection
from sparserank.selection.comparison import ALL
from sparserank.selection.for_trees import JUDGED_FILES, JudgedSelection
from sparserank.selection.inputs import check_overlap
from sparserank.selection.plan import SelectionPlan, make_plan, planned
from sparserank.warmup import warming_up

LISTS = (GAIN, SHAP, OURS)


def select_for_trees(
    train: Any,
    valid: Any = None,
    test: Any = None,
    *,
    label: Any = None,
    qid: Any = None,
    penalty: str | Penalty | SizedMaker = "mcp",
    metric: str | Metric = of_selection.METRIC.default,
    margin: float | str = of_selection.MARGIN.default,
    sizes: Sequence[int] = SIZES.default,
    k: int | None = None,
    budget: float | None = None,
    out: str | os.PathLike | None = None,
    n_threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[TreesOptions],
) -> JudgedSelection:
    """Select the shortest list of features on which LightGBM ranks as well as on the best that was tried.

    Lists of each size come from three makers, each without the queries of the fold: the largest total gain of trees on
    all features, their largest mean
    |SHAP value|, and the path of a penalty of ours. Trees on each list, and on all features, rank the queries of the
    fold; the rule of `select` then takes the shortest list whose loss against the best of all is bounded by the margin,
    all features if need be. What is kept is that maker's list from all queries, and costs are its. Groups come whole,
    so that lists may be longer than asked for.

    Parameters
        train, valid, test   as in `select`, and so are label, qid, metric, margin, k, budget, out, n_threads, progress
        penalty              of our path: on features in the last of the shapes that `select` would try
        sizes                lengths of lists, those below the number of features that vary; k, where given, is one of
                             them and the longest
        options              n_trees, n_leaves, learning_rate (of LightGBM's lambdarank; rows and features are sampled
                             at 80%), n_seeds, costs, groups, ...: each with its type, default and meaning in
                             `TreesOptions` and in docs/options.md
    Returns
        JudgedSelection: .features, .sentence, .sizes(), .save(folder), .to_json()
    Raises
        DataError            LightGBM is not installed, or does not take the relevance
        ParameterError       names the parameter that is out of its range
        RunDirectoryError    `out` cannot be used
    """
    given = {"label": label, "qid": qid, "penalty": penalty, "metric": metric, "margin": margin, "sizes": sizes, "k": k}
    given |= {"budget": budget, "out": out, "n_threads": n_threads, "progress": progress, **options}
    sources = {"train": train, "validation": valid, "test": test}
    return _select(sources, asked("select_for_trees", SELECT_FOR_TREES, given))


def _select(sources: dict[str, Any], chosen: dict[str, Any]) -> JudgedSelection:
    if isinstance(chosen["penalty"], list | tuple):
        raise ParameterError("penalty", "must be one.")
    plan = make_plan(penalties=chosen["penalty"], **planned(chosen))
    settings = TreeSettings(**{o.name: chosen[o.name] for o in TREES})
    listed, k, drop = lengths_of(chosen["sizes"]), plan.k, chosen["drop"]
    columns = {name: chosen[name] for name in ("label", "qid", "docid")}
    with warming_up():
        parts = as_datasets(sources, **columns, reading=reading_from(chosen))
    if not chosen["allow_overlap"]:
        check_overlap(parts)
    train_data, valid_data, test_data = parts.values()
    assert train_data is not None
    data = train_data if valid_data is None else concatenate([train_data, valid_data], join_queries=False)
    warn_of_suspects(train_data, drop if isinstance(drop, Sequence) else ())
    plan = plan.for_features(
        tuple(data.feature_names or ()), **{name: chosen[name] for name in ("costs", "groups", "keep", "drop")}
    )
    check_trees(data)
    lengths = _possible(listed, k, data, plan)
    identity = {
        **plan.identity(data, None),
        "trees": repr(settings),
        "sizes": repr(listed),
        "k": k,
        "n_seeds": chosen["n_seeds"],
        "transform": plan.transform,
        **identity_of_trees(),
    }
    place = {"restart": chosen["restart"], "kind": "judge", "results": JUDGED_FILES}
    with work_store_in(chosen["out"], identity, **place) as store:
        run = (chosen["n_seeds"], chosen["n_threads"], store, chosen["progress"])
        result = _judged(data, test_data, plan, settings, lengths, *run)
        if store is not None:
            write_judged(result, store.path)
    return result


def _possible(sizes: tuple[int, ...], k: int | None, data: RankingDataset, plan: SelectionPlan) -> tuple[int, ...]:
    """The lengths that lists can have: not below the number of features that are kept,
    not up to all that may be used."""
    kept, usable = len(plan.penalties[0].always_keep), len(_usable(data, plan))
    if k is not None and k < kept:
        raise ParameterError("k", f"is {k}, but {kept} features are to be kept.")
    wanted = sizes if k is None else tuple(sorted({k, *(s for s in sizes if s < k)}))
    possible = tuple(s for s in wanted if max(kept, 1) <= s < usable)
    if usable < 2:
        raise DataError(
            f"{'one feature varies' if usable else 'no feature varies'} and may be used; there is nothing to choose."
        )
    if not possible:
        raise ParameterError(
            "sizes", f"hold no length from {max(kept, 1)} to {usable - 1}: {usable} features vary and may be used."
        )
    return possible


def _usable(data: RankingDataset, plan: SelectionPlan) -> np.ndarray:
    """Features that vary and may be used."""
    never = plan.penalties[0].never_use
    return np.setdiff1d(np.flatnonzero(~data.constant_features()), never)


def _judged(
    data: RankingDataset,
    test: RankingDataset | None,
    plan: SelectionPlan,
    settings: TreeSettings,
    sizes: tuple[int, ...],
    n_seeds: int,
    n_threads: int | None,
    store: WorkStore | None,
    progress: Progress | None,
) -> JudgedSelection:
    n_workers = n_threads or available_cores()
    fold = query_folds(data.n_queries, min(plan.folds, data.n_queries), plan.seed)
    folds = range(int(fold.max()) + 1)
    kept, usable = plan.penalties[0].always_keep, _usable(data, plan)
    kinds = {"ours-0": "ours", **{f"trees-{f}": "trees" for f in folds}}
    work: Work[Arrays] = Work(kinds, keeper=store, n_workers=n_workers, alone=("ours",), progress=progress)
    work.begin()
    ours = work.results.get("ours-0")
    if ours is None:
        began = time.perf_counter()
        ours = _our_lists(data, fold, plan, sizes, n_workers)
        work.finish("ours-0", "our path", ours, time.perf_counter() - began)
    task = TreesOfFold(
        data,
        fold,
        plan.metric,
        settings,
        sizes,
        LISTS,
        n_seeds,
        n_seeds,
        plan.seed,
        usable,
        kept,
        None if plan.groups is None else plan.groups.of_feature,
    )
    lists = {f: {k: ours[f"{f}|{k}"] for k in sizes if f"{f}|{k}" in ours} for f in folds}
    work.run(
        task,
        {f"trees-{f}": (f, lists[f]) for f in folds},
        {f"trees-{f}": f"trees, fold {f + 1}" for f in folds},
    )
    systems = systems_of([work.results[f"trees-{f}"] for f in folds], data.n_queries, 1)
    full = fit_trees(data, usable, settings, plan.seed)
    orders = ranked(full, data, kept)
    price = plan.groups or each_alone(data.feature_names or (), plan.costs)
    finals: dict[Candidate, np.ndarray] = {}
    for s in sorted(systems, key=lambda s: (s.name, s.k or 0)):
        name = next((n for n in LISTS if on_list(n) == s.name), None)
        if name is None or s.k is None or (name == OURS and f"{FINAL}|{s.k}" not in ours):
            continue
        listed = ours[f"{FINAL}|{s.k}"] if name == OURS else orders[name][: s.k]
        own = whole_groups(listed, usable, None if plan.groups is None else plan.groups.of_feature)
        finals[Candidate(s.name, s.k, 0.0, -1, len(own), price.cost(own), s.values)] = own
    (whole,) = (s for s in systems if s.name == ALL)
    rival = Candidate(ALL, len(usable), 0.0, -1, len(usable), price.cost(usable), whole.values)
    finals[rival] = usable
    choice = plan.choose(list(finals))
    chosen = fit_trees(data, finals[choice.chosen], settings, plan.seed, data.feature_names)
    compared = None
    if test is not None:
        on_test = {f"trees on the {len(chosen.columns)} chosen": chosen.scores(test.X), ALL: full.scores(test.X)}
        compared = evaluate({name: test.to_input_order(s) for name, s in on_test.items()}, test, plan.metrics)
    return JudgedSelection(
        plan,
        settings,
        n_seeds,
        choice,
        rival,
        chosen,
        tuple(data.feature_names or ()),
        data.n_queries,
        compared,
        data.fill_values,
    )


def _our_lists(
    data: RankingDataset, fold: np.ndarray, plan: SelectionPlan, sizes: Sequence[int], n_workers: int
) -> Arrays:
    """{"fold|k": features of our path without the fold}, and of the path on all queries (fold FINAL). The penalty and
    the shape of features are fixed before anything is judged."""
    ((label, penalty),) = plan.labelled.items()
    look = looks(data, plan.transform, plan.settings.scaling)[-1]
    trial = Trial(label, maker_of(penalty), look)
    cv = CrossValidation(data, fold, [look], plan.settings, plan.metrics, n_workers=n_workers, n_threads=n_workers)
    pool = cv.fit([trial])
    out: Arrays = {}
    for k, c in largest_within(pool.sparse, sizes).items():
        out |= {f"{f}|{k}": pool.features(c, f) for f in (FINAL, *cv.folds)}
    return out
