"""Results of solvers, and their stopping rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from sparserank.options import Count
from sparserank.options.arguments import check_arguments
from sparserank.weighting import LossEvaluation


class Status(Enum):
    """The status of a solve; its value is the word that users see.

    Attributes
    ----------
    OPTIMAL : Status
        Global optimum of a convex problem, to the tolerance.
    STATIONARY : Status
        Stationary point of a nonconvex problem, to the tolerance; a lower objective may exist.
    STALLED : Status
        The tolerance was not reached, but no step lowers the objective any further in floating point.
    ITERATION_LIMIT : Status
        max_iter was reached before the tolerance.
    NOT_CERTIFIED : Status
        The solve ended by a published rule that proves nothing; or the point is a mixture of two solutions, and so
        solves no problem.

    Examples
    --------
    >>> from sparserank.solvers import Status
    >>> Status.ITERATION_LIMIT.value
    'iteration limit'
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
        """Remedy for a solve that did not converge."""
        if self is Status.STALLED:
            return "no step lowers the objective any further in floating point; rescale the features, or raise tol"
        if self is Status.NOT_CERTIFIED:
            return "the published stopping rule ended the fit; SparseRanker solves such problems with a certificate"
        return "raise max_iter or tol"


@dataclass(frozen=True)
class Stop:
    """Stopping rule of a solver: kkt_violation <= tol * scale, or max_iter iterations.

    Parameters
    ----------
    tol : float, default 1e-6
        Relative tolerance.
    max_iter : int, default 500
        Maximum number of iterations.
    scale : float, default 1.0
        alpha_max of the l1 problem.

    Examples
    --------
    >>> from sparserank.solvers import Stop
    >>> Stop(tol=1e-8).max_iter
    500
    """

    tol: float = 1e-6
    max_iter: int = 500
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_arguments(Stop, vars(self), max_iter=Count(0))

    @property
    def threshold(self) -> float:
        return self.tol * self.scale


@dataclass(frozen=True)
class Iterate:
    """A point, its loss (with the gradient and data for the dual), and loss + penalty."""

    w: np.ndarray
    at: LossEvaluation
    value: float

    @property
    def loss(self) -> float:
        return self.at.value

    @property
    def gradient(self) -> np.ndarray:
        return self.at.gradient


@dataclass(frozen=True)
class Solution:
    """A point and its certificate, as returned by `solve`.

    Attributes
    ----------
    w : ndarray of shape (n_features,)
        The point.
    kkt_violation : float
        Largest distance of -gradient to the subdifferential over coordinates, in units of the gradient (for lp: the
        largest coordinate prox residual times the curvature). For FenchelRank's problem, the duality gap.
    gap : float or None
        Value minus a dual bound, >= 0 up to rounding; None if the problem is not convex.
    n_iter : int
        Number of iterations.
    status : Status
        Status of the solve.
    history : list of (float, float, float)
        (seconds, value, kkt_violation) of each iteration.

    Examples
    --------
    >>> import sparserank as sr
    >>> from sparserank.solvers import PairwiseObjective, ProxNewton, solve
    >>> data = sr.RankingDataset([[1.0], [3.0]], [0, 1], ["a", "a"])
    >>> solution = solve(ProxNewton(), PairwiseObjective(data), sr.penalties.L1(10.0))
    >>> solution.w.tolist(), solution.kkt_violation
    ([0.0], 0.0)
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
