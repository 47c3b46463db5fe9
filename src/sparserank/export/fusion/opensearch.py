"""OpenSearch: a search pipeline that normalises or ranks, and the hybrid query that uses it."""

from __future__ import annotations

from typing import Any

from sparserank.data.fusion.norms import L2, MINMAX, RRF
from sparserank.export.fusion.engine import FusionEngine, as_json, own_query
from sparserank.export.options import Files
from sparserank.model.fusion import FusionFormula

TECHNIQUES = {MINMAX: "min_max", L2: "l2"}
MAX_QUERIES = 5  # clauses of a hybrid query
MAX_RANK_CONSTANT = 10_000


def write(formula: FusionFormula, name: str) -> Files:
    """pipeline.json for `PUT /_search/pipeline/NAME`, and query.json with a placeholder for each query."""
    pipeline = {
        "description": f"{name}: {', '.join(formula.retrievers)}, in this order",
        "phase_results_processors": [_processor(formula)],
    }
    hybrid = {"pagination_depth": formula.depth, "queries": [own_query(term) for term in formula.terms]}
    query = {"query": {"hybrid": hybrid}, "size": formula.depth}
    return {"pipeline.json": as_json(pipeline), "query.json": as_json(query)}


def _processor(formula: FusionFormula) -> dict[str, Any]:
    """The score ranker processor for rrf, and the normalization processor for norms of scores."""
    parameters = {"weights": [term.weight for term in formula.terms]}
    if formula.norm.name == RRF:
        ranked = {"technique": "rrf", "rank_constant": formula.norm.k, "parameters": parameters}
        return {"score-ranker-processor": {"combination": ranked}}
    return {
        "normalization-processor": {
            "normalization": {"technique": TECHNIQUES[formula.norm.name]},
            "combination": {"technique": "arithmetic_mean", "parameters": parameters},
        }
    }


ENGINE = FusionEngine(
    "opensearch",
    "OpenSearch",
    write,
    norms=(MINMAX, L2, RRF),
    rrf_k=(1, MAX_RANK_CONSTANT),
    positive=True,
    of_positive=(MINMAX, L2),
    single=True,
    most=MAX_QUERIES,
)
