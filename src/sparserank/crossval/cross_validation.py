"""The cross-validation behind every choice: paths of makers under transforms of the features, on all queries and
without each fold, and the candidates from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Candidate
from sparserank.crossval.convergence import warn_unsolved
from sparserank.crossval.feature_groups import FeatureGroups, groups_of_one
from sparserank.crossval.feature_transforms import FeatureTransform
from sparserank.crossval.fitting import FittedPaths, Paths
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.judged_queries import JudgedQueries
from sparserank.crossval.tasks import FINAL, PathTask, with_starts_and_refits
from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import without_entries
from sparserank.lazy import cached_property
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.paths import PathPlan, RuledMaker
from sparserank.paths.sizes import SizeOf
from sparserank.workdir.pieces import NOWHERE, Store
from sparserank.workdir.work import Progress, quiet


@dataclass(eq=False, repr=False)
class CrossValidation:
    """The cross-validation of `select`, SparseRankerCV and the experiments' own system.

    Parameters
        data          training queries
        fold          (n_queries,) fold numbers from 0; below 0 for queries on which nothing is evaluated
        transforms    under which features may enter; all read the same data
        path_plan     of all paths; metrics: metrics that evaluate candidates, the first by default
        valid         queries on which the final paths are evaluated; only without folds
        query_weight  (n_queries,) weights >= 0 of the training queries in the loss (0 leaves one out), or None
        feature_groups  groups of features, each paid for once; default each feature alone, of cost 1
        by_cost       models are matched by cost, not by number of features
        n_workers     number of processes, if worthwhile; n_threads: threads of a pass; results depend on neither
        client        a dask.distributed Client whose workers read the training queries
        judged        the training queries with more documents, on which candidates are evaluated; None: `data`
        judge         the queries that people graded, if a judge graded the others; seed: of its partners
    """

    data: RankingDataset
    fold: np.ndarray
    transforms: Sequence[FeatureTransform]
    path_plan: PathPlan
    metrics: Sequence[Metric]
    _: KW_ONLY
    valid: RankingDataset | None = None
    query_weight: np.ndarray | None = None
    feature_groups: FeatureGroups | None = None
    by_cost: bool = False
    n_workers: int = 1
    n_threads: int | None = None
    client: Any = None
    judged: RankingDataset | None = None
    judge: JudgedQueries | None = None
    seed: int = 0
    works: dict[FeatureTransform, FoldedPaths] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        data, judge = self.data, self.judge
        if not self.folds and self.valid is None:
            raise ValueError("candidates must be evaluated on queries; pass folds or valid.")
        judged = self.judged
        if judge is not None:
            judged = judge.evaluated(judged or data)
            self.fold = judge.twice(self.fold)
        unchanged: FoldedPaths | None = None  # the first work with the columns of the data
        for transform in self.transforms:
            plain = transform.transform is None and not transform.shape.stepped
            work = self.works[transform] = FoldedPaths(
                data,
                self.fold,
                self.path_plan,
                self.metrics,
                valid=None if self.folds else self.valid,
                query_weight=self.query_weight,
                n_threads=self.n_threads,
                client=self.client,
                transform=transform,
                judged=judged,
                alike=unchanged if plain else None,
                learned=judge.people if judge is not None and transform.of_people else None,
            )
            unchanged = unchanged or (work if plain else None)

    @cached_property
    def folds(self) -> list[int]:
        return sorted(set(self.fold[self.fold >= 0].tolist()))

    @cached_property
    def groups(self) -> FeatureGroups:
        return self.feature_groups or groups_of_one(self.data.feature_names or range(self.data.n_features))

    @property
    def size_of(self) -> SizeOf:
        """The sizes by which models are matched."""
        return self.groups.costs_of if self.by_cost else self.groups.counts_of

    @property
    def first(self) -> FoldedPaths:
        """The paths under the first transform."""
        return next(iter(self.works.values()))

    @property
    def objective(self) -> PairwiseObjective:
        """The loss on all training queries, under the first transform."""
        return self.first.objectives([FINAL])[0][0]

    def fit(
        self,
        tasks: Sequence[PathTask],
        *,
        relaxed: bool = False,
        store: Store = NOWHERE,
        progress: Progress = quiet,
        first: Sequence[PathTask] = (),
        look: Callable[[CandidateSet], str] = lambda _: "",
        later: float = 0.0,
    ) -> CandidateSet:
        """Fit the paths of all tasks, except those that are in `store`, and return their candidates.

        Parameters
            tasks    with different labels, under transforms of this object
            relaxed  models of each size are also tried relaxed
            first, look   once the paths of the tasks `first` are computed, progress reports the sentence that `look`
                     makes from their candidates
            later    effort of the work after the paths, for the estimate of the time left
        Warns
            ConvergenceWarning   solves missed their tolerance
        """
        fitted = self._paths(tasks, store, relaxed=relaxed, later=later)
        labels = [t.label for t in first]
        return self._candidates(tasks, fitted.all(progress, labels, lambda paths: look(self._candidates(first, paths))))

    def stored_candidates(
        self, tasks: Sequence[PathTask], store: Store, *, relaxed: bool = False
    ) -> CandidateSet | None:
        """The candidates of tasks, under transforms of this object, whose paths an earlier run left in `store`. None
        if a path is missing; nothing is computed."""
        fitted = self._paths(tasks, store, relaxed=relaxed).stored()
        return None if fitted is None else self._candidates(tasks, fitted)

    def _candidates(self, tasks: Sequence[PathTask], paths: Paths) -> CandidateSet:
        return CandidateSet({t.label: t for t in tasks}, paths, self)

    def _paths(self, tasks: Sequence[PathTask], store: Store, *, relaxed: bool, later: float = 0.0) -> FittedPaths:
        wanted = with_starts_and_refits(tasks, relaxed=relaxed, size_of=self.size_of)
        return FittedPaths(self.works, wanted, [FINAL, *self.folds], self.n_workers, store, later)

    def without(self, candidate_set: CandidateSet, c: Candidate, sets: Sequence[np.ndarray]) -> np.ndarray:
        """(n_metrics, n_sets, n_queries) metric of a candidate when the weights of each set of features are 0. Each
        query is scored by a model that has not seen it."""
        transform = candidate_set.transform(c)
        models = {}
        for f in self.folds or [FINAL]:
            whole = candidate_set.in_units(c, f)
            feature = whole.indices // transform.shape.m
            reduced = [without_entries(whole, np.isin(feature, features)) for features in sets]
            models[f] = sp.csr_array(sp.vstack(reduced, format="csr"))
        return self.together(self.works[transform].measure(models))

    def together(self, values: Mapping[int, np.ndarray | None]) -> np.ndarray:
        """(..., n_queries) values on all queries, from those (..., queries of the fold) of each fold; without folds,
        those of FINAL."""
        if not self.folds:
            return np.asarray(values[FINAL])
        first, *_ = map(np.asarray, values.values())
        out = np.full((*first.shape[:-1], len(self.fold)), np.nan)
        for f, of_fold in values.items():
            out[..., self.fold == f] = of_fold
        return out

    def refitted(self, transform: FeatureTransform, makers: Mapping[int, RuledMaker]) -> np.ndarray:
        """(n_metrics, n_points, n_queries) metric of refits. Each query is scored by a refit that has not seen it.

        Warns
            ConvergenceWarning   solves missed their tolerance

        makers   {fold: maker of the refits}, FINAL if there are no folds
        """
        wanted = [PathTask("refits", maker, transform, fold=f) for f, maker in makers.items()]
        refits = dict(zip(makers, self.works[transform](wanted), strict=True))
        warn_unsolved({("refits", fold): path for fold, path in refits.items()}, self.first.path_plan.tol)
        return self.together({fold: path.values for fold, path in refits.items()})
