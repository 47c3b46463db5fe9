"""LightGBM's lambdarank: what people run when a linear model is not asked for. Building its bins counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.competitors.base import Fit, Problem


@dataclass(frozen=True)
class Lambdarank:
    n_trees: int = 100
    n_leaves: int = 31
    packages: tuple[str, ...] = ("lightgbm",)
    tolerances: tuple[float, ...] = (0.0,)
    minimises_ours: bool = False

    def fit(self, problem: Problem, tol: float) -> Fit:
        from lightgbm import LGBMRanker

        data = problem.data
        model = LGBMRanker(
            n_estimators=self.n_trees, num_leaves=self.n_leaves, n_jobs=problem.n_threads, random_state=0, verbose=-1
        )
        model.fit(data.X, data.relevance.astype(np.int64), group=data.lengths)
        return Fit(
            predict=lambda X: np.asarray(model.predict(X)), note=f"{self.n_trees} trees of {self.n_leaves} leaves"
        )
