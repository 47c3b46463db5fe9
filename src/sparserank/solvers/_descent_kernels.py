"""Descent on a quadratic model plus a penalty: by coordinates of a separable penalty, by blocks of columns of a nested
one.

Compared with a slow version in tests/solvers/test_coordinate_descent.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import math

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.penalties._scalar_prox import prox_one, slope_one

STEPS = 3  # prox steps on a block at each visit: its curvature is not the same along all of its columns


@kernel
def descend(H, residual, w, alphas, monotone, kind, first, second, tol, max_sweeps):
    """Cyclic sweeps over all coordinates until no step exceeds `tol` in gradient units; returns (sweeps, largest step).

    Parameters
        H          (k, k) Hessian of the quadratic; coordinates with a diagonal of 0 are skipped
        residual   (k,) gradient of the quadratic at w, updated in place
        w          (k,) coefficients, updated in place
        alphas     (k,) strength times weight of each coordinate
        monotone   (k,) 1 for w >= 0, -1 for w <= 0, 0 for no rule
        kind, first, second   scalar penalty and its shape parameters, as in `prox_one`
        tol        largest step, times the curvature of its coordinate, at which the sweeps stop
        max_sweeps   > 0
    """
    k = len(w)
    largest = 0.0
    sweeps = 0
    full = True
    while sweeps < max_sweeps:
        largest = 0.0
        # Between full sweeps, only coordinates that are not 0 are visited.
        for j in range(k):
            h = H[j, j]
            old = w[j]
            if h <= 0.0 or (not full and old == 0.0):
                continue
            # Minimise exactly along coordinate j: scalar prox with curvature h at the minimum of the quadratic.
            new = prox_one(kind, old - residual[j] / h, h, alphas[j], monotone[j], first, second)
            step = new - old
            if step != 0.0:
                w[j] = new
                for i in range(k):
                    residual[i] += H[j, i] * step
                largest = max(largest, abs(step) * h)
        sweeps += 1
        # Only a full sweep proves convergence, so a partial sweep that converged is followed by a full one.
        if largest <= tol:
            if full:
                break
            full = True
        else:
            full = False
    return sweeps, largest


@kernel
def shrunk(v, at, first, behind, slopes, monotone, h, whole, kind, shape1, shape2, ridge):
    """Prox of one block, in place: argmin over u of h/2 |u - v|^2 + p(|u|; whole) + ridge |u|^2 / 2 + sum over curves c
    of slopes[c] |u_c|, under sign rules. Source: theory.md section 7, Prox.

    Parameters
        v               (m,) the point on entry, the argmin on return
        at              index of the block's first column; v contains the columns at .. at + m - 1
        first, behind   (n_curves,) curve c is the columns first[c] .. behind[c] - 1
        slopes          (n_curves,) >= 0, price of the norm of each curve
        monotone        (m,) 1 for u >= 0, -1 for u <= 0, 0 for no rule
        h               > 0, curvature of the quadratic
        whole           price of the norm of the block
        kind, shape1, shape2   scalar penalty p and its shape parameters, as in `prox_one`
        ridge           >= 0
    """
    n = len(v)
    # Signs come first: a coefficient whose v violates its sign rule is 0 at the minimum.
    for i in range(n):
        if monotone[i] * v[i] < 0.0:
            v[i] = 0.0
    # Then each curve is shrunk by slopes[c] / h, to 0 if its norm is smaller.
    for c in range(len(first)):
        bends = 0.0
        for i in range(first[c] - at, behind[c] - at):
            bends += v[i] * v[i]
        if bends > 0.0:
            bends = math.sqrt(bends)
            left = max(1.0 - slopes[c] / (h * bends), 0.0)
            for i in range(first[c] - at, behind[c] - at):
                v[i] *= left
    # Then the whole block: its direction is that of v now, and its length is a scalar prox with curvature h + ridge.
    size = 0.0
    for i in range(n):
        size += v[i] * v[i]
    if size > 0.0:
        size = math.sqrt(size)
        left = prox_one(kind, h * size / (h + ridge), h + ridge, whole, 0, shape1, shape2) / size
        for i in range(n):
            v[i] *= left


@kernel
def descend_blocks(
    H,
    residual,
    u,
    starts,
    whole,
    curves,
    first,
    behind,
    curve_price,
    monotone,
    largest_h,
    kind,
    shape1,
    shape2,
    ridge,
    tol,
    max_sweeps,
):
    """Cyclic sweeps over blocks until no step exceeds `tol` in gradient units; returns (sweeps, largest step).

    Parameters
        H               (n, n) Hessian of the quadratic, C-ordered
        residual        (n,) gradient of the quadratic at u, updated in place
        u               (n,) coefficients, updated in place
        starts          (n_blocks + 1,) block b is the columns starts[b] .. starts[b + 1] - 1
        whole           (n_blocks,) price of the norm of each block
        curves          (n_blocks + 1,) block b has the curves curves[b] .. curves[b + 1] - 1
        first, behind   (n_curves,) curve c is the columns first[c] .. behind[c] - 1
        curve_price     (n_curves,) price of the norm of each curve
        monotone        (n,) 1 for u >= 0, -1 for u <= 0, 0 for no rule
        largest_h       (n_blocks,) largest eigenvalue of H on each block; blocks where it is 0 are skipped
        kind, shape1, shape2   scalar penalty p and its shape parameters, as in `prox_one`
        ridge           >= 0, factor of |u|^2 / 2
        tol             largest step, times the block's largest_h, at which the sweeps stop
        max_sweeps      > 0
    Source
        theory.md section 7. For a concave p, the price of bending is replaced by its tangent at the present curve, so
        the model does not increase at any step.
    """
    # Allocate scratch for the largest block.
    longest, most_curves = 0, 0
    for b in range(len(starts) - 1):
        longest = max(longest, starts[b + 1] - starts[b])
        most_curves = max(most_curves, curves[b + 1] - curves[b])
    space, slope_space = np.empty(longest), np.empty(most_curves)
    largest = 0.0
    sweeps = 0
    full = True
    while sweeps < max_sweeps:
        largest = 0.0
        for b in range(len(starts) - 1):
            lo, hi, h = starts[b], starts[b + 1], largest_h[b]
            if h <= 0.0:
                continue
            # Between full sweeps, only blocks that are not 0 are visited.
            if not full:
                is_zero = True
                for i in range(lo, hi):
                    is_zero &= u[i] == 0.0
                if is_zero:
                    continue
            v = space[: hi - lo]
            from_c, to_c = curves[b], curves[b + 1]
            slopes = slope_space[: to_c - from_c]
            # One prox step minimises a single column exactly; several columns differ in curvature and need a few.
            for _ in range(STEPS if hi - lo > 1 else 1):
                # The price of bending in this step is the slope of p at the curve's present norm (a tangent above p).
                for c in range(from_c, to_c):
                    bends = 0.0
                    for i in range(first[c], behind[c]):
                        bends += u[i] * u[i]
                    slopes[c - from_c] = slope_one(kind, math.sqrt(bends), curve_price[c], shape1, shape2)
                # Gradient step of length 1 / h, then the prox of the block.
                for i in range(lo, hi):
                    v[i - lo] = u[i] - residual[i] / h
                shrunk(
                    v,
                    lo,
                    first[from_c:to_c],
                    behind[from_c:to_c],
                    slopes,
                    monotone[lo:hi],
                    h,
                    whole[b],
                    kind,
                    shape1,
                    shape2,
                    ridge,
                )
                # Move the block, and add H's rows times the step to the gradient of the quadratic.
                most = 0.0
                for i in range(lo, hi):
                    step = v[i - lo] - u[i]
                    if step != 0.0:
                        u[i] = v[i - lo]
                        row = H[i]
                        for r in range(len(residual)):
                            residual[r] += row[r] * step
                        most = max(most, abs(step) * h)
                largest = max(largest, most)
                if most <= tol:
                    break
        sweeps += 1
        # Only a full sweep proves convergence, so a partial sweep that converged is followed by a full one.
        if largest <= tol:
            if full:
                break
            full = True
        else:
            full = False
    return sweeps, largest
