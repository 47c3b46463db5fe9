"""Piecewise linear features: knots from the data, coordinates in which the penalty of a curve grows with its bending,
and the fitted curves."""

from sparserank.curves.basis import curvatures_of, curve_blocks
from sparserank.curves.knots import (
    CURVE_FREEDOM,
    Knots,
    fit_knots,
    not_in_memory,
)
from sparserank.curves.shape import Curve, Curves, curves_of
from sparserank.curves.straight import STRAIGHT, Straight

__all__ = [
    "CURVE_FREEDOM",
    "STRAIGHT",
    "Curve",
    "Curves",
    "Knots",
    "Straight",
    "curvatures_of",
    "curve_blocks",
    "curves_of",
    "fit_knots",
    "not_in_memory",
]
