"""What a penalty gives to solvers besides its values: its half of the dual, and itself on some columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class Conjugate:
    """The penalty's half of the dual along theta = -s gradient: c(s) = s cost + bend(s), for 0 <= s <= limit.

    bend(s) gives its value and slope, convex, 0 at 0; None: there is no such part.
    """

    limit: float = float("inf")
    cost: float = 0.0
    bend: Callable[[float], tuple[float, float]] | None = None

    def value(self, s: float) -> float:
        return s * self.cost + (self.bend(s)[0] if self.bend is not None else 0.0)

    @property
    def slope(self) -> Callable[[float], float] | None:
        bend = self.bend
        return None if bend is None else lambda s: bend(s)[1]


class Part(Protocol):
    """A penalty on some columns, for the minimisation of a quadratic model on them."""

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        """argmin over u of step * value(u) + 0.5 ||u - v||^2."""
        ...


@dataclass(frozen=True)
class SeparablePart:
    """A separable penalty on some columns, in the form that compiled coordinate descent takes."""

    alphas: np.ndarray
    signs: np.ndarray
    kind: int
    first: float
    second: float
    is_convex: bool
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray]
    bend: Callable[[np.ndarray, np.ndarray], np.ndarray]
