"""Minimise a quadratic model plus a penalty on the working set: coordinate descent, finished by direct solves."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sparserank.penalties.base import Penalty
from sparserank.solvers._coordinate_descent_kernels import descend

SWEEPS_BETWEEN_DIRECT = 10
MAX_ROUNDS = 12


def minimise_model(
    H: np.ndarray,
    gradient: np.ndarray,
    w: np.ndarray,
    penalty: Penalty,
    alphas: np.ndarray,
    signs: np.ndarray,
    tol: float,
) -> np.ndarray:
    """argmin over u of gradient.(u - w) + (u - w)^T H (u - w) / 2 + penalty(u), from u = w.

    Correlated features make coordinate descent crawl. Once it has found which coordinates are not zero, a Newton step
    on those (exact for piecewise quadratic penalties) goes up to the first coordinate that would change sign.
    """
    u = w.astype(np.float64, copy=True)
    residual = gradient.astype(np.float64, copy=True)
    first, second = penalty.shape()
    for _ in range(MAX_ROUNDS):
        _, largest = descend(H, residual, u, alphas, signs, penalty.kind, first, second, tol, SWEEPS_BETWEEN_DIRECT)
        if largest <= tol:
            break
        _direct_step(H, residual, u, penalty, alphas, signs)
    return u


def newton_on_support(
    H: np.ndarray, gradient: np.ndarray, w: np.ndarray, penalty: Penalty, alphas: np.ndarray, signs: np.ndarray
) -> np.ndarray:
    """One Newton step of the model on the non-zero coordinates alone; none of them jumps to 0 except by changing sign."""
    u, residual = w.astype(np.float64, copy=True), gradient.astype(np.float64, copy=True)
    _direct_step(H, residual, u, penalty, alphas, signs)
    return u


def _direct_step(
    H: np.ndarray, residual: np.ndarray, u: np.ndarray, penalty: Penalty, alphas: np.ndarray, signs: np.ndarray
) -> None:
    """Newton step on the non-zero coordinates if it lowers the model; u and residual change in place."""
    S = np.flatnonzero((u != 0) | ((alphas == 0) & (signs == 0)))
    if len(S) == 0:
        return
    t = np.abs(u[S])
    system = H[np.ix_(S, S)] + np.diag(penalty._bend(t, alphas[S]))
    pull = residual[S] + np.sign(u[S]) * penalty._slope(t, alphas[S])
    try:
        step = -cho_solve(cho_factor(system, check_finite=False), pull, check_finite=False)
    except LinAlgError:  # collinear features, or a concave model: coordinate descent goes on by itself
        return
    if not np.isfinite(step).all():
        return
    bound = (alphas[S] > 0) | (signs[S] != 0)
    crossing = bound & (u[S] * (u[S] + step) < 0)
    ratios = np.where(crossing, -u[S] / np.where(crossing, step, 1.0), np.inf)
    moved = u[S] + min(float(ratios.min()), 1.0) * step
    if crossing.any():
        moved[int(np.argmin(ratios))] = 0.0
    change = moved - u[S]
    curved = H[:, S] @ change
    if not penalty.is_convex:
        gain = float(residual[S] @ change + 0.5 * change @ curved[S])
        if gain + float((penalty._value(np.abs(moved), alphas[S]) - penalty._value(t, alphas[S])).sum()) >= 0:
            return
    residual += curved
    u[S] = moved
