"""A text engine in a few lines, in single precision as Lucene: BM25 of fields, sums of clauses in double precision,
scores of named clauses with their own boost, ties in the order of the documents.

A document is {"id": ..., field: text or number}. Queries: bool, match, match_phrase, multi_match (best_fields,
most_fields, cross_fields, phrase), rank_feature (saturation), constant_score, term of a number.
"""

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

K1, B = 1.2, 0.75
Found = dict[int, float]  # {number of a document: its score}


def single(value: float) -> float:
    return float(np.float32(value))


class TextEngine:
    def __init__(self, documents: list[dict[str, Any]]) -> None:
        self.documents = documents

    def search(self, body: dict[str, Any]) -> dict[str, Any]:
        """The response to a request, with include_named_queries_score=true."""
        found = self.scores(body["query"])
        named = {name: self.scores(query) for name, query in _named(body["query"])}
        best_first = sorted(found, key=lambda i: (-found[i], i))[: body.get("size", 10)]
        hits = [
            {
                "_id": self.documents[i]["id"],
                "_score": found[i],
                "matched_queries": {name: of[i] for name, of in named.items() if i in of},
            }
            for i in best_first
        ]
        return {"took": 1, "timed_out": False, "hits": {"total": {"value": len(found)}, "hits": hits}}

    def collect(self, body: dict[str, Any], queries: dict[str, str], request: bool = False) -> list[dict[str, Any]]:
        """One line per query, as the tutorial writes them; request: with the request that was sent."""
        lines = []
        for qid, keywords in queries.items():
            sent = json.loads(json.dumps(body).replace("{{keywords}}", json.dumps(keywords)[1:-1]))
            lines.append({"qid": qid, **({"request": sent} if request else {}), "response": self.search(sent)})
        return lines

    def scores(self, query: dict[str, Any]) -> Found:
        ((kind, content),) = query.items()
        return getattr(self, kind)(content)  # type: ignore[no-any-return]

    def bool(self, content: dict[str, Any]) -> Found:
        parts = {p: [self.scores(q) for q in _several(content.get(p))] for p in ("must", "should", "filter")}
        required, optional = [*parts["must"], *parts["filter"]], parts["should"]
        least = int(content.get("minimum_should_match", 0 if required else min(len(optional), 1)))
        out = {}
        for i in range(len(self.documents)):
            n = sum(i in of for of in optional)
            if all(i in of for of in required) and n >= least:
                total = sum(of.get(i, 0.0) for of in (*parts["must"], *optional))  # of floats, in double precision
                out[i] = single(content.get("boost", 1.0) * total)
        return out

    def match(self, content: dict[str, Any]) -> Found:
        ((field, of),) = content.items()
        of = of if isinstance(of, dict) else {"query": of}
        words = of["query"].split()
        each = [self._term(field, word) for word in words]
        need = len(words) if of.get("operator") == "and" else 1
        every = {i: [t[i] for t in each if i in t] for i in set().union(*each)}
        return {i: single(of.get("boost", 1.0) * single(sum(s))) for i, s in every.items() if len(s) >= need}

    def match_phrase(self, content: dict[str, Any]) -> Found:
        ((field, of),) = content.items()
        of = of if isinstance(of, dict) else {"query": of}
        words = of["query"].split()
        every = self.match({field: {"query": of["query"], "operator": "and"}})
        texts = {i: str(self.documents[i][field]).split() for i in every}
        stands = {i for i, t in texts.items() if any(t[k : k + len(words)] == words for k in range(len(t)))}
        return {i: single(of.get("boost", 1.0) * s) for i, s in every.items() if i in stands}

    def multi_match(self, content: dict[str, Any]) -> Found:
        fields = {name: float(boost or 1) for name, _, boost in (f.partition("^") for f in content["fields"])}
        kind, words = content.get("type", "best_fields"), content["query"].split()
        if kind == "cross_fields":  # every word in its best field
            each = [[{i: b * s for i, s in self._term(f, w).items()} for f, b in fields.items()] for w in words]
            best = [_combined(of, 0.0) for of in each]
            total = {i: sum(of.get(i, 0.0) for of in best) for i in set().union(*best)}
        else:
            alone = self.match_phrase if kind == "phrase" else self.match
            of = [alone({f: {"query": content["query"], "boost": b}}) for f, b in fields.items()]
            total = _combined(of, 1.0 if kind == "most_fields" else content.get("tie_breaker", 0.0))
        return {i: single(content.get("boost", 1.0) * s) for i, s in total.items()}

    def rank_feature(self, content: dict[str, Any]) -> Found:
        values = {i: float(d[content["field"]]) for i, d in enumerate(self.documents) if d.get(content["field"])}
        pivot = content.get("saturation", {}).get("pivot", 10.0)
        return {i: single(content.get("boost", 1.0) * v / (v + pivot)) for i, v in values.items()}

    def constant_score(self, content: dict[str, Any]) -> Found:
        return dict.fromkeys(self.scores(content["filter"]), single(content.get("boost", 1.0)))

    def term(self, content: dict[str, Any]) -> Found:
        ((field, value),) = content.items()
        return {i: 1.0 for i, d in enumerate(self.documents) if d.get(field) == value}

    def _term(self, field: str, word: str) -> Found:
        texts = [str(d.get(field, "")).split() for d in self.documents]
        n, mean = len(texts), sum(map(len, texts)) / len(texts)
        counts = {i: t.count(word) for i, t in enumerate(texts) if word in t}
        idf = math.log(1 + (n - len(counts) + 0.5) / (len(counts) + 0.5))
        return {i: single(idf * c / (c + K1 * (1 - B + B * len(texts[i]) / mean))) for i, c in counts.items()}


