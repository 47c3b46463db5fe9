"""The loss's half of the dual: D(s) = -sum_p v_p phi*(s phi'_p) - (penalty's half), along theta_p = -s v_p phi'_p.

phi* is the conjugate of the loss phi of a margin; at s = 1 Fenchel and Young give sum_p v_p phi*(phi'_p) = w.g - f for
every loss, and 0 <= s <= 1 is always in its domain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

BISECTIONS = 100
LARGEST_BRACKET = 1e12


class Dual(Protocol):
    """The conjugate sum as a function of s >= 0, at one w."""

    def value(self, s: float) -> float:
        """sum_p v_p phi*(s phi'_p)."""
        ...

    def best_scale(self, limit: float, cost: float, slope: Callable[[float], float] | None) -> float:
        """An s of [0, limit] that makes -value(s) - cost s - (a convex function with that slope, if any) large.

        At an optimal w, this is the optimal s. Elsewhere any s gives a bound, and the best s gives the sharpest.
        """
        ...


@dataclass(frozen=True)
class QuadraticDual:
    """value(s) = s^2 square - s linear for 0 <= s <= largest: losses with phi*(u) = u + u^2 / 4 on their domain.

    linear = -sum_p v_p phi'_p, square = sum_p v_p phi'_p^2 / 4; hence linear - square = f - w.g. The best s is exact.
    """

    linear: float
    square: float
    largest: float

    def value(self, s: float) -> float:
        return s * s * self.square - s * self.linear

    def best_scale(self, limit: float, cost: float, slope: Callable[[float], float] | None) -> float:
        limit = min(limit, self.largest)
        linear = self.linear - cost
        if slope is None:
            s = min(limit, linear / (2.0 * self.square)) if self.square > 0 else limit
            return s if np.isfinite(s) and s > 0 else 0.0
        low = 0.0
        high = min(1.0, limit)
        while high < min(limit, LARGEST_BRACKET) and linear - 2.0 * high * self.square - slope(high) > 0:
            high *= 2.0
        high = min(high, limit)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            is_last = middle in (low, high)  # the two are adjacent floating-point numbers
            rising = linear - 2.0 * middle * self.square - slope(middle) > 0
            low, high = (middle, high) if rising else (low, middle)
            if is_last:
                break
        return low


@dataclass(frozen=True)
class SweptDual:
    """Any other loss: the value at s = 1 is known, every other value costs a sweep of the scores,
    so s is 1 or the limit below 1."""

    at_one: float
    sweep: Callable[[float], float]

    def value(self, s: float) -> float:
        return self.at_one if s == 1.0 else self.sweep(s)

    def best_scale(self, limit: float, cost: float, slope: Callable[[float], float] | None) -> float:
        return max(min(limit, 1.0), 0.0)
