"""Reading an experiment's results: choices per fold, per-query test values, and models that were not chosen."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from reproduction.datasets import FoldData, open_fold
from reproduction.protocol.experiment import Experiment
from reproduction.systems import COMPARED, SYSTEMS
from sparserank.evaluation import per_query_values
from sparserank.lazy import cached_property

Row = dict[str, Any]


class Results:
    """The stored results of an experiment, by data set, system and fold."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.plan = experiment.plan
        self.store = experiment.store
        self.rows: dict[tuple[str, str, int], list[Row]] = {}
        table = self.store.table(experiment.tasks, "candidates")
        for row in table.to_pylist():
            row["params"] = json.loads(row["params"])
            self.rows.setdefault((row["dataset"], row["system"], row["fold"]), []).append(row)
        self.datasets = [d for d in experiment.datasets if any(k[0] == d for k in self.rows)]

    @cached_property
    def _per_query(self) -> dict[tuple[str, str, int, int], dict[str, np.ndarray]]:
        table = self.store.table(self.experiment.tasks, "per_query")
        keys = list(zip(*(table[c].to_pylist() for c in ("dataset", "system", "fold", "candidate")), strict=True))
        values = {m: table[m].to_numpy() for m in self.plan.metric_names}
        where: dict[tuple[str, str, int, int], list[int]] = {}
        for i, key in enumerate(keys):
            where.setdefault(key, []).append(i)
        return {key: {m: v[rows] for m, v in values.items()} for key, rows in where.items()}

    def folds(self, dataset: str, system: str) -> list[int]:
        return sorted(f for d, s, f in self.rows if (d, s) == (dataset, system))

    def has(self, dataset: str, system: str) -> bool:
        return bool(self.folds(dataset, system))

    def systems(self, dataset: str) -> list[str]:
        """Systems with results that are compared with each other, in the registry's order;
        any others if there are none."""
        return [s for s in COMPARED if self.has(dataset, s)] or [s for s in SYSTEMS if self.has(dataset, s)]

    def complete(self, dataset: str, by: str, systems: list[str] | None = None) -> list[str]:
        """The systems that made a choice in every fold of the data set; only these can be compared."""
        folds = sorted({u.fold for u in self.experiment.tasks if u.dataset.name == dataset})
        return [
            s
            for s in systems or self.systems(dataset)
            if self.folds(dataset, s) == folds and all(self.chosen(dataset, s, f, by) for f in folds)
        ]

    @property
    def headline(self) -> list[str]:
        """The metrics of short tables: MAP and NDCG@10 if they are reported, else the first two."""
        usual = [m for m in self.plan.metric_names if m in ("map", "ndcg@10")]
        return usual or self.plan.metric_names[:2]

    def chosen(self, dataset: str, system: str, fold: int, by: str) -> list[Row]:
        """The choice of `by` (a metric, or 'map:k=5'): one candidate, or all draws for random weights."""
        return [r for r in self.rows[dataset, system, fold] if by in r["chosen_for"]]

    def values(self, dataset: str, system: str, by: str, metric: str) -> list[np.ndarray]:
        """Per fold, (n_test_queries,) the chosen model's metric (mean over draws for random weights)."""
        out = []
        for fold in self.folds(dataset, system):
            rows = self.chosen(dataset, system, fold, by)
            if not rows:
                return []
            out.append(np.mean([self._per_query[dataset, system, fold, r["candidate"]][metric] for r in rows], axis=0))
        return out

    def mean(self, dataset: str, system: str, by: str, metric: str) -> float:
        """Mean over folds of the mean over test queries, as in the tables."""
        values = self.values(dataset, system, by, metric)
        return float(np.mean([np.nanmean(v) for v in values])) if values else float("nan")

    def sparsity(self, dataset: str, system: str, by: str, *, varying: bool) -> float:
        """Mean over folds of features remaining / features (all, or those that vary within queries)."""
        of = "n_features_varying" if varying else "n_features_all"
        ratios = [
            np.mean([r["n_features"] / r[of] for r in self.chosen(dataset, system, f, by)])
            for f in self.folds(dataset, system)
        ]
        return float(np.mean(ratios)) if ratios else float("nan")

    def best_of(self, dataset: str, system: str, fold: int, by: str, among: Callable[[Row], bool]) -> Row | None:
        """The candidate that `by` prefers on validation among those that satisfy a condition; never an empty model."""
        allowed = [r for r in self.rows[dataset, system, fold] if r["n_features"] > 0 and among(r)]
        return max(allowed, key=lambda r: r[f"valid {by}"]) if allowed else None  # max takes the first of equals

    def test(self, row: Row) -> dict[str, np.ndarray]:
        """Per-query test values of any candidate: stored, or computed from its coefficients."""
        key = (row["dataset"], row["system"], row["fold"], row["candidate"])
        if key not in self._per_query:
            data = self.fold_data(row["dataset"], row["fold"]).test
            values = per_query_values(data.X @ np.array(row["coef"]), data, self.plan.all_metrics)
            self._per_query[key] = dict(zip(self.plan.metric_names, values, strict=True))
        return self._per_query[key]

    def test_mean(self, rows: list[Row | None], metric: str) -> float:
        """Mean over folds; NaN when a fold has no such candidate."""
        if not rows or any(r is None for r in rows):
            return float("nan")
        return float(np.mean([np.nanmean(self.test(r)[metric]) for r in rows if r is not None]))

    def fold_data(self, dataset: str, fold: int) -> FoldData:
        task = next(u for u in self.experiment.tasks if (u.dataset.name, u.fold) == (dataset, fold))
        d = task.dataset
        return _open_fold(d.path, fold, d.scaling, d.missing, task.content)


_open_fold = lru_cache(maxsize=16)(open_fold)
