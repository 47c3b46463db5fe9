"""What a system of an experiment is: training data and a grid in, candidate models out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeVar

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.evaluation import mean_of, per_query_values
from sparserank.lazy import cached_property
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.papers.protocol.layouts import FoldData
from sparserank.paths import PathResult
from sparserank.rankers.base import LinearRanker

Grid = Mapping[str, Sequence[Any]]
Candidates = Callable[["Fold", Grid], Iterator["Candidate"]]
T = TypeVar("T")


@dataclass(frozen=True)
class Candidate:
    """A fitted model: its place in the grid, coefficients, seconds of its own fit, and what its solver says of it.

    A system that trains on the validation queries too gives its own out-of-fold estimates (`valid`, by metric name),
    and may make the choice itself: `preferred_for` names the metrics for which this candidate is its answer.
    """

    params: dict[str, Any]
    coef: np.ndarray
    time_s: float
    info: dict[str, Any] = field(default_factory=dict)
    valid: dict[str, float] | None = None
    preferred_for: tuple[str, ...] = ()


@dataclass
class Fold:
    """What the systems share within a fold; computed when first asked for."""

    data: FoldData
    convention: str
    metrics: dict[str, Metric]  # every metric of the choice, by the plan's name for it
    seed: int = 0

    @property
    def train(self) -> RankingDataset:
        return self.data.train

    @cached_property
    def objective(self) -> PairwiseObjective:
        return PairwiseObjective(self.train.X, self.train.relevance, self.train.query_ptr, n_threads=1)

    @property
    def alpha_max(self) -> float:
        """The smallest strength of the l1 norm whose solution is 0."""
        return float(np.abs(self.objective.gradient_at_zero).max())

    @cached_property
    def varying(self) -> np.ndarray:
        return np.flatnonzero(self.objective.varying)

    def validation(self, coef: np.ndarray) -> list[float]:
        """Every metric of validation, in the order of `metrics`."""
        values = per_query_values(self.data.valid.X @ coef, self.data.valid, list(self.metrics.values()))
        return [mean_of(v) for v in values]


@dataclass(frozen=True)
class System:
    """Conventions: `candidates(fold, grid)` yields models in the order in which ties on validation are broken.

    title     as the papers print it
    single    parameters of the grid that take one value
    grid      default values; every list here is ours unless the source gives it
    source    paper and section
    """

    name: str
    title: str
    source: str
    grid: dict[str, Sequence[Any]]
    candidates: Candidates
    single: tuple[str, ...] = ()


def timed(run: Callable[..., T], *arguments: Any, **options: Any) -> tuple[T, float]:
    """(what `run` returns, seconds)."""
    began = time.perf_counter()
    result = run(*arguments, **options)
    return result, time.perf_counter() - began


def fitted(fold: Fold, ranker: LinearRanker, params: dict[str, Any], told: Sequence[str]) -> Candidate:
    """An estimator, fitted to the training queries; told: attributes of it that go with the model, without their
    underscore."""
    _, t = timed(ranker.fit_dataset, fold.train)
    info = {name: getattr(ranker, f"{name}_") for name in told}
    return Candidate(params, ranker.coef_.astype(np.float64), t, info)


def each_of(
    make: Callable[..., LinearRanker], varied: Sequence[str], told: Sequence[str], **settings: Any
) -> Candidates:
    """An estimator at each point of the grid of some parameters; of the grid's others it has the one value."""

    def candidates(fold: Fold, grid: Grid) -> Iterator[Candidate]:
        fixed = {name: values[0] for name, values in grid.items() if name not in varied}
        for point in product(*(grid[name] for name in varied)):
            params = dict(zip(varied, point, strict=True))
            yield fitted(fold, make(**params, **fixed, **settings), params, told)

    return candidates


def points_of(path: PathResult, params: Iterable[dict[str, Any]]) -> Iterator[Candidate]:
    """Every point of a path, with its place in the grid."""
    for i, own in enumerate(params):
        info = {
            "alpha": path.alphas[i],
            "kkt_violation": path.kkt_violations[i],
            "loss": path.losses[i],
            "status": path.statuses[i],
            "gap": None if np.isnan(path.gaps[i]) else path.gaps[i],
            "total_weight": path.total_weight,
        }
        yield Candidate(own, path.scaled_coef(i), path.times_s[i], info)
