"""What a system of an experiment is: training data and a grid in, candidate models out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.evaluation import mean_of, per_query_values
from sparserank.lazy import cached_property
from sparserank.metrics import Convention, Metric
from sparserank.objective import PairwiseObjective
from sparserank.papers.protocol.layouts import FoldData
from sparserank.papers.rls.centring import CentredData, centre

Grid = Mapping[str, Sequence[Any]]
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
    convention: Convention
    metrics: dict[str, Metric]  # every metric of the choice, by the plan's name for it
    seed: int = 0

    @property
    def train(self) -> RankingDataset:
        return self.data.train

    @cached_property
    def objective(self) -> PairwiseObjective:
        return PairwiseObjective(self.train.X, self.train.relevance, self.train.query_ptr, n_threads=1)

    @cached_property
    def centred(self) -> CentredData:
        return centre(self.train)

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
    candidates: Callable[[Fold, Grid], Iterator[Candidate]]
    single: tuple[str, ...] = ()


def timed(run: Callable[..., T], *arguments: Any, **options: Any) -> tuple[T, float]:
    """(what `run` returns, seconds)."""
    began = time.perf_counter()
    result = run(*arguments, **options)
    return result, time.perf_counter() - began
