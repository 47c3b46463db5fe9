"""Block coordinate descent on a quadratic model plus a nested penalty of blocks of columns."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import math

import numpy as np
from numba import njit

from sparserank.penalties._dispatch import prox_one
from sparserank.penalties._scalar_slopes import slope_one

STEPS = 3  # prox steps on a block at each visit: its curvature is not the same along all of its columns


@njit(cache=True, nogil=True)
def shrunk(v, n_linear, nonnegative, h, whole, bend_slope, kind, first, second, ridge):
    """In place: argmin over u of h/2 |u - v|^2 + p(|u|; whole) + ridge |u|^2 / 2 + bend_slope |u[n_linear:]|, u >= 0 where nonnegative."""
    n = len(v)
    if nonnegative:
        for i in range(n):
            v[i] = max(v[i], 0.0)
    bends = 0.0
    for i in range(n_linear, n):
        bends += v[i] * v[i]
    if bends > 0.0:
        bends = math.sqrt(bends)
        left = max(1.0 - bend_slope / (h * bends), 0.0)
        for i in range(n_linear, n):
            v[i] *= left
    size = 0.0
    for i in range(n):
        size += v[i] * v[i]
    if size > 0.0:
        size = math.sqrt(size)
        left = prox_one(kind, h * size / (h + ridge), h + ridge, whole, 0, first, second) / size
        for i in range(n):
            v[i] *= left


@njit(cache=True, nogil=True)
def descend_blocks(
    H, residual, u, starts, n_linear, nonnegative, whole, bend, largest_h, kind, first, second, ridge, tol, max_sweeps
):
    """Cyclic sweeps over blocks until no step exceeds `tol` in gradient units; returns (sweeps, largest step).

    Block b is the columns starts[b] .. starts[b + 1] - 1, of which the first n_linear[b] are linear; largest_h[b] bounds the eigenvalues of H on it.
    residual and u change in place. Of a concave penalty the price of bending is its tangent at the present curve, so the model falls at every step.
    """
    longest = 0
    for b in range(len(starts) - 1):
        longest = max(longest, starts[b + 1] - starts[b])
    space = np.empty(longest)
    largest = 0.0
    sweeps = 0
    full = True
    while sweeps < max_sweeps:
        largest = 0.0
        for b in range(len(starts) - 1):
            lo, hi, h = starts[b], starts[b + 1], largest_h[b]
            if h <= 0.0:
                continue
            if not full:
                is_zero = True
                for i in range(lo, hi):
                    is_zero &= u[i] == 0.0
                if is_zero:
                    continue
            v = space[: hi - lo]
            for _ in range(STEPS if hi - lo > 1 else 1):
                bends = 0.0
                for i in range(lo + n_linear[b], hi):
                    bends += u[i] * u[i]
                slope = slope_one(kind, math.sqrt(bends), bend[b], first, second)
                for i in range(lo, hi):
                    v[i - lo] = u[i] - residual[i] / h
                shrunk(v, n_linear[b], nonnegative[b], h, whole[b], slope, kind, first, second, ridge)
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
        if largest <= tol:
            if full:
                break
            full = True
        else:
            full = False
    return sweeps, largest
