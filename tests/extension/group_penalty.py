"""A penalty that ties columns together: alpha times the sum of the Euclidean norms of pairs of columns (0, 1), (2, 3),
..."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparserank.penalties.base import Penalty
from sparserank.penalties.parts import Conjugate


def norms(v: np.ndarray) -> np.ndarray:
    """(n, ) the norm of each column's pair."""
    return np.repeat(np.hypot(v[0::2], v[1::2]), 2)


def shrink(v: np.ndarray, by: float) -> np.ndarray:
    size = norms(v)
    return np.where(size > by, 1.0 - by / np.where(size > 0, size, 1.0), 0.0) * v


@dataclass(frozen=True)
class PairPart:
    alpha: float

    def prox(self, v: np.ndarray, step: float) -> np.ndarray:
        return shrink(v, self.alpha * step)


@dataclass(frozen=True, repr=False)
class PairLasso(Penalty):
    name: ClassVar[str] = "pair_lasso"
    is_convex: ClassVar[bool] = True
    separable: ClassVar[bool] = False

    def value(self, w: np.ndarray) -> float:
        return self.alpha * float(norms(w)[::2].sum())

    def prox(self, v: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        return shrink(v, self.alpha * float(np.max(step)))

    def subdiff_distance(self, w: np.ndarray, grad: np.ndarray) -> np.ndarray:
        size = norms(w)
        inside = norms(grad + self.alpha * w / np.where(size > 0, size, 1.0))
        return np.where(size > 0, inside, np.maximum(norms(grad) - self.alpha, 0.0))

    def alpha_max(self, grad_at_zero: np.ndarray) -> float:
        return float(norms(grad_at_zero).max())

    def working_blocks(self, columns: np.ndarray) -> np.ndarray:
        return np.repeat(columns[0::2] | columns[1::2], 2)

    def priority(self, w: np.ndarray, gradient: np.ndarray, share: float, curvature: np.ndarray) -> np.ndarray:
        return norms(gradient) - share * self.alpha

    def conjugate(self, w: np.ndarray, gradient: np.ndarray) -> Conjugate:
        return Conjugate(limit=self.alpha / max(float(norms(gradient).max()), 1e-300))

    def safely_zero(self, gradient: np.ndarray, slack: np.ndarray) -> np.ndarray:
        return norms(gradient) + norms(slack) < self.alpha

    def restrict(self, columns: np.ndarray, n_features: int) -> PairPart:
        return PairPart(self.alpha)
