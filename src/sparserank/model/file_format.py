"""The content of a model file: tables of the fields of a model and of its features. Writing and reading follow these
tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sparserank.bins import StepFunction
from sparserank.data.categories import Derived
from sparserank.errors import DataError, ModelFormatError
from sparserank.model.feature import Feature
from sparserank.number_checks import as_real
from sparserank.options import Choice, Count
from sparserank.options.option import REMOVED
from sparserank.options.paths import SCALINGS
from sparserank.strict_json import INTEGER, LIST, MAX_DEPTH, NUMBER, OBJECT, TEXT, Json, Kind, check_text, part, plain
from sparserank.text import brief
from sparserank.transforms import FORMER, KINDS

if TYPE_CHECKING:
    from sparserank.model.ranking_model import RankingModel

FORMAT, FORMAT_OF_SIZES = "sparserank-model", "sparserank-models"
FORMAT_VERSION = 9


class Field(NamedTuple):
    """A field of the file: its type, the first version that has it, and a function that says what is wrong with a value
    ("": nothing)."""

    kind: Kind
    since: int
    problem: Callable[[Any], str] = lambda value: ""


def _not_finite(value: float) -> str:
    return "" if math.isfinite(value) else f"must be a finite number; got {value}"


def _not_positive(value: float) -> str:
    return "" if math.isfinite(value) and value > 0 else f"must be a finite number > 0; got {value}"


def _of_former(transform: str) -> ModelFormatError:
    return ModelFormatError(f"the transform {transform} {REMOVED}; train again with {FORMER[transform]}.")


def _no_transform(kind: str) -> str:
    if kind in FORMER:
        raise _of_former(kind)
    return "" if kind in KINDS else f"must be one of {', '.join(KINDS)}; got {brief(kind)}"


def _no_steps(steps: Json) -> str:
    """Refuse steps that no fit produces: no edges, edges that do not increase, numbers that are not finite, or a number
    of values other than that of the edges plus one."""
    edges = part(steps, "edges", LIST)
    values = part(steps, "values", LIST)
    if not all(type(v) in (int, float) and math.isfinite(as_real(v)) for v in (*edges, *values)):
        return "must contain only finite numbers"
    if len(edges) < 1 or len(values) != len(edges) + 1:
        return f"need at least one edge and one value more than edges; got {len(edges)} edges and {len(values)} values"
    if not all(float(a) < float(b) for a, b in pairwise(edges)) or not math.isfinite(edges[-1] - edges[0]):
        return "must have edges that increase by finite steps"
    return "" if math.isfinite(float(max(values)) - float(min(values))) else "must have values that are less far apart"


# fields of a feature. A file has all fields that a version added, or none of them; it always has those of version 1
FIELDS = {
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


def _wrong_names(names: list[Any]) -> str:
    seen = set()
    for name in names:
        if not isinstance(name, str):
            return f"must be strings; got {brief(name)}"
        check_text(name)
        if name in seen:
            return f"must differ; two are {brief(name)}"
        seen.add(name)
    return ""


def _no_intercept(value: float) -> str:
    return f"must be 0; got {brief(value)}" if value else ""


MODEL = {  # fields of a model
    "n_features_in": Field(INTEGER, 1),
    "scaling": Field(TEXT, 1, Choice(SCALINGS).problem),
    "intercept": Field(NUMBER, 1, _no_intercept),
    "index_base": Field(INTEGER, 7, Count(0, 1).problem),
    "derived": Field(OBJECT, 9),
    "features": Field(LIST, 1),
    "feature_names_in": Field(LIST, 1, _wrong_names),
    "parameters": Field(OBJECT, 1),
    "metadata": Field(OBJECT, 1),
}
DEFAULTS = {"intercept": 0.0, "index_base": 1, "derived": {}}  # values of the fields that a file may omit


def content_of(model: RankingModel) -> Json:
    """Content of the model file; parameters and metadata are reduced to JSON values, see `strict_json.plain`.

    Raises
        DataError   weights, means or scales are not finite, names are not strings or not unique, or the scaling is
                    unknown
    """
    content = {
        "n_features_in": model.n_features,
        "scaling": model.scaling,
        "intercept": 0.0,
        "index_base": model.index_base,
        "derived": {name: {"column": d.source, "level": d.level} for name, d in model.derived.items()},
        "features": model.features,
        "feature_names_in": list(model.feature_names),
        "parameters": plain(model.parameters, MAX_DEPTH - 1),
        "metadata": plain(model.metadata, MAX_DEPTH - 1),
    }
    try:
        checked(MODEL, content)
        content["features"] = list(map(written, model.features))
    except ValueError as error:
        raise DataError(f"the model cannot be saved: {error}.") from error
    entries = {name: v for name, v in content.items() if name == "intercept" or v != DEFAULTS.get(name)}
    versions = [MODEL[name].since for name in entries]
    versions += [FIELDS[name].since for feature in content["features"] for name in feature]
    return {"format": FORMAT, "version": max(versions), **entries}


def fields_of(content: Json) -> Json:
    """The arguments of RankingModel that the content of a file describes.

    Raises
        ValueError   as `checked`; or the file has a field that its version does not support, or that was removed
    """
    version = content["version"]
    values = {}
    for name, field in MODEL.items():
        if name in content or name not in DEFAULTS:
            values[name] = part(content, name, field.kind)
            if field.since > version:
                raise ValueError(f"it has {name!r}, which version {version} does not support")
    checked(MODEL, values)
    names = values["feature_names_in"]
    if values["n_features_in"] != len(names):
        raise ValueError(f"n_features_in is {brief(values['n_features_in'])}, but there are {len(names)} names")
    derived = {}
    known = set(names)
    for name, entry in values.get("derived", {}).items():
        if name not in known or not isinstance(entry, dict):
            raise ValueError(f"derived must have an object for names of features; got {brief(name)}: {brief(entry)}")
        level = None if entry.get("level") is None else part(entry, "level", TEXT)
        derived[name] = Derived(part(entry, "column", TEXT), level)
    return {
        "features": tuple(read(entry, version) for entry in values["features"]),
        "feature_names": tuple(names),
        "scaling": values["scaling"],
        "parameters": values["parameters"],
        "metadata": values["metadata"],
        "index_base": values.get("index_base", 1),
        "derived": derived,
    }


def _together(names: Iterable[str]) -> dict[str, Field]:
    """The fields of FIELDS that a feature in a file must have: if it has one field of a version, all of that
    version."""
    used = {FIELDS[name].since for name in names if name in FIELDS} | {1}
    return {name: field for name, field in FIELDS.items() if field.since in used}


def written(feature: Feature) -> Json:
    """The fields of a feature as the file contains them. The median is written only if it would replace a missing
    value.

    Raises
        ValueError   as `checked`, or the weight is too large for the scale
    """
    values = feature._asdict()
    if feature.steps is not None:
        values["steps"] = {"edges": feature.steps.edges.tolist(), "values": feature.steps.values.tolist()}
    if feature.missing is not None:
        values["median"] = None
    set_fields = [name for name in FIELDS if values[name] != Feature._field_defaults.get(name)]
    return _checked({name: values[name] for name in _together(set_fields)})


def read(entry: Any, version: int) -> Feature:
    """Make a Feature from its entry in a file of this version.

    Raises
        ValueError   as `checked`; or the entry has a field that its version does not support, or that was removed
    """
    if not isinstance(entry, dict):
        raise ValueError(f"each of the features must be an object; got {brief(entry)}")
    name = brief(part(entry, "name", TEXT))
    if "curve" in entry:
        raise _of_former("curves")
    fields = _together(entry)
    for key, field in fields.items():
        if field.since > version:
            raise ValueError(f"feature {name} has {key!r}, which version {version} does not support")
    values = _checked({key: part(entry, key, field.kind) for key, field in fields.items()})
    values |= {key: float(value) for key, value in values.items() if fields[key].kind == NUMBER}
    if "steps" in values:
        edges, heights = (np.array(values["steps"][key], dtype=np.float64) for key in ("edges", "values"))
        values["steps"] = StepFunction(edges, heights)
    return Feature(**values)


def _checked(content: Json) -> Json:
    """The values of a feature; raises ValueError unless a fit can produce them."""
    feature = f"feature {brief(content['name'])}: "
    checked(FIELDS, content, feature)
    if not math.isfinite(content["coef"] / content["scale"]):
        raise ValueError(f"{feature}the weight {content['coef']} is too large for its scale {content['scale']}")
    return content


def checked(fields: dict[str, Field], content: Json, place: str = "") -> None:
    """Raise ValueError for a value that no fit produces."""
    for name, value in content.items():
        problem = fields[name].problem(value)
        if problem:
            raise ValueError(f"{place}{name} {problem.removesuffix('.')}")
