"""The query of a search request as a linear model: its named clauses with their boosts, and the request with others.

The score of a `bool` query is the sum of the scores of its `must` and `should` clauses times its boost (Elasticsearch,
OpenSearch: Query DSL, Boolean query), so a request whose clauses carry `_name` is a model with weights >= 0.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparserank.data.responses import LARGEST, RESERVED, REST
from sparserank.errors import DataError, DataFormatError
from sparserank.strict_json import read_json
from sparserank.text import brief

EXPECTED = "a request in JSON, with templates inside strings only"
NAME, BOOST, LEAST = "_name", "boost", "minimum_should_match"
SCORED, UNSCORED = ("must", "should"), ("filter", "must_not")
INSTEAD = {  # queries whose score is no sum of the scores inside: what to do about it
    "function_score": "multiplies scores; write each function as a named should clause",
    "script_score": "replaces the score inside; name the script_score itself",
    "dis_max": "takes the best score inside; name the dis_max itself, or write its queries as should clauses",
    "boosting": "multiplies scores; write the negative query as a named should clause of its own",
    "constant_score": "replaces the score inside; name the constant_score itself",
}
QUERY_OF, VALUE = ("match", "match_phrase", "match_phrase_prefix", "match_bool_prefix"), ("term", "prefix", "wildcard")
VALUE_OF = {**dict.fromkeys(QUERY_OF, "query"), **dict.fromkeys(VALUE, "value")}  # queries of one field, in short form
TEXT, VECTORS = ("query", "value", "query_text"), ("query_vector", "vector")  # keys of what a user looks for
FIELD = re.compile(r"([^*^]+)(?:\^(\d+(?:\.\d+)?))?")  # of a multi_match, with its boost
BESIDE = {  # parts of a request that change scores
    "rescore": "replaces scores of the query; tune the request without it",
    "knn": "adds scores that are not in the query; write it as a named knn clause of the query",
    "retriever": "computes scores outside the query; tune the query inside it",
    "indices_boost": "multiplies scores; tune the request without it",
    "min_score": "cuts at a score, and the scale of scores changes; tune the request without it",
    "sort": "orders documents otherwise; tune the request without it",
    "rank": "replaces scores of the query; tune the request without it",
}
# Queries whose score is their boost, and (those whose terms are rewritten) unless they say otherwise.
CONSTANT = ("constant_score", "match_all", "exists", "ids", "range", "terms")
REWRITTEN = ("prefix", "wildcard", "regexp")


@dataclass(frozen=True)
class Clause:
    """A named clause. boost: its own; outer: the product of the boosts around it; must: False if it is optional;
    least, most: its scores without boosts."""

    name: str
    boost: float
    outer: float
    must: bool
    least: float = 0.0
    most: float = math.inf


@dataclass(frozen=True)
class SearchQuery:
    """A request. clauses: the named clauses whose scores are summed; unscored: names of others, in filter or must_not;
    place: the file, for messages."""

    body: Mapping[str, Any]
    clauses: Mapping[str, Clause] = field(default_factory=dict)
    unscored: frozenset[str] = frozenset()
    place: str = "the query"

    @property
    def listed(self) -> dict[str, tuple[float, ...] | None]:
        """How the listed scores of clauses are read (`responses.Scored.clauses`): a feature is the score of a clause
        without its boost, times the boosts around it, so that its weight is the boost. Engines multiply by the boost in
        single precision."""
        factors: dict[str, tuple[float, ...]] = {}
        for c in self.clauses.values():
            boost = float(np.float32(c.boost))
            most = min(boost * c.most, LARGEST) if boost else 0.0
            factors[c.name] = (c.outer / boost if boost else 0.0, c.boost, boost * c.least, most)
        none = () if _has_unnamed(self.body["query"]) else (REST,)
        return {**factors, **dict.fromkeys((*self.unscored, *none))}

    def finds(self, matched: Collection[str], rest: bool) -> bool:
        """Whether it finds a document that these clauses match, and, if `rest`, those without a name."""
        return _finds(self.body["query"], matched, rest)

    def with_boosts(self, boosts: Mapping[str, float]) -> dict[str, Any]:
        """The request with these boosts. A clause without one is deleted if it is optional, otherwise it moves to
        `filter`; all else is as it was."""
        query = _with_boosts(self.body["query"], boosts)
        if query is None:
            raise DataError(f"{self.place}: no clause has a boost above 0.")
        return {**self.body, "query": query}


def read_search_query(path: Any) -> SearchQuery:
    """Read a request, {"query": ...}, from a file or a mapping; templates may stand inside strings.

    Raises
        DataFormatError   the file cannot be read, or its score is no sum of the scores of its named clauses
    """
    if not isinstance(path, str | os.PathLike):
        return search_query(path)
    return search_query(read_json(path, EXPECTED), str(path))


def search_query(body: Any, place: str = "the query") -> SearchQuery:
    """A request from its content; raises as `read_search_query`."""
    if not isinstance(body, Mapping) or "query" not in body:
        raise DataFormatError(f'{place}: is no search request; expected {{"query": ...}}.')
    for part, why in BESIDE.items():
        if part in body:
            raise DataFormatError(f"{place}: {part} {why}.")
    unscored: set[str] = set()
    found = list(_clauses(body["query"], 1.0, True, place, unscored))
    names = [*(clause.name for clause in found), *unscored]
    if odd := next((name for name in names if names.count(name) > 1 or name in RESERVED), None):
        raise DataFormatError(f"{place}: {brief(odd)} is the name of two clauses, or taken; give each its own name.")
    if not found:
        raise DataFormatError(
            f"{place}: no must or should clause has a {NAME}; name each clause that is to be tuned, as "
            f"'sparserank inspect {place}' does, and send that request."
        )
    clauses = {clause.name: clause for clause in found}
    return SearchQuery(body, clauses, frozenset(unscored), place)


def _clauses(query: Any, outer: float, must: bool, place: str, unscored: set[str]) -> Iterator[Clause]:
    """The named clauses of a query; names of queries that do not count go to `unscored`."""
    kind, content = _only(query, place)
    named = _named(content)
    if named is not None:
        if len(list(_names(content))) > 1:
            inner = next(name for name in _names(content) if name != named[NAME])
            raise DataFormatError(
                f"{place}: clause {brief(named[NAME])} has {brief(inner)} inside, which would count twice; remove one "
                f"of the two names."
            )
        mode = content.get("boost_mode", "multiply")
        if kind == "function_score" and mode != "multiply":
            raise DataFormatError(
                f"{place}: clause {brief(named[NAME])} has boost_mode {mode}, of which its boost is no factor; "
                "wrap it in a bool, and name that."
            )
        yield Clause(named[NAME], _boost(named, place), outer, must, *_limits(kind, content))
    elif kind == "bool" and isinstance(content, Mapping):
        inside = outer * _boost(content, place)
        for entry in (e for part in UNSCORED for e in _entries(content.get(part))):
            unscored.update(_names(entry))
        found = [
            clause
            for part in SCORED
            for entry in _entries(content.get(part))
            for clause in _clauses(entry, inside, part == "must", place, unscored)
        ]
        required = "must" in content or "filter" in content
        if found and content.get(LEAST) not in (None, *((0, "0") if required else (0, 1, "0", "1"))):
            raise DataFormatError(
                f"{place}: {LEAST} is {content[LEAST]}, so optional clauses decide about others; write those "
                "of which some must match as a bool of their own in must."
            )
        yield from found
    elif name := next(_names(content), None):
        why = INSTEAD.get(kind, "computes a score of its own from those inside; name it itself")
        raise DataFormatError(f"{place}: clause {brief(name)} is inside {brief(kind)}, which {why}.")


def _limits(kind: str, content: Mapping[str, Any]) -> tuple[float, float]:
    """The least and the largest score of a query without its boost (Elasticsearch and OpenSearch: Query DSL)."""
    rewrites = any(isinstance(of, Mapping) and "rewrite" in of for of in content.values())
    if kind in CONSTANT or (kind in REWRITTEN and not rewrites):
        return 1.0, 1.0
    bounded = kind == "rank_feature" and not {"log", "linear"} & content.keys()
    return 0.0, 1.0 if bounded or kind == "distance_feature" else math.inf


def _has_unnamed(query: Any) -> bool:
    """Whether a clause without a name adds to the score."""
    kind, content = _only(query, "")
    if kind == "bool" and _named(content) is None:
        return any(_has_unnamed(entry) for part in SCORED for entry in _entries(content.get(part)))
    return _named(content) is None


def _with_boosts(query: Any, boosts: Mapping[str, float]) -> Any:
    """The query with these boosts; None if nothing in it is scored any more."""
    kind, content = _only(query, "")
    named = _named(content)
    if named is not None:
        boost = boosts.get(named[NAME], 0.0)
        changed = {**named, BOOST: boost}
        return {kind: changed if named is content else {next(iter(content)): changed}} if boost else None
    if kind != "bool" or not any(True for part in SCORED for _ in _names(content.get(part))):
        return query
    entries = {part: _entries(content.get(part)) for part in SCORED}
    kept = {part: [(e, _with_boosts(e, boosts)) for e in entries[part]] for part in SCORED}
    if not any(new is not None for part in SCORED for _, new in kept[part]):
        return None
    moved = [e for e, new in kept["must"] if new is None]
    out = {part: value for part, value in content.items() if part not in SCORED}
    for part in SCORED:
        if left := [new for _, new in kept[part] if new is not None]:
            out[part] = left[0] if isinstance(content[part], Mapping) else left
    if moved:
        out["filter"] = [*_entries(content.get("filter")), *moved]
    return {"bool": out}


def _finds(query: Any, matched: Collection[str], rest: bool) -> bool:
    kind, content = _only(query, "")
    named = _named(content)
    if named is not None:
        return named[NAME] in matched
    if kind != "bool" or not any(True for _ in _names(content)):
        return rest
    parts = {part: [_finds(e, matched, rest) for e in _entries(content.get(part))] for part in SCORED}
    # Filters without a scored name held for every returned document.
    required = [e for e in _entries(content.get("filter")) if any(True for _ in _names(e))]
    least = content.get(LEAST, 0 if parts["must"] or content.get("filter") else min(len(parts["should"]), 1))
    held = all(_finds(e, matched, True) for e in required)
    return held and all(parts["must"]) and sum(parts["should"]) >= int(least)


def difference(own: Any, sent: Any) -> str:
    """Where two requests differ in their query or in what changes scores, such as 'query.bool.should.0.match'; '' if
    they do not. What users look for may differ: strings with templates, the values of TEXT, and those of queries of one
    field in short form."""
    parts = ("query", *BESIDE)
    if not (isinstance(own, Mapping) and isinstance(sent, Mapping)):
        return "its form"
    first, second = ({part: body[part] for part in parts if part in body} for body in (own, sent))
    return _difference(first, second, ())


def _difference(own: Any, sent: Any, at: tuple[str, ...]) -> str:
    kind, key = ("", "", *at)[-2:]
    if key in VECTORS or (isinstance(own, str) and ("{{" in own or key in TEXT or kind in VALUE_OF)):
        return ""
    inside: Any = None
    if isinstance(own, Mapping) and isinstance(sent, Mapping) and own.keys() == sent.keys():
        inside = own
    elif isinstance(own, list) and isinstance(sent, list) and len(own) == len(sent):
        inside = range(len(own))
    if inside is None:
        return "" if own == sent else ".".join(at) or "its parts"
    return next(filter(None, (_difference(own[k], sent[k], (*at, str(k))) for k in inside)), "")


def with_names(body: Mapping[str, Any], place: str) -> dict[str, Any] | None:
    """The request with a name in each scored clause; None if one of these has a name."""
    query = body["query"]
    if any(True for _ in _clauses(query, 1.0, True, place, set())):
        return None
    return {**body, "query": _with_names(query, dict.fromkeys((*RESERVED, *_names(query)), 1))}


def _with_names(query: Any, taken: dict[str, int]) -> Any:
    """The query with a name in each scored clause, its field if it has one; a `multi_match` of known fields becomes one
    `match` per field. taken: {name: number of clauses so far}."""
    kind, content = _only(query, "")
    if not isinstance(content, Mapping):
        return query
    fields = content.get("fields")
    each = [FIELD.fullmatch(str(field)) for field in fields] if isinstance(fields, list) else []
    if kind == "multi_match" and each and all(each):
        same = {key: value for key, value in content.items() if key not in ("fields", "type", "tie_breaker", BOOST)}
        matches = [{"match": {m[1]: {**same, BOOST: float(m[2] or 1)}}} for m in each if m]
        kind, content = "bool", {SCORED[1]: matches, **({BOOST: content[BOOST]} if BOOST in content else {})}
    if kind == "bool":
        parts = {part: [_with_names(e, taken) for e in _entries(content[part])] for part in SCORED if part in content}
        return {kind: {**content, **parts}}
    of_field = kind in VALUE_OF and len(content) == 1
    field_of = next(iter(content)) if of_field else str(content.get("field", kind))  # of a rank_feature, ...
    taken[field_of] = taken.get(field_of, 0) + 1
    name = field_of if taken[field_of] == 1 else f"{field_of} {taken[field_of]}"
    if not of_field:
        return {kind: {**content, NAME: name}}
    value = content[field_of] if isinstance(content[field_of], Mapping) else {VALUE_OF[kind]: content[field_of]}
    return {kind: {**content, field_of: {**value, NAME: name}}}


def _only(query: Any, place: str) -> tuple[str, Any]:
    """(type, content) of a query."""
    if not isinstance(query, Mapping) or len(query) != 1:
        raise DataFormatError(f'{place}: expected one query {{"type": ...}}; got {brief(str(query))}.')
    ((kind, content),) = query.items()
    return kind, content


def _entries(given: Any) -> list[Any]:
    """The queries of a part of a bool query, which may be one or a list."""
    return [] if given is None else list(given) if isinstance(given, list) else [given]


def _named(content: Any) -> Mapping[str, Any] | None:
    """The object in which the name of a query stands: its content, or that of its only field."""
    if not isinstance(content, Mapping):
        return None
    field_of = next(iter(content.values())) if len(content) == 1 else None
    places = (content, field_of if isinstance(field_of, Mapping) else {})
    return next((place for place in places if isinstance(place.get(NAME), str)), None)


def _names(content: Any) -> Iterator[str]:
    """All names inside."""
    for key, value in content.items() if isinstance(content, Mapping) else ():
        if key == NAME and isinstance(value, str):
            yield value
        yield from _names(value)
    for value in content if isinstance(content, list) else ():
        yield from _names(value)


def _boost(holder: Mapping[str, Any], place: str) -> float:
    boost = holder.get(BOOST, 1.0)
    if isinstance(boost, bool) or not isinstance(boost, int | float) or not (math.isfinite(boost) and boost >= 0):
        raise DataFormatError(f"{place}: a boost must be a number >= 0; got {brief(str(boost))}.")
    return float(boost)
