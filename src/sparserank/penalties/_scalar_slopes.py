"""Scalar slopes of penalties, compiled: p'(x) at x >= 0, for alpha > 0,
with the shape parameters that the scalar proxes take."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from sparserank._kernel_cache import kernel
from sparserank.penalties._dispatch import ELASTIC, LOG, MCP, SCAD

KINDS = (ELASTIC, MCP, SCAD, LOG)  # those whose slope at 0 is finite


@kernel
def slope_one(kind, x, alpha, first, second):
    """The right-hand derivative; infinite alpha stays infinite."""
    if alpha == float("inf") or alpha == 0.0:
        return alpha
    if kind == ELASTIC:
        return alpha + first * x
    if kind == MCP:
        return max(alpha - x / first, 0.0)
    if kind == LOG:
        return alpha / (first + x)
    if x <= second * alpha:
        return alpha
    return max((first * second * alpha - x) / ((first - 1.0) * second), 0.0)
