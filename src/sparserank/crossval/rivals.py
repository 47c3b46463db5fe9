"""Rivals on the queries on which candidates are evaluated: their intervals, and formulas that need no training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sparserank.crossval.choice import Candidate, Choice
from sparserank.crossval.tree_rivals import LeftOut
from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import row_sums
from sparserank.evaluation import mean_of, per_query_values
from sparserank.evaluation.rival_intervals import RivalIntervals, rival_intervals
from sparserank.metrics import Metric
from sparserank.workdir.pieces import WorkStore
from sparserank.workdir.work import Progress


@dataclass(frozen=True, eq=False)
class Rival:
    """values: (n_queries,) metric on the queries on which candidates are evaluated; n_features: those it reads; lacks:
    those that it would read if the data had them."""

    name: str
    n_features: int
    values: np.ndarray
    lacks: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        return mean_of(self.values)


@dataclass(frozen=True)
class RivalDifference:
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

    def beside(self, c: Candidate, rival: Rival) -> RivalDifference:
        """Compare a candidate with one of the rivals; one that ranks alike on every query is no different."""
        if np.array_equal(c.values, rival.values, equal_nan=True):
            return RivalDifference(0.0, 0.0, 0.0)
        row = self._choice.candidates.index(c)
        return RivalDifference(c.mean - rival.mean, *self.intervals.interval(row, self.rivals.index(rival)))


@dataclass(frozen=True, eq=False)
class ColumnSums(Mapping[str, np.ndarray]):
    """Scores of documents by sums of columns, computed when they are asked for: those of dozens of formulas on millions
    of documents would take more memory than the documents.

    data     None: no documents and no scores
    columns  {name: the columns that its formula adds}
    """

    data: RankingDataset | None
    columns: Mapping[str, Sequence[int]]
    in_input_order: bool = False

    def __getitem__(self, name: str) -> np.ndarray:
        if self.data is None:
            raise KeyError(name)
        X, columns = self.data.X, self.columns[name]
        scores = row_sums(X, columns)
        return self.data.to_input_order(scores) if self.in_input_order else scores

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns if self.data is not None else ())

    def __len__(self) -> int:
        return 0 if self.data is None else len(self.columns)


@dataclass
class Formulas:
    """Sums of columns as rivals, with the interface of `RivalsOnFolds`.

    judged    queries on which candidates are evaluated; test: test queries
    columns   {name: the columns that its formula adds}
    """

    judged: RankingDataset
    test: RankingDataset | None
    metric: Metric
    columns: Mapping[str, Sequence[int]]
    rivals: dict[str, Rival] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    n_pieces: int = 0

    @property
    def scores(self) -> ColumnSums:
        return ColumnSums(self.judged, self.columns)

    @property
    def test_scores(self) -> ColumnSums:
        return ColumnSums(self.test, self.columns, in_input_order=True)

    @property
    def for_model(self) -> dict[str, str]:
        return {}

    def fit(self, store: WorkStore | None, progress: Progress | None) -> list[Rival]:
        """Evaluate all formulas."""
        for name, scores in self.scores.items():
            (values,) = per_query_values(scores, self.judged, [self.metric])
            self.rivals[name] = Rival(name, len(self.columns[name]), values)
        return list(self.rivals.values())

    def on_features(self, name: str, features: dict[int, np.ndarray], store: WorkStore | None) -> None:
        """None: a formula is not trained."""
