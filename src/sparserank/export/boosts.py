"""Boosts of the clauses of a search request: Elasticsearch, OpenSearch and Solr without a plugin."""

from __future__ import annotations

from dataclasses import replace

from sparserank.errors import DataError
from sparserank.export.engine import Engine, Files, Options
from sparserank.export.linear_weights import json_text
from sparserank.export.terms import Sum
from sparserank.requests.responses import REST
from sparserank.text import brief
from sparserank.transforms import NONE


def boosts(of: Sum, options: Options) -> Files:
    """Write query.json, the request with new boosts; without a request, boosts.json: {clause: factor of its boost}."""
    options.refuse("a request is a sum of its clauses", "sigmoid", "offset", "normalizers", "features", "filled")
    weights = {t.name: t.slope for t in of.terms}
    for name, weight in weights.items():
        if weight < 0:
            raise DataError(
                f"{brief(name)} has a weight below 0, and a clause cannot lower a score; train with an "
                "engine of boosts, such as engine='elasticsearch-query' (--engine elasticsearch-query)."
            )
    # The part of the score outside named clauses cannot be changed, so it is the unit of the boosts.
    unit = weights.pop(REST, 1.0)
    weights = {name: weight / unit for name, weight in weights.items()}
    if options.query is None:
        return {"boosts.json": json_text(weights)}
    return {"query.json": json_text(options.query.with_boosts(weights))}


ENGINE = Engine("elasticsearch-query", "a request", boosts, transforms=(NONE,), takes_zero=True, boosts=True)
OPENSEARCH = replace(ENGINE, name="opensearch-query")
SOLR = replace(ENGINE, name="solr-query")
