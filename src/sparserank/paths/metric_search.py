"""Coordinate search on a metric, from the models of an l1 path: for boosts of queries. In their lists, most documents
are easy to tell from the relevant ones, and outweigh the others in a loss of pairs (theory.md section 2, Search on the
metric)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.paths.follow import PathPlan
from sparserank.paths.makers import PenaltyPath, SizedMaker
from sparserank.paths.result import PathResult, Point, n_used
from sparserank.paths.sizes import points_by_size
from sparserank.paths.starts import PathStarts
from sparserank.penalties.groups import like_l1
from sparserank.penalties.rules import RULES
from sparserank.solvers.lockstep import Measure, Seconds, Steps

FACTORS = np.array([0.5, 0.7, 0.85, 1.2, 1.4, 2.0])  # by which one weight is tried to change
MAX_SIZE = 10  # features; more are not searched
MAX_ROUNDS = 4  # over the features of a model


@dataclass(frozen=True, repr=False)
class MetricSearch(SizedMaker):
    """A path maker: the l1 model of each size up to MAX_SIZE, with the weights that a search finds for the metric.

    One weight after the other is multiplied by the factor that ranks best on the training queries, until a round
    changes nothing. Features and signs, and with them the rules, are those of the l1 path. The loss of a point is minus
    its metric.

    Source
        Coordinate ascent: Metzler and Croft (2007), here from fitted weights.
    """

    metric: Metric | None = field(default=None, repr=False)  # the call in a stored path has only numbers and names

    name = "refined"
    lowers = "metric"
    respects = RULES

    @property
    def starts_from(self) -> PenaltyPath:
        """The l1 path with the same rules, whose models are searched from."""
        return PenaltyPath(like_l1(self))

    def n_points(self, plan: PathPlan) -> int:
        return MAX_SIZE

    def path(self, objective: PairwiseObjective, plan: PathPlan) -> Steps[PathResult]:
        source = plan.starts
        assert isinstance(source, PathStarts)
        sizes = n_used(source.coefs, objective.width)
        by_size = points_by_size(sizes, source.losses).values()
        chosen = [i for n, i in enumerate(by_size) if n == 0 or sizes[i] <= MAX_SIZE]
        points: list[Point] = []
        for i in chosen:
            began = yield Seconds()
            w, mean = yield from self._searched(objective, source.coef(i))
            now = yield Seconds()
            points.append(Point.not_certified(w, -mean, now - began))
            if plan.tell is not None:
                plan.tell(len(chosen))
        return PathResult.of(points, self, np.full(len(points), np.nan), 1.0, 1.0, objective)

    def _searched(self, objective: PairwiseObjective, w: np.ndarray) -> Steps[tuple[np.ndarray, float]]:
        """The weights that the search finds from w, and the mean of their metric."""
        assert self.metric is not None
        (best,) = yield Measure(objective, w[None, :], self.metric)
        for _ in range(MAX_ROUNDS):
            before = best
            for j in np.flatnonzero(w).tolist():
                tried = np.tile(w, (len(FACTORS), 1))
                tried[:, j] *= FACTORS
                means = yield Measure(objective, tried, self.metric)
                if means.max() > best:
                    w, best = tried[means.argmax()], means.max()
            if best == before:
                break
        return w, float(best)
