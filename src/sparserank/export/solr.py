"""The learning-to-rank module of Solr: a LinearModel, with function queries for transformed features."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from sparserank.errors import DataError, ParameterError
from sparserank.export.engine import Engine, Files, NeedsDefinitions, Options
from sparserank.export.expression import IDENTIFIER, Dialect, shape
from sparserank.export.linear_weights import Names, definition_of, json_text, single_precision
from sparserank.export.terms import Sum, shown
from sparserank.model.feature import Feature
from sparserank.options import option
from sparserank.strict_json import Json
from sparserank.text import brief
from sparserank.transforms import NONE

PACKAGE = "org.apache.solr.ltr.feature."
FIELD = "FieldValueFeature"
QUERY = "SolrFeature"
SMALL = "0.01"  # below this, ln(1 + x) in single precision loses digits that the series keeps


@dataclass(frozen=True)
class Source:
    """A feature as a function query.

    header   header of the query that contains the function; value: the function
    signed   whether it can be negative
    filters  filters of the feature, unchanged
    """

    header: str
    value: str
    signed: bool
    filters: Any = None


def source_of(name: str, definition: Mapping[str, Any]) -> Source:
    """The function query whose value is the feature of the store.

    Raises
        ParameterError   its class has no such function, or a parameter is missing
    """
    kind = definition["class"].removeprefix(PACKAGE)
    params = definition.get("params")
    params = params if isinstance(params, Mapping) else {}
    default = _number(name, params.get("defaultValue", 0.0))
    if kind == FIELD:
        field = _text(name, params.get("field"), "field")
        plain = field if IDENTIFIER.fullmatch(field) else quoted(field)
        return Source("{!func}", f"def(field({plain}),{default})", True)
    if kind != QUERY:
        raise ParameterError(
            "features",
            f"Feature {brief(name)} is a {brief(kind)}, whose logarithm Solr cannot compute. Define it as a {FIELD} "
            f"or a {QUERY}, or leave it out of the model.",
        )
    query = _text(name, params.get("q"), "q")
    filters = params.get("fq")
    if filters and float(default):
        raise ParameterError(
            "features", f"Feature {brief(name)} has both fq and a defaultValue. Put the filter into q."
        )
    return Source(f"{{!func x={quoted(query)}}}", f"def(query($x,{default}),{default})", float(default) < 0, filters)


def quoted(text: str) -> str:
    """The text in quotes, as local parameters and functions require."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class _Solr(Dialect):
    """Function queries of values >= 0."""

    engine = "Solr"
    if_else = "if({0},{1},{2})"

    def log(self, x: str, fine: bool) -> str:
        whole = f"ln(sum(1,{x}))"
        series = f"product({x},sub(1,product({x},sub(0.5,div({x},3)))))"
        return self.case(f"lt({x},{SMALL})", series, whole) if fine else whole

    def asinh(self, x: str, c: float, fine: bool) -> str:
        z = f"div({x},{c!r})"
        whole = f"ln(sum({z},hypot({z},1)))"
        return self.case(f"lt({z},{SMALL})", f"product({z},sub(1,div(product({z},{z}),6)))", whole) if fine else whole


def _number(name: str, value: Any) -> str:
    try:
        number = float(value) if isinstance(value, str | Real) and not isinstance(value, bool) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(
            "features", f"The defaultValue of {brief(name)} must be a number; got {brief(str(value))}."
        )
    return "0" if number == 0 else repr(number)


def _text(name: str, value: Any, key: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(
            "features", f"The params of {brief(name)} need {key!r} as a string; got {brief(str(value))}."
        )
    if key == "field" and "${" in value:
        raise ParameterError("features", f"The field of {brief(name)} cannot contain '${{'; got {brief(value)}.")
    return value


def solr(of: Sum, options: Options) -> Files:
    """Write model.json for schema/model-store and, with `features`, features.json for schema/feature-store: {feature
    name: {class, params}}.

    A transform is a separate feature, a function of the feature's field or query; it needs `features`.
    Function queries are never negative, so values below 0 become a second feature with the opposite weight.
    """
    options.refuse(
        "Solr's LinearModel has no constant and no link function, and accepts negative scores", "offset", "sigmoid"
    )
    names = Names(t.name for t in of.terms)
    definitions: list[Json] = []
    entries: list[Json] = []
    weights: dict[str, float] = {}
    for t in of.terms:
        if t.kind == NONE:
            definitions += definitions_for(t, options)
            entry: Json = {"name": t.name}
            if options.normalizers:
                params = {"avg": repr(t.mean), "std": repr(t.scale)}
                entry["norm"] = {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": params}
            entries.append(entry)
            weights[t.name] = t.coef if options.normalizers else t.slope
            continue
        for definition, weight in _derived(t, names, options):
            definitions.append(definition)
            entries.append({"name": definition["name"]})
            weights[definition["name"]] = weight
    normalised = [t for t in of.terms if t.kind == NONE and options.normalizers]
    model: Json = {
        "store": options.name,
        "name": options.name,
        "class": "org.apache.solr.ltr.model.LinearModel",
        "features": entries,
        "params": {"weights": single_precision(weights, normalised)},
    }
    files: Files = {} if options.features is None else {"features.json": json_text(definitions)}
    return {**files, "model.json": json_text(model)}


def definitions_for(term: Feature, options: Options) -> list[Json]:
    """The definition of a feature, in a list; the list is empty if the user passed no definitions."""
    if options.features is None:
        return []
    return [{**definition_of(options.features, term, "class", _of_field), "store": options.name, "name": term.name}]


def _of_field(field: str, level: str | None) -> Json:
    """The definition of a feature that is 1 where a field has a level, or no value, else 0."""
    if "${" in (level or ""):
        raise DataError(
            f"the level {brief(level or '')} cannot be in a query; define its feature in {option('features')}."
        )
    value = f"field({quoted(field)})"
    if level:
        text = quoted("{!field f=" + quoted(field) + "}" + level)
        q = f"{{!func x={text}}}if(exists(query($x)),1,0)"
    else:
        known = f"exists({value})"
        if level is not None:  # an empty text counts as missing, too
            known = f'and({known},not(eq({value},literal(""))))'
        q = f"{{!func}}if({known},0,1)"
    return {"class": PACKAGE + QUERY, "params": {"q": q}}


def _derived(term: Feature, names: Names, options: Options) -> list[tuple[Json, float]]:
    """(definition, weight) of the features that together express a term other than a weighted raw feature."""
    if options.features is None:
        raise NeedsDefinitions(
            f"Solr needs the definition of {brief(term.name)} to express {shown(term)}. Define every selected feature "
            f"in {option('features')}: "
            '{"feature name": {"class": "...", "params": {...}}, ...}.'
        )
    source = source_of(term.name, definition_of(options.features, term, "class", _of_field))
    # One or two features whose weighted sum is the term without its constant. No function is negative: the first
    # transforms positive values, the second negative ones, if there can be any.
    parts = [("", f"max({source.value},0)", term.slope)]
    if source.signed:
        parts.append(("negative_", f"max(sub(0,{source.value}),0)", -term.slope))
    out = []
    for prefix, x, weight in parts:
        name = names.derived(term, prefix + term.name)
        params = {"q": source.header + shape(term, _Solr(), x)}
        if source.filters:
            params["fq"] = source.filters
        out.append(({"store": options.name, "name": name, "class": PACKAGE + QUERY, "params": params}, weight))
    return out


ENGINE = Engine("solr", "Solr", solr, takes_zero=True, trees="solr-trees", defined=True)
