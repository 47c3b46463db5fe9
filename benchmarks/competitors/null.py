"""The null competitor: w = 0, the figure that every other result is read against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.competitors.base import Fit, Problem


@dataclass(frozen=True)
class Null:
    packages: tuple[str, ...] = ()
    tolerances: tuple[float, ...] = (0.0,)
    minimises_ours: bool = True

    def fit(self, problem: Problem, tol: float) -> Fit:
        return Fit(np.zeros(problem.data.X.shape[1]))
