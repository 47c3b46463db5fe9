"""Search engines' fusion, from their documentation and sources, the slow way: one query at a time.

Lists are {retriever: [(document, score)]}, best first; every function returns {document: score}.
"""

from __future__ import annotations

from typing import Any

Lists = dict[str, list[tuple[str, float]]]


def _names(entries: list[dict[str, Any]], key: str) -> list[str]:
    """The retrievers, from the placeholders of an exported body."""
    return [str(_find(e[key] if key else e, "REPLACE")).removeprefix("the query of ") for e in entries]


def _find(content: Any, key: str) -> Any:
    if isinstance(content, dict):
        if key in content:
            return content[key]
        return next((found for v in content.values() if (found := _find(v, key)) is not None), None)
    return None


def elasticsearch(body: dict[str, Any], lists: Lists) -> dict[str, float]:
    """The `linear` and `rrf` retrievers: reference/elasticsearch/rest-apis/retrievers. What a retriever did not return
    adds nothing; minmax of scores within 1e-6 is 1."""
    (kind, own), window = next(iter(body["retriever"].items())), None
    window = own["rank_window_size"]
    out: dict[str, float] = {}
    for name, entry in zip(_names(own["retrievers"], "retriever"), own["retrievers"], strict=True):
        top = lists.get(name, [])[:window]
        scores = [s for _, s in top]
        if kind == "rrf":
            values = [1.0 / (own["rank_constant"] + rank) for rank in range(1, len(top) + 1)]
        elif entry["normalizer"] == "minmax":
            values = [
                1.0 if max(scores) - min(scores) < 1e-6 else (s - min(scores)) / (max(scores) - min(scores))
                for s in scores
            ]
        else:
            norm = sum(s * s for s in scores) ** 0.5
            values = [s if norm < 1e-6 else s / norm for s in scores]
        for (document, _), value in zip(top, values, strict=True):
            out[document] = out.get(document, 0.0) + entry["weight"] * value
    return out


def opensearch(pipeline: dict[str, Any], query: dict[str, Any], lists: Lists) -> dict[str, float]:
    """The normalization processor: MinMaxScoreNormalizationTechnique (equal scores 1, 0 becomes 0.001),
    L2ScoreNormalizationTechnique, ArithmeticMeanScoreCombinationTechnique (a document that a query did not return has 0
    there)."""
    hybrid = query["query"]["hybrid"]
    assert len(hybrid["queries"]) <= 5
    own = pipeline["phase_results_processors"][0]["normalization-processor"]
    weights = own["combination"]["parameters"]["weights"]
    assert own["combination"]["technique"] == "arithmetic_mean"
    assert abs(sum(weights) - 1) < 1e-6
    assert all(0 <= w <= 1 for w in weights)
    documents: dict[str, list[float]] = {}
    for i, name in enumerate(_names(hybrid["queries"], "")):
        top = lists.get(name, [])[: hybrid["pagination_depth"]]
        scores = [s for _, s in top]
        for document, s in top:
            if own["normalization"]["technique"] == "min_max":
                low, high = min(scores), max(1.4e-45, *scores)  # which starts at Float.MIN_VALUE
                value = 1.0 if low == high else (s - low) / (high - low)
                value = 0.001 if value == 0 else value
            else:
                norm = sum(x * x for x in scores) ** 0.5
                value = 0.0 if norm == 0 else s / norm
            documents.setdefault(document, [0.0] * len(weights))[i] = value
    return {d: sum(w * v for w, v in zip(weights, vs, strict=True)) / sum(weights) for d, vs in documents.items()}


def ranx(content: dict[str, Any], lists: Lists) -> dict[str, float]:
    """ranx 0.3: min_max_norm, (s - min) / max(max - min, 1e-9), and wsum."""
    arguments = content["arguments"]
    assert (arguments["norm"], arguments["method"]) == ("min-max", "wsum")
    out: dict[str, float] = {}
    for name, weight in zip(content["retrievers"], arguments["params"]["weights"], strict=True):
        top = lists.get(name, [])[: content["depth"]]
        scores = [s for _, s in top]
        for document, s in top:
            value = (s - min(scores)) / max(max(scores) - min(scores), 1e-9)
            out[document] = out.get(document, 0.0) + weight * value
    return out
