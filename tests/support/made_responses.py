"""Responses of the small search engine of the oracles, as Elasticsearch writes them."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracles.search_engine import listed, scored


def single(value: float) -> float:
    return float(str(np.float32(value)))


def response(qid: str, documents: dict[str, dict[str, float]], body: dict[str, Any]) -> dict[str, Any]:
    """The response of the small engine, in single precision, as Elasticsearch writes it."""
    hits = []
    for name, document in documents.items():
        score = scored(body["query"], document)
        if score is not None:
            matched = {n: single(s) for n, s in listed(body["query"], document).items()}
            hits.append({"_id": name, "_score": single(score), "matched_queries": matched})
    hits.sort(key=lambda hit: (-hit["_score"], hit["_id"]))
    return {"qid": qid, "response": {"took": 1, "hits": {"total": {"value": len(hits)}, "hits": hits}}}


def collection(n_queries: int = 120, n_docs: int = 20) -> tuple[dict[str, dict[str, dict[str, float]]], dict[str, Any]]:
    """(leaf scores of documents by query, judgments): body matters more than today, tags do not matter."""
    rng = np.random.default_rng(1)
    documents: dict[str, dict[str, dict[str, float]]] = {}
    judged: dict[str, Any] = {}
    for q in range(n_queries):
        of = {}
        for d in range(n_docs):
            raw = {"title": rng.gamma(2.0), "body": rng.gamma(2.0), "tags": rng.gamma(1.0), "pop": rng.gamma(1.0)}
            of[f"d{q}-{d}"] = {n: float(v) for n, v in raw.items() if n == "title" or rng.random() < 0.8}
        documents[f"q{q}"] = of
        worth = {d: v["title"] + 2 * v.get("body", 0.0) + 0.5 * v.get("pop", 0.0) for d, v in of.items()}
        judged[f"q{q}"] = {d: int(np.digitize(w + rng.normal(0, 0.5), [5.0, 8.0])) for d, w in worth.items()}
    return documents, judged


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
