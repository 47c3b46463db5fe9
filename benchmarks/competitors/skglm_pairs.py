"""skglm on pair differences, with a squared-hinge datafit written for this benchmark: skglm has none in the primal.

Its solvers stop at subdifferential distance <= tol, which is our kkt_violation, so 1e-6 alpha_max needs no conversion.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.competitors.base import KKT, Fit, Problem
from benchmarks.competitors.pairs import explicit_pairs


class SquaredHingeDatafit:
    """(1 / n) sum of max(0, 1 - y (Xw))^2, in the form that skglm compiles; its base class would add nothing."""

    def __init__(self) -> None:
        pass

    def get_spec(self) -> tuple:
        return ()

    def params_to_dict(self) -> dict:
        return {}

    def initialize(self, X: Any, y: Any) -> None:
        pass

    def value(self, y: Any, w: Any, Xw: Any) -> Any:
        return np.sum(np.maximum(1.0 - y * Xw, 0.0) ** 2) / len(y)

    def raw_grad(self, y: Any, Xw: Any) -> Any:
        return -2.0 * y * np.maximum(1.0 - y * Xw, 0.0) / len(y)

    def raw_hessian(self, y: Any, Xw: Any) -> Any:
        return 2.0 * (y * Xw < 1.0) / len(y)

    def get_lipschitz(self, X: Any, y: Any) -> Any:
        return 2.0 * (X**2).sum(axis=0) / len(y)

    def gradient_scalar(self, X: Any, y: Any, w: Any, Xw: Any, j: int) -> Any:
        return -2.0 * (X[:, j] @ (y * np.maximum(1.0 - y * Xw, 0.0))) / len(y)


@dataclass(frozen=True)
class SkglmPairs:
    solver: str  # 'AndersonCD' or 'ProxNewton'
    packages: tuple[str, ...] = ("skglm",)
    tolerances: tuple[float, ...] = (KKT,)
    minimises_ours: bool = True

    def fit(self, problem: Problem, tol: float) -> Fit:
        from skglm import penalties, solvers

        pairs, pair_time_s = explicit_pairs(problem.data)
        solver = getattr(solvers, self.solver)(tol=tol * problem.alpha_max, fit_intercept=False, max_iter=100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w, steps, _ = solver.solve(
                np.asfortranarray(pairs), np.ones(len(pairs)), SquaredHingeDatafit(), penalties.L1(problem.alpha)
            )
        return Fit(w, pair_time_s=pair_time_s, note=f"{len(steps)} outer iterations")
