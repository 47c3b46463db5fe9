"""Coordinate descent on a d x d quadratic model plus a separable penalty."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from sparserank._kernel_cache import kernel
from sparserank.penalties._dispatch import prox_one


@kernel
def descend(H, residual, w, alphas, monotone, kind, first, second, tol, max_sweeps):
    """Cyclic sweeps over all coordinates until no step exceeds `tol` in gradient units; returns (sweeps, largest step).

    residual (k,) is the gradient of the quadratic at w and is kept up to date; w (k,) is changed in place.
    Between full sweeps, only coordinates that are not zero are visited.
    """
    k = len(w)
    largest = 0.0
    sweeps = 0
    full = True
    while sweeps < max_sweeps:
        largest = 0.0
        for j in range(k):
            h = H[j, j]
            old = w[j]
            if h <= 0.0 or (not full and old == 0.0):
                continue
            new = prox_one(kind, old - residual[j] / h, h, alphas[j], monotone[j], first, second)
            step = new - old
            if step != 0.0:
                w[j] = new
                for i in range(k):
                    residual[i] += H[j, i] * step
                largest = max(largest, abs(step) * h)
        sweeps += 1
        if largest <= tol:
            if full:
                break
            full = True
        else:
            full = False
    return sweeps, largest
