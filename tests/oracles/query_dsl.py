"""The search queries of Elasticsearch and OpenSearch in a few lines each, over a small collection: which documents
match, with which scores. A query that the grammar of its type does not allow is refused, as both engines do.

A document is {field: text or number}. Words are scored by a short BM25 without lengths; phrases by their first word's.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

Documents = Mapping[str, Mapping[str, Any]]
Scores = dict[str, float]

COMMON = {"boost", "_name"}
WORDS = {"query", "analyzer", "operator", "minimum_should_match", "fuzziness", "prefix_length", "max_expansions"} | {
    "fuzzy_transpositions",
    "fuzzy_rewrite",
}
INSIDE = {  # types of one field: what its object may hold
    "match": WORDS | {"lenient", "zero_terms_query", "auto_generate_synonyms_phrase_query", "cutoff_frequency"},
    "match_bool_prefix": WORDS,
    "match_phrase": {"query", "analyzer", "slop", "zero_terms_query"},
    "match_phrase_prefix": {"query", "analyzer", "slop", "zero_terms_query", "max_expansions"},
    "term": {"value", "case_insensitive"},
    "prefix": {"value", "rewrite", "case_insensitive"},
    "wildcard": {"value", "wildcard", "rewrite", "case_insensitive"},
    "regexp": {"value", "flags", "max_determinized_states", "rewrite", "case_insensitive"},
    "fuzzy": {"value", "fuzziness", "max_expansions", "prefix_length", "rewrite", "transpositions"},
    "span_term": {"value"},
    "range": {"gt", "gte", "lt", "lte", "format", "relation", "time_zone"},
    "terms_set": {"terms", "minimum_should_match_field", "minimum_should_match_script"},
    "intervals": {"match", "all_of", "any_of", "prefix", "wildcard", "fuzzy"},
    "text_expansion": {"model_id", "model_text"},
    "weighted_tokens": {"tokens", "pruning_config"},
    "neural": {"query_text", "model_id", "k", "filter"},
    "neural_sparse": {"query_text", "model_id"},
}
ANY = {"*"}  # besides these, the names of fields
BESIDE = {  # other types: what may stand beside name and boost
    "bool": {"must", "should", "filter", "must_not", "minimum_should_match"},
    "multi_match": WORDS | INSIDE["match"] | {"slop", "fields", "type", "tie_breaker"},
    "dis_max": {"queries", "tie_breaker"},
    "constant_score": {"filter"},
    "function_score": {"query", "functions", "field_value_factor", "weight", "score_mode", "boost_mode", "max_boost"},
    "script_score": {"query", "script", "min_score"},
    "boosting": {"positive", "negative", "negative_boost"},
    "match_all": set(),
    "match_none": set(),
    "rank_feature": {"field", "saturation", "log", "sigmoid", "linear"},
    "distance_feature": {"field", "origin", "pivot"},
    "exists": {"field"},
    "ids": {"values"},
    "terms": ANY,
    "geo_distance": ANY | {"distance"},
    "geo_shape": ANY | {"ignore_unmapped"},
    "geo_grid": ANY | {"ignore_unmapped"},
    "geo_bounding_box": ANY | {"validation_method"},
    "combined_fields": {"query", "fields", "operator", "minimum_should_match"},
    "query_string": {"query", "fields", "default_operator", "type"},
    "simple_query_string": {"query", "fields", "default_operator", "flags"},
    "more_like_this": {"fields", "like", "min_term_freq"},
    "nested": {"path", "query", "score_mode"},
    "has_child": {"type", "query", "score_mode"},
    "has_parent": {"parent_type", "query", "score"},
    "parent_id": {"type", "id"},
    "percolate": {"field", "document"},
    "script": {"script"},
    "semantic": {"field", "query"},
    "sparse_vector": {"field", "inference_id", "query"},
    "sltr": {"params", "model"},
    "span_first": {"match", "end"},
    "span_near": {"clauses", "slop", "in_order"},
    "span_or": {"clauses"},
    "span_not": {"include", "exclude"},
}
KNN = {"field", "query_vector", "k", "num_candidates"}, {"vector", "k"}  # Elasticsearch beside, OpenSearch inside


class NotAllowedError(Exception):
    """What an engine answers to a query that its grammar does not allow."""


def check(query: Any) -> None:
    """Raise NotAllowedError unless a query, and all inside it, follow the grammar; names are text, boosts numbers."""
    if not isinstance(query, dict) or len(query) != 1:
        raise NotAllowedError(f"one type expected: {query}")
    ((kind, content),) = query.items()
    inside = kind in INSIDE or (kind == "knn" and len(content) == 1)
    if inside:
        if len(content) != 1:
            raise NotAllowedError(f"[{kind}] query doesn't support multiple fields: {list(content)}")
        (held,) = content.values()
        if not isinstance(held, dict):
            return  # the short form
        allowed = KNN[1] if kind == "knn" else INSIDE[kind]
    else:
        held, allowed = content, KNN[0] if kind == "knn" else BESIDE[kind]
    fields = set(held) - allowed - COMMON
    if fields and ("*" not in allowed or len(fields) > 1):
        raise NotAllowedError(f"[{kind}] query does not support {sorted(fields)}")
    if not isinstance(held.get("_name", ""), str) or not isinstance(held.get("boost", 1), int | float):
        raise NotAllowedError(f"[{kind}] name and boost: {held}")
    for key in ("must", "should", "filter", "must_not", "queries", "query", "positive", "negative"):
        inner = held.get(key, []) if kind in BESIDE else []
        for one in inner if isinstance(inner, list) else [inner] if isinstance(inner, dict) else []:
            check(one)


def named(query: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """{name: query} of the queries that an engine would list by name, in must and should."""
    ((kind, content),) = query.items()
    inside = kind in INSIDE or (kind == "knn" and len(content) == 1)
    held = next(iter(content.values())) if inside else content
    out = {held["_name"]: query} if isinstance(held, dict) and "_name" in held else {}
    for one in [*_listed(content, "must"), *_listed(content, "should")] if kind == "bool" else []:
        out |= named(one)
    return out


def search(query: dict[str, Any], documents: Documents) -> Scores:
    """{document: score} of the documents that match."""
    check(query)
    return _evaluated(query, documents)


def _listed(content: Mapping[str, Any], part: str) -> list[dict[str, Any]]:
    given = content.get(part, [])
    return given if isinstance(given, list) else [given]


def _evaluated(query: dict[str, Any], documents: Documents, outer: float = 1.0) -> Scores:
    """A boost goes down to the queries inside: outer is the product of those around."""
    ((kind, content),) = query.items()
    if kind not in INSIDE:
        return OF_TYPE[kind](content, documents, outer * content.get("boost", 1))
    ((field, held),) = content.items()
    if not isinstance(held, dict):
        held = {"query" if kind.startswith("match") else "value": held}
    return _times(outer * held.get("boost", 1), _of_field(kind, field, held, documents))


def _times(boost: float, scores: Scores) -> Scores:
    return {d: boost * s for d, s in scores.items()}


def _words(documents: Documents, document: str, field: str) -> list[str]:
    return str(documents[document].get(field, "")).split()


def _weight(word: str, fields: list[str], documents: Documents) -> float:
    """The largest document frequency of the fields decides."""
    n = max(sum(word in _words(documents, d, field) for d in documents) for field in fields)
    return math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))


def _of_word(word: str, field: str, documents: Documents, weight: float | None = None) -> Scores:
    weight = _weight(word, [field], documents) if weight is None else weight
    counts = {d: _words(documents, d, field).count(word) for d in documents}
    return {d: weight * n / (n + 1.2) for d, n in counts.items() if n}


def _needed(held: Mapping[str, Any], n: int) -> int:
    """How many of n words must match."""
    if str(held.get("operator", "or")).lower() == "and":
        return n
    given = str(held.get("minimum_should_match", 1))
    return int(n * float(given[:-1]) / 100) if given.endswith("%") else int(given)


def _sum_of(parts: list[Scores], least: int) -> Scores:
    """The sums of the scores of documents that at least `least` of the parts match."""
    counts = {d: sum(d in part for part in parts) for part in parts for d in part}
    return {d: sum(part.get(d, 0.0) for part in parts) for d, n in counts.items() if n >= max(least, 1)}


def _of_field(kind: str, field: str, held: Mapping[str, Any], documents: Documents) -> Scores:
    words = str(held.get("query", held.get("value", ""))).split()
    if kind in ("match", "term"):
        return _sum_of([_of_word(word, field, documents) for word in words], _needed(held, len(words)))
    if kind == "range":
        low, high = held.get("gte", -math.inf), held.get("lte", math.inf)
        return {d: 1.0 for d, of in documents.items() if low <= of.get(field, math.nan) <= high}
    if kind == "match_bool_prefix":
        parts = [_of_word(word, field, documents) for word in words[:-1]]
        ends = {d: 1.0 for d in documents if any(w.startswith(words[-1]) for w in _words(documents, d, field))}
        return _sum_of([*parts, ends], _needed(held, len(words)))
    first = _weight(words[0], [field], documents)
    gaps, out = int(held.get("slop", 0)), dict[str, float]()
    for d in documents:  # of phrases
        text = _words(documents, d, field)
        for start, word in enumerate(text):
            if word != words[0] and not (len(words) == 1 and kind == "match_phrase_prefix"):
                continue
            found, at = 1, start + 1
            for wanted in words[1:]:
                prefix = kind == "match_phrase_prefix" and wanted is words[-1]
                near = text[at : at + gaps + 1]
                hit = next((i for i, w in enumerate(near) if (w.startswith(wanted) if prefix else w == wanted)), None)
                if hit is None:
                    break
                found, at = found + 1, at + hit + 1
            if found == len(words):
                out[d] = max(out.get(d, 0.0), first * found)
    return out


def _best(parts: list[Scores], tie_breaker: float) -> Scores:
    """The best score of each document, plus a share of the others."""
    out = {}
    for d in {d for part in parts for d in part}:
        scores = [part[d] for part in parts if d in part]
        out[d] = max(scores) + tie_breaker * (sum(scores) - max(scores))
    return out


def _bool(content: Mapping[str, Any], documents: Documents, boost: float) -> Scores:
    must, should = ([_evaluated(q, documents, boost) for q in _listed(content, part)] for part in ("must", "should"))
    filters, without = ([_evaluated(q, documents) for q in _listed(content, part)] for part in ("filter", "must_not"))
    required = must + filters
    given = str(content.get("minimum_should_match", 0 if required else 1))
    least = int(len(should) * float(given[:-1]) / 100) if given.endswith("%") else int(given)
    least = least if required else max(least, 1)  # without others, one of them must match
    out = {}
    for d in documents:
        n = sum(d in part for part in should)
        if (
            all(d in part for part in required)
            and not any(d in part for part in without)
            and (n >= least or not should)
        ):
            out[d] = sum(part.get(d, 0.0) for part in must + should)
    return out


def _multi_match(content: Mapping[str, Any], documents: Documents, boost: float) -> Scores:
    kind, given = content.get("type", "best_fields"), content["fields"]
    fields = {f.partition("^")[0]: boost * float(f.partition("^")[2] or 1) for f in given}
    words = content["query"].split()
    if kind == "cross_fields":  # a word is looked for in all fields, with one weight
        parts = []
        for word in words:
            weight = _weight(word, list(fields), documents)
            each = [{d: b * s for d, s in _of_word(word, f, documents, weight).items()} for f, b in fields.items()]
            parts.append(_best(each, content.get("tie_breaker", 0.0)))
        return _sum_of(parts, _needed(content, len(words)))
    one = {"phrase": "match_phrase", "phrase_prefix": "match_phrase_prefix", "bool_prefix": "match_bool_prefix"}
    tie_breaker = content.get("tie_breaker", 1.0 if kind in ("most_fields", "bool_prefix") else 0.0)
    parts = []
    for field, of_field in fields.items():
        parts.append(_times(of_field, _of_field(one.get(kind, "match"), field, content, documents)))
    return _best(parts, tie_breaker)


def _function_score(content: Mapping[str, Any], documents: Documents, boost: float) -> Scores:
    """The boost goes to the query inside, before the functions."""
    inner = _evaluated(content.get("query", {"match_all": {}}), documents, boost)
    functions = content.get("functions") or [{k: content[k] for k in ("field_value_factor", "weight") if k in content}]
    out = {}
    for d, score in inner.items():
        values = [_function(f, documents[d]) for f in functions]
        value = sum(values) if content.get("score_mode") == "sum" else math.prod(values)
        mode = content.get("boost_mode", "multiply")
        out[d] = score * value if mode == "multiply" else score + value if mode == "sum" else value
    return out


def _function(function: Mapping[str, Any], document: Mapping[str, Any]) -> float:
    value = float(function.get("weight", 1))
    if of := function.get("field_value_factor"):
        x = document.get(of["field"], 0.0) * of.get("factor", 1)
        value *= math.log1p(x) if of.get("modifier") == "ln1p" else x
    return value


def _dis_max(content: Mapping[str, Any], documents: Documents, boost: float) -> Scores:
    return _best([_evaluated(q, documents, boost) for q in content["queries"]], content.get("tie_breaker", 0.0))


OF_TYPE: dict[str, Callable[[Mapping[str, Any], Documents, float], Scores]] = {
    "bool": _bool,
    "multi_match": _multi_match,
    "function_score": _function_score,
    "dis_max": _dis_max,
    "constant_score": lambda of, documents, boost: dict.fromkeys(_evaluated(of["filter"], documents), boost),
    # With the source "_score"; the boost goes to its result.
    "script_score": lambda of, documents, boost: _times(boost, _evaluated(of["query"], documents)),
    "match_all": lambda of, documents, boost: dict.fromkeys(documents, boost),
    "rank_feature": lambda of, documents, boost: {
        d: boost * document[of["field"]] / (document[of["field"]] + 8) for d, document in documents.items()
    },
}
