"""Problems that solvers minimise, and measures of their points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparserank.errors import DataError
from sparserank.objective import PairwiseObjective
from sparserank.penalties.base import Penalty
from sparserank.solvers.certificates import duality_gap, kkt_violation
from sparserank.solvers.lockstep import Evaluate, Steps
from sparserank.solvers.solution import Iterate
from sparserank.weighting import LossEvaluation


class Problem(Protocol):
    """A loss plus a penalty, or with constraints."""

    @property
    def is_convex(self) -> bool: ...

    def start(self, w: np.ndarray | None) -> np.ndarray:
        """The nearest point to w (None: 0) that a solver may start from."""
        ...

    def evaluate(self, w: np.ndarray) -> Steps[Iterate]:
        """The iterate at w."""
        ...

    def violation(self, here: Iterate) -> float:
        """The measure that must fall below the threshold: 0 at a solution, > 0 elsewhere."""
        ...

    def gap(self, here: Iterate) -> float | None:
        """A bound on value - minimum; None if there is no bound."""
        ...


@dataclass(frozen=True)
class Penalised:
    """objective + penalty."""

    objective: PairwiseObjective
    penalty: Penalty

    def __post_init__(self) -> None:
        if self.penalty.feature_groups is not None and not self.penalty.blockwise:
            raise DataError(
                "a problem with a grouped penalty cannot be solved directly; use `paths.on_groups(penalty, objective)`."
            )

    @property
    def is_convex(self) -> bool:
        return self.penalty.is_convex

    def start(self, w: np.ndarray | None) -> np.ndarray:
        """w with 0 for features that may not be used, or have the wrong sign."""
        w = np.zeros(self.objective.n_features) if w is None else np.asarray(w, dtype=np.float64)
        n = len(w)
        usable = self.objective.varying & self.penalty.usable(n) & (w * self.penalty.feature_signs(n) >= 0)
        return np.where((w == 0) | usable, w, 0.0)

    def evaluate(self, w: np.ndarray) -> Steps[Iterate]:
        at: LossEvaluation = yield Evaluate(self.objective, w)
        return self.iterate(w, at)

    def iterate(self, w: np.ndarray, at: LossEvaluation) -> Iterate:
        """The iterate at w from an existing evaluation."""
        return Iterate(w, at, at.value + self.penalty.value(w))

    def violation(self, here: Iterate) -> float:
        return kkt_violation(self.objective, self.penalty, here.w, here.gradient)

    def gap(self, here: Iterate) -> float | None:
        return duality_gap(self.objective, self.penalty, here) if self.is_convex else None
