"""What a case asks of a competitor, and what it hands over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Protocol

import numpy as np

from benchmarks.datasets import Ranking

KKT = 1e-6  # kkt_violation to reach, relative to alpha_max
TIME_LIMIT_S = 60.0  # where a competitor can be stopped, it is: its ratio is then a lower bound


@dataclass(frozen=True)
class Problem:
    """Minimise mean squared hinge over all pairs + alpha ||w||_1; alpha_max is the unit of tolerances."""

    data: Ranking
    alpha: float
    alpha_max: float
    n_threads: int = 1

    def small(self) -> Problem:
        """Two queries of the same data: runs the same code paths in no time."""
        return replace(self, data=self.data.queries(0, 2))


@dataclass(frozen=True)
class Fit:
    """Coefficients, or a `predict` of scores for models that have none.

    pair_time_s  part of the time that went into listing pairs
    finished     False when the time limit ended it
    """

    w: np.ndarray | None = None
    predict: Callable[[np.ndarray], np.ndarray] | None = None
    pair_time_s: float = 0.0
    note: str = ""
    finished: bool = True

    @property
    def coefficients(self) -> np.ndarray:
        if self.w is None:
            raise TypeError("a model without coefficients has no certificate; ask for its scores.")
        return self.w

    def scores(self, X: np.ndarray) -> np.ndarray:
        return self.predict(X) if self.predict is not None else X @ self.coefficients


class Competitor(Protocol):
    """One package, converted openly: its scaling of alpha, its labels, its containers.

    packages          what it imports; absent ones make it decline
    tolerances        its own settings, loosest first: the case reports the first whose objective is within 1e-6 of the
                      optimum
    minimises_ours    whether its objective is ours, so that certificates mean something
    """

    @property
    def packages(self) -> tuple[str, ...]: ...

    @property
    def tolerances(self) -> tuple[float, ...]: ...

    @property
    def minimises_ours(self) -> bool: ...

    def fit(self, problem: Problem, tol: float) -> Fit: ...


def unavailable(competitor: Competitor) -> str | None:
    """The reason for which a competitor declines, or None."""
    missing = [p for p in competitor.packages if find_spec(p) is None]
    return f"needs {', '.join(missing)}: pip install 'sparserank[bench]'" if missing else None
