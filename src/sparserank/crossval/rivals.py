"""Rivals on the queries on which candidates are evaluated: their intervals, and formulas that need no training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sparserank.crossval.choice import Candidate, Choice, Measured
from sparserank.crossval.judged_queries import JudgedQueries
from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import row_sums
from sparserank.data.query_ids import rows_of_queries
from sparserank.evaluation import per_query_values
from sparserank.evaluation.rival_intervals import RivalIntervals, rival_intervals
from sparserank.metrics import Metric


@dataclass(frozen=True, eq=False)
class Rival(Measured):
    """A ranker that candidates are compared with, and that is never chosen.

    n_features  number of features that it reads
    values      (n_queries,) metric on the queries on which candidates are evaluated
    scores      scores(True) of the documents of the test, scores(False) of those on which candidates are evaluated, in
                the order of their rows, each by a ranker that has not seen them; None: not needed
    lacks       features that it would read if the data had them
    for_model   the value of `--for-model` that chooses features for it; '': there is none
    per_query   as in Candidate
    """

    name: str
    n_features: int
    values: np.ndarray
    scores: Callable[[bool], np.ndarray] | None = None
    lacks: tuple[str, ...] = ()
    for_model: str = ""
    per_query: np.ndarray | None = None


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

    def compare(self, c: Candidate, rival: Rival) -> RivalDifference:
        """Compare a candidate with one of the rivals. If both have the same value on every query, the difference is
        exactly 0, and so is its interval, unless they are two and there are too few queries for one."""
        row = self._choice.candidates.index(c)
        low, high = self.intervals.interval(row, self.rivals.index(rival))
        are_equal = np.isfinite(low) and np.array_equal(c.values, rival.values, equal_nan=True)
        if are_equal or c.values is rival.values:
            return RivalDifference(0.0, 0.0, 0.0)
        return RivalDifference(c.mean - rival.mean, low, high)


def formulas_as_rivals(
    judged: RankingDataset,
    judge: JudgedQueries | None,
    test: RankingDataset | None,
    metric: Metric,
    columns: Mapping[str, Sequence[int]],
) -> list[Rival]:
    """Sums of columns as rivals; columns: {name: the columns that its formula adds}; judge: the queries that people
    graded, whose values by the grades of a judge are the last.

    Scores are computed on demand: those of dozens of formulas on millions of documents would take more memory than the
    documents.
    """

    def scores(added: Sequence[int], on_test: bool) -> np.ndarray:
        data = test if on_test else judged
        assert data is not None
        return row_sums(data.X, added)

    rivals = []
    for name, added in columns.items():
        values = values_of_scores(scores(added, on_test=False), judged, judge, metric)
        rivals.append(Rival(name, len(added), values, partial(scores, added)))
    return rivals


def values_of_scores(
    scores: np.ndarray, judged: RankingDataset, judge: JudgedQueries | None, metric: Metric
) -> np.ndarray:
    """(n_queries,) values of scores (n_docs,) on the queries on which candidates are evaluated; those of the queries of
    people by the grades of a judge, if there is one, are the last."""
    values = per_query_values(scores, judged, [metric])
    if judge is not None:
        rows, _ = rows_of_queries(judged.query_ptr, judge.people)
        values += per_query_values(scores[rows], judge.again, [metric])
    return np.concatenate(values)
