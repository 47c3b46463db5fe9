"""A feature of a model: one record, in memory and in the model file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sparserank.bins import StepFunction
from sparserank.data.derived import Derived
from sparserank.data.filling import fill_known
from sparserank.number_checks import as_real
from sparserank.shards.scaling import FeatureScaling
from sparserank.strict_json import INTEGER, LIST, NUMBER, OBJECT, TEXT, Kind, part
from sparserank.text import brief
from sparserank.transforms import KINDS, NONE, REMOVED, STEPS, Transform, removed


class Feature(NamedTuple):
    """A selected feature, which contributes coef * (t(x) - mean) / scale to a score.

    Parameters
    ----------
    index : int
        Its number among all features, from 0.
    name : str
        Its name among all features.
    coef, mean, scale : float
        Weight, and what is subtracted from t(x) and divides it.
    transform : str
        The kind of t: 'none', 'log' (sign(x) log(1 + |x|)) or 'asinh' (asinh(x / constant)).
    constant : float
        The constant of the transform, 1 where none is needed.
    steps : StepFunction, optional
        Is t; the transform is then 'none'.
    missing, median : float, optional
        Replacement for a missing x (NaN, infinite or 1.797e308), None: a missing value is rejected; and the median of
        the training values, None: unknown.
    derived : Derived, optional
        The column of a table, and its level, that x is made from: 1 where the column has the level, or is missing, else
        0. None: x is a number.
    """

    index: int  # type: ignore[assignment]  # hides a method of tuples
    name: str
    coef: float
    mean: float = 0.0
    scale: float = 1.0
    transform: str = NONE
    constant: float = 1.0
    steps: StepFunction | None = None
    missing: float | None = None
    median: float | None = None
    derived: Derived | None = None

    @property
    def source(self) -> str:
        """The column of a table: its own name, or the column that it is made from."""
        return self.name if self.derived is None else self.derived.source

    @property
    def level(self) -> str:
        """The level of a category where x is 1, 'missing' where that is a missing value; "" for a number."""
        return "" if self.derived is None else self.derived.level or "missing"

    @property
    def kind(self) -> str:
        """The kind of t: 'none', 'log', 'asinh' or 'steps'."""
        return self.transform if self.steps is None else STEPS

    @property
    def slope(self) -> float:
        """The weight of t(x), which is not scaled."""
        return self.coef / self.scale

    @property
    def heights(self) -> StepFunction | None:
        """The contribution to a score as steps, but for a constant; None without steps."""
        return None if self.steps is None else self.steps.times(self.slope)


@dataclass(frozen=True, eq=False)
class Shaping:
    """Transforms, steps and scaling of the columns of some features: their weights apply to the result. fills: the
    replacements for missing values, NaN where there is none."""

    transform: Transform
    steps: dict[int, StepFunction]
    scaling: FeatureScaling
    fills: np.ndarray

    @classmethod
    def of(cls, features: Sequence[Feature], method: str) -> Shaping:
        """method: of the scaling"""
        transform = Transform(tuple(f.transform for f in features), numbers(features, "constant"))
        steps = {k: f.steps for k, f in enumerate(features) if f.steps is not None}
        scaling = FeatureScaling(method, numbers(features, "mean"), numbers(features, "scale"))
        return cls(transform, steps, scaling, numbers(features, "missing"))

    def filled(self, columns: np.ndarray) -> np.ndarray:
        """The columns (n_docs, n_features) of the features, with missing values replaced if there is a replacement."""
        return columns if np.isnan(self.fills).all() else fill_known(columns, self.fills)

    def __call__(self, columns: np.ndarray, query_ptr: np.ndarray | None) -> np.ndarray:
        """The columns (n_docs, n_features) of the features, shaped; only scaling per query needs `query_ptr`."""
        shaped = self.transform(columns)
        if self.steps:
            shaped = shaped.copy()
        for k, steps in self.steps.items():
            shaped[:, k] = steps(shaped[:, k])
        return np.asarray(self.scaling.transform(shaped, query_ptr))


def numbers(features: Sequence[Feature], field: str) -> np.ndarray:
    """(n_features,) a field of each, NaN for None."""
    return np.array([getattr(f, field) for f in features], dtype=np.float64)


# -- in the file -------------------------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A field in the file: its kind, the first version that has it, and what is wrong with a value ("": nothing)."""

    kind: Kind
    since: int
    problem: Callable[[Any], str] = lambda value: ""


