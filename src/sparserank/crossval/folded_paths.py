"""Paths on all training queries and without each fold, from one copy of the features, and the metric of their points on
queries that they have not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.crossval.feature_transforms import RAW, FeatureTransform
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.crossval.teachers import Teacher, Tell, labels_of, silent
from sparserank.crossval.training_queries import TrainingQueries, Weighted
from sparserank.data.dataset import RankingDataset
from sparserank.evaluation import mean_of
from sparserank.execution import one_blas_thread
from sparserank.lazy import cached_property
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.paths import PathPlan, PathResult
from sparserank.shards import LocalShards, Shards
from sparserank.shards.measuring import Columns
from sparserank.shards.scaling import FeatureScaling
from sparserank.solvers.lockstep import Steps, run_all
from sparserank.transforms import STEPS
from sparserank.workdir.pieces import NOWHERE, Store, load_or_make

# Attributes derived from the data on first use.
DERIVED = ("prepared", "shards", "_judging", "_unseen")
FOLD_TOL = 1e-4  # for paths that only estimate quality: down to the tolerance of the final path, rankings do not change


@dataclass(eq=False, repr=False)
class FoldedPaths(TrainingQueries):
    """Computes paths of makers for any number of folds at once. Each leaves out its fold by query weights of 0.

    The object is picklable, so that each worker can have a copy.

    Parameters
        data          training queries
        fold          (n_queries,) fold numbers from 0 of the queries on which points are scored, of which the training
                      queries are the first; FINAL leaves nothing out
        path_plan     of all paths; metrics: of their points
        transform     under which features enter; default unchanged
        judged        the same queries with more documents, and further ones, on which points of folds are scored; None:
                      `data`
        valid         queries that points of the FINAL path are scored on; points of fold f are scored on the queries of
                      f
        query_weight, n_threads, client   as in TrainingQueries
        alike         an object with the same columns, whose copy of `judged` is shared
        learned       numbers of the training queries from which paths learn; None: all
    """

    data: RankingDataset
    fold: np.ndarray
    path_plan: PathPlan
    metrics: Sequence[Metric]
    _: KW_ONLY
    valid: RankingDataset | None = None
    query_weight: np.ndarray | None = None
    n_threads: int | None = None
    client: Any = None
    transform: FeatureTransform = RAW
    judged: RankingDataset | None = None
    alike: FoldedPaths | None = None
    learned: np.ndarray | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in DERIVED}
        return {**state, "client": None, "alike": None}

    def for_a_process(self) -> FoldedPaths:
        """A copy that computes with one thread, to be sent to a worker process."""
        return replace(self, n_threads=1)

    @cached_property
    def learns(self) -> np.ndarray:
        """(n_queries,) bool: the training queries from which paths learn."""
        learns = np.zeros(self.data.n_queries, dtype=bool)
        learns[slice(None) if self.learned is None else self.learned] = True
        return learns

    @property
    def n_judged(self) -> int:
        """Number of queries that points of the FINAL path are scored on."""
        return 0 if self.valid is None else self.valid.n_queries

    def release(self) -> None:
        """Release the data that were derived from the features; they are computed again when needed."""
        for name in DERIVED:
            self.__dict__.pop(name, None)

    @cached_property
    def _judging(self) -> Shards:
        """The documents on which points of folds are scored."""
        if self.judged is None:
            return self.shards
        return self.shards_of(self.transformed_queries(self.judged)) if self.alike is None else self.alike._judging

    @cached_property
    def _unseen(self) -> LocalShards | None:
        return None if self.valid is None else self.shards_of(self.transformed_queries(self.valid))

    def objectives(self, folds: Sequence[int]) -> Weighted:
        """The loss without each of these folds, and its scaling, which is also learned without the fold;
        a fold may appear several times."""
        distinct = list(dict.fromkeys(folds))
        used, teacher = self._used(distinct), self.transform.teacher
        labels = None
        if teacher is not None:
            missing = [f for f, row in zip(distinct, used, strict=True) if row.tobytes() not in teacher.grades]
            if missing:
                self.teach(missing)
            labels = labels_of([teacher.grades[row.tobytes()] for row in used], used, self.data)
        left_out = ["" if f == FINAL else f"fold {f + 1}" for f in distinct]
        return self.on_queries(used, [distinct.index(f) for f in folds], left_out, labels)

    def _used(self, folds: Sequence[int]) -> np.ndarray:
        """(n, n_queries) bool: the queries from which the paths of each fold learn."""
        fold = self.fold[: self.data.n_queries]
        return np.array([self.learns & ((fold != f) | (f == FINAL)) for f in folds])

    def teach(self, folds: Sequence[int], store: Store = NOWHERE, tell: Tell = silent) -> None:
        """Learn the grades of the teacher without each of these folds, all at once. This is one piece of work; each
        ensemble of trees is another."""
        teacher, used = self.transform.teacher, self._used(folds)
        assert teacher is not None

        def learned() -> dict[str, np.ndarray]:
            grades = self.graded(teacher, used, store, tell)
            return {"grades": np.array(grades), "reason": np.array([teacher.reason], dtype="U")}

        n = len(used), self.data.n_docs
        arrays = load_or_make(store, f"teacher-{teacher.key}", learned, grades=("u", n), reason=("U", (1,)))
        if teacher.trees is not None:
            teacher.trees.reason = teacher.reason or str(arrays["reason"][0])
        teacher.grades |= {row.tobytes(): row_grades for row, row_grades in zip(used, arrays["grades"], strict=True)}

    def graded(
        self, teacher: Teacher, used: np.ndarray, store: Store = NOWHERE, tell: Tell = silent
    ) -> list[np.ndarray]:
        """(n_docs,) grades for each row of `used` (n, n_queries) bool, by a teacher that learns from the queries of the
        row."""
        in_steps = FeatureTransform(STEPS, shape=teacher.bins)
        queries = replace(self, transform=in_steps)
        objectives, _ = queries.on_queries(used, range(len(used)))
        models = run_all([teacher.maker.on_all_features(o) for o in objectives])
        scores = [np.concatenate(queries.shards.call("scores", w)) for w in models]
        return teacher.graded(used, scores, self.data.query_ptr, store, tell)

    def __call__(self, wanted: Sequence[PathTask]) -> list[PathResult]:
        """Compute the paths together: one read of X serves all of them."""
        with one_blas_thread():
            objectives, scalings = self.objectives([want.fold for want in wanted])
            tol = self.path_plan.tol
            steps = [
                steps_of(want, objective, self.path_plan, tol=tol if want.fold == FINAL else max(tol, FOLD_TOL))
                for want, objective in zip(wanted, objectives, strict=True)
            ]
            fitted = self.run(steps, scalings)
            of_fold: dict[int, list[int]] = {}
            for i, want in enumerate(wanted):
                if want.scored:
                    of_fold.setdefault(want.fold, []).append(i)
            coefs = [path.in_units(path.sparse_coefs) for path in fitted]
            models = {f: sp.vstack([coefs[i] for i in members], format="csr") for f, members in of_fold.items()}
            for f, values in self.measure(models).items():
                cuts = np.cumsum([coefs[i].shape[0] for i in of_fold[f]])[:-1]
                for i, path_values in zip(of_fold[f], np.split(values, cuts, axis=1), strict=True):
                    fitted[i] = replace(fitted[i], values=path_values)
            return fitted

    def run(self, steps: Sequence[Steps[PathResult]], scalings: Sequence[FeatureScaling]) -> list[PathResult]:
        """Run the paths in lockstep; return them with their scalings, and without weights that the transform counts as
        0."""
        paths = [replace(path, scaling=scaling) for path, scaling in zip(run_all(steps), scalings, strict=True)]
        return [path.without_traces(self.transform.least) for path in paths] if self.transform.least else paths

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
        (values,) = _measured(self.shards, both, [metric])
        return np.array([mean_of(v) for v in values]).reshape(2, len(columns))


def steps_of(task: PathTask, objective: PairwiseObjective, plan: PathPlan, **settings: Any) -> Steps[PathResult]:
    """The path of a task; plan: the settings of all paths, of which `settings` replace some."""
    return task.maker.path(objective, replace(plan, starts=task.starts, tell=task.tell, **settings))


def _measured(shards: Shards, models: sp.csr_array | Columns, metrics: Sequence[Metric]) -> np.ndarray:
    """(n_metrics, n_models, n_queries) metric of each model on each query."""
    parts = shards.call("measure", [models], metrics, per_query=np.zeros(shards.n_queries, dtype=np.int64))
    return np.concatenate([p[0] for p in parts], axis=2)
