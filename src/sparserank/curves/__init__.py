"""Piecewise linear features: knots from the data, coordinates in which the penalty of a curve grows with its bending,
and the fitted curves."""

from sparserank.curves.basis import Curve, Curves, StepCurve, curvatures_of, curve_blocks, curves_of
from sparserank.curves.bins import Bins, Shape, fit_bins
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
    "Bins",
    "Curve",
    "Curves",
    "Knots",
    "Shape",
    "StepCurve",
    "Straight",
    "curvatures_of",
    "curve_blocks",
    "curves_of",
    "fit_bins",
    "fit_knots",
    "not_in_memory",
]