def _not_finite(value: float) -> str:
    return "" if math.isfinite(value) else f"must be a finite number; got {value}"


def _not_positive(value: float) -> str:
    return "" if math.isfinite(value) and value > 0 else f"must be a finite number > 0; got {value}"


def _no_transform(kind: str) -> str:
    if kind in REMOVED:
        raise ValueError(removed(kind).rstrip("."))
    return "" if kind in KINDS else f"must be one of {', '.join(KINDS)}; got {brief(kind)}"


def _no_steps(steps: dict[str, Any]) -> str:
    """Refuse steps that no fit produces: no edge, edges that do not rise, numbers that are not finite, or not one value
    more than edges."""
    edges = part(steps, "edges", LIST)
    values = part(steps, "values", LIST)
    if not all(type(v) in (int, float) and math.isfinite(as_real(v)) for v in (*edges, *values)):
        return "must contain only finite numbers"
    if len(edges) < 1 or len(values) != len(edges) + 1:
        return f"need at least one edge and one value more than edges; got {len(edges)} edges and {len(values)} values"
    if not all(float(a) < float(b) for a, b in pairwise(edges)) or not math.isfinite(edges[-1] - edges[0]):
        return "must have edges that increase by finite steps"
    return "" if math.isfinite(float(max(values)) - float(min(values))) else "must have values that are less far apart"


FIELDS = {  # a file has all fields of one version, or none; those of version 1 always
    "index": Field(INTEGER, 1),
    "name": Field(TEXT, 1),
    "coef": Field(NUMBER, 1, _not_finite),
    "mean": Field(NUMBER, 1, _not_finite),
    "scale": Field(NUMBER, 1, _not_positive),
    "transform": Field(TEXT, 2, _no_transform),
    "constant": Field(NUMBER, 2, _not_positive),
    "steps": Field(OBJECT, 8, _no_steps),
    "missing": Field(NUMBER, 4, _not_finite),
    "median": Field(NUMBER, 5, _not_finite),
}


def _together(names: Iterable[str]) -> dict[str, Field]:
    """The fields of a file that has these: with one, all of its version."""
    used = {FIELDS[name].since for name in names if name in FIELDS} | {1}
    return {name: field for name, field in FIELDS.items() if field.since in used}


def version_of(content: dict[str, Any]) -> int:
    """The first version of the file that has all fields of a feature."""
    return max(FIELDS[field].since for field in content)


def written(feature: Feature) -> dict[str, Any]:
    """The content of the file for a feature; the median only if it would replace a missing value.

    Raises
        ValueError   as `checked`
    """
    values = feature._asdict()
    if feature.steps is not None:
        values["steps"] = {"edges": feature.steps.edges.tolist(), "values": feature.steps.values.tolist()}
    if feature.missing is not None:
        values["median"] = None
    told = [name for name in FIELDS if values[name] != Feature._field_defaults.get(name)]
    return checked({name: values[name] for name in _together(told)})


def read(given: Any, version: int) -> Feature:
    """The feature of what a file of this version has for it.

    Raises
        ValueError   as `checked`; or it has what its version does not support, or what is no longer supported
    """
    if not isinstance(given, dict):
        raise ValueError(f"each of the features must be an object; got {brief(given)}")
    name = brief(part(given, "name", TEXT))
    if "curve" in given:
        raise ValueError(
            f"feature {name} has a curve, and models of curves were removed (sparserank 0.3.0 is the last with them)"
        )
    fields = _together(given)
    early = next((key for key, field in fields.items() if field.since > version), None)
    if early is not None:
        raise ValueError(f"feature {name} has {early!r}, which version {version} does not support")
    values = checked({key: part(given, key, field.kind) for key, field in fields.items()})
    values |= {key: float(value) for key, value in values.items() if fields[key].kind == NUMBER}
    if "steps" in values:
        edges, heights = (np.array(values["steps"][key], dtype=np.float64) for key in ("edges", "values"))
        values["steps"] = StepFunction(edges, heights)
    return Feature(**values)


def checked(content: dict[str, Any]) -> dict[str, Any]:
    """The content of the file for a feature.

    Raises
        ValueError   it has values that no fit produces
    """
    feature = f"feature {brief(content['name'])}"
    for name, value in content.items():
        problem = FIELDS[name].problem(value)
        if problem:
            raise ValueError(f"{feature}: {name} {problem}")
    if not math.isfinite(content["coef"] / content["scale"]):
        raise ValueError(f"{feature}: the weight {content['coef']} is too large for its scale {content['scale']}")
    return content
