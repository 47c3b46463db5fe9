"""FISTA on pair differences: Algorithm 1 of Laporte et al. (2014) as published, and with the tight step.

Published: L = 2 / P times the sum of squared norms of the differences. Tight: 2 / P times the largest eigenvalue of
their Gram matrix (the time for it counts). The certificate is checked every CHECK_EVERY iterations at the iterate
itself.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.competitors.base import KKT, TIME_LIMIT_S, Fit, Problem
from benchmarks.competitors.pairs import explicit_pairs

CHECK_EVERY = 25


@dataclass(frozen=True)
class ExplicitFista:
    step: str  # 'published' or 'tight'
    packages: tuple[str, ...] = ()
    tolerances: tuple[float, ...] = (KKT,)
    minimises_ours: bool = True

    def fit(self, problem: Problem, tol: float) -> Fit:
        pairs, pair_time_s = explicit_pairs(problem.data)
        n, alpha = len(pairs), problem.alpha
        if self.step == "published":
            lipschitz = 2.0 / n * float(np.vdot(pairs, pairs))
        else:
            lipschitz = 2.0 / n * float(np.linalg.eigvalsh(pairs.T @ pairs)[-1])

        def gradient(w: np.ndarray) -> np.ndarray:
            return (-2.0 / n) * (np.maximum(1.0 - pairs @ w, 0.0) @ pairs)

        w = z = np.zeros(pairs.shape[1])
        momentum, n_iter, finished = 1.0, 0, False
        deadline = time.perf_counter() + TIME_LIMIT_S
        while not finished and time.perf_counter() < deadline:
            for _ in range(CHECK_EVERY):
                v = z - gradient(z) / lipschitz
                new = np.sign(v) * np.maximum(np.abs(v) - alpha / lipschitz, 0.0)
                following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
                z = new + (momentum - 1.0) / following * (new - w)
                w, momentum = new, following
            n_iter += CHECK_EVERY
            finished = _violation(w, gradient(w), alpha) <= tol * problem.alpha_max
        note = f"L={lipschitz:.3g}, {n_iter} iterations" + ("" if finished else f", stopped at {TIME_LIMIT_S:g} s")
        return Fit(w, pair_time_s=pair_time_s, note=note, finished=finished)


def _violation(w: np.ndarray, gradient: np.ndarray, alpha: float) -> float:
    """Distance of -gradient to alpha times the subdifferential of the l1 norm:
    a point where w_j != 0, else an interval."""
    return float(np.where(w != 0, np.abs(gradient + alpha * np.sign(w)), np.abs(gradient) - alpha).max())
