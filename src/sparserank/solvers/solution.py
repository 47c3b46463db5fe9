"""What every solver returns, and when it may stop."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from sparserank.weighting import Evaluation


class Status(Enum):
    """How a solve ended; the value is the word shown to people. There are no others.

    OPTIMAL: global optimum of a convex problem; STATIONARY: stationary point of a nonconvex one, a lower objective may
    exist; both to the tolerance. STALLED: no step lowers the objective any further in floating point, short of the
    tolerance. ITERATION_LIMIT: max_iter came first. NOT_CERTIFIED: ended by a published rule that proves nothing, or a
    mixture of two solutions, or one changed for a metric, which solves no problem.
    """

    OPTIMAL = "optimal"
    STATIONARY = "stationary"
    STALLED = "stalled"
    ITERATION_LIMIT = "iteration limit"
    NOT_CERTIFIED = "not certified"

    @property
    def converged(self) -> bool:
        return self in (Status.OPTIMAL, Status.STATIONARY)

    @property
    def remedy(self) -> str:
        """What a person can do about a solve that did not converge."""
        if self is Status.STALLED:
            return "no step lowers the objective any further in floating point; scale the features alike, or raise tol"
        if self is Status.NOT_CERTIFIED:
            return "the published rule ended it; SparseRanker solves such problems to a certificate"
        return "raise max_iter or tol"


@dataclass(frozen=True)
class Stop:
    """Stop when kkt_violation <= tol * scale, or after max_iter iterations. `scale` is alpha_max of the l1 problem."""

    tol: float = 1e-6
    max_iter: int = 500
    scale: float = 1.0

    @property
    def threshold(self) -> float:
        return self.tol * self.scale


@dataclass(frozen=True)
class Iterate:
    """A point, the loss there (with its gradient and what the dual needs), and loss + penalty."""

    w: np.ndarray
    at: Evaluation
    value: float

    @property
    def loss(self) -> float:
        return self.at.value

    @property
    def gradient(self) -> np.ndarray:
        return self.at.gradient


@dataclass(frozen=True)
class Solution:
    """A point and its certificate.

    kkt_violation  largest distance of -gradient to the subdifferential over coordinates, in units of the gradient
                   (for lp: largest coordinate prox residual times curvature)
    gap            value minus a dual bound, >= 0 up to rounding; None when the problem is not convex
    history        one (seconds, value, kkt_violation) per iteration
    """

    iterate: Iterate
    kkt_violation: float
    gap: float | None
    n_iter: int
    status: Status
    history: list[tuple[float, float, float]] = field(default_factory=list, repr=False)

    @property
    def w(self) -> np.ndarray:
        return self.iterate.w

    @property
    def value(self) -> float:
        return self.iterate.value

    @property
    def loss(self) -> float:
        return self.iterate.at.value

    @property
    def gradient(self) -> np.ndarray:
        return self.iterate.at.gradient
