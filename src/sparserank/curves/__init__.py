"""Piecewise linear features: knots from the data, coordinates in which a curve is as dear as it is bent, and the fitted curves."""

from sparserank.curves.basis import CURVE_FREEDOM, curve_blocks, n_coordinates
from sparserank.curves.knots import DEFAULT_KNOTS, Knots, fit_knots
from sparserank.curves.shape import Curve, Curves, curves_of

__all__ = [
    "CURVE_FREEDOM",
    "DEFAULT_KNOTS",
    "Curve",
    "Curves",
    "Knots",
    "curve_blocks",
    "curves_of",
    "fit_knots",
    "n_coordinates",
]
