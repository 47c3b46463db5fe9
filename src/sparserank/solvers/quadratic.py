"""Minimise a quadratic model plus a penalty on the working set: coordinate descent, finished by direct solves;
accelerated prox steps if the penalty ties columns together."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sparserank.penalties.parts import BlockPart, Part, SeparablePart
from sparserank.solvers._block_descent_kernels import descend_blocks
from sparserank.solvers._coordinate_descent_kernels import descend

TIGHT = 0.1  # share of a problem's tolerance to which its last models are solved
SWEEPS_BETWEEN_DIRECT = 10
MAX_ROUNDS = 12
MAX_PROX_STEPS = 5000
MAX_BLOCK_ROUNDS = 50
MAX_HALVINGS = 8


def slightly_lifted(H: np.ndarray) -> np.ndarray:
    """H with a diagonal large enough to be positive definite in floating point, and too small to change a step."""
    n = max(len(H), 1)
    return H + np.diag(np.full(len(H), 1e-13 * max(float(np.trace(H)), 1e-300) / n))


def minimise_model(
    H: np.ndarray, gradient: np.ndarray, w: np.ndarray, part: SeparablePart | BlockPart | Part, tol: float
) -> np.ndarray:
    """argmin over u of gradient.(u - w) + (u - w)^T H (u - w) / 2 + penalty(u), from u = w.

    Correlated features make coordinate descent slow. Once the non-zero coordinates are known, a Newton step on them
    (exact for piecewise quadratic penalties) goes up to the first coordinate that would change sign.
    """
    if isinstance(part, BlockPart):
        return _block_descent(H, gradient, w, part, tol)
    if not isinstance(part, SeparablePart):
        return _prox_steps(H, gradient, w, part, tol)
    u = w.astype(np.float64, copy=True)
    residual = gradient.astype(np.float64, copy=True)
    for _ in range(MAX_ROUNDS):
        _, largest = descend(
            H, residual, u, part.alphas, part.monotone, part.kind, part.first, part.second, tol, SWEEPS_BETWEEN_DIRECT
        )
        if largest <= tol:
            break
        _direct_step(H, residual, u, part)
    return u


def _block_descent(H: np.ndarray, gradient: np.ndarray, w: np.ndarray, part: BlockPart, tol: float) -> np.ndarray:
    """Sweeps over blocks, alternating with Newton steps on the non-zero coordinates."""
    order = part.order
    H = np.ascontiguousarray(H[np.ix_(order, order)])
    u = w[order].astype(np.float64)
    residual = gradient[order].astype(np.float64)
    blocks = [slice(a, b) for a, b in pairwise(part.starts.tolist())]
    largest_h = np.array([float(np.linalg.eigvalsh(H[b, b])[-1]) for b in blocks])
    curves = np.searchsorted(part.first, part.starts)  # the first of each block
    for _ in range(MAX_BLOCK_ROUNDS):
        _, largest = descend_blocks(
            H,
            residual,
            u,
            part.starts,
            part.whole,
            curves,
            part.first,
            part.behind,
            part.curve_price,
            part.monotone,
            largest_h,
            part.kind,
            part.shape1,
            part.shape2,
            part.ridge,
            tol,
            SWEEPS_BETWEEN_DIRECT,
        )
        if largest <= tol:
            break
        _direct_block_step(H, residual, u, part)
    out = np.empty_like(u)
    out[order] = u
    return out


def _direct_block_step(H: np.ndarray, residual: np.ndarray, u: np.ndarray, part: BlockPart) -> None:
    """A Newton step on the non-zero coordinates, as long as the model falls along it;
    u and residual change in place."""
    slope, second = part.expansion(u)
    S = np.flatnonzero(u)
    at = np.ix_(S, S)
    step = _solved(H[at] + second[at], -(residual + slope)[S])
    if step is None:
        return
    held = (part.monotone[S] != 0) & (step * part.monotone[S] < 0)
    length = min(1.0, float(np.min(u[S][held] / -step[held], initial=np.inf)))
    before = part.value(u)
    for _ in range(MAX_HALVINGS):
        moved = u.copy()
        moved[S] += length * step
        curved = length * (H[:, S] @ step)
        change = length * float(residual[S] @ step) + 0.5 * length * float(step @ curved[S])
        if change + part.value(moved) - before < 0.0:
            residual += curved
            u[:] = np.where(moved * part.monotone < 0, 0.0, moved)
            return
        length *= 0.25


def _solved(system: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """The solution of a system; a matrix that is not positive definite gets the smallest sufficient shift.
    None if no shift suffices."""
    size = max(float(np.abs(system).max(initial=0.0)), 1e-300)
    for extra in (0.0, 1e-6, 1e-3, 1e-1, 1.0):
        try:
            factor = cho_factor(system + extra * size * np.eye(len(right)), check_finite=False)
        except LinAlgError:
            continue
        found = np.asarray(cho_solve(factor, right, check_finite=False))
        if np.isfinite(found).all():
            return found
    return None


def _prox_steps(H: np.ndarray, gradient: np.ndarray, w: np.ndarray, part: Part, tol: float) -> np.ndarray:
    """Accelerated prox steps with restarts, until no step changes the gradient by more than tol."""
    L = max(float(np.linalg.eigvalsh(H)[-1]) if len(H) else 0.0, 1e-300)
    u, z, momentum = w.copy(), w.copy(), 1.0
    for _ in range(MAX_PROX_STEPS):
        following = part.prox(z - (gradient + H @ (z - w)) / L, 1.0 / L)
        if L * float(np.abs(following - z).max(initial=0.0)) <= tol:
            return following
        if float((z - following) @ (following - u)) > 0:  # the momentum leads uphill
            momentum = 1.0
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        z = following + (momentum - 1.0) / grown * (following - u)
        u, momentum = following, grown
    return u


def newton_on_support(
    H: np.ndarray, gradient: np.ndarray, w: np.ndarray, part: SeparablePart | BlockPart | Part
) -> np.ndarray:
    """One Newton step of the model on only the non-zero coordinates;
    none of them becomes 0 except by changing sign."""
    assert isinstance(part, SeparablePart)  # ProxNewton refuses concave penalties of another kind
    u, residual = w.astype(np.float64, copy=True), gradient.astype(np.float64, copy=True)
    _direct_step(H, residual, u, part)
    return u


def _direct_step(H: np.ndarray, residual: np.ndarray, u: np.ndarray, part: SeparablePart) -> None:
    """Newton step on the non-zero coordinates if it lowers the model; u and residual change in place."""
    alphas, monotone = part.alphas, part.monotone
    S = np.flatnonzero((u != 0) | ((alphas == 0) & (monotone == 0)))
    if len(S) == 0:
        return
    t = np.abs(u[S])
    system = H[np.ix_(S, S)] + np.diag(part.second_derivative(t, alphas[S]))
    gradient = residual[S] + np.sign(u[S]) * part.slope(t, alphas[S])
    try:
        step = -cho_solve(cho_factor(system, check_finite=False), gradient, check_finite=False)
    except LinAlgError:  # collinear features, or a concave model: coordinate descent goes on by itself
        return
    if not np.isfinite(step).all():
        return
    bound = (alphas[S] > 0) | (monotone[S] != 0)
    crossing = bound & (u[S] * (u[S] + step) < 0)
    ratios = np.where(crossing, -u[S] / np.where(crossing, step, 1.0), np.inf)
    moved = u[S] + min(float(ratios.min()), 1.0) * step
    if crossing.any():
        moved[int(np.argmin(ratios))] = 0.0
    change = moved - u[S]
    curved = H[:, S] @ change
    if not part.is_convex:
        gain = float(residual[S] @ change + 0.5 * change @ curved[S])
        if gain + float((part.value(np.abs(moved), alphas[S]) - part.value(t, alphas[S])).sum()) >= 0:
            return
    residual += curved
    u[S] = moved
