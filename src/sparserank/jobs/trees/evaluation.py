"""Evaluate trees on lists of features: the comparison and the selection for trees both use this. It trains trees on
folds that are drawn repeatedly, and gives their metric on every query."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sparserank.crossval.trees import HeldOutTrees, TreeSettings, identity_of_trees, lengths_of
from sparserank.data.dataset import RankingDataset
from sparserank.execution import available_cores
from sparserank.jobs.trees.lists import (
    GAIN,
    LISTS,
    OURS,
    RANDOM,
    RECURSIVE,
    lists_of_fold,
    on_list,
    ranked,
    whole_groups,
)
from sparserank.jobs.trees.options import N_SEEDS
from sparserank.metrics import Metric
from sparserank.npy import checked
from sparserank.options import check_given
from sparserank.runs.pool import kept_workers
from sparserank.runs.progress import Progress
from sparserank.runs.work import Work
from sparserank.runs.work_store import Reader, WorkStore
from sparserank.selection.comparison import ALL, ComparedSystem
from sparserank.selection.plan import SelectionPlan

# Of a piece of work: values "values|system|k" of its queries (k 0: none), `where` they are, and more.
Arrays = dict[str, np.ndarray]
VALUES, INTEGERS = "values", "iu"
Expected = Mapping[str, tuple[str, tuple[int | None, ...]]]  # of arrays, as in `checked`


@dataclass(frozen=True)
class Asked:
    """Settings of an evaluation of trees.

    metric    metric that judges the trees
    sizes     lengths of lists; lists: the entries of LISTS that are tried
    n_seeds   seeds of the trees on all features; n_list_seeds: seeds of the trees on a list
    first     features at the front of every list; never: features that trees may not use
    feature_groups  (n_features,) group of each feature, or None; the features of a group enter together

    Raises
        ParameterError   a field is out of its range; the message names it
    """

    metric: Metric
    trees: TreeSettings
    sizes: tuple[int, ...]
    lists: tuple[str, ...] = LISTS
    n_seeds: int = 1
    n_list_seeds: int = 1
    first: tuple[int, ...] = ()
    never: tuple[int, ...] = ()
    feature_groups: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", lengths_of(self.sizes))
        check_given((N_SEEDS,), vars(self))

    def identity(self, plan: SelectionPlan, data: RankingDataset) -> dict[str, Any]:
        """Everything that stored pieces depend on, including our paths under this plan."""
        own = {name: repr(value) for name, value in vars(self).items()}
        transforms = {"feature_transform": list(plan.feature_transform), "n_knots": plan.n_knots}
        return {**plan.identity(data, None), **own, **transforms, **identity_of_trees()}


@dataclass(frozen=True)
class Repeat:
    """fold: (n_queries,) numbers from 0; seed: of the trees without fold 0."""

    fold: np.ndarray
    seed: int


@dataclass(frozen=True)
class Judged:
    """systems: those judged on every query in every repeat; ours, trees: the pieces of work behind them."""

    systems: list[ComparedSystem]
    ours: list[Arrays]
    trees: list[Arrays]


def evaluate_lists(
    data: RankingDataset,
    asked: Asked,
    repeats: Sequence[Repeat],
    our_path: Callable[[int, int], Arrays],
    *,
    store: WorkStore | None = None,
    progress: Progress | None = None,
    n_threads: int | None = None,
    ours_have: Expected | None = None,
    start: str = "start",
) -> Judged:
    """Evaluate trees on all features and on lists, inside each fold. Finished pieces are kept in `store` and reused.

    our_path   (number of a repeat, n_workers) -> a piece with our lists on its folds (`our_lists`), and with values
               if our models are systems too
    ours_have  arrays of such a piece besides lists, for `checked`
    start      the first report of progress, if no piece is finished
    """
    n_workers = n_threads or available_cores()
    ours = [f"ours-{r}" for r in range(len(repeats))]
    trees = [{f"trees-{r}-{f}": f for f in range(int(repeat.fold.max()) + 1)} for r, repeat in enumerate(repeats)]
    names = [name for own, others in zip(ours, trees, strict=True) for name in (own, *others)]
    kinds = {name: name.partition("-")[0] for name in names}
    keeper = (
        None if store is None else Reader(store, partial(_checked, data.n_queries, data.n_features, ours_have or {}))
    )
    work: Work[Arrays] = Work(kinds, keeper=keeper, n_workers=n_workers, alone=("ours",), progress=progress)
    work.begin(start=start)
    with kept_workers():
        for r, repeat in enumerate(repeats):
            again = f", repeat {r + 1}" if len(repeats) > 1 else ""
            if ours[r] not in work.done:
                began = time.perf_counter()
                found = our_path(r, n_workers)
                work.finish(ours[r], f"our paths{again}", found, time.perf_counter() - began)
            lists = work.results[ours[r]]
            work.run(
                TreesOfFold(data, repeat, asked),
                {name: (f, lists_of_fold(lists, f, asked.sizes)) for name, f in trees[r].items()},
                {name: f"trees{again}, fold {f + 1}" for name, f in trees[r].items()},
            )
    systems = _systems([work.results[name] for name in names], data.n_queries, len(repeats))
    return Judged(systems, [work.results[n] for n in ours], [work.results[n] for own in trees for n in own])


@dataclass(frozen=True)
class TreesOfFold:
    """A task for a worker process that leaves fold f out of the data."""

    data: RankingDataset
    repeat: Repeat
    asked: Asked

    def __call__(self, f: int, ours: Mapping[int, np.ndarray]) -> Arrays:
        """ours: {k: features} of the list named ours. Gains and contributions come from the training queries."""
        asked = self.asked
        held = HeldOutTrees(self.data, self.repeat.fold, f, asked.trees, self.repeat.seed)
        usable = held.usable(asked.never)
        full = [held.fit(usable, draw) for draw in range(asked.n_seeds)]
        out = {"where": held.where, named(ALL): held.values(full, asked.metric)}
        began = time.perf_counter()
        held.scores(full[0])
        scoring = (time.perf_counter() - began) / max(held.unseen.n_docs, 1)
        out["costs"] = np.array([full[0].seconds, scoring, full[0].n_bytes])
        rankings = ranked(full[0], held.train, asked.first, asked.lists)
        shuffled, left = np.random.default_rng(held.seed).permutation(usable), rankings[GAIN]
        for k in sorted(asked.sizes, reverse=True):
            if k >= len(usable):
                continue
            lists = {name: order[:k] for name, order in rankings.items()}
            lists |= {RECURSIVE: left[:k], RANDOM: shuffled[:k], OURS: ours.get(k, usable[:0])}
            for name in asked.lists:
                if len(lists[name]) == 0:
                    continue
                own = whole_groups(lists[name], usable, asked.feature_groups)
                fitted = [held.fit(own, draw) for draw in range(asked.n_list_seeds)]
                out[named(on_list(name), k)] = held.values(fitted, asked.metric)
                out[features_of(on_list(name), k)] = own
                if name == RECURSIVE:
                    left = fitted[0].by_gain()
        return out


def _checked(n_queries: int, n_features: int, ours: Expected, name: str, arrays: Arrays) -> Arrays:
    """The arrays of a piece from an earlier run; raise ValueError for what no piece has."""
    of_trees = name.startswith("trees")
    checked(arrays, **(OF_TREES if of_trees else ours))
    for key, values in arrays.items():
        what, *of = key.split("|")
        if what == VALUES:
            checked(arrays, **{key: ("f", arrays["where"].shape)})
            if int(of[1]) and of_trees:
                checked(arrays, **{"|".join(["features", *of]): (INTEGERS, (None,))})
        elif what in ("where", "features"):
            checked(arrays, **{key: (INTEGERS, (None,))})
            most = n_queries if what == "where" else n_features
            if not ((values >= 0) & (values < most)).all():
                raise ValueError(f"{key} has a number that is not from 0 to {most - 1}")
    return arrays


def named(system: str, k: int | None = None) -> str:
    """The name of the values of a system in a piece."""
    return f"{VALUES}|{system}|{k or 0}"


def features_of(system: str, k: int | None) -> str:
    """The name of the features of a fold's list in a piece."""
    return f"features|{system}|{k or 0}"


OF_TREES: Expected = {"where": (INTEGERS, (None,)), "costs": ("f", (3,)), named(ALL): ("f", (None,))}


def _systems(pieces: Sequence[Arrays], n_queries: int, repeats: int) -> list[ComparedSystem]:
    """Means over repeats, for systems that have a value for every query in every repeat."""
    total: dict[str, np.ndarray] = {}
    count: dict[str, np.ndarray] = {}
    for p in pieces:
        for name in (n for n in p if n.startswith(VALUES)):
            total.setdefault(name, np.zeros(n_queries))[p["where"]] += p[name]
            count.setdefault(name, np.zeros(n_queries))[p["where"]] += 1
    out = []
    for name, values in total.items():
        _, system, k = name.split("|")
        if (count[name] == repeats).all():
            out.append(ComparedSystem(system, int(k) or None, values / repeats))
    return out
