"""What an experiment is to do."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sparserank.data.missing import MissingPolicy
from sparserank.data.scaling import SCALINGS
from sparserank.errors import DataError
from sparserank.experiments.systems import COMPARED, find_system
from sparserank.metrics import Metric, parse_convention, parse_metrics

CHOOSE_BY = ("map", "ndcg@10")
METRICS = ("map", *(f"ndcg@{n}" for n in range(1, 11)), "p@10")
MAX_SIZE = 15
MAY_BE_ZERO = ("lambda1", "lambda2", "c")


@dataclass(frozen=True)
class DatasetPlan:
    """A data set in LETOR layout; `missing` and `scaling` as in `read_letor` and `fit_scaling`."""

    name: str
    path: str
    missing: str | None = None
    scaling: str = "none"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.path, str) or not self.name:
            raise DataError(f"a data set's name and path must be text; got {self.name!r} and {self.path!r}.")
        if self.scaling not in SCALINGS:
            raise DataError(
                f"data set {self.name}: scaling must be one of {', '.join(SCALINGS)}; got {self.scaling!r}."
            )
        if self.missing is not None:
            MissingPolicy.parse(self.missing)


@dataclass(frozen=True)
class ExperimentPlan:
    """Data sets, systems with their grids, and how a model is chosen on validation.

    choose_by   metrics, each of which makes its own choice per fold (ties: the first in the grid's order)
    watch       further metrics that every candidate gets on validation, for curves; default mean_ndcg where the
                convention has it
    metrics     what is reported on the test queries; choose_by and watch are part of it
    convention  metric convention. letor4 and letor3 keep file order at ties, in the choice too, as the published tables do
    max_size    for each k up to this, the best validated model with at most k features is tested too
    grids       {system: {parameter: values}} instead of the system's own
    """

    datasets: tuple[DatasetPlan, ...]
    systems: tuple[str, ...] = COMPARED
    choose_by: tuple[str, ...] = CHOOSE_BY
    watch: tuple[str, ...] | None = None
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
        for name in ("max_size", "seed"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise DataError(f"{name} must be an integer >= 0; got {value!r}.")
        for name, kind in (("systems", str), ("choose_by", str), ("watch", str), ("metrics", str), ("folds", int)):
            values = getattr(self, name)
            if values is not None and not (isinstance(values, tuple) and all(isinstance(v, kind) for v in values)):
                raise DataError(f"{name} must be a list of {kind.__name__} values; got {values!r}.")
        if not self.systems or not self.choose_by:
            raise DataError("the plan needs at least one system and one metric in choose_by.")
        for what, names in (("data set", [d.name for d in self.datasets]), ("system", list(self.systems))):
            twice = [n for n in names if names.count(n) > 1]
            if twice:
                raise DataError(f"the plan names the {what} {twice[0]!r} twice.")
        for s in self.systems:
            find_system(s)
        self._check_grids()
        for m in self.choice_metrics:
            if not m.higher_is_better:
                raise DataError(f"choose_by must be a metric where higher is better; got {m!r}.")
        self.all_metrics, self.valid_metrics  # noqa: B018 (parses them)

    def _check_grids(self) -> None:
        if not isinstance(self.grids, Mapping) or not all(isinstance(g, Mapping) for g in self.grids.values()):
            raise DataError(f"grids must hold tables of lists by system; got {self.grids!r}.")
        for s, grid in self.grids.items():
            system = find_system(s)
            for parameter, values in grid.items():
                if parameter not in system.grid:
                    raise DataError(
                        f"system {s} has no parameter {parameter!r}; it has {', '.join(system.grid) or 'none'}."
                    )
                if not isinstance(values, list | tuple) or not values:
                    raise DataError(f"system {s}: {parameter} must be a list of values; got {values!r}.")
                text = isinstance(system.grid[parameter][0], str)
                if not all(isinstance(v, str) if text else _is_number(v) for v in values):
                    kind = "names" if text else "finite numbers"
                    raise DataError(f"system {s}: {parameter} must hold {kind}; got {values!r}.")
                least = 0.0 if parameter in MAY_BE_ZERO else None
                if not text and not all(v > 0 or v == least for v in values):
                    raise DataError(f"system {s}: {parameter} must be {'>=' if least == 0 else '>'} 0; got {values!r}.")
                if parameter in system.single and len(values) > 1:
                    raise DataError(f"system {s}: {parameter} takes one value; got {values!r}.")

    @property
    def choice_metrics(self) -> list[Metric]:
        return parse_metrics(list(self.choose_by), parse_convention(self.convention))

    @property
    def valid_names(self) -> list[str]:
        """Metrics of every candidate on validation: those of the choice first."""
        default = ("mean_ndcg",) if parse_convention(self.convention).mean_ndcg else ()
        return list(dict.fromkeys([*self.choose_by, *(default if self.watch is None else self.watch)]))

    @property
    def valid_metrics(self) -> list[Metric]:
        return parse_metrics(self.valid_names, parse_convention(self.convention))

    @property
    def metric_names(self) -> list[str]:
        """Reported metrics; those of validation among them."""
        return list(dict.fromkeys([*self.choose_by, *self.metrics, *self.valid_names]))

    @property
    def all_metrics(self) -> list[Metric]:
        return parse_metrics(self.metric_names, parse_convention(self.convention))

    def grid(self, system: str) -> dict[str, Sequence[Any]]:
        return {**find_system(system).grid, **self.grids.get(system, {})}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


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
    known = {f.name for f in fields(ExperimentPlan)}
    unknown = set(content) - known
    if unknown:
        raise DataError(f"{file}: unknown key {min(unknown)!r}; expected {', '.join(sorted(known))}.")
    try:
        datasets = []
        entries = content.pop("datasets", [])
        if not isinstance(entries, list):
            raise DataError("data sets are given as [[datasets]] tables.")
        for entry in entries:
            if not isinstance(entry, dict) or not {"name", "path"} <= set(entry) <= {
                "name",
                "path",
                "missing",
                "scaling",
            }:
                raise DataError(f"a data set has name and path, and optionally missing and scaling; got {entry}.")
            place = os.path.expandvars(os.path.expanduser(str(entry["path"])))
            datasets.append(DatasetPlan(**{**entry, "path": str(file.parent / place)}))
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
        values.setdefault("name", file.stem)
        return ExperimentPlan(tuple(datasets), **values)
    except DataError as error:
        raise DataError(f"{file}: {error}") from error
    except (TypeError, AttributeError) as error:
        raise DataError(f"{file}: a value has the wrong type ({error}).") from error
