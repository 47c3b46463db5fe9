"""The query types of Elasticsearch and OpenSearch: where the name and the boost of a query stand, and which queries are
sums of others.

Facts of the grammars of both engines (elasticsearch-specification, opensearch-api-specification), of their manuals, and
of the parser of multi_match: it takes the best field plus tie_breaker times the others, where tie_breaker is 1 for
most_fields and bool_prefix, and 0 otherwise, unless it is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NAME, BOOST, LEAST = "_name", "boost", "minimum_should_match"
SCORED, UNSCORED = ("must", "should"), ("filter", "must_not")
FIELD = re.compile(r"([^*^{}]+)(?:\^(\d+(?:\.\d+)?))?")  # of a multi_match, with its boost
USES_SCORE = re.compile(r"\b_score\b")


@dataclass(frozen=True)
class QueryType:
    """A query type.

    field    its content is one field, and name and boost stand in the object of the field, not beside it
    short    the key of the value that stands for this object in the short form
    named    whether it can have a name
    whole    it computes one score from several: how, and which clauses to write instead
    refused  why no part of a score can be of this type, and what to do about it
    """

    field: bool = False
    short: str = ""
    named: bool = True
    whole: str = ""
    refused: str = ""


OF_WORDS = (
    "scores each word over all fields at once; a multi_match of type most_fields would be one clause per field, which "
    "is another query"
)
BEST = "takes the best score inside; with a tie_breaker of 1 it would add all of them, which is another query"
NESTED = "computes a score of its own from those inside; name it itself"
QUERY_TYPES = {
    **dict.fromkeys(
        ("match", "match_phrase", "match_phrase_prefix", "match_bool_prefix", "common"),
        QueryType(field=True, short="query"),
    ),
    **dict.fromkeys(
        ("term", "prefix", "wildcard", "fuzzy", "regexp", "span_term"), QueryType(field=True, short="value")
    ),
    **dict.fromkeys(
        ("range", "terms_set", "intervals", "text_expansion", "weighted_tokens", "neural", "neural_sparse"),
        QueryType(field=True),
    ),
    "knn": QueryType(field=True),  # of OpenSearch; that of Elasticsearch has several keys
    **dict.fromkeys(
        (
            *("bool", "match_all", "match_none", "exists", "ids", "terms", "type", "script", "percolate"),
            *("rank_feature", "distance_feature", "more_like_this", "sparse_vector", "semantic", "sltr", "parent_id"),
            *("geo_bounding_box", "geo_distance", "geo_grid", "geo_polygon", "geo_shape", "shape", "xy_shape"),
            *("span_containing", "span_field_masking", "field_masking_span", "span_first", "span_multi", "span_near"),
            *("span_not", "span_or", "span_within"),
        ),
        QueryType(),
    ),
    **dict.fromkeys(("nested", "has_child", "has_parent"), QueryType(whole=NESTED)),
    **dict.fromkeys(("combined_fields", "query_string", "simple_query_string"), QueryType(whole=OF_WORDS)),
    "multi_match": QueryType(whole=OF_WORDS),
    "dis_max": QueryType(whole=f"{BEST}; name the dis_max itself, or write its queries as should clauses"),
    "function_score": QueryType(
        whole="multiplies scores; write each function as a named should clause, as the tutorial of boosts does"
    ),
    "script_score": QueryType(
        whole="replaces the score inside; name the script_score itself, or write what the script adds as should clauses"
    ),
    "boosting": QueryType(
        whole="multiplies scores; name the boosting itself: no clause can lower a score, so there is no sum instead"
    ),
    "constant_score": QueryType(whole="replaces the score inside; name the constant_score itself"),
    "wrapper": QueryType(named=False, whole="is encoded, and cannot have a name; write the query inside it as it is"),
    "hybrid": QueryType(
        refused="combines scores that a search pipeline normalises; tune each of its queries alone, or the weights of "
        "their runs with sparserank fuse"
    ),
    **dict.fromkeys(
        ("pinned", "rule", "rule_query"),
        QueryType(refused="ranks some documents above all scores; tune the organic query inside it without it"),
    ),
}
SINGLE_SCORE = ("constant_score", "nested", "has_child", "has_parent")  # as one clause, these need no explanation
FUZZY = ("analyzer", "fuzziness", "fuzzy_rewrite", "fuzzy_transpositions", "max_expansions", "operator", LEAST)
PARAMETERS = {
    "match": {*FUZZY, "query", "prefix_length", "lenient", "zero_terms_query", "cutoff_frequency"}
    | {"auto_generate_synonyms_phrase_query"},
    "match_bool_prefix": {*FUZZY, "query", "prefix_length"},
    "match_phrase": {"query", "analyzer", "slop", "zero_terms_query"},
    "match_phrase_prefix": {"query", "analyzer", "slop", "zero_terms_query", "max_expansions"},
}
OF_FIELD = {  # type of a multi_match: (the query of one field, its tie_breaker)
    "best_fields": ("match", 0.0),
    "boolean": ("match", 0.0),
    "most_fields": ("match", 1.0),
    "phrase": ("match_phrase", 0.0),
    "phrase_prefix": ("match_phrase_prefix", 0.0),
    "bool_prefix": ("match_bool_prefix", 1.0),
}
OF_MULTI = {"fields", "type", "tie_breaker", BOOST, NAME}  # parameters that a query of one field does not get


def field_of(kind: str, content: Mapping[str, Any]) -> str | None:
    """The field in whose object the name of a query stands; None if it stands beside all else."""
    of = QUERY_TYPES.get(kind)
    return next(iter(content)) if of is not None and of.field and len(content) == 1 else None


def as_sum(kind: str, content: Mapping[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """(a bool query with the same documents and scores, one clause per field or query, or None; why there is none).

    A query of one score, which has nothing to split, has no reason.
    """
    if kind == "dis_max":
        queries = content.get("queries")
        queries = queries if isinstance(queries, list) else [queries]
        if len(queries) > 1 and not _adds(content.get("tie_breaker", 0.0)):
            return None, QUERY_TYPES[kind].whole
        return {"bool": {SCORED[1]: queries, **_boost_of(content)}}, ""
    if kind != "multi_match":
        of = QUERY_TYPES.get(kind, QueryType())
        return None, "" if kind in SINGLE_SCORE else of.whole
    fields = content.get("fields")
    given = [fields] if isinstance(fields, str) else fields if isinstance(fields, list) else []
    each = [found for name in given if (found := FIELD.fullmatch(str(name))) is not None]
    if len(given) == len(each) == 1:
        return None, ""
    form = str(content.get("type", "best_fields")).lower()
    if form not in OF_FIELD:
        return None, OF_WORDS
    one, tie = OF_FIELD[form]
    if not _adds(content.get("tie_breaker", tie)):
        return None, "takes the score of the best field; " + BEST.partition("; ")[2]
    if len(each) < max(len(given), 1) or len({found[1] for found in each}) < len(each):
        return None, "searches fields that are not listed once each, as name^number; list them so"
    same = {key: value for key, value in content.items() if key not in OF_MULTI}
    if odd := next((key for key in same if key not in PARAMETERS[one]), None):
        return None, f"has {odd}, which a {one} does not take; without it, it is one {one} per field"
    clauses = [{one: {found[1]: {**same, BOOST: float(found[2] or 1)}}} for found in each]
    return {"bool": {SCORED[1]: clauses, **_boost_of(content)}}, ""


def _adds(tie_breaker: Any) -> bool:
    """Whether all scores count, and not only a share of those that are not the best."""
    return not isinstance(tie_breaker, bool) and tie_breaker == 1


def _boost_of(content: Mapping[str, Any]) -> dict[str, Any]:
    return {BOOST: content[BOOST]} if BOOST in content else {}


def no_factor(query: Any) -> str:
    """Why the boost of a query is no factor of its score, with the remedy; "" if it is one.

    The boost of a function_score goes to the query inside it, before the functions; that of a script_score goes to its
    result, and a min_score is compared with the result of both.
    """
    for kind, content in query.items() if isinstance(query, Mapping) else ():
        if kind in (*UNSCORED, "constant_score"):  # without scores, or with one that is the boost
            continue
        held = content if isinstance(content, Mapping) else {}
        if kind in ("function_score", "script_score") and "min_score" in held:
            return f"a min_score in its {kind}, which its boost moves; tune the request without it"
        if kind == "script_score":
            continue
        mode = held.get("boost_mode", "multiply")
        reads = USES_SCORE.search(f"{held.get('functions')} {held.get('script_score')}")
        if kind == "function_score" and (mode != "multiply" or reads):
            what = f"boost_mode {mode}" if mode != "multiply" else "a function_score whose script reads _score"
            return (
                f"{what}, of which its boost is no factor; wrap the function_score in a script_score with the source "
                '"_score", and name that'
            )
        for inner in content if isinstance(content, list) else [content]:
            if why := no_factor(inner):
                return why
    return ""
