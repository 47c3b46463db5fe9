"""Dispatch of compiled loops to scalar proxes: one number per penalty, so that one compiled loop serves them all."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from sparserank._kernel_cache import kernel
from sparserank.penalties._scalar_prox import prox_elastic, prox_log, prox_lp, prox_mcp, prox_scad, prox_smoothed_lp

ELASTIC, MCP, SCAD, LOG, LP, SMOOTHED_LP = range(6)


@kernel
def prox_one(kind, z, h, alpha, sign, first, second):
    """argmin over x of h/2 (x - z)^2 + penalty(|x|), with x >= 0 (sign 1), x <= 0 (sign -1) or free (0).

    With alpha = 0 only the elastic net's quadratic remains; with alpha = inf the result is 0.
    """
    if sign * z < 0.0 or alpha == float("inf"):
        return 0.0
    if alpha == 0.0 and kind != ELASTIC:
        return z
    size = abs(z)
    if size == 0.0:
        return 0.0
    if kind == ELASTIC:
        x = prox_elastic(size, h, alpha, first, second)
    elif kind == MCP:
        x = prox_mcp(size, h, alpha, first, second)
    elif kind == SCAD:
        x = prox_scad(size, h, alpha, first, second)
    elif kind == LOG:
        x = prox_log(size, h, alpha, first, second)
    elif kind == LP:
        x = prox_lp(size, h, alpha, first, second)
    else:
        x = prox_smoothed_lp(size, h, alpha, first, second)
    if x == 0.0:
        return 0.0  # not -0.0
    return x if z > 0.0 else -x


@kernel
def prox_all(kind, z, h, alphas, monotone, first, second, out):
    """prox_one for every coordinate; h is one curvature per coordinate."""
    for j in range(len(z)):
        out[j] = prox_one(kind, z[j], h[j], alphas[j], monotone[j], first, second)
