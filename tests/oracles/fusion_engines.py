"""Search engines' fusion, from their documentation and sources, the slow way: one query at a time.

Lists are {retriever: [(document, score)]}, best first; every function returns {document: score}.
"""

import ast
import math
import re
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

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
    adds nothing; minmax of scores within 1e-6 is 1. A child of rrf without a weight has the weight 1."""
    (kind, own), window = next(iter(body["retriever"].items())), None
    window = own["rank_window_size"]
    out: dict[str, float] = {}
    assert len(own["retrievers"]) > 1 or kind != "rrf"
    children = [entry.get("retriever", entry) for entry in own["retrievers"]]
    for name, entry in zip(_names(children, ""), own["retrievers"], strict=True):
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
            out[document] = out.get(document, 0.0) + entry.get("weight", 1.0) * value
    return out


def opensearch(pipeline: dict[str, Any], query: dict[str, Any], lists: Lists) -> dict[str, float]:
    """A document with the score 0 is no hit of its query (HybridTopScoreDocCollector). The normalization processor:
    MinMaxScoreNormalizationTechnique (equal scores 1, 0 becomes 0.001),
    L2ScoreNormalizationTechnique, ArithmeticMeanScoreCombinationTechnique (a document that a query did not return has 0
    there). The score ranker processor: RRFNormalizationTechnique (1 / (constant + rank), to ten decimals) and
    RRFScoreCombinationTechnique (the weighted sum)."""
    hybrid = query["query"]["hybrid"]
    assert len(hybrid["queries"]) <= 5
    ((kind, own),) = pipeline["phase_results_processors"][0].items()
    n = len(hybrid["queries"])
    weights = own["combination"].get("parameters", {"weights": [1 / n] * n})["weights"]
    ranker = kind == "score-ranker-processor"
    assert own["combination"]["technique"] == ("rrf" if ranker else "arithmetic_mean")
    assert abs(sum(weights) - 1) < 1e-6
    assert all(0 <= w <= 1 for w in weights)
    documents: dict[str, list[float]] = {}
    for i, name in enumerate(_names(hybrid["queries"], "")):
        top = [(d, s) for d, s in lists.get(name, []) if s != 0][: hybrid["pagination_depth"]]
        scores = [s for _, s in top]
        for rank, (document, s) in enumerate(top, 1):
            if ranker:
                assert 1 <= own["combination"]["rank_constant"] <= 10_000
                value = round(1.0 / (own["combination"]["rank_constant"] + rank), 10)
            elif own["normalization"]["technique"] == "min_max":
                low, high = min(scores), max(scores)
                value = 1.0 if low == high else (s - low) / (high - low)
                value = 0.001 if value == 0 else value
            else:
                norm = sum(x * x for x in scores) ** 0.5
                value = 0.0 if norm == 0 else s / norm
            documents.setdefault(document, [0.0] * len(weights))[i] = value
    return {d: sum(w * v for w, v in zip(weights, vs, strict=True)) / sum(weights) for d, vs in documents.items()}


def qdrant(body: dict[str, Any], lists: Lists) -> dict[str, float]:
    """Qdrant's reciprocal_rank_fusion.rs, in single precision: 1 / ((position + 1) / weight + k - 1)."""
    rrf = body["query"]["rrf"]
    assert rrf["k"] >= 1
    weights = rrf.get("weights", [1.0] * len(body["prefetch"]))
    out: dict[str, float] = {}
    for name, prefetch, weight in zip(_names(body["prefetch"], ""), body["prefetch"], weights, strict=True):
        for position, (document, _) in enumerate(lists.get(name, [])[: prefetch["limit"]]):
            value = np.float32(1) / (
                np.float32(position + 1) / np.float32(weight) + np.float32(rrf["k"]) - np.float32(1)
            )
            out[document] = float(np.float32(out.get(document, 0.0)) + value)
    return out


def vespa(profile: str, lists: Lists) -> dict[str, float]:
    """The global phase, over all hits of all lists, however long. A function is the score of its retriever, moved above
    0, and 0 where it did not return the hit. ReciprocalRankNormalizer.java sorts all hits by the function, equal ones
    as they come, here by document."""
    found = re.findall(r"function (\w+)\(\) {\n *# score of (.*): above 0 ", profile)
    of = {function: dict(lists.get(ast.literal_eval(name), [])) for function, name in found}
    hits = sorted({d for own in of.values() for d in own})
    values = {f: {d: 1.0 + own[d] if d in own else 0.0 for d in hits} for f, own in of.items()}
    ranks = {f: {d: i for i, d in enumerate(sorted(hits, key=lambda d: -own[d]), 1)} for f, own in values.items()}
    score = _expression(profile)
    scores = {d: float(eval(score, {"values": values, "ranks": ranks, "log": math.log, "d": d})) for d in hits}
    return {d: s for d, s in scores.items() if s != 0}


@lru_cache(maxsize=1)
def _expression(profile: str) -> CodeType:
    """The expression of the global phase as one of Python: its conditions are lazy, like those of Vespa."""
    (text,) = re.findall(r"global-phase {.*?expression {(.*?)}", profile, flags=re.DOTALL)
    text = re.sub(r"reciprocal_rank\((\w+), (\d+)\)", r'(1.0 / (\2 + ranks["\1"][d]))', text).replace("&&", "and")
    text = re.sub(r'(?<!["\w])(retriever_\d+)\b(?!")', r'values["\1"][d]', text)
    text = re.sub(r"if \((.*), (.*), 0\)$", r"(\2 if \1 else 0)", text, flags=re.MULTILINE)
    return compile(f"({text})", "profile", "eval")


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
