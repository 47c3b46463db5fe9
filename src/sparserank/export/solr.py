"""Solr's learning-to-rank module: a LinearModel, with function queries for transformed features."""

from __future__ import annotations

from typing import Any

from sparserank.errors import DataError
from sparserank.export.engine import Engine, Files, Options
from sparserank.export.linear_weights import Names, definition_of, json_text, single_precision
from sparserank.export.solr_functions import PACKAGE, QUERY, functions, source_of
from sparserank.export.terms import Sum, Term
from sparserank.options import option
from sparserank.text import brief


def solr(of: Sum, options: Options) -> Files:
    """Write model.json for schema/model-store and, with `features`, features.json for schema/feature-store: {feature
    name: {class, params}}.

    A transform or curve is a separate feature, a function of the feature's field or query; it needs `features`.
    Function queries are never negative, so values below 0 become a second feature with the opposite weight.
    """
    options.refuse(
        "Solr's LinearModel has no constant and no link function, and accepts negative scores", "offset", "sigmoid"
    )
    names = Names(of)
    definitions: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    weights: dict[str, float] = {}
    for t in of.terms:
        if t.is_linear:
            definitions += _given(t, options)
            entries.append({"name": t.name, **(_solr_norm(t) if options.normalizers else {})})
            weights[t.name] = t.coef if options.normalizers else t.slope
            continue
        for definition, weight in _derived(t, names, options):
            definitions.append(definition)
            entries.append({"name": definition["name"]})
            weights[definition["name"]] = weight
    numbers = [v for t in of.terms if t.is_linear for v in (t.center, t.scale)] if options.normalizers else []
    model: dict[str, Any] = {
        "store": options.name,
        "name": options.name,
        "class": "org.apache.solr.ltr.model.LinearModel",
        "features": entries,
        "params": {"weights": single_precision(weights, numbers)},
    }
    files: Files = {} if options.features is None else {"features.json": json_text(definitions)}
    return {**files, "model.json": json_text(model)}


def _given(term: Term, options: Options) -> list[dict[str, Any]]:
    if options.features is None:
        return []
    return [{**definition_of(options.features, term.name, "class"), "store": options.name, "name": term.name}]


def _derived(term: Term, names: Names, options: Options) -> list[tuple[dict[str, Any], float]]:
    """(definition, weight) of the features that together express a term that is not a weight of the raw feature."""
    if options.features is None:
        raise DataError(
            f"Solr needs the definition of {brief(term.name)} to express {term.shown}. Define every selected feature "
            f"in {option('features')}: "
            '{"feature name": {"class": "...", "params": {...}}, ...}.'
        )
    source = source_of(term.name, definition_of(options.features, term.name, "class"))
    out: list[tuple[dict[str, Any], float]] = []
    for function, weight in functions(term, source):
        name = names.derived(term, f"{'negative_' if out else ''}{term.name}")
        params = {"q": source.header + function, **({"fq": source.filters} if source.filters else {})}
        out.append(({"store": options.name, "name": name, "class": PACKAGE + QUERY, "params": params}, weight))
    return out


def _solr_norm(term: Term) -> dict[str, Any]:
    params = {"avg": repr(term.center), "std": repr(term.scale)}
    return {"norm": {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": params}}


ENGINE = Engine("solr", "Solr", solr, takes_zero=True)
