"""Elasticsearch: the `linear` and the weighted `rrf` retriever."""

from __future__ import annotations

from typing import Any

from sparserank.data.fusion.norms import L2, MINMAX, RRF
from sparserank.export.fusion.engine import LARGEST_K, FusionEngine, as_json, own_query
from sparserank.export.options import Files
from sparserank.model.fusion import FusionFormula

NORMALIZERS = {MINMAX: "minmax", L2: "l2_norm"}


def write(formula: FusionFormula, name: str) -> Files:
    """The body of a search request, with a placeholder for each retriever's own body."""
    norm = formula.norm
    retrievers: list[dict[str, Any]] = []
    for term in formula.terms:
        own: dict[str, Any] = {"retriever": {"standard": {"query": own_query(term)}}}
        if norm.name != RRF:
            own["normalizer"] = NORMALIZERS[norm.name]
        retrievers.append({**own, "weight": term.weight})
    kind: dict[str, Any] = {"retrievers": retrievers, "rank_window_size": formula.depth}
    if norm.name == RRF:
        kind["rank_constant"] = norm.k
    body = {"retriever": {"rrf" if norm.name == RRF else "linear": kind}, "size": formula.depth}
    return {"retriever.json": as_json(body)}


ENGINE = FusionEngine(
    "elasticsearch",
    "Elasticsearch",
    write,
    norms=(MINMAX, L2, RRF),
    rrf_k=(1, LARGEST_K),
    positive=True,
    of_positive=(MINMAX, L2),
    single=True,
)
