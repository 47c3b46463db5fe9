"""Exported formulas, run by ranx and by Qdrant's client, which computes in memory what the server does."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import numpy as np
import pytest
import ranx
from integrations.matrix import ran
from qdrant_client import QdrantClient, models

from sparserank.data.fusion.norms import parse_norm
from sparserank.export.fusion import export_fusion
from sparserank.model.fusion import FusionFormula, FusionTerm

N_QUERIES, N_DOCUMENTS, DEPTH = 50, 30, 8
WEIGHTS = {"bm25": 0.6, "dense": 0.4}


def made() -> dict[str, dict[str, dict[str, float]]]:
    """{retriever: {query: {document: score}}} of distinct scores; a tenth of the lists are of one document."""
    rng = np.random.default_rng(0)
    runs: dict[str, dict[str, dict[str, float]]] = {name: {} for name in WEIGHTS}
    for q in range(N_QUERIES):
        for name in WEIGHTS:
            n = 1 if rng.random() < 0.1 else int(rng.integers(2, DEPTH + 1))
            runs[name][f"q{q}"] = {f"d{i}": float(rng.gamma(2.0)) for i in rng.permutation(N_DOCUMENTS)[:n]}
    return runs


def formula(norm: str, engine: str) -> FusionFormula:
    return FusionFormula(tuple(FusionTerm(n, w) for n, w in WEIGHTS.items()), parse_norm(norm), DEPTH, engine)


def test_ranx_fuses_as_the_formula() -> None:
    runs, of = made(), formula("minmax", "ranx")
    content = json.loads(str(export_fusion(of, "ranx")["ranx.json"]))
    fused = ranx.fuse(runs=[ranx.Run(runs[name]) for name in content["retrievers"]], **content["arguments"]).to_dict()
    found = {(q, d): s for q, own in fused.items() for d, s in own.items()}
    assert found == pytest.approx(dict(of.apply(runs)), abs=2e-9)  # our least value is 1e-9, twice
    ran("ranx", f"ranx {version('ranx')}", "fusion")


def test_qdrant_fuses_as_the_formula() -> None:
    runs, of = made(), formula("rrf(k=0)", "qdrant")
    body = json.loads(str(export_fusion(of, "qdrant")["query.json"]))
    client = QdrantClient(":memory:")
    unit = models.VectorParams(size=N_DOCUMENTS, distance=models.Distance.DOT)
    client.create_collection("documents", vectors_config=dict.fromkeys(WEIGHTS, unit))
    expected = of.apply(runs)
    for q in range(N_QUERIES):
        query = f"q{q}"
        _store(client, {name: runs[name][query] for name in WEIGHTS})
        found = {f"d{p.id}": p.score for p in client.query_points("documents", **_request(body)).points}
        own = {d: s for (other, d), s in expected.items() if other == query}
        assert sorted(found.values()) == pytest.approx(sorted(own.values()), rel=1e-6)
        last = min(own.values()) * (1 + 1e-6)  # of several documents with the last score, any may be cut off
        assert {d for d, s in found.items() if s > last} == {d for d, s in own.items() if s > last}
    ran("qdrant", f"Qdrant's client {version('qdrant-client')}", "fusion")


def _store(client: QdrantClient, lists: dict[str, dict[str, float]]) -> None:
    """Each document has a vector for a retriever that returns it, whose product with (1, 0, ...) is its score."""
    client.delete("documents", models.Filter())
    points = []
    for i in range(N_DOCUMENTS):
        own = {name: [found[f"d{i}"]] + [0.0] * (N_DOCUMENTS - 1) for name, found in lists.items() if f"d{i}" in found}
        points.append(models.PointStruct(id=i, vector=own))
    client.upsert("documents", points)


def _request(body: dict[str, Any]) -> dict[str, Any]:
    """The exported body as arguments of the client, with a query in place of each placeholder."""
    unit = [1.0] + [0.0] * (N_DOCUMENTS - 1)
    prefetch = [
        models.Prefetch(query=unit, using=p["query"]["REPLACE"].removeprefix("the query of "), limit=p["limit"])
        for p in body["prefetch"]
    ]
    return {"prefetch": prefetch, "query": models.RrfQuery(**body["query"]), "limit": body["limit"]}
