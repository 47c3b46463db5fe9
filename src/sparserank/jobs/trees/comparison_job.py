"""The comparison: the same folds for all, several times over; per query, so that differences have intervals."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparserank.crossval.choice import Candidate
from sparserank.crossval.trees import TreeSettings, check_trees, identity_of_trees, lengths_of
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.errors import ParameterError
from sparserank.execution import available_cores
from sparserank.jobs.selection_job import SelectionJob
from sparserank.jobs.trees.options import COMPARED, N_SEEDS, REPEATS
from sparserank.jobs.trees.out_of_fold import VALUES, Arrays, TreesOfFold, named
from sparserank.options import check_given
from sparserank.runs.progress import Progress
from sparserank.runs.work import Work
from sparserank.runs.work_store import WorkStore
from sparserank.selection.comparison import CHOICE, ComparedSystem, ComparisonResult, Costs
from sparserank.selection.plan import SelectionPlan


@dataclass(frozen=True)
class ComparisonPlan:
    """plan: of our own selection, whose folds, seed, metric and makers hold; repeats: of all folds, each with a seed of
    its own; n_seeds: of the trees on all features; on k features they have one.

    Raises
        ParameterError   names the field that is out of its range
    """

    plan: SelectionPlan
    trees: TreeSettings = field(default_factory=TreeSettings)
    sizes: tuple[int, ...] = COMPARED
    repeats: int = 1
    n_seeds: int = 5

    def __post_init__(self) -> None:
        check_given((REPEATS, N_SEEDS), vars(self))
        object.__setattr__(self, "sizes", lengths_of(self.sizes))
        if self.plan.protocol != "cv":
            raise ParameterError("protocol", "must be cv: all systems are judged on the same folds.")

    def identity(self, data: RankingDataset) -> dict[str, Any]:
        """What stored pieces depend on."""
        more = {name: repr(getattr(self, name)) for name in ("trees", "sizes", "n_seeds")}
        shapes = {name: getattr(self.plan, name) for name in ("transform", "shapes", "n_knots", "margin", "confidence")}
        return {**self.plan.identity(data, None), **more, **shapes, **identity_of_trees()}


def compare(
    data: RankingDataset,
    plan: ComparisonPlan,
    progress: Progress | None = None,
    store: WorkStore | None = None,
    *,
    n_threads: int | None = None,
) -> ComparisonResult:
    """Our makers at every size beside trees on all features and on k features chosen in five ways, inside each fold;
    finished pieces are kept in `store`, and taken from there.

    Raises
        DataError   LightGBM is not installed, or its objective does not take the relevance
    """
    check_trees(data)
    own = replace(plan.plan, half_samples=0, refits=True)
    fold_of = [query_folds(data.n_queries, min(own.folds, data.n_queries), own.seed + r) for r in range(plan.repeats)]
    n_folds = len(set(fold_of[0]))
    n_workers = n_threads or available_cores()
    names = [n for r in range(plan.repeats) for n in (f"ours-{r}", *(f"trees-{r}-{f}" for f in range(n_folds)))]
    work: Work[Arrays] = Work(
        {n: n.partition("-")[0] for n in names}, keeper=store, n_workers=n_workers, alone=("ours",), progress=progress
    )
    work.begin()
    for r, fold in enumerate(fold_of):
        ours = work.results.get(f"ours-{r}")
        if ours is None:
            began = time.perf_counter()
            ours = _our_paths(data, replace(own, seed=own.seed + r), plan.sizes, n_workers)
            work.finish(f"ours-{r}", f"our paths, repeat {r + 1}", ours, time.perf_counter() - began)
        task = TreesOfFold(data, fold, own.metric, plan.trees, plan.sizes, n_seeds=plan.n_seeds, seed=1000 * r)
        lists = {
            f: {k: ours[f"features|{f}|{k}"] for k in plan.sizes if f"features|{f}|{k}" in ours} for f in range(n_folds)
        }
        what = {f"trees-{r}-{f}": f"trees, repeat {r + 1}, fold {f + 1}" for f in range(n_folds)}
        work.run(task, {f"trees-{r}-{f}": (f, lists[f]) for f in range(n_folds)}, what)
    pieces = [work.results[n] for n in names]
    fitting, scoring, n_bytes = np.mean([p["costs"] for p in pieces if "costs" in p], axis=0).tolist()
    seconds = [float(p["seconds"]) for p in pieces if "seconds" in p]
    return ComparisonResult(
        data.n_queries,
        data.n_features,
        repr(own.metric),
        plan.repeats,
        n_folds,
        plan.n_seeds,
        own.confidence,
        systems_of(pieces, data.n_queries, plan.repeats),
        [int(p["n_chosen"]) for p in pieces if "n_chosen" in p],
        Costs(fitting, scoring, n_bytes, float(np.mean(seconds))),
        plan.trees,
    )


def systems_of(pieces: Sequence[Arrays], n_queries: int, repeats: int) -> list[ComparedSystem]:
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
    job = SelectionJob(plan, data, None, None, n_threads=n_threads)
    pool = job.candidates()
    chosen, seconds = plan.choose(pool.sparse, pool.dense).chosen, time.perf_counter() - began
    out = {
        "where": np.arange(data.n_queries),
        named(CHOICE): chosen.values,
        "n_chosen": np.array(chosen.n_features),
        "seconds": np.array(seconds),
    }
    out |= {named(c.penalty, int(c.k)): c.values for c in _best_by_size(pool.sparse, sizes)}
    own = [c for c in pool.sparse if c.penalty == chosen.penalty and c.relax == 0]
    for k, c in largest_within(own, sizes).items():
        out |= {f"features|{f}|{k}": pool.features(c, f) for f in range(min(plan.folds, data.n_queries))}
    return out


def largest_within(candidates: Sequence[Candidate], sizes: Sequence[int]) -> dict[int, Candidate]:
    """{k: the largest of some candidates of one maker with at most k features},
    without those that stand for a smaller k already."""
    out: dict[int, Candidate] = {}
    for k in sorted(sizes):
        c = max((c for c in candidates if c.k <= k), key=lambda c: c.k, default=None)
        if c is not None and c not in out.values():
            out[k] = c
    return out


def _best_by_size(sparse: Sequence[Candidate], sizes: Sequence[int]) -> list[Candidate]:
    """For each maker and size the candidate of the highest mean among its shrunken,
    half and fully refitted models of at most that size."""
    out = []
    for label in dict.fromkeys(c.penalty for c in sparse):
        own = [c for c in sparse if c.penalty == label]
        for k in sizes:
            size = max((c.k for c in own if c.k <= k), default=None)
            if size is not None:
                best = max((c for c in own if c.k == size), key=lambda c: c.mean)
                out.append(replace(best, k=k))
    return out
