"""Smoothly clipped absolute deviation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sparserank.errors import ParameterError
from sparserank.options import Choice
from sparserank.options.arguments import check_arguments
from sparserank.penalties import _scalar_prox
from sparserank.penalties.base import Penalty
from sparserank.penalties.mcp import GAMMA_SCALES, scale_factor
from sparserank.penalties.rules import RULES


@dataclass(frozen=True, repr=False)
class SCAD(Penalty):
    """The smoothly clipped absolute deviation penalty.

    Its slope is alpha_j up to |w_j| = s alpha_j, then (a s alpha_j - |w_j|) / ((a - 1) s), and 0 beyond a s alpha_j.
    s is the threshold scale, and alpha_j = alpha weights_j.

    Parameters
    ----------
    alpha : float, default 1.0
        Regularisation strength on the scale of the mean loss.
    weights : array_like or mapping, optional
        Feature costs, which multiply alpha. `FeatureRules` describes these and the other rules per feature.
    monotone : array_like or mapping, optional
        Sign constraints of the coefficients.
    keep, drop : sequence of int or str, optional
        Features that are always used, and features that are never used.
    feature_groups : array_like or mapping, optional
        Groups of features that enter the model together.
    a : float, default 3.7
        Point at which the slope becomes 0, > 2.
    gamma_scale : {'curvature', 'mean', 'sum'}, default 'curvature'
        The threshold scale: the inverse median curvature, 1, or n_pairs; see `MCP`.
    threshold_scale : float, default 1.0
        The value of s, computed by `resolve`.

    References
    ----------
    Fan and Li (2001), equation (2.6), a = 3.7; Laporte et al. (2014) list it among the penalties.

    Examples
    --------
    >>> import numpy as np
    >>> from sparserank.penalties import SCAD
    >>> SCAD(1.0, gamma_scale="mean").value(np.array([0.5]))
    0.5
    """

    a: float = 3.7
    gamma_scale: str = "curvature"
    threshold_scale: float = 1.0

    name = "scad"
    kind = _scalar_prox.SCAD
    respects = RULES

    def _check(self) -> None:
        if not self.a > 2:
            raise ParameterError("a", f"must exceed 2; got {self.a}.", owner="SCAD")
        check_arguments(SCAD, {"gamma_scale": self.gamma_scale}, gamma_scale=Choice(GAMMA_SCALES))
        if not self.threshold_scale > 0:
            raise ParameterError("threshold_scale", f"must be positive; got {self.threshold_scale}.", owner="SCAD")

    def resolve(self, curvature: np.ndarray, total_weight: float) -> Self:
        scale = self.threshold_scale * scale_factor(self.gamma_scale, self.usable_values(curvature), total_weight)
        return replace(self, gamma_scale="mean", threshold_scale=scale)

    def shape(self) -> tuple[float, float]:
        return self.a, self.threshold_scale

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        first = self.threshold_scale * alphas
        last = self.a * self.threshold_scale * alphas
        width = (self.a - 1.0) * self.threshold_scale
        middle = alphas * first + (t - first) * ((2.0 * last - first - t) / (2.0 * width))
        flat = alphas * first + (last - first) * ((last - first) / (2.0 * width))
        return np.where(t <= first, alphas * t, np.where(t <= last, middle, flat))

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        first = self.threshold_scale * alphas
        last = self.a * self.threshold_scale * alphas
        falling = np.maximum(last - t, 0.0) / ((self.a - 1.0) * self.threshold_scale)
        return np.where(t <= first, alphas, falling)

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        first = self.threshold_scale * alphas
        last = self.a * self.threshold_scale * alphas
        return np.where((t > first) & (t < last), -1.0 / ((self.a - 1.0) * self.threshold_scale), 0.0)
