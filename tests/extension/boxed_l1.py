"""A penalty in one file: alpha |w_j| with |w_j| <= 0.4. Its prox is all that solvers need;
a compiled one is only faster."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparserank.penalties.base import Penalty
from sparserank.penalties.parts import Conjugate

BOUND = 0.4


@dataclass(frozen=True)
class BoxedPart:
    alpha: float

    def prox(self, v: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        return np.sign(v) * np.clip(np.abs(v) - self.alpha * step, 0.0, BOUND)


@dataclass(frozen=True, repr=False)
class BoxedL1(Penalty):
    name: ClassVar[str] = "boxed_l1"
    is_convex: ClassVar[bool] = True

    def value(self, w: np.ndarray) -> float:
        return self.alpha * float(np.abs(w).sum()) if np.abs(w).max(initial=0.0) <= BOUND else float("inf")

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas

    def prox(self, v: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        return BoxedPart(self.alpha).prox(v, step)

    def subdiff_distance(self, w: np.ndarray, grad: np.ndarray) -> np.ndarray:
        inside = np.abs(grad + self.alpha * np.sign(w))
        at_bound = np.maximum(np.sign(w) * grad + self.alpha, 0.0)  # the box pushes back as hard as it takes
        distance = np.where(np.abs(w) >= BOUND, at_bound, inside)
        return np.where(w == 0, np.maximum(np.abs(grad) - self.alpha, 0.0), distance)

    def conjugate(self, w: np.ndarray, gradient: np.ndarray) -> Conjugate:
        abs_gradient = np.abs(gradient)

        def convex(s: float) -> tuple[float, float]:
            over = BOUND * np.maximum(s * abs_gradient - self.alpha, 0.0)
            return float(over.sum()), BOUND * float(abs_gradient[over > 0].sum())

        return Conjugate(convex=convex)

    def restrict(self, columns: np.ndarray, n_features: int) -> BoxedPart:
        return BoxedPart(self.alpha)
