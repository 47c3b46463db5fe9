"""Parts of a penalty for solvers: its half of the dual, and its restriction to some columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from sparserank.penalties.base import Penalty


@dataclass(frozen=True)
class Conjugate:
    """The penalty's half of the dual along theta = -s gradient: c(s) = s cost + convex(s), for 0 <= s <= limit.

    convex(s) returns the value and slope of a convex function that is 0 at 0; None: there is no such part.
    """

    limit: float = float("inf")
    cost: float = 0.0
    convex: Callable[[float], tuple[float, float]] | None = None

    def value(self, s: float) -> float:
        return s * self.cost + (self.convex(s)[0] if self.convex is not None else 0.0)

    @property
    def slope(self) -> Callable[[float], float] | None:
        convex = self.convex
        return None if convex is None else lambda s: convex(s)[1]


class Part(Protocol):
    """A penalty on some columns, for the minimisation of a quadratic model on them."""

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        """argmin over u of step * value(u) + 0.5 ||u - v||^2."""
        ...


@dataclass(frozen=True)
class SeparablePart:
    """The scalar penalty `of` on some columns, in the form that compiled coordinate descent takes: alphas (n,), and
    monotone (n,), 1 where u >= 0, -1 where u <= 0."""

    alphas: np.ndarray
    monotone: np.ndarray
    of: Penalty


@dataclass(frozen=True)
class BlockPart:
    """A penalty of blocks of columns, in the form that compiled block descent takes.

    Columns are permuted by `order`, (n,) positions. Block b is then the columns starts[b] .. starts[b + 1] - 1, with
    penalty p(|u|; prices[b]), p the scalar penalty `of`. monotone (n,) as in `SeparablePart`.
    """

    order: np.ndarray
    starts: np.ndarray
    prices: np.ndarray
    monotone: np.ndarray
    of: Penalty

    @property
    def blocks(self) -> list[slice]:
        """The columns of each block."""
        return [slice(lo, hi) for lo, hi in pairwise(self.starts.tolist())]

    def value(self, u: np.ndarray) -> float:
        """The penalty of u (n,), with columns permuted by `order`."""
        sizes = np.array([np.linalg.norm(u[block]) for block in self.blocks])
        return float(self.of._value(sizes, self.prices).sum())

    def expansion(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(gradient (n,), Hessian (n, n)) of the penalty at u, where it does not vanish."""
        gradient = np.zeros(len(u))
        hessian = np.zeros((len(u), len(u)))
        for at, price in zip(self.blocks, self.prices.tolist(), strict=True):
            v = u[at]
            size = float(np.linalg.norm(v))
            if size == 0.0 or price == 0.0:
                continue
            at_size = np.array([size]), np.array([price])
            slope = float(self.of._slope(*at_size)[0])
            second = float(self.of._second_derivative(*at_size)[0])
            along = v / size
            gradient[at] += slope * along
            hessian[at, at] += slope / size * np.eye(len(v)) + (second - slope / size) * np.outer(along, along)
        return gradient, hessian
