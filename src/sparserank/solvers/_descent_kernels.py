"""Descent on a quadratic model plus a penalty: by coordinates of a separable penalty, by blocks of columns of one of
groups.

Compared with a slow version in tests/solvers/test_coordinate_descent.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import math

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.penalties._scalar_prox import prox_one

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
def shrunk(v, monotone, h, price, kind, shape1, shape2):
    """Prox of one block, in place: argmin over u of h/2 |u - v|^2 + p(|u|; price), under sign rules.
    Source: theory.md section 7, Prox.

    Parameters
        v          (m,) the point on entry, the argmin on return
        monotone   (m,) 1 for u >= 0, -1 for u <= 0, 0 for no rule
        h          > 0, curvature of the quadratic
        price      of the norm of the block
        kind, shape1, shape2   scalar penalty p and its shape parameters, as in `prox_one`
    """
    n = len(v)
    # Signs come first: a coefficient whose v violates its sign rule is 0 at the minimum.
    for i in range(n):
        if monotone[i] * v[i] < 0.0:
            v[i] = 0.0
    # The direction of the minimum is that of v now, and its length is a scalar prox.
    size = 0.0
    for i in range(n):
        size += v[i] * v[i]
    if size > 0.0:
        size = math.sqrt(size)
        left = prox_one(kind, size, h, price, 0, shape1, shape2) / size
        for i in range(n):
            v[i] *= left


@kernel
def descend_blocks(H, residual, u, starts, prices, monotone, largest_h, kind, shape1, shape2, tol, max_sweeps):
    """Cyclic sweeps over blocks until no step exceeds `tol` in gradient units; returns (sweeps, largest step).

    Parameters
        H           (n, n) Hessian of the quadratic, C-ordered
        residual    (n,) gradient of the quadratic at u, updated in place
        u           (n,) coefficients, updated in place
        starts      (n_blocks + 1,) block b is the columns starts[b] .. starts[b + 1] - 1
        prices      (n_blocks,) price of the norm of each block
        monotone    (n,) 1 for u >= 0, -1 for u <= 0, 0 for no rule
        largest_h   (n_blocks,) largest eigenvalue of H on each block; blocks where it is 0 are skipped
        kind, shape1, shape2   scalar penalty p and its shape parameters, as in `prox_one`
        tol         largest step, times the block's largest_h, at which the sweeps stop
        max_sweeps  > 0
    Source
        theory.md section 7: the model does not increase at any step.
    """
    # Allocate scratch for the largest block.
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
            # Between full sweeps, only blocks that are not 0 are visited.
            if not full:
                is_zero = True
                for i in range(lo, hi):
                    is_zero &= u[i] == 0.0
                if is_zero:
                    continue
            v = space[: hi - lo]
            # One prox step minimises a single column exactly; several columns differ in curvature and need a few.
            for _ in range(STEPS if hi - lo > 1 else 1):
                # Gradient step of length 1 / h, then the prox of the block.
                for i in range(lo, hi):
                    v[i - lo] = u[i] - residual[i] / h
                shrunk(v, monotone[lo:hi], h, prices[b], kind, shape1, shape2)
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
