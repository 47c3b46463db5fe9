"""What trees are worth on queries that they have not seen: on all features,
and on lists of k features chosen without those queries."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparserank.crossval.trees import Trees, TreeSettings, fit_trees
from sparserank.data.dataset import RankingDataset
from sparserank.evaluation import per_query_values
from sparserank.metrics import Metric
from sparserank.selection.comparison import ALL

# Of a piece of work: values "values|system|k" of its queries (k 0: none), `where` they are, and more.
Arrays = dict[str, np.ndarray]
VALUES = "values"
GAIN, SHAP, RECURSIVE, RANDOM, OURS = "own gain", "SHAP", "recursive gain", "random", "ours"
LISTS = (GAIN, SHAP, RECURSIVE, RANDOM, OURS)


def named(system: str, k: int | None = None) -> str:
    """The name of a system's values in a piece."""
    return f"{VALUES}|{system}|{k or 0}"


def on_list(name: str) -> str:
    """What trees on a list are called."""
    return f"trees on {name}"


@dataclass(frozen=True)
class TreesOfFold:
    """A task for a worker process: fold f is left out of the data.

    lists     those of LISTS that are tried, each at all sizes; n_seeds: of the trees on all features, n_list_seeds: on
              a list
    columns   (n,) features that trees may use; first: those that stand first in every list; groups (n_features,): those
              that come with each other
    seed      of the folds
    """

    data: RankingDataset
    fold: np.ndarray
    metric: Metric
    trees: TreeSettings
    sizes: tuple[int, ...]
    lists: tuple[str, ...] = LISTS
    n_seeds: int = 1
    n_list_seeds: int = 1
    seed: int = 0
    columns: np.ndarray | None = None
    first: tuple[int, ...] = ()
    groups: tuple[int, ...] | None = None

    def __call__(self, f: int, ours: Mapping[int, np.ndarray]) -> Arrays:
        """ours: {k: features} of the list of that name. Gains and contributions are those of the training queries."""
        fold = _Fold(self, f)
        usable = fold.usable(self.columns)
        first = tuple(j for j in self.first if j in usable)
        full = [fold.fit(usable, seed) for seed in range(self.n_seeds)]
        out = {"where": fold.where, named(ALL): np.mean([fold.values(t) for t in full], axis=0)}
        began = time.perf_counter()
        full[0].scores(fold.test.X)
        scoring = (time.perf_counter() - began) / max(fold.test.n_docs, 1)
        out["costs"] = np.array([full[0].seconds, scoring, full[0].n_bytes])
        rankings = ranked(full[0], fold.train, first)
        shuffled, left = np.random.default_rng(fold.seed).permutation(usable), rankings[GAIN]
        for k in sorted(self.sizes, reverse=True):
            if k >= len(usable):
                continue
            lists = {name: order[:k] for name, order in rankings.items()}
            lists |= {RECURSIVE: left[:k], RANDOM: shuffled[:k], OURS: ours.get(k, usable[:0])}
            for name in self.lists:
                if len(lists[name]) == 0:
                    continue
                own = whole_groups(lists[name], usable, self.groups)
                fitted = [fold.fit(own, seed) for seed in range(self.n_list_seeds)]
                out[named(on_list(name), k)] = np.mean([fold.values(t) for t in fitted], axis=0)
                if name == RECURSIVE:
                    left = fitted[0].by_gain()
        return out


class _Fold:
    """The data without a fold, the fold, and what scores of it are worth."""

    def __init__(self, task: TreesOfFold, f: int) -> None:
        left_out = task.fold == f
        self.where = np.flatnonzero(left_out)
        self.train, self.test = task.data.take_queries(np.flatnonzero(~left_out)), task.data.take_queries(self.where)
        self._metric, self._trees, self.seed = task.metric, task.trees, task.seed + f

    def usable(self, columns: np.ndarray | None) -> np.ndarray:
        """Those of some features that vary without the fold."""
        varying = np.flatnonzero(~self.train.constant_features())
        return varying if columns is None else np.intersect1d(varying, columns)

    def fit(self, columns: np.ndarray, seed: int = 0) -> Trees:
        return fit_trees(self.train, columns, self._trees, self.seed + 100_000 * seed)

    def values(self, trees: Trees) -> np.ndarray:
        """(queries of the fold,)"""
        return per_query_values(trees.scores(self.test.X), self.test, [self._metric])[0]


def whole_groups(features: np.ndarray, usable: np.ndarray, groups: tuple[int, ...] | None) -> np.ndarray:
    """Some features and all usable ones of their groups, rising."""
    if groups is None:
        return np.sort(features)
    of_feature = np.array(groups)
    return usable[np.isin(of_feature[usable], of_feature[features])]


def ranked(trees: Trees, train: RankingDataset, first: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    """{list: all features of trees fitted to these data, the most important first}, `first` in front of all."""
    front = np.array([j for j in first if j in trees.columns], dtype=np.int64)
    orders = {GAIN: trees.by_gain(), SHAP: trees.by_shap(train.X)}
    return {name: np.concatenate([front, order[~np.isin(order, front)]]) for name, order in orders.items()}
