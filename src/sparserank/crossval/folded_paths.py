"""Paths on all training queries and without each fold, from one copy of the features, and the metric of their points on
queries that they have not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.crossval.feature_transforms import RAW, FeatureTransform
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.crossval.teachers import Tell, silent
from sparserank.data.dataset import RankingDataset
from sparserank.data.transformed import transformed
from sparserank.errors import DataError
from sparserank.evaluation import mean_of
from sparserank.execution import one_blas_thread
from sparserank.lazy import cached_property
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective, objectives_of
from sparserank.paths import PathPlan, PathResult, PathStarts
from sparserank.paths.sizes import SizeOf, point_within
from sparserank.shards import LocalShards, Shards, make_shards
from sparserank.shards.dask import placed, shards_on
from sparserank.shards.measuring import Columns
from sparserank.shards.scaling import FeatureScaling, fit_scalings, prepared
from sparserank.solvers.lockstep import Steps, run_all
from sparserank.transforms import STEPS
from sparserank.weighting import Weighting
from sparserank.workdir.pieces import WorkStore, kept

AT_ONCE = 10  # half-samples in lockstep
AT_ONCE_DISTILLED = 2  # each has labels of its own, which take about 15 bytes a document
MORE, MORE_OF_STARTS = 1.25, 2.0  # half-sample paths and their starts may end at these multiples of the size sought
# Attributes derived from the data on first use.
MADE = ("prepared", "_shards", "_judging", "_unseen")
Weighted = tuple[list[PairwiseObjective], list[FeatureScaling]]
UNSCALED = ("none", "query-min-max")  # methods without divisors
FOLD_TOL = 1e-4  # for paths that only estimate quality: down to the tolerance of the final path, rankings do not change


class FoldedPaths:
    """Computes paths of makers for any number of folds at once. Each leaves out its fold by query weights of 0.

    All paths read the same X. Features are copied once, and only if a scaling is not a factor per feature (a logarithm,
    min-max within queries). The object is picklable, so that each worker can have a copy.

    Parameters
        data          training queries
        fold          (n_queries,) fold numbers from 0; FINAL leaves nothing out
        path_plan     of all paths; metrics: of their points
        transform     under which features enter; default unchanged
        judged        the same queries with more documents, on which points of folds are scored; None: `data`
        valid         queries that points of the FINAL path are scored on; points of fold f are scored on the queries of
                      f
        query_weight  (n_queries,) weights > 0 of the training queries in the loss, or None
        client        a dask.distributed Client whose workers read the training queries instead of this process
        n_threads     threads of a pass; results do not depend on it, nor on which paths are computed together
        alike         an object with the same columns, whose copy of `judged` is shared
    """

    def __init__(
        self,
        data: RankingDataset,
        fold: np.ndarray,
        path_plan: PathPlan,
        metrics: Sequence[Metric],
        *,
        valid: RankingDataset | None = None,
        query_weight: np.ndarray | None = None,
        n_threads: int | None = None,
        client: Any = None,
        transform: FeatureTransform = RAW,
        judged: RankingDataset | None = None,
        alike: FoldedPaths | None = None,
    ) -> None:
        self.client, self.transform, self.judged, self.alike = client, transform, judged, alike
        self.data, self.fold, self.metrics = data, fold, list(metrics)
        self.path_plan = replace(path_plan, feature_names=transform.names(data.names))
        self.valid, self.query_weight, self.n_threads = valid, query_weight, n_threads
        self._weighted: tuple[object, Weighted] | None = None  # the last ones, with the queries that they use

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in MADE}
        return {**kept, "_weighted": None, "client": None, "alike": None}

    def for_a_process(self) -> FoldedPaths:
        """A copy of one thread."""
        out = copy(self)
        out.n_threads = 1
        return out

    def taught_by_steps(self) -> FoldedPaths:
        """A copy whose teacher, if it has one, are steps alone, and has learned nothing yet."""
        out, teacher = copy(self), self.transform.teacher
        alone = None if teacher is None else replace(teacher, trees=None, grades={})
        out.transform = replace(self.transform, teacher=alone)
        return out

    @property
    def n_judged(self) -> int:
        """Number of queries that points of the FINAL path are scored on."""
        return 0 if self.valid is None else self.valid.n_queries

    @cached_property
    def prepared(self) -> RankingDataset:
        ready = self.transformed_queries(self.data)
        return ready if self.client is None else placed(self.client, ready)

    def transformed_queries(self, data: RankingDataset) -> RankingDataset:
        """Queries under the transform, before scaling by factors."""
        return transformed(prepared(data, self.path_plan.scaling), self.transform.transform)

    def halves(
        self, wanted: PathTask, samples: np.ndarray, k: float, start: PathTask | None, size_of: SizeOf, most: int
    ) -> tuple[list[np.ndarray], list[str]]:
        """Run a task on each sample of the queries (n_samples, n_queries) bool. Returns the columns of its model of at
        most size k on each sample, and the statuses of the solves. `start` makes the l1 paths that the paths start
        from. Paths end after MORE times `most` features, and the l1 paths after MORE_OF_STARTS times."""
        plan, of_starts = (
            replace(self.path_plan, tol=FOLD_TOL, k=int(more * most) + 2) for more in (MORE, MORE_OF_STARTS)
        )
        width = self.transform.shape.m
        plan = replace(plan, enough=lambda point: size_of(point.coef, width)[0] <= k)
        supports: list[np.ndarray] = []
        statuses: list[str] = []
        n = AT_ONCE if self.transform.teacher is None else AT_ONCE_DISTILLED
        with one_blas_thread():
            for own in (samples[i : i + n] for i in range(0, len(samples), n)):
                objectives, scalings = self._objectives_of(own, range(len(own)), ["one half"] * len(own))
                starts: list[PathStarts | None] = [None] * len(own)
                if start is not None:
                    first = run_all([self._steps(start, o, of_starts) for o in objectives])
                    starts = [PathStarts(p.alphas, p.sparse_coefs, p.losses) for p in first]
                    statuses += [status for p in first for status in p.statuses]
                tasks = [replace(wanted, starts=s) for s in starts]
                paths = self._run([self._steps(t, o, plan) for t, o in zip(tasks, objectives, strict=True)], scalings)
                if self.transform.teacher is not None:
                    self.transform.teacher.grades.clear()
                for path in paths:
                    at = point_within(size_of(path.sparse_coefs, path.width), path.ranks, k)
                    supports.append(np.zeros(0, dtype=np.int64) if at is None else path.support(at))
                    statuses += path.statuses
        self._weighted = None
        return supports, statuses

    def release(self) -> None:
        """Release the data derived from the features; they are computed again when needed."""
        self._weighted = None
        for made in MADE:
            self.__dict__.pop(made, None)

    @cached_property
    def _shards(self) -> Shards:
        return self._with_labels(self.prepared.relevance)

    def _with_labels(self, relevance: np.ndarray) -> Shards:
        """The shards of `prepared` with these labels (n_docs,)."""
        if self.client is None:
            return self._shards_of(self.prepared, relevance)
        return shards_on(self.client, self.prepared, relevance, self.path_plan.loss, self.transform.shape)

    @cached_property
    def _judging(self) -> Shards:
        """The documents on which points of folds are scored."""
        if self.judged is None:
            return self._shards
        return self._shards_of(self.transformed_queries(self.judged)) if self.alike is None else self.alike._judging

    @cached_property
    def _unseen(self) -> LocalShards | None:
        return None if self.valid is None else self._shards_of(self.transformed_queries(self.valid))

    def _shards_of(self, d: RankingDataset, relevance: np.ndarray | None = None) -> LocalShards:
        rows, relevance = self.transform.shape.rows(d.X), d.relevance if relevance is None else relevance
        loss, own = self.path_plan.loss, (d.docid, d.returned)
        return make_shards(rows, relevance, d.query_ptr, loss, d.doc_weight, self.n_threads, *own)

    def objectives(self, folds: Sequence[int]) -> Weighted:
        """The loss without each of these folds, and its scaling, which is also learned without the fold;
        a fold may appear several times."""
        own = list(dict.fromkeys(folds))
        used = self._used(own)
        left_out = ["" if f == FINAL else f"fold {f + 1}" for f in own]
        return self._objectives_of(used, [own.index(f) for f in folds], left_out)

    def _used(self, folds: Sequence[int]) -> np.ndarray:
        """(n, n_queries) bool: the queries from which the paths of each fold learn."""
        return np.array([(self.fold != f) | (f == FINAL) for f in folds])

    def _objectives_of(self, used: np.ndarray, at: Sequence[int], left_out: Sequence[str]) -> Weighted:
        """The same on the queries of rows `at` of `used` (n, n_queries) bool.

        left_out   n names of the other queries, for an error; "" if there are none
        """
        key = used.tobytes(), tuple(at)
        if self._weighted is None or self._weighted[0] != key:
            d = self.prepared
            weight = used * (np.ones(d.n_queries) if self.query_weight is None else self.query_weight)
            method = self.scaling_method
            centers, scales = fit_scalings(d, method, weight > 0, self._sums)
            self._refuse_empty(left_out, weight)

            def on(shards: Shards, at: Sequence[int]) -> list[PairwiseObjective]:
                weighting = Weighting(
                    shards,
                    weight[list(at)],
                    scale=None if method in UNSCALED else scales[list(at)],
                    shape=self.transform.shape,
                    pair_weights=self.path_plan.pair_weights,
                    feature_names=d.feature_names,
                )
                return objectives_of(weighting)

            if self.transform.teacher is None:
                objectives = on(self._shards, at)
            else:
                self._teach(used)
                shards = [self._with_labels(self.transform.teacher.labels(row, self.data)) for row in used]
                objectives = [on(shards[i], [i])[0] for i in at]
            scalings = [FeatureScaling(method, centers[i], scales[i]) for i in at]
            self._weighted = key, (objectives, scalings)
        return self._weighted[1]

    def teach(self, folds: Sequence[int], store: WorkStore | None, tell: Tell = silent) -> None:
        """Learn the grades of the teacher without each of these folds, all at once; one piece of work, and one more
        for each ensemble of trees."""
        teacher, used = self.transform.teacher, self._used(folds)
        assert teacher is not None

        def learned() -> dict[str, np.ndarray]:
            self._teach(used, store, tell)
            grades = np.array([teacher.grades[row.tobytes()] for row in used])
            return {"grades": grades, "reason": np.array([teacher.reason], dtype="U")}

        n = len(used), self.data.n_docs
        arrays = kept(store, f"teacher-{teacher.key}", learned, grades=("u", n), reason=("U", (1,)))
        teacher.reason = teacher.reason or str(arrays["reason"][0])
        teacher.grades |= {row.tobytes(): own for row, own in zip(used, arrays["grades"], strict=True)}

    def _teach(self, used: np.ndarray, store: WorkStore | None = None, tell: Tell = silent) -> None:
        """Learn the grades of the teacher from the queries of each row of `used` (n, n_queries) bool, once."""
        d, teacher = self.data, self.transform.teacher
        assert teacher is not None
        new = {row.tobytes(): row for row in used if row.tobytes() not in teacher.grades}
        if not new:
            return
        rows = np.array(list(new.values()))
        steps = FoldedPaths(
            d,
            self.fold,
            replace(self.path_plan, feature_names=d.names),
            self.metrics,
            query_weight=self.query_weight,
            n_threads=self.n_threads,
            client=self.client,
            transform=FeatureTransform(STEPS, shape=teacher.bins),
        )
        objectives, _ = steps._objectives_of(rows, range(len(rows)), [""] * len(rows))
        models = run_all([teacher.maker.on_all_features(o) for o in objectives])
        scores = [np.concatenate(steps._shards.call("scores", w)) for w in models]
        teacher.learn(rows, scores, d.query_ptr, store, tell)

    def _sums(self, used: np.ndarray, unit: np.ndarray, around: np.ndarray) -> list:
        return self._shards.call("moments", unit, around, per_query=used)

    @property
    def scaling_method(self) -> str:
        """The scaling of columns; steps are not scaled."""
        return self.transform.shape.scaling(self.path_plan.scaling)

    @property
    def column_names(self) -> tuple[str, ...]:
        """(n_columns,) names of the columns of the transform."""
        return self.path_plan.feature_names

    @property
    def n_coefficients(self) -> int:
        """Number of coefficients of a point."""
        return len(self.column_names) * self.transform.shape.m

    def pairs(self) -> np.ndarray:
        """(n_queries,) total weight of the preferred pairs of each training query."""
        return np.concatenate([f.pair_weight for f in self._shards.call("facts")])

    def _refuse_empty(self, left_out: Sequence[str], weight: np.ndarray) -> None:
        """Refuse a fold that contains every pair, because no pair is left to learn from."""
        pairs = self.pairs()
        for name, row in zip(left_out, weight, strict=True):
            if name and pairs.any() and not (row * pairs).any():
                raise DataError(
                    f"without the queries of {name}, no preferred pair is left to learn from; use another seed, "
                    "other folds, or the holdout protocol."
                )

    def __call__(self, wanted: Sequence[PathTask]) -> list[PathResult]:
        """Compute the paths together: one read of X serves all of them."""
        with one_blas_thread():
            objectives, scalings = self.objectives([want.fold for want in wanted])
            plans = [replace(self.path_plan, tol=self._tol(want.fold)) for want in wanted]
            fitted = self._run(list(map(self._steps, wanted, objectives, plans)), scalings)
            of_fold: dict[int, list[int]] = {}
            for i, want in enumerate(wanted):
                if want.scored:
                    of_fold.setdefault(want.fold, []).append(i)
            coefs = [path.in_units(path.sparse_coefs) for path in fitted]
            models = {f: sp.vstack([coefs[i] for i in members], format="csr") for f, members in of_fold.items()}
            for f, values in self.measure(models).items():
                cuts = np.cumsum([coefs[i].shape[0] for i in of_fold[f]])[:-1]
                for i, own in zip(of_fold[f], np.split(values, cuts, axis=1), strict=True):
                    fitted[i] = replace(fitted[i], values=own)
            return fitted

    def _steps(self, task: PathTask, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        """The path of a task on the columns of the transform; plan: the settings of all paths."""
        own = replace(plan, starts=task.starts, tell=task.tell)
        return task.maker.path(objective, own)

    def _run(self, steps: Sequence[Steps[PathResult]], scalings: Sequence[FeatureScaling]) -> list[PathResult]:
        """Run the paths in lockstep; return them with scalings and without weights that the transform counts as 0."""
        paths = [replace(path, scaling=own) for path, own in zip(run_all(steps), scalings, strict=True)]
        return [path.without_traces(self.transform.least) for path in paths] if self.transform.least else paths

    def _tol(self, fold: int) -> float:
        return self.path_plan.tol if fold == FINAL else max(self.path_plan.tol, FOLD_TOL)

    def measure(self, models: Mapping[int, sp.csr_array]) -> dict[int, np.ndarray]:
        """{fold: (n_metrics, n_models, queries of the fold)} for models (n_models, n_features) CSR per fold, in units
        of `prepared`; their weights are rounded first, if the plan says so.

        Models of FINAL are scored on `valid`, and left out without it.
        """
        models, out = {f: self.path_plan.rounded(m) for f, m in models.items()}, {}
        if FINAL in models and self._unseen is not None:
            out[FINAL] = _measured(self._unseen, models[FINAL], self.metrics)
        folds = [f for f in models if f != FINAL]
        if folds:
            assigned = np.full(len(self.fold), -1)
            for g, f in enumerate(folds):
                assigned[self.fold == f] = g
            parts = self._judging.call("measure", [models[f] for f in folds], self.metrics, per_query=assigned)
            out |= {f: np.concatenate([p[g] for p in parts], axis=2) for g, f in enumerate(folds)}
        return out

    def single_features(self, columns: np.ndarray, metric: Metric) -> np.ndarray:
        """(2, len(columns)) mean metric on the training queries of rankings by each single feature, descending and
        ascending."""
        both = Columns(np.tile(columns, 2), np.repeat([1.0, -1.0], len(columns)))
        (values,) = _measured(self._shards, both, [metric])
        return np.array([mean_of(v) for v in values]).reshape(2, len(columns))


def _measured(shards: Shards, models: sp.csr_array | Columns, metrics: Sequence[Metric]) -> np.ndarray:
    """(n_metrics, n_models, n_queries) metric of each model on each query."""
    parts = shards.call("measure", [models], metrics, per_query=np.zeros(shards.n_queries, dtype=np.int64))
    return np.concatenate([p[0] for p in parts], axis=2)
