"""Exact minimisation of the loss along a line, where the loss is piecewise quadratic."""

from __future__ import annotations

from collections.abc import Callable

MAX_EVALUATIONS = 60
FLAT = 1e-13  # a slope this small relative to the first one is zero up to rounding


def exact_minimum(
    at: Callable[[float], tuple[float, float, float]], first: tuple[float, float, float], high: float = 1.0
) -> float:
    """argmin over 0 <= mu <= high of a convex, piecewise quadratic function with slope < 0 at 0.

    Newton steps on the piecewise linear slope, kept in a bracket. Once a step stays on its piece, it reaches the
    minimum.

    Parameters
        at     mu -> (value, slope, curvature)
        first  the same at mu = 0
    """
    low, mu = 0.0, 0.0
    _, slope, curvature = first
    flat = FLAT * abs(slope)
    top: float | None = None  # smallest mu known to have slope > 0
    for _ in range(MAX_EVALUATIONS):
        newton = mu - slope / curvature if curvature > 0 else high
        following = min(newton, high)
        if top is not None and not low < following < top:
            following = 0.5 * (low + top)
        if following == mu:
            break
        mu = following
        _, slope, curvature = at(mu)
        if abs(slope) <= flat or (mu >= high and slope < 0):
            break
        if slope < 0:
            low = mu
        else:
            top = mu
    return mu
