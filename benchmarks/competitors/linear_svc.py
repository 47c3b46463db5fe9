"""scikit-learn's LinearSVC (liblinear) with the l1 penalty, on pair differences.

Conversion: it minimises ||w||_1 + C sum over pairs of max(0, 1 - y d.w)^2 with labels y in {-1, 1}; every second
difference is negated to give it two classes. C = 1 / (alpha n_pairs) makes this our objective divided by alpha.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from benchmarks.competitors.base import Fit, Problem
from benchmarks.competitors.pairs import explicit_pairs


@dataclass(frozen=True)
class LinearSvc:
    packages: tuple[str, ...] = ("sklearn",)
    tolerances: tuple[float, ...] = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 1e-4, 1e-5)
    minimises_ours: bool = True

    def fit(self, problem: Problem, tol: float) -> Fit:
        from sklearn.svm import LinearSVC

        pairs, pair_time_s = explicit_pairs(problem.data)
        labels = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)
        pairs[::2] *= -1.0
        model = LinearSVC(
            penalty="l1",
            loss="squared_hinge",
            dual=False,
            fit_intercept=False,
            C=1.0 / (problem.alpha * len(pairs)),
            tol=tol,
            max_iter=10_000,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(pairs, labels)
        return Fit(model.coef_.ravel(), pair_time_s=pair_time_s, note=f"tol={tol:g}, {int(model.n_iter_)} iterations")
