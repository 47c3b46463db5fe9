"""Solr's learning-to-rank contrib: a LinearModel."""

from __future__ import annotations

from typing import Any

from sparserank.export.linear_weights import definition_of, json_text, single_precision
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum, Term, linear_only, zero_only


def solr(of: Sum, options: Options) -> Files:
    """model.json for schema/model-store and, with `features`, features.json for schema/feature-store: {our name:
    {class, params}}."""
    linear_only(of, "Solr's LinearModel")
    zero_only(of, "Solr", filled=options.filled)
    options.refuse("Solr's LinearModel has no constant and no link", "offset", "sigmoid")
    names, weights = [t.name for t in of.terms], single_precision(of, options.normalizers)
    model: dict[str, Any] = {
        "store": options.name,
        "name": options.name,
        "class": "org.apache.solr.ltr.model.LinearModel",
        "features": [{"name": t.name, **(_solr_norm(t) if options.normalizers else {})} for t in of.terms],
        "params": {"weights": weights},
    }
    files: Files = {"model.json": json_text(model)}
    if options.features is not None:
        definitions = [{**definition_of(options.features, n, "class"), "store": options.name, "name": n} for n in names]
        files = {"features.json": json_text(definitions), **files}
    return files


def _solr_norm(term: Term) -> dict[str, Any]:
    params = {"avg": repr(term.center), "std": repr(term.scale)}
    return {"norm": {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": params}}
