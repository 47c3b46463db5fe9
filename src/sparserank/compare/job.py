"""The comparison: the same folds for all, several times over; per query, so that differences have intervals."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparserank.compare.result import ALL, CHOICE, ComparedSystem, ComparisonResult, Costs
from sparserank.compare.trees import Trees, TreeSettings, check_trees, fit_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.errors import ParameterError
from sparserank.evaluation import per_query_values
from sparserank.execution import available_cores
from sparserank.metrics import Metric
from sparserank.runs.pool import run_pieces
from sparserank.runs.progress import Progress, TimeLeft
from sparserank.selection.choice import Candidate, choose
from sparserank.selection.job import SelectionJob
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.store import SelectionStore

SIZES = (1, 2, 3, 4, 5, 7, 10, 12, 15, 20)
VALUES = "values"


@dataclass(frozen=True)
class ComparisonPlan:
    """plan: of our own selection, whose folds, seed, metric and makers hold; repeats: of all folds, each with a seed of its own;
    n_seeds: of the trees on all features; on k features they have one.

    Raises
        ParameterError   names the field that is out of its range
    """

    plan: SelectionPlan
    trees: TreeSettings = field(default_factory=TreeSettings)
    sizes: tuple[int, ...] = SIZES
    repeats: int = 1
    n_seeds: int = 5

    def __post_init__(self) -> None:
        for name, value in (("repeats", self.repeats), ("seeds", self.n_seeds)):
            if value < 1:
                raise ParameterError(name, f"must be at least 1; got {value}.")
        if not self.sizes or any(k < 1 for k in self.sizes):
            raise ParameterError("sizes", "must be whole numbers >= 1.")
        if self.plan.protocol != "cv":
            raise ParameterError("protocol", "must be cv: all systems are judged on the same folds.")

    def identity(self, data: RankingDataset) -> dict[str, Any]:
        """What stored pieces depend on."""
        more = {name: repr(getattr(self, name)) for name in ("trees", "sizes", "n_seeds")}
        shapes = {name: getattr(self.plan, name) for name in ("transform", "shapes", "n_knots", "margin", "confidence")}
        return {**self.plan.identity(data, None), **more, **shapes}


Arrays = dict[str, np.ndarray]  # of a piece: values "system|k" of its queries (k 0: none), `where` they are, and more


def compare(
    data: RankingDataset,
    plan: ComparisonPlan,
    progress: Progress | None = None,
    store: SelectionStore | None = None,
    *,
    n_threads: int | None = None,
) -> ComparisonResult:
    """Our makers at every size beside trees on all features and on k features chosen in five ways, inside each fold; finished pieces are kept in
    `store`, and taken from there.

    Raises
        DataError   LightGBM is not installed, or its objective does not take the relevance
    """
    check_trees(data)
    own = replace(plan.plan, half_samples=0, refits=True)
    fold_of = [query_folds(data.n_queries, min(own.n_folds, data.n_queries), own.seed + r) for r in range(plan.repeats)]
    n_folds = len(set(fold_of[0]))
    n_workers = n_threads or available_cores()
    work = _Pieces(plan.repeats, n_folds, n_workers, progress, store)
    for r, fold in enumerate(fold_of):
        ours = work.known(f"ours-{r}")
        if ours is None:
            began = time.perf_counter()
            ours = _our_paths(data, replace(own, seed=own.seed + r), plan.sizes, n_workers)
            work.finished(f"ours-{r}", f"our paths, repeat {r + 1}", ours, time.perf_counter() - began)
        names = [f"trees-{r}-{f}" for f in range(n_folds)]
        waiting = [f for f in range(n_folds) if work.known(names[f]) is None]
        lists = {f: {k: ours[f"features|{f}|{k}"] for k in plan.sizes if f"features|{f}|{k}" in ours} for f in waiting}
        task = _TreesOfFold(data, fold, own.metric, plan, seed=1000 * r)
        # A process each, with one thread: threads of one ensemble wait for each other, and for whoever else is on their cores.
        with closing(run_pieces(task, [(f, lists[f]) for f in waiting], n_workers, processes=True)) as outcomes:
            for outcome in outcomes:
                if outcome.error is not None:
                    raise outcome.error
                f = waiting[outcome.index]
                work.finished(names[f], f"trees, repeat {r + 1}, fold {f + 1}", outcome.result, outcome.seconds)
    pieces = work.in_order()
    fitting, scoring, n_bytes = np.mean([p["costs"] for p in pieces if "costs" in p], axis=0).tolist()
    seconds = [float(p["seconds"]) for p in pieces if "seconds" in p]
    return ComparisonResult(
        data.n_queries, data.n_features, repr(own.metric), plan.repeats, n_folds, plan.n_seeds, own.confidence,
        _systems(pieces, data.n_queries, plan.repeats), [int(p["n_chosen"]) for p in pieces if "n_chosen" in p],
        Costs(fitting, scoring, n_bytes, float(np.mean(seconds))), plan.trees,
    )  # fmt: skip


class _Pieces:
    """Pieces of a comparison: those that an earlier run left, those that are finished, and how long the rest will take."""

    def __init__(
        self, repeats: int, n_folds: int, n_workers: int, progress: Progress | None, store: SelectionStore | None
    ) -> None:
        self._n_workers = n_workers
        self._names = [n for r in range(repeats) for n in (f"ours-{r}", *(f"trees-{r}-{f}" for f in range(n_folds)))]
        self._report, self._store = progress or (lambda done, n, what, left: None), store
        self._found = {n: p for n in self._names if store is not None and (p := store.load(n)) is not None}
        kinds = [n.partition("-")[0] for n in self._names if n not in self._found]
        self._left = TimeLeft(kinds, 1)
        self._report(len(self._found), len(self._names), "resumed" if self._found else "start", None)

    def known(self, name: str) -> Arrays | None:
        return self._found.get(name)

    def finished(self, name: str, what: str, piece: Arrays, seconds: float) -> None:
        self._found[name] = piece
        if self._store is not None:
            self._store.save(name, piece)
        kind = name.partition("-")[0]
        self._left.finished(kind, seconds / (self._n_workers if kind == "trees" else 1))
        self._report(len(self._found), len(self._names), what, self._left.seconds())

    def in_order(self) -> list[Arrays]:
        return [self._found[n] for n in self._names]


def _systems(pieces: Sequence[Arrays], n_queries: int, repeats: int) -> list[ComparedSystem]:
    """Means over repeats of the systems that have a value of every query in every repeat."""
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


def _our_paths(data: RankingDataset, plan: SelectionPlan, sizes: Sequence[int], n_threads: int) -> Arrays:
    began = time.perf_counter()
    pool, sparse, dense = SelectionJob(plan, data, None, None, n_threads=n_threads).candidates()
    choice = choose(sparse, dense, margin=plan.margin, confidence=plan.confidence, k=plan.k, seed=plan.seed)
    chosen, seconds = choice.chosen, time.perf_counter() - began
    out = {
        "where": np.arange(data.n_queries), f"{VALUES}|{CHOICE}|0": chosen.values,
        "n_chosen": np.array(chosen.n_features), "seconds": np.array(seconds),
    }  # fmt: skip
    out |= {f"{VALUES}|{c.penalty}|{c.k}": c.values for c in _best_by_size(sparse, sizes)}
    for k in sizes:
        own = [c for c in sparse if c.penalty == chosen.penalty and c.k <= k and c.relax == 0]
        if own:
            c = max(own, key=lambda c: c.k)
            out |= {f"features|{f}|{k}": pool.features(c, f) for f in range(min(plan.n_folds, data.n_queries))}
    return out


def _best_by_size(sparse: Sequence[Candidate], sizes: Sequence[int]) -> list[Candidate]:
    """For each maker and size the candidate of the highest mean among its shrunken, half and fully refitted models of at most that size."""
    out = []
    for label in dict.fromkeys(c.penalty for c in sparse):
        own = [c for c in sparse if c.penalty == label]
        for k in sizes:
            size = max((c.k for c in own if c.k <= k), default=None)
            if size is not None:
                best = max((c for c in own if c.k == size), key=lambda c: c.mean)
                out.append(replace(best, k=k))
    return out


class _Fold:
    """The data without a fold, the fold, and what scores of it are worth."""

    def __init__(
        self, data: RankingDataset, left_out: np.ndarray, metric: Metric, trees: TreeSettings, seed: int
    ) -> None:
        self.where = np.flatnonzero(left_out)
        self.train, self.test = data.take_queries(np.flatnonzero(~left_out)), data.take_queries(self.where)
        self._metric, self._trees, self.seed = metric, trees, seed

    def fit(self, columns: np.ndarray, seed: int = 0) -> Trees:
        return fit_trees(self.train, columns, self._trees, self.seed + 100_000 * seed)

    def values(self, trees: Trees) -> np.ndarray:
        """(queries of the fold,)"""
        return per_query_values(trees.scores(self.test.X), self.test, [self._metric])[0]


@dataclass(frozen=True)
class _TreesOfFold:
    """What a worker process gets: fold f is left out of the data."""

    data: RankingDataset
    fold: np.ndarray
    metric: Metric
    plan: ComparisonPlan
    seed: int

    def __call__(self, f: int, ours: Mapping[int, np.ndarray]) -> Arrays:
        fold = _Fold(self.data, self.fold == f, self.metric, self.plan.trees, self.seed + f)
        return _trees_on(fold, self.plan, ours)


def _trees_on(fold: _Fold, plan: ComparisonPlan, ours: Mapping[int, np.ndarray]) -> Arrays:
    """All ensembles of a fold; gains and contributions are those of its training queries. ours: {k: features}."""
    varying = np.flatnonzero(~fold.train.constant_features())
    full = [fold.fit(varying, seed) for seed in range(plan.n_seeds)]
    out = {"where": fold.where, f"{VALUES}|{ALL}|0": np.mean([fold.values(t) for t in full], axis=0)}
    began = time.perf_counter()
    full[0].scores(fold.test.X)
    scoring = (time.perf_counter() - began) / max(fold.test.n_docs, 1)
    out["costs"] = np.array([full[0].seconds, scoring, full[0].n_bytes])
    gain, shap = full[0].by_gain(), full[0].by_shap(fold.train.X)
    shuffled, left = np.random.default_rng(fold.seed).permutation(varying), gain
    for k in sorted(plan.sizes, reverse=True):
        if k >= len(varying):
            continue
        lists = {"own gain": gain[:k], "SHAP": shap[:k], "recursive gain": left[:k], "random": shuffled[:k]}
        for name, columns in {**lists, "ours": ours.get(k, varying[:0])}.items():
            if len(columns) == 0:
                continue
            fitted = fold.fit(np.sort(columns))
            out[f"{VALUES}|trees on {name}|{k}"] = fold.values(fitted)
            if name == "recursive gain":
                left = fitted.by_gain()
    return out
