"""The selection of features for trees: judge lists of every length out of fold, apply the rule of `select`, and train
the trees on the chosen list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sparserank.crossval.choice import Candidate
from sparserank.crossval.engine import CrossValidation
from sparserank.crossval.families import Trial
from sparserank.crossval.feature_groups import each_alone
from sparserank.crossval.feature_transforms import FeatureTransform, feature_transforms, logs_differ
from sparserank.crossval.folded_paths import FINAL
from sparserank.crossval.trees import Trees, TreeSettings, check_trees, fit_trees, usable_by_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation import Comparison, compare_systems, mean_of
from sparserank.evaluation.statistics import mean_interval
from sparserank.execution.threads import one_blas_thread
from sparserank.jobs.trees.evaluation import Arrays, Asked, Repeat, evaluate_lists, features_of
from sparserank.jobs.trees.lists import GAIN, OURS, lists_of_fold, on_list, our_lists, ranked, whole_groups
from sparserank.paths import maker_of
from sparserank.paths.given_supports import touching
from sparserank.runs.progress import Progress
from sparserank.runs.work_store import WorkStore
from sparserank.selection.comparison import ALL, ComparedSystem
from sparserank.selection.for_trees import OurModel, TreesSelection
from sparserank.selection.plan import SelectionPlan
from sparserank.shards.scaling import LINEAR_SCALINGS
from sparserank.transforms import AUTO, LOG, MIXED, NONE

LISTS = (GAIN, OURS)
SHARES = (8, 3)  # lengths of lists by default: the features that may be used, divided by these
PATH_ALPHAS = 25  # regularisation strengths of our path, which only puts features in order


def asked_of_lists(
    data: RankingDataset, plan: SelectionPlan, trees: TreeSettings, lengths: Sequence[int] | None, n_seeds: int
) -> Asked:
    """The settings for trees on lists of these data. Every list obeys the rules and groups of the plan's penalty. A
    list has at least as many features as are kept, and fewer than may be used. If k is given, it is the longest length.

    Raises
        DataError        LightGBM is not installed, or does not accept the relevance; there is nothing to choose
        ParameterError   k, the sizes or the number of seeds are out of range
    """
    check_trees(data)
    (penalty,), k, feature_groups = plan.penalties, plan.k, plan.feature_groups
    kept, usable = len(penalty.keep), len(usable_by_trees(data, penalty.drop))
    if k is not None and k < kept:
        raise ParameterError("k", f"is {k}, but keep names {kept} features.")
    sizes = tuple(max((k or usable) // n, 1) for n in SHARES) if lengths is None else tuple(lengths)
    wanted = tuple(sorted({*sizes} if k is None else {int(k), *(s for s in sizes if s < k)}))
    possible = tuple(s for s in wanted if max(kept, 1) <= s < usable)
    if usable < 2:
        raise DataError(
            f"{'one feature varies' if usable else 'no feature varies'} and may be used, so there is nothing to choose."
        )
    if not possible:
        raise ParameterError(
            "sizes", f"contain no length from {max(kept, 1)} to {usable - 1}: {usable} features vary and may be used."
        )
    return Asked(
        plan.metric,
        trees,
        possible,
        LISTS,
        n_seeds,
        n_seeds,
        penalty.keep,
        penalty.drop,
        None if feature_groups is None else feature_groups.of_feature,
    )


def select_list(
    data: RankingDataset,
    test: RankingDataset | None,
    plan: SelectionPlan,
    asked: Asked,
    store: WorkStore | None = None,
    progress: Progress | None = None,
    *,
    n_threads: int | None = None,
) -> TreesSelection:
    """Judge lists, choose one, and fit the trees on it to all queries. Finished pieces are kept in `store` and reused.
    Trees read missing values as they are. plan: our path, of one penalty, and the rule of choice; asked: from
    `asked_of_lists`."""
    of_trees, test_of_trees = data.unfilled(), None if test is None else test.unfilled()
    repeat = Repeat(query_folds(data.n_queries, min(plan.cv, data.n_queries), plan.random_state), plan.random_state)

    def our_path(_: int, n_workers: int) -> Arrays:
        return _our_path(data, repeat.fold, plan, asked.sizes, n_workers)

    n_folds, each = int(repeat.fold.max()) + 1, asked.n_seeds * (1 + len(asked.lists) * len(asked.sizes))
    start = f"at most {n_folds * each + 2} trainings of LightGBM: {each} in each of {n_folds} folds"
    found = evaluate_lists(
        of_trees, asked, [repeat], our_path, store=store, progress=progress, n_threads=n_threads, start=start
    )
    full = fit_trees(of_trees, usable_by_trees(of_trees, asked.never), asked.trees, plan.random_state)
    finals = _final_lists(of_trees, plan, asked, found.systems, found.ours[0], full)
    choice = plan.choose(list(finals))
    ours = None
    if choice.chosen.penalty != ALL:
        of_list = features_of(choice.chosen.penalty, int(choice.chosen.k))
        lists = dict(enumerate(p[of_list] for p in found.trees))
        ours = _ours_on(data, repeat.fold, plan, lists, choice.chosen.values, n_threads)
    chosen = fit_trees(of_trees, finals[choice.chosen], asked.trees, plan.random_state, data.feature_names)
    return TreesSelection(
        plan,
        asked.trees,
        asked.n_seeds,
        choice,
        next(c for c in finals if c.penalty == ALL),
        chosen,
        tuple(data.feature_names or ()),
        data.n_queries,
        None if test_of_trees is None else _on_test(plan, test_of_trees, chosen, full),
        _filled_values(data),
        ours,
    )


def _our_path(
    data: RankingDataset, fold: np.ndarray, plan: SelectionPlan, sizes: Sequence[int], n_workers: int
) -> Arrays:
    """The feature lists of our path. The penalty and the transform of features are fixed before anything is judged."""
    ((label, penalty),) = plan.labelled.items()
    transform = _transform(data, plan, MIXED)
    settings = replace(plan.settings, n_alphas=PATH_ALPHAS)
    cv = CrossValidation(data, fold, [transform], settings, plan.metrics, n_workers=n_workers, n_threads=n_workers)
    candidate_set = cv.fit([Trial(label, maker_of(penalty), transform)])
    return our_lists(candidate_set, candidate_set.sparse, sizes, cv.folds)


def _transform(data: RankingDataset, plan: SelectionPlan, where_logs_differ: str) -> FeatureTransform:
    """The requested transform; for `auto` and `mixed` this one, or none if logs do not differ from the features."""
    (name,) = plan.feature_transform
    if name == AUTO and plan.settings.scaling in LINEAR_SCALINGS and logs_differ(data):
        name = MIXED
    name = {AUTO: NONE, MIXED: where_logs_differ}.get(name, name)
    (transform,) = feature_transforms(data, [name])
    return transform


def _filled_values(data: RankingDataset) -> np.ndarray | None:
    """(n_features,) value that replaces a missing value of each feature for trees that have seen none: the one that our
    models use. NaN where the trees have seen missing values and read them as they are. None if nothing is known."""
    if data.fill_values is None or data.filled is None:
        return data.fill_values
    return np.where(data.filled.any(axis=0), np.nan, data.fill_values)


def _ours_on(
    data: RankingDataset,
    fold: np.ndarray,
    plan: SelectionPlan,
    lists: Mapping[int, np.ndarray],
    trees: np.ndarray,
    n_threads: int | None,
) -> OurModel | None:
    """Our linear models, refitted on the list of each fold, compared with the values (n_queries,) of trees. None if a
    list has no feature that a linear model can use."""
    transform = _transform(data, plan, LOG)
    cv = CrossValidation(data, fold, [transform], plan.settings, [plan.metric], n_threads=n_threads)
    varying = np.flatnonzero(~data.constant_features())
    usable = {f: np.intersect1d(features, varying) for f, features in lists.items()}
    if any(len(features) == 0 for features in usable.values()):
        return None
    starts = {f: touching(data.n_features, features) for f, features in usable.items()}
    with one_blas_thread():
        values = cv.refitted(transform, starts, transform.monotone(plan.penalties[0]))
    own = values[0, 0]
    return OurModel(mean_of(own), *mean_interval(own - trees, plan.confidence), transform.name)


def _final_lists(
    data: RankingDataset,
    plan: SelectionPlan,
    asked: Asked,
    systems: list[ComparedSystem],
    ours: Mapping[str, np.ndarray],
    full: Trees,
) -> dict[Candidate, np.ndarray]:
    """{candidate: its list from all queries}; the trees on all features, `full`, are a candidate too."""
    usable = full.columns
    price = plan.feature_groups or each_alone(data.feature_names or (), plan.costs)
    orders, own = ranked(full, data, asked.first, (GAIN,))[GAIN], lists_of_fold(ours, FINAL, asked.sizes)
    lists: dict[tuple[str, int | None], np.ndarray] = {(on_list(OURS), k): features for k, features in own.items()}
    lists |= {(on_list(GAIN), k): orders[:k] for k in asked.sizes}
    lists[ALL, None] = usable
    out: dict[Candidate, np.ndarray] = {}
    for s in sorted(systems, key=lambda s: (s.k is None, s.name, s.k or 0)):
        features = whole_groups(lists[s.name, s.k], usable, asked.feature_groups)
        n = len(features)
        out[Candidate(s.name, s.k or n, 0.0, -1, n, price.cost(features), s.values)] = features
    return out


def _on_test(plan: SelectionPlan, test: RankingDataset, chosen: Trees, full: Trees) -> Comparison:
    """Compare the trees on the chosen list with those on all features."""
    systems = {f"trees on the {len(chosen.columns)} chosen": chosen, ALL: full}
    scores = {name: test.to_input_order(trees.scores(test.X)) for name, trees in systems.items()}
    return compare_systems(scores, test, plan.metrics)
