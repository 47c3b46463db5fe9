"""Piecewise linear features: knots from the data, coordinates in which the penalty of a curve grows with its bending,
and the fitted curves."""

from sparserank.curves.basis import Curve, Curves, curvatures_of, curve_blocks, curves_of
from sparserank.curves.knots import (
    CURVE_FREEDOM,
    STRAIGHT,
    Knots,
    Straight,
    fit_knots,
    not_in_memory,
)

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
