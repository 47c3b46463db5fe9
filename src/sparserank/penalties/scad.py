"""Smoothly clipped absolute deviation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from sparserank.errors import DataError
from sparserank.penalties import _dispatch
from sparserank.penalties.base import Penalty
from sparserank.penalties.scales import GAMMA_SCALES, scale_factor


@dataclass(frozen=True, repr=False)
class SCAD(Penalty):
    """Slope alpha_j up to |w_j| = s alpha_j, then (a s alpha_j - |w_j|) / ((a - 1) s), 0 from a s alpha_j on.

    `s` is the threshold scale: 1 for 'mean', n_pairs for 'sum', the inverse median curvature for 'curvature' (default),
    see `MCP`. `resolve` computes it into `threshold_scale`.

    Source    Fan and Li (2001), equation (2.6), a = 3.7; Laporte et al. (2014) list it among the penalties.
    """

    a: float = 3.7
    gamma_scale: str = "curvature"
    threshold_scale: float = 1.0

    name: ClassVar[str] = "scad"
    kind: ClassVar[int] = _dispatch.SCAD

    def _check(self) -> None:
        if not self.a > 2:
            raise DataError(f"SCAD: a must exceed 2; got {self.a}.")
        if self.gamma_scale not in GAMMA_SCALES:
            raise DataError(f"SCAD: gamma_scale must be one of {GAMMA_SCALES}; got {self.gamma_scale!r}.")
        if not self.threshold_scale > 0:
            raise DataError(f"SCAD: threshold_scale must be positive; got {self.threshold_scale}.")

    def resolve(self, curvature: np.ndarray, total_weight: float) -> Self:
        scale = self.threshold_scale * scale_factor(self.gamma_scale, curvature, total_weight)
        return replace(self, gamma_scale="mean", threshold_scale=scale)

    def shape(self) -> tuple[float, float]:
        return self.a, self.threshold_scale

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        first, last = self.threshold_scale * alphas, self.a * self.threshold_scale * alphas
        width = (self.a - 1.0) * self.threshold_scale
        middle = alphas * first + (t - first) * ((2.0 * last - first - t) / (2.0 * width))
        flat = alphas * first + (last - first) * ((last - first) / (2.0 * width))
        return np.where(t <= first, alphas * t, np.where(t <= last, middle, flat))

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        first, last = self.threshold_scale * alphas, self.a * self.threshold_scale * alphas
        falling = np.maximum(last - t, 0.0) / ((self.a - 1.0) * self.threshold_scale)
        return np.where(t <= first, alphas, falling)

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        first, last = self.threshold_scale * alphas, self.a * self.threshold_scale * alphas
        return np.where((t > first) & (t < last), -1.0 / ((self.a - 1.0) * self.threshold_scale), 0.0)
