"""Minimise a quadratic model plus a penalty on the working set: coordinate or block descent, completed by direct
solves; accelerated prox steps for other penalties that couple columns."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sparserank.penalties.parts import BlockPart, Part, SeparablePart
from sparserank.solvers._descent_kernels import descend, descend_blocks

TIGHT = 0.1  # models near the solution are solved to this share of the problem's tolerance
SWEEPS_BETWEEN_DIRECT = 10
MAX_ROUNDS = 12
MAX_PROX_STEPS = 5000
MAX_BLOCK_ROUNDS = 50
MAX_HALVINGS = 8


def shortened(length: float, slope: float, change: float) -> float:
    """The next length of a line search: it minimises the parabola through the value and the slope at 0 and the `change`
    of the value at `length`, and is a tenth to a half of this length."""
    along_step = change - length * slope
    best = -0.5 * length * length * slope / along_step if along_step > 0 else 0.5 * length
    return min(max(best, 0.1 * length), 0.5 * length)


def slightly_lifted(H: np.ndarray) -> np.ndarray:
    """H plus a multiple of the identity: large enough to make H positive definite in floating point, too small to
    change a step."""
    n = max(len(H), 1)
    return H + np.diag(np.full(len(H), 1e-13 * max(float(np.trace(H)), 1e-300) / n))


def minimise_model(
    H: np.ndarray, gradient: np.ndarray, w: np.ndarray, part: SeparablePart | BlockPart | Part, tol: float
) -> np.ndarray:
    """argmin over u of gradient.(u - w) + (u - w)^T H (u - w) / 2 + penalty(u), from u = w.

    Correlated features make coordinate descent slow. Once the non-zero coordinates are known, a Newton step on them
    (exact for piecewise quadratic penalties) goes up to the first coordinate that would change sign.
    """
    # Groups are solved by blocks (theory.md section 7), other penalties that couple columns by prox steps.
    if isinstance(part, BlockPart):
        return _block_descent(H, gradient, w, part, tol)
    if not isinstance(part, SeparablePart):
        return _prox_steps(H, gradient, w, part, tol)
    # `residual` is the gradient of the quadratic at u. A step of one coordinate updates it in O(c).
    u = w.astype(np.float64, copy=True)
    residual = gradient.astype(np.float64, copy=True)
    # Sweeps find the support and decide when to stop. The Newton step on the support then solves for correlated
    # coefficients together.
    for _ in range(MAX_ROUNDS):
        _, largest = descend(
            H, residual, u, part.alphas, part.monotone, part.of.kind, *part.of.shape(), tol, SWEEPS_BETWEEN_DIRECT
        )
        if largest <= tol:
            break
        _direct_step(H, residual, u, part)
    return u


def _block_descent(H: np.ndarray, gradient: np.ndarray, w: np.ndarray, part: BlockPart, tol: float) -> np.ndarray:
    """`minimise_model` for groups: sweeps over blocks, alternating with Newton steps on the non-zero coordinates."""
    # Permute the model so that the columns of each block are adjacent, as the kernel requires.
    order = part.order
    H = np.ascontiguousarray(H[np.ix_(order, order)])
    u = w[order].astype(np.float64)
    residual = gradient[order].astype(np.float64)
    # A prox step on a block has length 1 / h, h the largest eigenvalue of H on the block (theory.md section 7, Prox).
    largest_h = np.array([float(np.linalg.eigvalsh(H[b, b])[-1]) for b in part.blocks])
    for _ in range(MAX_BLOCK_ROUNDS):
        _, largest = descend_blocks(
            H,
            residual,
            u,
            part.starts,
            part.prices,
            part.monotone,
            largest_h,
            part.of.kind,
            *part.of.shape(),
            tol,
            SWEEPS_BETWEEN_DIRECT,
        )
        if largest <= tol:
            break
        _direct_block_step(H, residual, u, part)
    # Undo the permutation.
    out = np.empty_like(u)
    out[order] = u
    return out


def _direct_block_step(H: np.ndarray, residual: np.ndarray, u: np.ndarray, part: BlockPart) -> None:
    """A Newton step on the non-zero coordinates, shortened until the model falls; u and residual change in place.

    Nothing changes if the model falls at none of the lengths tried.
    """
    # Solve for the Newton step. Along non-zero coordinates every norm in the penalty is twice differentiable.
    slope, second = part.expansion(u)
    S = np.flatnonzero(u)
    at = np.ix_(S, S)
    step = _solved(H[at] + second[at], -(residual + slope)[S])
    if step is None:
        return
    # No sign-constrained coefficient may pass 0: the step ends at the first that reaches it.
    is_blocked = (part.monotone[S] != 0) & (step * part.monotone[S] < 0)
    length = min(1.0, float(np.min(u[S][is_blocked] / -step[is_blocked], initial=np.inf)))
    before = part.value(u)
    # Backtrack: quadratic part plus change of the penalty must be negative.
    for _ in range(MAX_HALVINGS):
        moved = u.copy()
        moved[S] += length * step
        curved = length * (H[:, S] @ step)
        change = length * float(residual[S] @ step) + 0.5 * length * float(step @ curved[S])
        if change + part.value(moved) - before < 0.0:
            residual += curved
            # Rounding can leave a tiny value of the wrong sign where the step ended at 0.
            u[:] = np.where(moved * part.monotone < 0, 0.0, moved)
            return
        length *= 0.25


def _solved(system: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Solve a symmetric system. A matrix that is not positive definite is shifted by the smallest sufficient multiple
    of the identity out of a few; None if none suffices."""
    size = max(float(np.abs(system).max(initial=0.0)), 1e-300)
    for extra in (0.0, 1e-6, 1e-3, 1e-1, 1.0):
        try:
            factor = cho_factor(system + extra * size * np.eye(len(right)), check_finite=False)
        except LinAlgError:
            continue
        solution = np.asarray(cho_solve(factor, right, check_finite=False))
        if np.isfinite(solution).all():
            return solution
    return None


