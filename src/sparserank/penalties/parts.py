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


@dataclass(frozen=True)
class BlockPart:
    """A nested penalty of blocks of columns, in the form that compiled block descent takes.

    Block b is the columns starts[b] .. starts[b + 1] - 1, the first n_linear[b] (0 or 1) of which bend nothing; it pays p(|u|; whole[b]) +
    p(|bends|; bend[b]) + ridge |u|^2 / 2, all >= 0 where nonnegative[b].
    """

    starts: np.ndarray
    n_linear: np.ndarray
    nonnegative: np.ndarray
    whole: np.ndarray
    bend: np.ndarray
    kind: int
    first: float
    second: float
    ridge: float
    value_of: Callable[[np.ndarray, np.ndarray], np.ndarray]
    slope_of: Callable[[np.ndarray, np.ndarray], np.ndarray]
    bend_of: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def value(self, u: np.ndarray) -> float:
        """The penalty of u (n,)."""
        total = 0.5 * self.ridge * float(u @ u)
        for starts, prices in ((self.starts[:-1], self.whole), (self.starts[:-1] + self.n_linear, self.bend)):
            sizes = np.array([np.linalg.norm(u[a:b]) for a, b in zip(starts, self.starts[1:], strict=True)])
            total += float(self.value_of(sizes, prices).sum())
        return total

    def curvature(self, u: np.ndarray, b: int) -> tuple[np.ndarray, np.ndarray]:
        """(gradient, Hessian) of what block b pays at u (n,), where it does not vanish."""
        lo, hi = self.starts[b], self.starts[b + 1]
        gradient, hessian = self.ridge * u[lo:hi], self.ridge * np.eye(hi - lo)
        for first, price in ((0, self.whole[b]), (int(self.n_linear[b]), self.bend[b])):
            v = u[lo + first : hi]
            size = float(np.linalg.norm(v))
            if size == 0.0 or price == 0.0:
                continue
            slope, bend = (float(f(np.array([size]), np.array([price]))[0]) for f in (self.slope_of, self.bend_of))
            along = v / size
            gradient[first:] += slope * along
            hessian[first:, first:] += slope / size * np.eye(len(v)) + (bend - slope / size) * np.outer(along, along)
        return gradient, hessian
