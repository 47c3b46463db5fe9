"""Search engines that take weights of features: Solr, the learning-to-rank plugins of Elasticsearch and OpenSearch,
RankLib's text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum, Term, linear_only, zero_only
from sparserank.quoting import brief

MUSTACHE = "mustache"


def solr(of: Sum, options: Options) -> Files:
    """model.json for schema/model-store and, with `features`, features.json for schema/feature-store: {our name:
    {class, params}}."""
    linear_only(of, "Solr's LinearModel")
    zero_only(of, "Solr", filled=options.filled)
    options.refuse("Solr's LinearModel has no constant and no link", "offset", "sigmoid")
    names, weights = [t.name for t in of.terms], _single(of, options.normalizers)
    model: dict[str, Any] = {
        "store": options.name,
        "name": options.name,
        "class": "org.apache.solr.ltr.model.LinearModel",
        "features": [{"name": t.name, **(_solr_norm(t) if options.normalizers else {})} for t in of.terms],
        "params": {"weights": weights},
    }
    files: Files = {"model.json": _json(model)}
    if options.features is not None:
        definitions = [{**_definition(options.features, n, "class"), "store": options.name, "name": n} for n in names]
        files = {"features.json": _json(definitions), **files}
    return files


def _solr_norm(term: Term) -> dict[str, Any]:
    params = {"avg": repr(term.center), "std": repr(term.scale)}
    return {"norm": {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": params}}


def elasticsearch(of: Sum, options: Options) -> Files:
    """model.json for _ltr/_featureset/NAME/_createmodel and, with `features`,
    featureset.json for _ltr/_featureset/NAME: {our name: {params, template}}."""
    linear_only(of, "the plugin's model/linear")
    zero_only(of, "the plugin", filled=options.filled)
    options.refuse("the plugin's model/linear has no constant and no link", "offset", "sigmoid")
    weights = _single(of, options.normalizers)
    model: dict[str, Any] = {"type": "model/linear", "definition": json.dumps(weights)}
    if options.normalizers:
        norms = {t.name: {"standard": {"mean": t.center, "standard_deviation": t.scale}} for t in of.terms}
        model["feature_normalizers"] = norms
    files: Files = {"model.json": _json({"model": {"name": options.name, "model": model}})}
    if options.features is not None:
        entries = []
        for t in of.terms:
            given = _definition(options.features, t.name, "template")
            entries.append({"params": [], "template_language": MUSTACHE, **given, "name": t.name})
        files = {"featureset.json": _json({"featureset": {"features": entries}}), **files}
    return files


def ranklib(of: Sum, options: Options) -> Files:
    """model.txt, features numbered from 1 as in the training data."""
    linear_only(of, "RankLib's text")
    zero_only(of, "RankLib", filled=options.filled)
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
            f"features: the definition of {brief(name)} {what}; give an object with {needed!r} for every selected "
            "feature."
        )
    if needed == "class" and not isinstance(given[needed], str):
        raise DataError(f"features: the class of {brief(name)} must be a text; got {brief(str(given[needed]))}.")
    return given


def _single(of: Sum, normalizers: bool) -> dict[str, float]:
    """Weights that single precision holds: all of them times a power of two, which changes no order, where they do not
    fit as they are.

    Raises
        DataError   they do not fit together
    """
    weights = {t.name: t.coef if normalizers else t.slope for t in of.terms}
    sizes = np.abs(np.array(list(weights.values())))
    factor = 1.0 if _fits(sizes) else 2.0 ** -float(np.frexp(sizes.max())[1])
    norms = [abs(v) for t in of.terms for v in (t.center, t.scale) if v] if normalizers else []
    if not _fits(sizes * factor) or not _fits(np.array(norms)):
        raise DataError(
            "the weights of this model do not fit together into the single precision of the engine; scale the "
            "features, or export to python, sql or onnx."
        )
    return {name: w * factor for name, w in weights.items()}


def _fits(sizes: np.ndarray) -> bool:
    """Whether positive numbers are normal ones of single precision."""
    limits = np.finfo(np.float32)
    return bool(((sizes >= limits.tiny) & (sizes <= limits.max)).all())


def _json(content: Any) -> str:
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=True) + "\n"
