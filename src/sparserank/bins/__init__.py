"""How the values of features become columns: unchanged, or the steps between bins; and step functions of models."""

from sparserank.bins.bins import STRAIGHT, Bins, Shape, Straight, fit_bins
from sparserank.bins.step_function import StepFunction

__all__ = ["STRAIGHT", "Bins", "Shape", "StepFunction", "Straight", "fit_bins"]