def _combined(each: list[Found], tie: float) -> Found:
    """The best score, and a share of the others."""
    every = {i: [of[i] for of in each if i in of] for i in set().union(*each)}
    return {i: max(s) + tie * (sum(s) - max(s)) for i, s in every.items()}


def _several(given: Any) -> list[dict[str, Any]]:
    return [] if given is None else given if isinstance(given, list) else [given]


def _named(query: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, query) of all named queries inside."""
    if isinstance(query, list):
        for entry in query:
            yield from _named(entry)
    elif isinstance(query, dict):
        for kind, content in query.items():
            own = [content, *content.values()] if isinstance(content, dict) else []
            name = next((c["_name"] for c in own[:1] + own[1:2] if isinstance(c, dict) and "_name" in c), None)
            if name is not None and hasattr(TextEngine, kind):
                yield name, {kind: content}
            elif isinstance(content, dict | list):
                yield from _named(content)


def ndcg(ranked: list[str], grades: dict[str, int], k: int = 10) -> float:
    """NDCG@k with gain 2^grade - 1; the ideal order is that of all judgments."""
    gains = [2.0 ** grades.get(d, 0) - 1 for d in ranked[:k]]
    ideal = sorted((2.0**g - 1 for g in grades.values()), reverse=True)[:k]
    best = sum(g / math.log2(r + 2) for r, g in enumerate(ideal))
    return sum(g / math.log2(r + 2) for r, g in enumerate(gains)) / best if best else 0.0


def mean_ndcg(lines: list[dict[str, Any]], judged: dict[str, dict[str, int]], *, as_listed: bool = False) -> float:
    """The mean over the judged queries of what users see; of equal scores, the less relevant document first, or all
    documents `as_listed`, as a run with ranks has them."""
    lists = {}
    for line in lines:
        of = judged.get(line["qid"], {})
        hits = line["response"]["hits"]["hits"]
        if not as_listed:
            hits = sorted(hits, key=lambda h: (-h["_score"], of.get(h["_id"], 0)))
        lists[line["qid"]] = [h["_id"] for h in hits]
    return sum(ndcg(lists[q], judged[q]) for q in lists if q in judged) / sum(q in judged for q in lists)
