"""Rivals: rankers named before the data were seen, compared with every candidate, and never chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparserank.crossval.choice import Candidate, Choice
from sparserank.evaluation import mean_of
from sparserank.evaluation.rival_intervals import RivalIntervals, rival_intervals


@dataclass(frozen=True, eq=False)
class Rival:
    """values: (n_queries,) metric on the queries that candidates are judged on; n_features: that it reads."""

    name: str
    n_features: int
    values: np.ndarray

    @property
    def mean(self) -> float:
        return mean_of(self.values)


@dataclass(frozen=True)
class Beside:
    """The comparison of a candidate with a rival, candidate minus rival.

    difference   of the means
    low, high    two-sided interval of the difference; simultaneous over all candidates and rivals
    """

    difference: float
    low: float
    high: float


class Rivals:
    """The candidates of a choice compared with some rivals, which do not affect the choice."""

    def __init__(self, choice: Choice, rivals: Sequence[Rival]) -> None:
        self.rivals, self._choice = tuple(rivals), choice
        self.intervals: RivalIntervals = rival_intervals(
            np.array([c.values for c in choice.candidates]),
            np.array([r.values for r in rivals]),
            choice.bounds.confidence,
            seed=choice.seed,
            out_of_fold=choice.out_of_fold,
        )

    def beside(self, c: Candidate, rival: Rival) -> Beside:
        """Compare a candidate with one of the rivals."""
        row = self._choice.candidates.index(c)
        return Beside(c.mean - rival.mean, *self.intervals.interval(row, self.rivals.index(rival)))
