"""The learning-to-rank plugins of Elasticsearch and OpenSearch: a model/linear."""

from __future__ import annotations

import json
from typing import Any

from sparserank.export.linear_weights import definition_of, json_text, single_precision
from sparserank.export.options import Files, Options
from sparserank.export.terms import Sum, linear_only, zero_only

MUSTACHE = "mustache"


def elasticsearch(of: Sum, options: Options) -> Files:
    """model.json for _ltr/_featureset/NAME/_createmodel and, with `features`,
    featureset.json for _ltr/_featureset/NAME: {our name: {params, template}}."""
    linear_only(of, "the plugin's model/linear")
    zero_only(of, "the plugin", filled=options.filled)
    options.refuse("the plugin's model/linear has no constant and no link", "offset", "sigmoid")
    weights = single_precision(of, options.normalizers)
    model: dict[str, Any] = {"type": "model/linear", "definition": json.dumps(weights)}
    if options.normalizers:
        norms = {t.name: {"standard": {"mean": t.center, "standard_deviation": t.scale}} for t in of.terms}
        model["feature_normalizers"] = norms
    files: Files = {"model.json": json_text({"model": {"name": options.name, "model": model}})}
    if options.features is not None:
        entries = []
        for t in of.terms:
            given = definition_of(options.features, t.name, "template")
            entries.append({"params": [], "template_language": MUSTACHE, **given, "name": t.name})
        files = {"featureset.json": json_text({"featureset": {"features": entries}}), **files}
    return files
