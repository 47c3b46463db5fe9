"""l1 and weighted l1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparserank.penalties._dispatch import ELASTIC
from sparserank.penalties.base import Penalty


@dataclass(frozen=True, repr=False)
class L1(Penalty):
    """alpha * sum_j weights_j |w_j|.

    Source    Laporte et al. (2014), equation (6) and, with weights, (12).
    """

    name: ClassVar[str] = "l1"
    kind: ClassVar[int] = ELASTIC
    is_convex: ClassVar[bool] = True

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * t

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * np.ones_like(t)

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return np.zeros_like(t)
