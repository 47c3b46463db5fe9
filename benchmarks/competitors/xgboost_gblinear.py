"""XGBoost's linear booster with its own pairwise loss: no common certificate exists, NDCG@10 stands beside the time.

Conversion: its reg_alpha is on a scale of its own (it normalises by the sum of weights and boosts). REG_ALPHA is the
strength at which it keeps about as many features of the TD2003-shaped data as ours does at 0.01 alpha_max.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.competitors.base import Fit, Problem

REG_ALPHA = 2e-4
N_ROUNDS = 100  # its default


@dataclass(frozen=True)
class Gblinear:
    packages: tuple[str, ...] = ("xgboost",)
    tolerances: tuple[float, ...] = (REG_ALPHA,)
    minimises_ours: bool = False

    def fit(self, problem: Problem, tol: float) -> Fit:
        from xgboost import XGBRanker

        data = problem.data
        model = XGBRanker(
            booster="gblinear",
            objective="rank:pairwise",
            n_estimators=N_ROUNDS,
            reg_alpha=tol,
            n_jobs=problem.n_threads,
            random_state=0,
        )
        model.fit(data.X, data.relevance, qid=np.repeat(np.arange(len(data.lengths)), data.lengths))
        return Fit(model.coef_.ravel(), note=f"reg_alpha={tol:g}, {N_ROUNDS} rounds")