def _prox_steps(H: np.ndarray, gradient: np.ndarray, w: np.ndarray, part: Part, tol: float) -> np.ndarray:
    """`minimise_model` for other penalties: accelerated prox steps (theory.md section 1, FISTA) with restarts, until
    a step times the Lipschitz constant is at most tol."""
    # Of a quadratic, the smallest Lipschitz constant of the gradient is the largest eigenvalue.
    L = max(float(np.linalg.eigvalsh(H)[-1]) if len(H) else 0.0, 1e-300)
    u = w.copy()
    z = w.copy()
    momentum = 1.0
    for _ in range(MAX_PROX_STEPS):
        # Prox of a gradient step of length 1 / L from the extrapolated point z.
        following = part.prox(z - (gradient + H @ (z - w)) / L, 1.0 / L)
        if L * float(np.abs(following - z).max(initial=0.0)) <= tol:
            return following
        # Restart the momentum if it opposes the last prox step (O'Donoghue and Candes 2015, gradient scheme).
        if float((z - following) @ (following - u)) > 0:
            momentum = 1.0
        # Extrapolate with Nesterov's sequence.
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        z = following + (momentum - 1.0) / grown * (following - u)
        u = following
        momentum = grown
    return u


def newton_on_support(
    H: np.ndarray, gradient: np.ndarray, w: np.ndarray, part: SeparablePart | BlockPart | Part
) -> np.ndarray:
    """One Newton step of the model from w on the non-zero coordinates. It ends at the first coordinate that would
    change sign, which becomes 0."""
    assert isinstance(part, SeparablePart)  # ProxNewton uses it for separable penalties only
    u = w.astype(np.float64, copy=True)
    residual = gradient.astype(np.float64, copy=True)
    _direct_step(H, residual, u, part)
    return u


def _direct_step(H: np.ndarray, residual: np.ndarray, u: np.ndarray, part: SeparablePart) -> None:
    """Newton step on the non-zero coordinates; u and residual change in place. For a concave penalty, it is taken only
    if the model falls."""
    alphas = part.alphas
    monotone = part.monotone
    # On non-zero coordinates, and on unpenalised ones without a sign rule, the penalty is smooth until a sign changes.
    S = np.flatnonzero((u != 0) | ((alphas == 0) & (monotone == 0)))
    if len(S) == 0:
        return
    t = np.abs(u[S])
    # Newton system of quadratic plus penalty: (H + diag p''(|u|)) step = -(residual + sign(u) p'(|u|)).
    system = H[np.ix_(S, S)] + np.diag(part.of._second_derivative(t, alphas[S]))
    gradient = residual[S] + np.sign(u[S]) * part.of._slope(t, alphas[S])
    try:
        step = -cho_solve(cho_factor(system, check_finite=False), gradient, check_finite=False)
    except LinAlgError:  # collinear features, or a concave model: coordinate descent continues without it
        return
    if not np.isfinite(step).all():
        return
    # The step goes up to the first penalised or sign-constrained coordinate that would change sign; that one becomes
    # exactly 0.
    bound = (alphas[S] > 0) | (monotone[S] != 0)
    crossing = bound & (u[S] * (u[S] + step) < 0)
    ratios = np.where(crossing, -u[S] / np.where(crossing, step, 1.0), np.inf)
    moved = u[S] + min(float(ratios.min()), 1.0) * step
    if crossing.any():
        moved[int(np.argmin(ratios))] = 0.0
    change = moved - u[S]
    curved = H[:, S] @ change
    # With a concave penalty, the system can be definite and the step still lead uphill.
    if not part.of.is_convex:
        gain = float(residual[S] @ change + 0.5 * change @ curved[S])
        if gain + float((part.of._value(np.abs(moved), alphas[S]) - part.of._value(t, alphas[S])).sum()) >= 0:
            return
    residual += curved
    u[S] = moved
