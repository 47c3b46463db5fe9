"""The query types of Elasticsearch and OpenSearch: where the name and the boost of a query are written, and which
queries are sums of others.

Sources: the grammars of both engines (elasticsearch-specification, opensearch-api-specification), their manuals, and
the parser of multi_match. The score of a multi_match is that of the best field, plus tie_breaker times the scores of
the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]  # an object in the JSON of a request
NAME = "_name"
BOOST = "boost"
LEAST = "minimum_should_match"
SCORED = ("must", "should")
UNSCORED = ("filter", "must_not")
FIELD = re.compile(r"([^*^{}]+)(?:\^(\d+(?:\.\d+)?))?")  # a field of a multi_match, with its boost


@dataclass(frozen=True)
class QueryType:
    """A query type.

    value    for a query of one field, whose object contains name and boost: the key that its short form omits, or ""
             if it has no short form. None: name and boost are at the top level
    whole    why its score is not the sum of the scores inside, and what to write instead
    refused  why no part of a score can be of this type, and what to do instead
    """

    value: str | None = None
    whole: str = ""
    refused: str = ""


WORDS = (
    "scores each word over all fields at once; a multi_match of type most_fields would be one clause per field, which "
    "is another query"
)
OTHER = QueryType(whole="computes a score of its own from those inside; name it itself")
TYPES = (
    ("match match_phrase match_phrase_prefix match_bool_prefix common", QueryType("query")),
    ("term prefix wildcard fuzzy regexp span_term", QueryType("value")),
    ("range terms_set intervals text_expansion weighted_tokens neural neural_sparse", QueryType("")),
    ("knn", QueryType("")),  # this is OpenSearch's form; in Elasticsearch's, the name is next to several other keys
    ("bool match_all match_none exists ids terms type script percolate rank_feature distance_feature", QueryType()),
    ("more_like_this sparse_vector semantic sltr nested has_child has_parent parent_id", QueryType()),
    ("geo_bounding_box geo_distance geo_grid geo_polygon geo_shape shape xy_shape", QueryType()),
    ("span_containing span_field_masking field_masking_span span_first span_multi span_near", QueryType()),
    ("span_not span_or span_within", QueryType()),
    ("combined_fields query_string simple_query_string multi_match", QueryType(whole=WORDS)),
    (
        "dis_max",
        QueryType(
            whole="takes the best score inside; name the dis_max itself, or write its queries as should clauses, which "
            "is the same query only if its tie_breaker is 1"
        ),
    ),
    (
        "function_score",
        QueryType(
            whole="multiplies scores; write each function as a named should clause, see docs/tutorials/other-queries.md"
        ),
    ),
    (
        "script_score",
        QueryType(
            whole="replaces the score inside; name the script_score itself, or write what the script adds as should "
            "clauses"
        ),
    ),
    (
        "boosting",
        QueryType(
            whole="multiplies scores; name the boosting itself, or write the positive query alone: no clause lowers a "
            "score"
        ),
    ),
    ("constant_score", QueryType(whole="replaces the score inside; name the constant_score itself")),
    ("wrapper", QueryType(refused="hides its query and cannot have a name; write the query inside it as it is")),
    (
        "hybrid",
        QueryType(
            refused="combines scores that a search pipeline normalises; tune each of its queries alone, and the "
            "weights of their runs with sparserank fuse"
        ),
    ),
    (
        "pinned rule rule_query",
        QueryType(refused="puts some documents above all scores; tune the organic query inside it alone"),
    ),
)
QUERY_TYPES = {kind: of for kinds, of in TYPES for kind in kinds.split()}
PHRASE = "query analyzer slop zero_terms_query"
PREFIX = f"query analyzer operator {LEAST} fuzziness prefix_length max_expansions fuzzy_transpositions fuzzy_rewrite"
MATCH = f"{PREFIX} lenient zero_terms_query cutoff_frequency auto_generate_synonyms_phrase_query"
OF_FIELD = {  # type of a multi_match: the query of one field, its parameters, tie_breaker
    "best_fields": ("match", MATCH, 0),
    "boolean": ("match", MATCH, 0),
    "most_fields": ("match", MATCH, 1),
    "phrase": ("match_phrase", PHRASE, 0),
    "phrase_prefix": ("match_phrase_prefix", f"{PHRASE} max_expansions", 0),
    "bool_prefix": ("match_bool_prefix", PREFIX, 1),
}


def entries_of(value: Any) -> list[Any]:
    """A value as a list: a list is returned as it is, None is an empty list, and any other value is the only entry."""
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def field_of(kind: str, content: Body) -> str | None:
    """The field whose object contains the name of a query; None if the name is at the top level of the query."""
    return next(iter(content)) if QUERY_TYPES.get(kind, OTHER).value is not None and len(content) == 1 else None


def per_field(content: Body) -> tuple[list[Any], str]:
    """(the clauses, one per field, of a bool query with the same documents and scores as a multi_match; the reason if
    there are none)."""
    matches = [FIELD.fullmatch(str(name)) for name in entries_of(content.get("fields"))]
    fields = {match[1]: float(match[2] or 1) for match in matches if match}
    form = str(content.get("type", "best_fields")).lower()
    one = len(matches) == 1
    if form not in OF_FIELD and not one:
        return [], WORDS
    kind, parameters, tie_breaker = OF_FIELD.get(form, OF_FIELD["most_fields"])
    if content.get("tie_breaker", tie_breaker) != 1 and not one:
        return [], (
            "takes the score of the best field; with a tie_breaker of 1 it would be one clause per field, which is "
            "another query"
        )
    if not matches or len(fields) < len(matches):
        return [], "searches fields that are not listed once each, as name^number; list them so"
    same = {key: v for key, v in content.items() if key not in ("fields", "type", "tie_breaker", BOOST)}
    for key in same:
        if key not in parameters.split():
            return [], f"has {key}, which a {kind} does not take; without it, it is one {kind} per field"
    return [{kind: {name: {**same, BOOST: boost}}} for name, boost in fields.items()], ""


def no_factor(query: Any) -> str:
    """Why the score of a query is not its boost times another number, with the remedy; "" if it is.

    The boost of a function_score multiplies the query inside it, before the functions. The boost of a script_score
    multiplies its result. A min_score is compared with the final score.
    """
    for kind, content in query.items() if isinstance(query, Mapping) else ():
        if kind in (*UNSCORED, "constant_score"):  # such a query has no score, or its boost is its score
            continue
        fields = content if isinstance(content, Mapping) else {}
        if kind.endswith("_score") and "min_score" in fields:
            return f"a min_score in its {kind}, which its boost moves; tune the request without it"
        if kind == "script_score":
            continue
        if (mode := fields.get("boost_mode", "multiply")) != "multiply":
            return (
                f"boost_mode {mode}, of which its boost is no factor; write each function as a should clause, or wrap "
                f'the {kind} in a script_score with the source "_score", and name that'
            )
        for inner in entries_of(content):
            if why := no_factor(inner):
                return why
    return ""
