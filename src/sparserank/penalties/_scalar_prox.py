"""Scalar proximal operators: argmin over x >= 0 of h/2 (x - z)^2 + p(x), for z > 0, h > 0, alpha > 0; scalar slopes
p'(x) at x >= 0; and their dispatch, one number per penalty.

One compiled function per penalty, arguments (z, h, alpha, a, b) with the two shape parameters of the penalty.
They are in one file because one compiled coordinate descent serves all of them: a compile per penalty cost 1.1 s each,
and the switch has no measurable cost. Each is checked against brute force in the convex and concave regime.

Compared with a slow version in tests/penalties/test_penalties.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import math

from sparserank._kernel_cache import kernel

ELASTIC, MCP, SCAD, LOG, LP, SMOOTHED_LP = range(6)


@kernel
def prox_elastic(z, h, alpha, alpha2, unused):
    """Prox of alpha x + alpha2 x^2 / 2: soft threshold with extra curvature."""
    return max(h * z - alpha, 0.0) / (h + alpha2)


@kernel
def prox_mcp(z, h, alpha, gamma, unused):
    """Prox of alpha x - x^2 / (2 gamma) up to x = gamma alpha, then constant (Zhang 2010)."""
    if h * gamma > 1.0:
        if h * z <= alpha:
            return 0.0
        return min((h * z - alpha) / (h - 1.0 / gamma), z) if z <= gamma * alpha else z
    return 0.0 if z <= alpha * math.sqrt(gamma / h) else z


@kernel
def _scad_value(x, alpha, a, scale):
    first = scale * alpha
    last = a * scale * alpha
    if x <= first:
        return alpha * x
    if x <= last:
        return alpha * first + (0.5 * (last - first) ** 2 - 0.5 * (last - x) ** 2) / ((a - 1.0) * scale)
    return alpha * first + 0.5 * (last - first) ** 2 / ((a - 1.0) * scale)


@kernel
def prox_scad(z, h, alpha, a, scale):
    """Prox of the penalty whose slope is alpha up to scale alpha and falls to 0 at a scale alpha (Fan and Li 2001): the
    best of the candidates of its pieces."""
    first = scale * alpha
    last = a * scale * alpha
    best = 0.0
    best_value = 0.5 * h * z * z
    for piece in range(4):
        if piece == 0:
            x = min(max(z - alpha / h, 0.0), first)
        elif piece == 1:
            x = max(z, last)
        else:
            x = first if piece == 2 else last
            curved = h * (a - 1.0) * scale - 1.0
            if curved > 0.0 and piece == 2:
                x = min(max((h * (a - 1.0) * scale * z - last) / curved, first), last)
        value = 0.5 * h * (x - z) ** 2 + _scad_value(x, alpha, a, scale)
        if value < best_value:
            best, best_value = x, value
    return best


@kernel
def prox_log(z, h, alpha, eps, unused):
    """Prox of alpha log(1 + x / eps): the larger root of the stationarity equation, compared with 0."""
    inside = (z + eps) ** 2 - 4.0 * alpha / h
    if inside < 0.0:
        return 0.0
    x = 0.5 * ((z - eps) + math.sqrt(inside))
    if x <= 0.0:
        return 0.0
    at_x = 0.5 * h * (x - z) ** 2 + alpha * math.log1p(x / eps)
    return x if at_x < 0.5 * h * z * z else 0.0


@kernel
def _power_root(z, mu, p, eps, low):
    """The largest root x > low of x - z + mu p (x + eps)^(p - 1) = 0. `low` must not be left of the minimum of this
    function.

    There the left side is convex and increasing, and positive at z: Newton from z comes down to the root monotonically.
    """
    x = z
    for _ in range(60):
        y = x + eps
        slope = x - z + mu * p * y ** (p - 1.0)
        curvature = 1.0 + mu * p * (p - 1.0) * y ** (p - 2.0)
        change = slope / curvature
        x = max(x - change, low)
        if abs(change) <= 1e-15 * x:
            break
    return x


@kernel
def prox_lp(z, h, alpha, p, unused):
    """Prox of alpha x^p, 0 < p < 1. It is 0 below a threshold; above it, a closed form for p = 1/2, otherwise the
    root."""
    mu = alpha / h
    if p == 0.5:
        if z <= 1.5 * mu ** (2.0 / 3.0):
            return 0.0
        angle = math.acos(min((mu / 4.0) * (z / 3.0) ** -1.5, 1.0))
        return (2.0 / 3.0) * z * (1.0 + math.cos((2.0 * math.pi - 2.0 * angle) / 3.0))
    knee = (2.0 * (1.0 - p) * mu) ** (1.0 / (2.0 - p))
    if z <= knee * (2.0 - p) / (2.0 * (1.0 - p)):
        return 0.0
    return _power_root(z, mu, p, 0.0, knee)


@kernel
def prox_smoothed_lp(z, h, alpha, p, eps):
    """Prox of alpha ((x + eps)^p - eps^p), 0 < p < 1: the largest root of the stationarity equation, compared with
    0."""
    mu = alpha / h
    inflection = (mu * p * (1.0 - p)) ** (1.0 / (2.0 - p)) - eps  # the objective is convex from here on
    low = max(inflection, 0.0)
    if low - z + mu * p * (low + eps) ** (p - 1.0) >= 0.0:
        return 0.0  # the objective increases everywhere
    x = _power_root(z, mu, p, eps, low)
    if inflection <= 0.0:
        return x
    rise = mu * eps**p * math.expm1(p * math.log1p(x / eps))
    return x if x * (0.5 * x - z) + rise < 0.0 else 0.0


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
    """`prox_one` for every coordinate; h contains one curvature per coordinate."""
    for j in range(len(z)):
        out[j] = prox_one(kind, z[j], h[j], alphas[j], monotone[j], first, second)
