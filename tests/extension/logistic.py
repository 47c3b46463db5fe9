"""A pairwise logistic loss, O(pairs): a loss that shares nothing with the squared hinge, as somebody might add one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numba import njit

from sparserank.losses.levels import RelevanceLevels
from sparserank.losses.pairwise import PairwiseLoss


@njit
def weight_of(levels, table, doc_weight, i, j):
    """Weight of the pair (i, j); 0 if i is not preferred."""
    if levels[i] <= levels[j]:
        return 0.0
    t = table[levels[i], levels[j]] if len(table) > 0 else 1.0
    if doc_weight is not None:
        t *= doc_weight[i]
    return t


@njit
def sweep(scores, levels, n_levels, table, doc_weight, order, gradient, work):
    value = square = 0.0
    gradient[:] = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            t = weight_of(levels, table, doc_weight, i, j)
            if t > 0.0:
                m = scores[i] - scores[j]
                p = 1.0 / (1.0 + np.exp(m))
                value += t * (max(-m, 0.0) + np.log1p(np.exp(-abs(m))))
                square += t * p * p / 4.0
                gradient[i] -= t * p
                gradient[j] += t * p
    return value, square


@njit
def hessian_sweep(scores, levels, n_levels, table, doc_weight, order, Z, out):
    out[:] = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            t = weight_of(levels, table, doc_weight, i, j)
            if t > 0.0:
                p = 1.0 / (1.0 + np.exp(scores[i] - scores[j]))
                for f in range(Z.shape[1]):
                    bend = t * p * (1.0 - p) * (Z[i, f] - Z[j, f])
                    out[i, f] += bend
                    out[j, f] -= bend


@njit
def dual_sweep(scores, levels, n_levels, table, doc_weight, order, s):
    """phi*(-x) = x log x + (1 - x) log(1 - x), x = s p."""
    total = 0.0
    for i in range(len(scores)):
        for j in range(len(scores)):
            t = weight_of(levels, table, doc_weight, i, j)
            x = s / (1.0 + np.exp(scores[i] - scores[j]))
            if t > 0.0 and 0.0 < x < 1.0:
                total += t * (x * np.log(x) + (1.0 - x) * np.log1p(-x))
    return total


@dataclass(frozen=True)
class PairwiseLogistic(PairwiseLoss):
    """phi(m) = log(1 + exp(-m))."""

    smoothness: ClassVar[float] = 0.25
    value_at_zero: ClassVar[float] = float(np.log(2.0))
    dual_sweep: ClassVar[Callable | None] = dual_sweep

    def sweeps(self, levels: RelevanceLevels) -> tuple[Callable, Callable]:
        return sweep, hessian_sweep
