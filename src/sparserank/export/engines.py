"""Search engines that take weights of features: Solr, the learning-to-rank plugins of Elasticsearch and OpenSearch, RankLib's text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sparserank.errors import DataError
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum, Term, linear_only
from sparserank.quoting import brief

MUSTACHE = "mustache"


def solr(of: Sum, options: Options) -> Files:
    """model.json for schema/model-store and, with `features`, features.json for schema/feature-store: {our name: {class, params}}."""
    linear_only(of, "Solr's LinearModel")
    options.refuse("Solr's LinearModel has no constant and no link", "offset", "sigmoid")
    names = [t.name for t in of.terms]
    model: dict[str, Any] = {
        "store": options.name,
        "name": options.name,
        "class": "org.apache.solr.ltr.model.LinearModel",
        "features": [{"name": t.name, **(_solr_norm(t) if options.normalizers else {})} for t in of.terms],
        "params": {"weights": {t.name: t.coef if options.normalizers else t.slope for t in of.terms}},
    }
    files: Files = {"model.json": _json(model)}
    if options.features is not None:
        definitions = [{"store": options.name, "name": n, **_definition(options.features, n, "class")} for n in names]
        files = {"features.json": _json(definitions), **files}
    return files


def _solr_norm(term: Term) -> dict[str, Any]:
    params = {"avg": repr(term.center), "std": repr(term.scale)}
    return {"norm": {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": params}}


def elasticsearch(of: Sum, options: Options) -> Files:
    """model.json for _ltr/_featureset/NAME/_createmodel and, with `features`, featureset.json for _ltr/_featureset/NAME: {our name: {params, template}}."""
    linear_only(of, "the plugin's model/linear")
    options.refuse("the plugin's model/linear has no constant and no link", "offset", "sigmoid")
    weights = {t.name: t.coef if options.normalizers else t.slope for t in of.terms}
    model: dict[str, Any] = {"type": "model/linear", "definition": json.dumps(weights)}
    if options.normalizers:
        norms = {t.name: {"standard": {"mean": t.center, "standard_deviation": t.scale}} for t in of.terms}
        model["feature_normalizers"] = norms
    files: Files = {"model.json": _json({"model": {"name": options.name, "model": model}})}
    if options.features is not None:
        entries = []
        for t in of.terms:
            given = _definition(options.features, t.name, "template")
            entries.append({"name": t.name, "params": [], "template_language": MUSTACHE, **given})
        files = {"featureset.json": _json({"featureset": {"features": entries}}), **files}
    return files


def ranklib(of: Sum, options: Options) -> Files:
    """model.txt, features numbered from 1 as in the training data."""
    linear_only(of, "RankLib's text")
    options.refuse("RankLib's text has no link and no normalisers", "sigmoid", "normalizers", "features")
    weights = " ".join(f"{t.index + 1}:{t.slope!r}" for t in of.terms)
    if options.offset:
        return {"model.txt": f"## Linear Regression\n## Lambda = 1.0E-10\n0:{float(options.offset)!r} {weights}\n"}
    return {"model.txt": f"## Coordinate Ascent\n{weights}\n"}


def _definition(features: Mapping[str, Any], name: str, needed: str) -> Mapping[str, Any]:
    given = features.get(name)
    if not isinstance(given, Mapping) or needed not in given:
        what = "is missing" if name not in features else f"has no {needed!r}"
        raise DataError(
            f"features: the definition of {brief(name)} {what}; give an object with {needed!r} for every selected feature."
        )
    return given


def _json(content: Any) -> str:
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=True) + "\n"
