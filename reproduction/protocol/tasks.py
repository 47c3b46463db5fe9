"""One piece of an experiment: a system on a fold of a data set, from its grid to test metrics per query."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from reproduction.datasets import FoldData, open_fold
from reproduction.protocol.plan import DatasetPlan, ExperimentPlan
from reproduction.systems import find_system
from reproduction.systems.base import Candidate, Fold
from sparserank.arrow import pa
from sparserank.errors import ConvergenceWarning, DataError
from sparserank.evaluation import mean_of, per_query_values
from sparserank.execution import one_blas_thread

INFO = ("n_iter", "alpha", "loss", "objective", "gap", "kkt_violation", "leave_query_out_error")


@dataclass(frozen=True)
class Task:
    """A system on a fold; `content` is the hash of the fold's files."""

    dataset: DatasetPlan
    fold: int
    system: str
    content: str

    @property
    def label(self) -> str:
        return f"{self.dataset.name} fold {self.fold} {self.system}"


_open_fold = lru_cache(maxsize=2)(open_fold)  # a worker goes fold by fold


@dataclass(frozen=True)
class TaskRunner:
    """Runs the tasks of a plan; sent to worker processes once."""

    plan: ExperimentPlan

    def __call__(self, task: Task) -> tuple[pa.Table, pa.Table]:
        """(candidates, per query): every candidate with its validation metrics,
        and test values of the chosen ones."""
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # statuses travel with the candidates
            return self._run(task)

    def _run(self, task: Task) -> tuple[pa.Table, pa.Table]:
        d = task.dataset
        data = _open_fold(d.path, task.fold, d.scaling, d.missing, task.content)
        by_name = dict(zip(self.plan.valid_names, self.plan.valid_metrics, strict=True))
        fold = Fold(data, self.plan.convention, by_name, self.plan.seed + task.fold)
        w = np.zeros(fold.train.n_features)
        fold.objective.along(w, w)(0.0)  # compiles or loads the kernels, so that no candidate's time pays for it
        candidates = list(find_system(task.system).candidates(fold, self.plan.grid(task.system)))
        if not any(c.coef.any() for c in candidates):
            raise DataError("no grid point gives a model with features.")
        metrics = self.plan.valid_metrics
        scores = data.valid.X @ np.array([c.coef for c in candidates]).T
        valid = np.array(
            [[mean_of(v) for v in per_query_values(scores[:, i], data.valid, metrics)] for i in range(len(candidates))]
        )
        for i, c in enumerate(candidates):
            if c.valid is not None:
                valid[i] = [c.valid[name] for name in self.plan.valid_names]
        sizes = np.array([np.count_nonzero(c.coef) for c in candidates])
        chosen = self._choices(task, candidates, valid, sizes)
        tested = sorted({i for i, _ in chosen})
        test = {i: per_query_values(data.test.X @ candidates[i].coef, data.test, self.plan.all_metrics) for i in tested}
        return (
            self._candidate_table(task, fold, candidates, valid, sizes, chosen, test),
            self._query_table(task, data, test),
        )

    def _choices(
        self, task: Task, candidates: list[Candidate], valid: np.ndarray, sizes: np.ndarray
    ) -> list[tuple[int, str]]:
        """(candidate, reason of its choice): by each metric, overall and for each maximum size;
        never an empty model."""
        out = []
        if task.system == "random":
            return [(i, m) for i in range(len(sizes)) for m in self.plan.choose_by]  # all draws: their mean is reported
        for m, name in enumerate(self.plan.choose_by):
            for limit in [None, *range(1, self.plan.max_size + 1)]:
                allowed = np.flatnonzero((sizes > 0) & (sizes <= (limit or np.inf)))
                own = [i for i, c in enumerate(candidates) if name in c.preferred_for]
                if limit is None and own:
                    out.append((own[0], name))
                elif len(allowed):
                    best = int(allowed[np.argmax(valid[allowed, m])])
                    out.append((best, name if limit is None else f"{name}:k={limit}"))
        return out

    def _candidate_table(
        self,
        task: Task,
        fold: Fold,
        candidates: list[Candidate],
        valid: np.ndarray,
        sizes: np.ndarray,
        chosen: list[tuple[int, str]],
        test: dict[int, list[np.ndarray]],
    ) -> pa.Table:
        n = len(candidates)
        objective = fold.objective
        alpha = np.array([_number(c.info.get("alpha", c.params.get("alpha"))) for c in candidates])
        columns: dict[str, Any] = {
            "dataset": [task.dataset.name] * n,
            "fold": [task.fold] * n,
            "system": [task.system] * n,
            "candidate": np.arange(n),
            "params": [json.dumps(c.params) for c in candidates],
            "n_features": sizes,
            "n_features_all": [fold.train.n_features] * n,
            "n_features_varying": [len(fold.varying)] * n,
            "time_s": [c.time_s for c in candidates],
            "C_sum": [
                1.0 / (a * c.info.get("total_weight", objective.total_weight))
                for a, c in zip(alpha, candidates, strict=True)
            ],
            "C_mean": 1.0 / alpha,
            "r": [float(np.abs(c.coef).sum()) for c in candidates],
            **{name: [_number(c.info.get(name)) for c in candidates] for name in INFO if name != "alpha"},
            "alpha": alpha,
            "status": [str(c.info.get("status", "")) for c in candidates],
            "features": [[int(j) for j in c.info.get("selected", _by_weight(c.coef))] for c in candidates],
            "coef": [c.coef.tolist() for c in candidates],
            "chosen_for": [[name for j, name in chosen if j == i] for i in range(n)],
        }
        for m, name in enumerate(self.plan.valid_names):
            columns[f"valid {name}"] = valid[:, m]
        for m, name in enumerate(self.plan.metric_names):
            columns[f"test {name}"] = [mean_of(test[i][m]) if i in test else None for i in range(n)]
        return pa.table(columns)

    def _query_table(self, task: Task, data: FoldData, test: dict[int, list[np.ndarray]]) -> pa.Table:
        n = data.test.n_queries
        columns: dict[str, Any] = {
            "dataset": [task.dataset.name] * (n * len(test)),
            "fold": [task.fold] * (n * len(test)),
            "system": [task.system] * (n * len(test)),
            "candidate": np.repeat(np.array(list(test), dtype=np.int64), n),
            "qid": [str(q) for q in data.test.query_ids] * len(test),
        }
        for m, name in enumerate(self.plan.metric_names):
            columns[name] = np.concatenate([values[m] for values in test.values()]) if test else np.zeros(0)
        return pa.table(columns)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _by_weight(coef: np.ndarray) -> np.ndarray:
    """Selected features, largest weight first."""
    order = np.argsort(-np.abs(coef), kind="stable")
    return order[: np.count_nonzero(coef)]
