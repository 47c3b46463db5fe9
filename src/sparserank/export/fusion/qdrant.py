"""Qdrant: a query with a prefetch for each retriever, fused by its weighted RRF.

The RRF of Qdrant is the sum over prefetches of 1 / (rank / weight + k - 1), so a weight also changes how fast the value
falls with the rank. With k = 1 it is the sum of weight / rank: the only constant for which weights are those of a
weighted sum.
"""

from __future__ import annotations

from sparserank.data.fusion.norms import RRF
from sparserank.export.fusion.engine import FusionEngine, as_json, own_query
from sparserank.export.options import Files
from sparserank.model.fusion import FusionFormula


def write(formula: FusionFormula, name: str) -> Files:
    """query.json for `POST /collections/NAME/points/query`, with a placeholder for each retriever's own query."""
    prefetch = [{"query": own_query(term), "limit": formula.depth} for term in formula.terms]
    rrf = {"k": formula.norm.k + 1, "weights": [term.weight for term in formula.terms]}
    body = {"prefetch": prefetch, "query": {"rrf": rrf}, "limit": formula.depth}
    return {"query.json": as_json(body)}


ENGINE = FusionEngine("qdrant", "Qdrant", write, norms=(RRF,), rrf_k=(0, 0), positive=True, single=True)
