"""Features without curves: the counterpart of `Knots` for linear features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.shards import as_rows
from sparserank.shards.rows import Rows


@dataclass(frozen=True)
class Straight:
    """Each feature is one column with one coefficient. It has the same interface as `Knots`."""

    curved = False
    m = n_coordinates = 1

    def rows(self, X: Any) -> Rows | list[Rows]:
        return as_rows(X)

    def monotone(self, given: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return given

    def scaling(self, method: str) -> str:
        return method

    def width(self, n_coefficients: int) -> int:
        return 1

    def bends(self, curvature: np.ndarray) -> tuple[()]:
        return ()


STRAIGHT = Straight()
