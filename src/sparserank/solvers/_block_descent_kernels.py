"""Block coordinate descent on a quadratic model plus a nested penalty of blocks of columns."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import math

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.penalties._dispatch import prox_one
from sparserank.penalties._scalar_slopes import slope_one

STEPS = 3  # prox steps on a block at each visit: its curvature is not the same along all of its columns


@kernel
def shrunk(v, at, first, behind, slopes, monotone, h, whole, kind, shape1, shape2, ridge):
    """In place: argmin over u of h/2 |u - v|^2 + p(|u|; whole) + ridge |u|^2 / 2 + sum over curves c of slopes[c] |u of
    c|, under signs.

    v contains the columns from `at` on; curve c those from first[c] to behind[c] - 1.
    """
    n = len(v)
    for i in range(n):
        if monotone[i] * v[i] < 0.0:
            v[i] = 0.0
    for c in range(len(first)):
        bends = 0.0
        for i in range(first[c] - at, behind[c] - at):
            bends += v[i] * v[i]
        if bends > 0.0:
            bends = math.sqrt(bends)
            left = max(1.0 - slopes[c] / (h * bends), 0.0)
            for i in range(first[c] - at, behind[c] - at):
                v[i] *= left
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

    Block b is the columns starts[b] .. starts[b + 1] - 1 with the curves curves[b] .. curves[b + 1] - 1; largest_h[b]
    bounds the eigenvalues of H on it. residual and u change in place. For a concave penalty the price of bending is its
    tangent at the present curve, so the model falls at every step.
    """
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
            if not full:
                is_zero = True
                for i in range(lo, hi):
                    is_zero &= u[i] == 0.0
                if is_zero:
                    continue
            v = space[: hi - lo]
            from_c, to_c = curves[b], curves[b + 1]
            slopes = slope_space[: to_c - from_c]
            for _ in range(STEPS if hi - lo > 1 else 1):
                for c in range(from_c, to_c):
                    bends = 0.0
                    for i in range(first[c], behind[c]):
                        bends += u[i] * u[i]
                    slopes[c - from_c] = slope_one(kind, math.sqrt(bends), curve_price[c], shape1, shape2)
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
