"""What an experiment is to do."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparserank.data.scaling import SCALINGS
from sparserank.errors import DataError
from sparserank.experiments.systems import COMPARED, SYSTEMS, find_system
from sparserank.metrics import Metric, parse_convention, parse_metrics

CHOOSE_BY = ("map", "ndcg@10")
METRICS = ("map", *(f"ndcg@{n}" for n in range(1, 11)), "p@10", "mean_ndcg")
MAX_SIZE = 15


@dataclass(frozen=True)
class DatasetPlan:
    """A data set in LETOR layout; `missing` and `scaling` as in `read_letor` and `fit_scaling`."""

    name: str
    path: str
    missing: str | None = None
    scaling: str = "none"


@dataclass(frozen=True)
class ExperimentPlan:
    """Data sets, systems with their grids, and how a model is chosen on validation.

    choose_by   metrics, each of which makes its own choice per fold (ties: the first in the grid's order)
    watch       further metrics that every candidate gets on validation, for curves
    metrics     what is reported on the test queries; choose_by is part of it
    convention  metric convention. letor4 and letor3 keep file order at ties, in the choice too, as the published tables do
    max_size    for each k up to this, the best validated model with at most k features is tested too
    grids       {system: {parameter: values}} instead of the system's own
    """

    datasets: tuple[DatasetPlan, ...]
    systems: tuple[str, ...] = COMPARED
    choose_by: tuple[str, ...] = CHOOSE_BY
    watch: tuple[str, ...] = ("mean_ndcg",)
    metrics: tuple[str, ...] = METRICS
    convention: str = "letor4"
    max_size: int = MAX_SIZE
    folds: tuple[int, ...] = ()
    grids: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    seed: int = 0
    name: str = "experiment"

    def __post_init__(self) -> None:
        if not self.datasets:
            raise DataError("the plan names no data set; give [[datasets]] with name and path.")
        for field_name in ("max_size", "seed"):
            value = getattr(self, field_name)
            if not isinstance(value, int) or value < 0:
                raise DataError(f"{field_name} must be an integer >= 0; got {value!r}.")
        for field_name in ("systems", "choose_by", "watch", "metrics", "folds"):
            if not isinstance(getattr(self, field_name), tuple):
                raise DataError(f"{field_name} must be a list; got {getattr(self, field_name)!r}.")
        if not self.systems or not self.choose_by:
            raise DataError("the plan needs at least one system and one metric in choose_by.")
        names = [d.name for d in self.datasets]
        if len(set(names)) != len(names):
            raise DataError(f"the plan names a data set twice: {', '.join(names)}.")
        for d in self.datasets:
            if d.scaling not in SCALINGS:
                raise DataError(f"data set {d.name}: scaling must be one of {', '.join(SCALINGS)}; got {d.scaling!r}.")
        for s in [*self.systems, *self.grids]:
            find_system(s)
        for s, grid in self.grids.items():
            for parameter, values in grid.items():
                if parameter not in SYSTEMS[s].grid:
                    raise DataError(f"system {s} has no parameter {parameter!r}; it has {', '.join(SYSTEMS[s].grid)}.")
                if not isinstance(values, list | tuple) or not values:
                    raise DataError(f"system {s}: {parameter} must be a list of values; got {values!r}.")
        for m in self.choice_metrics:
            if not m.higher_is_better:
                raise DataError(f"choose_by must be a metric where higher is better; got {m!r}.")
        self.all_metrics, self.valid_metrics  # noqa: B018 (parses them)

    @property
    def choice_metrics(self) -> list[Metric]:
        return parse_metrics(list(self.choose_by), parse_convention(self.convention))

    @property
    def valid_names(self) -> list[str]:
        """Metrics of every candidate on validation: those of the choice first."""
        return list(dict.fromkeys([*self.choose_by, *self.watch]))

    @property
    def valid_metrics(self) -> list[Metric]:
        return parse_metrics(self.valid_names, parse_convention(self.convention))

    @property
    def metric_names(self) -> list[str]:
        """Reported metrics; those of the choice among them."""
        return list(dict.fromkeys([*self.choose_by, *self.metrics]))

    @property
    def all_metrics(self) -> list[Metric]:
        return parse_metrics(self.metric_names, parse_convention(self.convention))

    def grid(self, system: str) -> dict[str, Sequence[Any]]:
        return {**find_system(system).grid, **self.grids.get(system, {})}


def read_plan(path: str | os.PathLike) -> ExperimentPlan:
    """A plan from a TOML file; `$NAME` in paths is taken from the environment.

    Raises
        DataError   the file cannot be read, or holds an unknown key or a wrong value
    """
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{file}: cannot be read as TOML ({error}).") from error
    fields = {
        "name",
        "systems",
        "choose_by",
        "watch",
        "metrics",
        "convention",
        "max_size",
        "folds",
        "seed",
        "datasets",
        "grids",
    }
    unknown = set(content) - fields
    if unknown:
        raise DataError(f"{file}: unknown key {min(unknown)!r}; expected {', '.join(sorted(fields))}.")
    datasets = []
    for entry in content.pop("datasets", []):
        wrong = set(entry) - {"name", "path", "missing", "scaling"}
        if wrong or not {"name", "path"} <= set(entry):
            raise DataError(f"{file}: a data set has name and path, and optionally missing and scaling; got {entry}.")
        place = os.path.expandvars(os.path.expanduser(entry["path"]))
        datasets.append(DatasetPlan(**{**entry, "path": str(file.parent / place)}))
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
    try:
        values.setdefault("name", file.stem)
        return ExperimentPlan(tuple(datasets), **values)
    except DataError as error:
        raise DataError(f"{file}: {error}") from error
    except (TypeError, AttributeError) as error:
        raise DataError(f"{file}: a value has the wrong type ({error}).") from error
