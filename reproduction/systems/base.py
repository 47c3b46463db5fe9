"""A system of an experiment makes candidate models from training data and a grid."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, TypeVar

import numpy as np

from reproduction.datasets import FoldData
from sparserank.data.dataset import RankingDataset
from sparserank.evaluation import mean_of, per_query_values
from sparserank.lazy import cached_property
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.paths import PathResult
from sparserank.rankers.base import LinearRanker

Grid = Mapping[str, Sequence[Any]]
Candidates = Callable[["Fold", Grid], Iterator["Candidate"]]
T = TypeVar("T")


@dataclass(frozen=True)
class Candidate:
    """A fitted model: its place in the grid, coefficients, seconds of its fit, and facts from its solver.

    A system that also trains on the validation queries supplies out-of-fold estimates (`valid`, by metric name). It may
    also make the choice: `preferred_for` names the metrics for which it chose this candidate.
    """

    params: dict[str, Any]
    coef: np.ndarray
    time_s: float
    info: dict[str, Any] = field(default_factory=dict)
    valid: dict[str, float] | None = None
    preferred_for: tuple[str, ...] = ()


@dataclass
class Fold:
    """Values that the systems share within a fold, computed on first use."""

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
        """Every validation metric, in the order of `metrics`."""
        values = per_query_values(self.data.valid.X @ coef, self.data.valid, list(self.metrics.values()))
        return [mean_of(v) for v in values]


@dataclass(frozen=True)
class System:
    """Conventions: `candidates(fold, grid)` yields models in the order in which ties on validation are broken.

    title     as the papers print it
    single    grid parameters that take one value
    grid      default values; we chose every list that the source does not state
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
    """Fit an estimator to the training queries; told: attributes stored with the model, without their trailing
    underscore."""
    _, t = timed(ranker.fit_dataset, fold.train)
    info = {name: getattr(ranker, f"{name}_") for name in told}
    return Candidate(params, ranker.coef_.astype(np.float64), t, info)


def each_of(
    make: Callable[..., LinearRanker], varied: Sequence[str], told: Sequence[str], **settings: Any
) -> Candidates:
    """An estimator at each grid point of the varied parameters; each other parameter has its single value."""

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
