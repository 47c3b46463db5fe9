"""A pairwise modified Huber loss, O(pairs): the squared hinge with a bounded slope, and so with a bounded dual.

phi(m) = 0 for m >= 1, (1 - m)^2 for -1 <= m < 1, -4 m for m < -1 (Zhang 2004).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from numba import njit

from sparserank.losses.levels import RelevanceLevels
from sparserank.losses.pairwise import PairwiseLoss

from .logistic import weight_of


@njit
def sweep(scores, levels, n_levels, table, doc_weight, order, gradient, work):
    value = square = 0.0
    gradient[:] = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            t = weight_of(levels, table, doc_weight, i, j)
            m = scores[i] - scores[j]
            if t > 0.0 and m < 1.0:
                slope = 2.0 * (1.0 - m) if m >= -1.0 else 4.0  # -phi'(m)
                value += t * ((1.0 - m) ** 2 if m >= -1.0 else -4.0 * m)
                square += t * slope * slope / 4.0
                gradient[i] -= t * slope
                gradient[j] += t * slope
    return value, square


@njit
def hessian_sweep(scores, levels, n_levels, table, doc_weight, order, Z, out):
    out[:] = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            t = weight_of(levels, table, doc_weight, i, j)
            m = scores[i] - scores[j]
            if t > 0.0 and -1.0 <= m < 1.0:
                for f in range(Z.shape[1]):
                    bend = 2.0 * t * (Z[i, f] - Z[j, f])
                    out[i, f] += bend
                    out[j, f] -= bend


@dataclass(frozen=True, repr=False)
class ModifiedHuber(PairwiseLoss):
    """The conjugate is u + u^2 / 4, as that of the squared hinge, but only where -4 <= u <= 0."""

    name: ClassVar[str | None] = "modified_huber"
    smoothness: ClassVar[float] = 2.0
    value_at_zero: ClassVar[float] = 1.0
    largest_scale: ClassVar[float | None] = 1.0  # a pair with phi' = -4 leaves the domain beyond s = 1

    def sweeps(self, levels: RelevanceLevels) -> tuple[Callable, Callable]:
        return sweep, hessian_sweep
