"""The comparison of models and trees on the same folds, drawn several times; per query, for intervals."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparserank.crossval.choice import Candidate
from sparserank.crossval.trees import TreeSettings, check_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.errors import ParameterError
from sparserank.jobs.selection_job import SelectionJob
from sparserank.jobs.trees.evaluation import INTEGERS, Arrays, Asked, Expected, Repeat, evaluate_lists, named
from sparserank.jobs.trees.lists import our_lists
from sparserank.jobs.trees.options import COMPARED, REPEATS
from sparserank.options import check_given
from sparserank.runs.progress import Progress
from sparserank.runs.work_store import WorkStore
from sparserank.selection.comparison import CHOICE, ComparisonResult, Costs
from sparserank.selection.plan import SelectionPlan


@dataclass(frozen=True)
class ComparisonPlan:
    """plan: our selection, whose folds, seed, metric and makers are used; repeats: how often all folds are drawn, each
    time with another seed; n_seeds: seeds of the trees on all features; trees on k features have one.

    Raises
        ParameterError   a field is out of its range; the message names it
    """

    plan: SelectionPlan
    trees: TreeSettings = field(default_factory=TreeSettings)
    sizes: tuple[int, ...] = COMPARED
    repeats: int = 1
    n_seeds: int = 5

    def __post_init__(self) -> None:
        check_given((REPEATS,), vars(self))
        object.__setattr__(self, "sizes", self.asked.sizes)
        if self.plan.protocol != "cv":
            raise ParameterError("protocol", "must be cv: all systems are evaluated on the same folds.")

    @property
    def asked(self) -> Asked:
        """The settings of the trees."""
        return Asked(self.plan.metric, self.trees, self.sizes, n_seeds=self.n_seeds)

    def identity(self, data: RankingDataset) -> dict[str, Any]:
        """Everything that stored pieces depend on."""
        chooses = {name: getattr(self.plan, name) for name in ("margin", "guarantee", "confidence")}
        return {**self.asked.identity(self.plan, data), **chooses}


def compare(
    data: RankingDataset,
    plan: ComparisonPlan,
    progress: Progress | None = None,
    store: WorkStore | None = None,
    *,
    n_threads: int | None = None,
) -> ComparisonResult:
    """Compare our makers at every size with trees on all features and on k features chosen in five ways, inside each
    fold. Finished pieces are kept in `store` and reused.

    Raises
        DataError   LightGBM is not installed, or its objective does not accept the relevance
    """
    check_trees(data)
    own = [
        replace(plan.plan, random_state=plan.plan.random_state + r, half_samples=0, relaxed=True)
        for r in range(plan.repeats)
    ]
    n_folds = min(plan.plan.cv, data.n_queries)
    repeats = [Repeat(query_folds(data.n_queries, n_folds, p.random_state), 1000 * r) for r, p in enumerate(own)]

    def our_path(r: int, n_workers: int) -> Arrays:
        return _our_paths(data, own[r], plan.sizes, n_workers)

    places: dict[str, Any] = {"store": store, "progress": progress, "n_threads": n_threads}
    found = evaluate_lists(data, plan.asked, repeats, our_path, **places, ours_have=OURS_HAVE)
    fitting, scoring, n_bytes = np.mean([p["costs"] for p in found.trees], axis=0).tolist()
    seconds = float(np.mean([float(p["seconds"]) for p in found.ours]))
    return ComparisonResult(
        data.n_queries,
        data.n_features,
        repr(plan.plan.metric),
        plan.repeats,
        n_folds,
        plan.n_seeds,
        plan.plan.confidence,
        found.systems,
        [int(p["n_chosen"]) for p in found.ours],
        Costs(fitting, scoring, n_bytes, seconds),
        plan.trees,
    )


OURS_HAVE: Expected = {
    "where": (INTEGERS, (None,)),
    named(CHOICE): ("f", (None,)),
    "n_chosen": (INTEGERS, ()),
    "seconds": ("f", ()),
}


def _our_paths(data: RankingDataset, plan: SelectionPlan, sizes: Sequence[int], n_threads: int) -> Arrays:
    """Values of our models of every size and of our choice, and the feature lists of the chosen maker."""
    began = time.perf_counter()
    job = SelectionJob(plan, data, None, None, n_threads=n_threads)
    candidate_set = job.candidates()
    chosen, seconds = plan.choose(candidate_set.sparse, candidate_set.dense).chosen, time.perf_counter() - began
    own = [c for c in candidate_set.sparse if c.penalty == chosen.penalty and c.relax == 0]
    return {
        "where": np.arange(data.n_queries),
        named(CHOICE): chosen.values,
        "n_chosen": np.array(chosen.n_features),
        "seconds": np.array(seconds),
        **{named(c.penalty, int(c.k)): c.values for c in _best_by_size(candidate_set.sparse, sizes)},
        **our_lists(candidate_set, own, sizes, job.cv.folds),
    }


def _best_by_size(sparse: Sequence[Candidate], sizes: Sequence[int]) -> list[Candidate]:
    """For each maker and size, the candidate with the highest mean among its shrunken and relaxed models of at most
    that size."""
    out = []
    for label in dict.fromkeys(c.penalty for c in sparse):
        own = [c for c in sparse if c.penalty == label]
        for k in sizes:
            size = max((c.k for c in own if c.k <= k), default=None)
            if size is not None:
                best = max((c for c in own if c.k == size), key=lambda c: c.mean)
                out.append(replace(best, k=k))
    return out
