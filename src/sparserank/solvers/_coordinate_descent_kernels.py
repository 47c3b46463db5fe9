"""Coordinate descent on a d x d quadratic model plus a separable penalty."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from sparserank._kernel_cache import kernel
from sparserank.penalties._dispatch import prox_one


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
