"""Plan of an experiment."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from reproduction.systems import COMPARED, find_system
from sparserank.data.missing import MissingPolicy
from sparserank.errors import DataError
from sparserank.files import read_bounded
from sparserank.metrics import Convention, Metric, parse_convention, parse_metric, parse_metrics
from sparserank.options.paths import SCALINGS
from sparserank.text import brief

CHOOSE_BY = ("map", "ndcg@10")
METRICS = ("map", *(f"ndcg@{n}" for n in range(1, 11)), "p@10")
MAX_SIZE = 15
BOUNDS = {"max_size": 10_000, "seed": 2**63 - 1}  # a curve of sizes needs no more points; a seed fits into 64 bits
FOLDS = range(1, 6)
MAX_BYTES = 16 << 20  # of a plan file
MAX_WORDS = 200  # of a message that is not ours
MAY_BE_ZERO = ("lambda1", "lambda2", "c")


@dataclass(frozen=True)
class DatasetPlan:
    """A data set in LETOR layout; `missing` and `scaling` as in `read` and `fit_scaling`."""

    name: str
    path: str
    missing: str | None = None
    scaling: str = "none"

    def __post_init__(self) -> None:
        if not all(isinstance(text, str) and text and "\0" not in text for text in (self.name, self.path)):
            raise DataError(
                f"a data set's name and path must be strings; got {brief(self.name)} and {brief(self.path)}."
            )
        if self.scaling not in SCALINGS:
            raise DataError(
                f"data set {brief(self.name)}: scaling must be one of {', '.join(SCALINGS)}; got {brief(self.scaling)}."
            )
        if not isinstance(self.missing, str | None):
            raise DataError(
                f"data set {brief(self.name)}: missing must be a string such as 'zero' or '0.5'; got "
                f"{brief(self.missing)}."
            )
        try:
            MissingPolicy.parse(self.missing)
        except DataError as error:
            raise DataError(f"data set {brief(self.name)}: {error}") from error


@dataclass(frozen=True)
class ExperimentPlan:
    """Data sets, systems with their grids, and the choice of a model on validation; no name is repeated.

    Metrics are kept in one spelling: 'ndcg@10' for 'NDCG@10', and for 'letor4:ndcg@10' if letor4 is the convention.

    choose_by   metrics, each of which makes a separate choice per fold (ties: the first in the grid's order)
    watch       further metrics, computed for every candidate on validation, for curves; default mean_ndcg if the
                convention has it
    metrics     metrics reported on the test queries; choose_by and watch are included
    convention  metric convention. letor4 and letor3 keep file order at ties, also in the choice, as the published
                tables do
    max_size    for each k up to this, the best validated model with at most k features is also tested; at most 10,000
    folds       numbers 1..5; default all
    grids       {system: {parameter: values}} instead of the system's own
    seed        0..2^63 - 1

    Raises
        DataError   a value of the wrong type or out of range, or something named twice; the message names the field
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
        self._check_types()
        if not self.datasets:
            raise DataError("the plan names no data set; add [[datasets]] with a name and a path.")
        if not self.systems or not self.choose_by:
            raise DataError("the plan needs at least one system and one metric in choose_by.")
        rules = parse_convention(self.convention)
        for name in ("choose_by", "watch", "metrics"):
            if getattr(self, name) is not None:
                spelled = tuple(_spelled(parse_metric(m, rules), rules) for m in getattr(self, name))
                object.__setattr__(self, name, spelled)
                _refuse_twice(f"{name} names", spelled)
        _refuse_twice("folds names", self.folds)
        _refuse_twice("the plan names the data set", [d.name for d in self.datasets])
        _refuse_twice("the plan names the system", self.systems)
        for s in self.systems:
            find_system(s)
        self._check_grids()
        for m in self.choice_metrics:
            if not m.higher_is_better:
                raise DataError(f"choose_by must be a metric for which higher is better; got {m!r}.")
        self.valid_metrics  # noqa: B018 (mean_ndcg, which is watched by default, may not fit the convention)

    def _check_types(self) -> None:
        for name, most in BOUNDS.items():
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= most:
                raise DataError(f"{name} must be an integer from 0 to {most}; got {brief(value)}.")
        for name in ("name", "convention"):
            if not isinstance(getattr(self, name), str):
                raise DataError(f"{name} must be a string; got {brief(getattr(self, name))}.")
        lists: dict[str, type] = {"systems": str, "choose_by": str, "watch": str, "metrics": str, "folds": int}
        for name, kind in {"datasets": DatasetPlan, **lists}.items():
            values = getattr(self, name)
            if name == "watch" and values is None:
                continue
            if not (isinstance(values, tuple) and all(isinstance(v, kind) for v in values)):
                raise DataError(f"{name} must be a list of {kind.__name__} values; got {brief(values)}.")
        for fold in self.folds:
            if isinstance(fold, bool) or fold not in FOLDS:
                raise DataError(f"folds must contain fold numbers from {FOLDS[0]} to {FOLDS[-1]}; got {brief(fold)}.")

    def _check_grids(self) -> None:
        if not isinstance(self.grids, Mapping) or not all(isinstance(g, Mapping) for g in self.grids.values()):
            raise DataError(f"grids must contain tables of lists by system; got {brief(self.grids)}.")
        for s, grid in self.grids.items():
            system = find_system(s)
            for parameter, values in grid.items():
                if parameter not in system.grid:
                    known = ", ".join(system.grid) or "none"
                    raise DataError(f"system {s} has no parameter {brief(parameter)}; it has {known}.")
                where = f"system {s}: {parameter}"
                if not isinstance(values, list | tuple) or not values:
                    raise DataError(f"{where} must be a list of values; got {brief(values)}.")
                kind, belongs = _kind_of(system.grid[parameter][0])
                if not all(map(belongs, values)):
                    raise DataError(f"{where} must contain {kind}; got {brief(values)}.")
                least = 0.0 if parameter in MAY_BE_ZERO else None
                if kind != NAMES and not all(v > 0 or v == least for v in values):
                    raise DataError(f"{where} must be {'>=' if least == 0 else '>'} 0; got {brief(values)}.")
                _refuse_twice(f"{where} names", values)
                if parameter in system.single and len(values) > 1:
                    raise DataError(f"{where} takes one value; got {brief(values)}.")

    @property
    def choice_metrics(self) -> list[Metric]:
        return parse_metrics(list(self.choose_by), parse_convention(self.convention))

    @property
    def valid_names(self) -> list[str]:
        """Metrics computed for every candidate on validation; those of the choice come first."""
        default = ("mean_ndcg",) if parse_convention(self.convention).mean_ndcg else ()
        return list(dict.fromkeys([*self.choose_by, *(default if self.watch is None else self.watch)]))

    @property
    def valid_metrics(self) -> list[Metric]:
        return parse_metrics(self.valid_names, parse_convention(self.convention))

    @property
    def metric_names(self) -> list[str]:
        """Reported metrics, including those of validation."""
        return list(dict.fromkeys([*self.choose_by, *self.metrics, *self.valid_names]))

    @property
    def all_metrics(self) -> list[Metric]:
        return parse_metrics(self.metric_names, parse_convention(self.convention))

    def grid(self, system: str) -> dict[str, Sequence[Any]]:
        return {**find_system(system).grid, **self.grids.get(system, {})}


NAMES = "names"


def _kind_of(default: Any) -> tuple[str, Callable[[Any], bool]]:
    """(description, test) of the values that a parameter with this default accepts."""
    if isinstance(default, str):
        return NAMES, lambda v: isinstance(v, str)
    if isinstance(default, int):
        return "integers", lambda v: type(v) is int and abs(v) < 2**63
    return "finite numbers", lambda v: type(v) in (int, float) and abs(v) <= sys.float_info.max


def _spelled(metric: Metric, rules: Convention) -> str:
    """The metric's name if `rules` is the convention of names without a prefix."""
    if metric.convention == rules:
        return repr(replace(metric, convention=parse_convention("default")))
    name = repr(metric)
    return name if ":" in name else f"default:{name}"


def _refuse_twice(what: str, values: Sequence[Any]) -> None:
    seen = set()
    for v in values:
        if v in seen:
            raise DataError(f"{what} {brief(v)} twice.")
        seen.add(v)


def read_plan(path: str | os.PathLike) -> ExperimentPlan:
    """Read a plan from a TOML file; `$NAME` in paths is replaced from the environment.

    Raises
        DataError   the file cannot be read, or contains an unknown key or a wrong value
    """
    file = Path(path)
    try:
        content = tomllib.loads(read_bounded(file, MAX_BYTES).decode("utf-8"))
    except RecursionError:
        raise DataError(f"{file}: cannot be read as TOML (nested too deep).") from None
    except (OSError, ValueError) as error:  # ValueError: no TOML, no UTF-8, an integer of too many digits
        why = error.strerror if isinstance(error, OSError) else str(error).partition(";")[0][:MAX_WORDS]
        raise DataError(f"{file}: cannot be read as TOML ({why}).") from error
    known = {f.name for f in fields(ExperimentPlan)}
    unknown = set(content) - known
    if unknown:
        raise DataError(f"{file}: unknown key {brief(min(unknown))}; expected {', '.join(sorted(known))}.")
    try:
        entries = content.pop("datasets", [])
        if not isinstance(entries, list):
            raise DataError("data sets must be [[datasets]] tables.")
        datasets = tuple(_read_dataset(entry, file.parent) for entry in entries)
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in content.items()}
        values.setdefault("name", file.stem)
        return ExperimentPlan(datasets, **values)
    except DataError as error:
        raise DataError(f"{file}: {error}") from error


def _read_dataset(entry: Any, folder: Path) -> DatasetPlan:
    if not isinstance(entry, dict) or not {"name", "path"} <= set(entry) <= {f.name for f in fields(DatasetPlan)}:
        raise DataError(
            f"a data set must have a name and a path, and optionally missing and scaling; got {brief(entry)}."
        )
    dataset = DatasetPlan(**entry)
    return replace(dataset, path=str(folder / os.path.expandvars(os.path.expanduser(dataset.path))))
