"""Penalties of one number, and the minimiser of a parabola and one of them, by halving intervals: nothing from the
package.

A minimiser comes with what tells how far off it may be in floating point: its slope in the target, what rounding adds,
and how near a decision is. u = 2^-53 is the unit roundoff. No formula here or in a program that is compared has more
than ROUNDINGS / 2 roundings, two for each power, logarithm and cosine.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

U = 2.0**-53
ROUNDINGS = 64
INF = math.inf


@dataclass(frozen=True)
class Scalar:
    """A penalty p(t; price) of a size t >= 0; on each side of its knots p' is convex in t."""

    value: Callable[[float, float], float]
    slope: Callable[[float, float], float]  # right-hand
    bend: Callable[[float, float], float]  # p'', at a knot the smaller of both sides
    knots: Callable[[float], Sequence[float]] = lambda price: ()
    width: float = 0.0  # numbers of this size are added to t


def elastic(alpha2: float) -> Scalar:
    return Scalar(lambda t, a: a * t + alpha2 * t * t / 2, lambda t, a: a + alpha2 * t, lambda t, a: alpha2)


def mcp(gamma: float) -> Scalar:
    return Scalar(
        lambda t, a: a * t - t * t / (2 * gamma) if t <= gamma * a else gamma * a * a / 2,
        lambda t, a: max(a - t / gamma, 0.0),
        lambda t, a: -1 / gamma if t <= gamma * a else 0.0,
        lambda a: (gamma * a,),
    )


def scad(a: float, s: float) -> Scalar:
    def value(t: float, price: float) -> float:
        first, last = s * price, a * s * price
        flat = min(max(t, first), last)
        return price * min(t, first) + (last * (flat - first) - (flat * flat - first * first) / 2) / ((a - 1) * s)

    return Scalar(
        value,
        lambda t, price: price if t <= s * price else max((a * s * price - t) / ((a - 1) * s), 0.0),
        lambda t, price: -1 / ((a - 1) * s) if s * price <= t <= a * s * price else 0.0,
        lambda price: (s * price, a * s * price),
    )


def log(eps: float) -> Scalar:
    return Scalar(
        lambda t, a: a * math.log1p(t / eps), lambda t, a: a / (t + eps), lambda t, a: -a / (t + eps) ** 2, width=eps
    )


def lp(p: float) -> Scalar:
    return Scalar(
        lambda t, a: a * t**p,
        lambda t, a: 0.0 if a == 0 else INF if t == 0 else a * p * t ** (p - 1),
        lambda t, a: 0.0 if a == 0 else -INF if t == 0 else a * p * (p - 1) * t ** (p - 2),
    )


def smoothed_lp(p: float, eps: float) -> Scalar:
    return Scalar(
        lambda t, a: a * eps**p * math.expm1(p * math.log1p(t / eps)),
        lambda t, a: a * p * (t + eps) ** (p - 1),
        lambda t, a: a * p * (p - 1) * (t + eps) ** (p - 2),
        width=eps,
    )


# -- the prox of one number -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """A minimiser, what an error of z is multiplied by, what rounding adds, and by how much z may be off without
    another decision."""

    x: float
    stretch: float = 0.0
    added: float = 0.0
    safe: float = INF


def minimiser(p: Scalar, z: float, h: float, price: float, sign: int = 0) -> Found:
    """argmin over x of h/2 (x - z)^2 + p(|x|; price), x >= 0 (sign 1), x <= 0 (sign -1) or any (0); of equally good
    points 0.

    It lies between 0 and z: at one of them, at a knot, or where the slope of the objective, convex between knots, rises
    through 0.
    """
    if price == INF:
        return Found(0.0)
    size = abs(z)
    if sign * z < 0:
        return Found(0.0, safe=size)

    def objective(x: float) -> float:
        return h / 2 * (x - size) ** 2 + p.value(x, price)

    def slope(x: float) -> float:
        return h * (x - size) + p.slope(x, price)

    points = sorted({0.0, size, *(k for k in p.knots(price) if 0 < k < size)})
    candidates = [*points]
    for low, high in pairwise(points):
        bottom = _lowest(slope, low, high)
        if slope(bottom) < 0.0 < slope(high):
            candidates.append(_root(slope, bottom, high))
    x = min(candidates, key=objective)  # the first of equals, which is 0
    # Another candidate c gains h |x - c| on x with every unit of z; and 0 is left where the slope there falls below 0.
    safe = min((abs(objective(c) - objective(x)) / (h * abs(c - x)) for c in candidates if c != x), default=INF)
    own = ROUNDINGS * U * (size + p.width)
    if x == 0.0:
        return Found(0.0, safe=min(safe, slope(0.0) / h) - own)
    curvature = h + p.bend(x, price)
    stretch = max(1.0, h / curvature) if curvature > 0 else 1.0
    return Found(math.copysign(x, z), stretch, own * stretch, safe - own)


def _lowest(slope: Callable[[float], float], low: float, high: float) -> float:
    """Where a convex function of an interval is lowest, by thirds."""
    for _ in range(80):
        third = (high - low) / 3
        if slope(low + third) <= slope(high - third):
            high -= third
        else:
            low += third
    return low


def _root(slope: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that is negative at low and positive at high changes its sign, by halving until no number lies
    between."""
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return high
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
