"""Piecewise linear features: knots from the data, coordinates in which a curve is as dear as it is bent,
and the fitted curves."""

from sparserank.curves.basis import CURVE_FREEDOM, curvatures_of, curve_blocks, n_coordinates, rising, signs_on
from sparserank.curves.knots import (
    CURVES,
    DEFAULT_KNOTS,
    LEAST_KNOTS,
    LINEAR,
    MOST_KNOTS,
    SHAPES,
    Knots,
    fit_knots,
    not_in_memory,
)
from sparserank.curves.shape import Curve, Curves, curves_of

__all__ = [
    "CURVES",
    "CURVE_FREEDOM",
    "DEFAULT_KNOTS",
    "LEAST_KNOTS",
    "LINEAR",
    "MOST_KNOTS",
    "SHAPES",
    "Curve",
    "Curves",
    "Knots",
    "curvatures_of",
    "curve_blocks",
    "curves_of",
    "fit_knots",
    "n_coordinates",
    "not_in_memory",
    "rising",
    "signs_on",
]
