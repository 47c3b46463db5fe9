"""OpenSearch: a search pipeline with the normalization processor, and the hybrid query that uses it."""

from __future__ import annotations

import json

from sparserank.data.fusion.norms import L2, MINMAX
from sparserank.export.fusion.engine import FusionEngine
from sparserank.export.options import Files
from sparserank.model.fusion import FusionFormula

TECHNIQUES = {MINMAX: "min_max", L2: "l2"}
MAX_QUERIES = 5  # clauses of a hybrid query


def write(formula: FusionFormula, name: str) -> Files:
    """pipeline.json for `PUT /_search/pipeline/NAME`, and query.json with a placeholder for each query."""
    norm = formula.norm
    processor = {
        "normalization": {"technique": TECHNIQUES[norm.name]},
        "combination": {
            "technique": "arithmetic_mean",
            "parameters": {"weights": [term.weight for term in formula.terms]},
        },
    }
    pipeline = {
        "description": f"{name}: {', '.join(formula.retrievers)}, in this order",
        "phase_results_processors": [{"normalization-processor": processor}],
    }
    queries = [{"REPLACE": f"the query of {term.retriever}"} for term in formula.terms]
    query = {"query": {"hybrid": {"pagination_depth": formula.depth, "queries": queries}}, "size": formula.depth}
    return {
        "pipeline.json": json.dumps(pipeline, indent=2, ensure_ascii=False) + "\n",
        "query.json": json.dumps(query, indent=2, ensure_ascii=False) + "\n",
    }


ENGINE = FusionEngine(
    "opensearch",
    "OpenSearch",
    write,
    norms=(MINMAX, L2),
    positive=True,
    most=MAX_QUERIES,
)
