"""The query of a search request as a linear model: its named clauses are the features, with their boosts as weights.
Other boosts make another request.

The score of a `bool` query is the sum of the scores of its `must` and `should` clauses times its boost (Elasticsearch,
OpenSearch: Query DSL, Boolean query), so a request whose clauses have a `_name` is a model with weights >= 0.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparserank.errors import DataError, DataFormatError
from sparserank.lazy import cached_property
from sparserank.number_checks import as_real
from sparserank.options.selection import REQUESTS
from sparserank.requests import edismax
from sparserank.requests.query_types import (
    BOOST,
    LEAST,
    NAME,
    OTHER,
    QUERY_TYPES,
    SCORED,
    UNSCORED,
    Body,
    entries_of,
    field_of,
    no_factor,
    per_field,
)
from sparserank.requests.responses import LARGEST, RESERVED, REST
from sparserank.strict_json import Json, read_json
from sparserank.text import brief

EXPECTED = "a request in JSON, with templates inside strings only"
# keys whose values are what a user searches for
TEXT = ("query", "value", "query_text")
VECTORS = ("query_vector", "vector")
REFUSED = {  # parts of a request that change scores, or which documents come first
    "retriever": 'computes scores outside the query; tune the query inside it, as {"query": ...}, and weigh retrievers '
    "with sparserank fuse",
    "source": 'is that of a search template; give the request inside it, {"query": ...}',
    "rescore": "replaces scores of the query; tune the request without it",
    "knn": "adds scores that are not in the query; write it as a named knn clause of the query",
    "sub_searches": "are queries of their own; tune each alone, and weigh them with sparserank fuse",
    "indices_boost": "multiplies scores; tune the request without it",
    "min_score": "cuts at a score, and the scale of scores changes; tune the request without it",
    "sort": "orders documents otherwise; tune the request without it",
    "rank": "replaces scores of the query; tune the request without it",
    "search_pipeline": "may replace scores or documents; tune the request without it",
    "from": "skips the first documents, which other boosts move; tune the request without it",
    "search_after": "skips the first documents, which other boosts move; tune the request without it",
    "terminate_after": "leaves out documents that other boosts may rank first; tune the request without it",
    "collapse": "leaves out documents that other boosts may rank first; tune the request without it",
    "post_filter": "removes documents after they are ranked; write it as a filter of the bool query",
}
PAGES = ("from", "search_after")  # parameters that select a page of the result
# values of minimum_should_match with which no optional clause decides whether another one counts
EITHER = (0, 1, "0", "1")
MOST_UNNAMED = 6  # up to this many clauses without a name, all combinations of them are tried
ONE_CLAUSE = (
    "one clause is left, so there is nothing to tune: only ratios of boosts matter. Name its parts instead, as clauses "
    "of a bool query: one for each field, and one for each function or signal, as in docs/tutorials/other-queries.md."
)
# Queries whose score is their boost; for those in REWRITTEN, unless they have a parameter `rewrite`.
CONSTANT = ("constant_score", "match_all", "exists", "ids", "range", "terms")
REWRITTEN = ("prefix", "wildcard", "regexp")


@dataclass(frozen=True)
class Clause:
    """A named clause. boost: the one written in it; outer: the product of the boosts around it; must: False if it is
    optional; least, most: the range of its scores without boosts."""

    name: str
    boost: float
    outer: float
    must: bool
    least: float = 0.0
    most: float = math.inf


@dataclass(frozen=True)
class SearchQuery:
    """A search request. clauses: the named clauses whose scores are summed; unscored: names of clauses in filter or
    must_not; place: the file of the request, for messages."""

    body: Body
    clauses: Mapping[str, Clause] = field(default_factory=dict)
    unscored: frozenset[str] = frozenset()
    place: str = "the query"

    @property
    def of_solr(self) -> bool:
        return edismax.is_request(self.body)

    def check_engine(self, name: str) -> None:
        """Raise DataError if this engine cannot run the request."""
        right = REQUESTS[-1] if self.of_solr else REQUESTS[0]
        if self.of_solr != (name == REQUESTS[-1]):
            raise DataError(f"{self.place}: is no request of the engine {name}; use {right}.")

    @cached_property
    def query(self) -> Any:
        """The query of the request; a request to Solr is converted to a bool query."""
        return edismax.as_bool(self.body) if self.of_solr else self.body["query"]

    @property
    def listed(self) -> dict[str, tuple[float, ...] | None]:
        """How the listed scores of clauses are read (`responses.Scored.clauses`). A feature is the score of a clause
        divided by its boost and multiplied by the boosts around it, so the weight of the feature is the boost. Engines
        multiply by the boost in single precision."""
        factors: dict[str, tuple[float, ...]] = {}
        for c in self.clauses.values():
            boost = float(np.float32(c.boost))
            most = min(boost * c.most, LARGEST) if boost else 0.0
            factors[c.name] = (c.outer / boost if boost else 0.0, c.boost, boost * c.least, most)
        none = () if self.unnamed else (REST,)
        return {**factors, **dict.fromkeys((*self.unscored, *none))}

    @property
    def unnamed(self) -> tuple[int, ...]:
        """The clauses without a name that add to the score, each as the Python `id` of its query."""
        return _unnamed(self.query)

    def finds(self, matched: Collection[str], rest: bool | Collection[int]) -> bool:
        """Whether the request finds a document that matches these named clauses, and these of the clauses in `unnamed`
        (True: all of them)."""
        return _finds(self.query, matched, rest)

    def loses(self, after: SearchQuery, matched: Collection[str], rest: bool) -> set[bool]:
        """Whether the request `after`, made by `with_boosts`, loses a document that this request finds: {True},
        {False}, or both if it depends on clauses without a name. Scores show which named clauses match, but only
        whether any of the others do.
        """
        true_clauses = {*matched, *self.unscored}
        some = [self.unnamed[MOST_UNNAMED:]]
        for clause in self.unnamed[:MOST_UNNAMED]:
            some += [(*others, clause) for others in some]
        worlds = [world for world in some if world] if rest else [()]
        return {not after.finds(true_clauses, world) for world in worlds if self.finds(true_clauses, world)}

    def with_boosts(self, boosts: Mapping[str, float]) -> Json:
        """The request with these boosts. A clause without one is deleted if it is optional; otherwise it moves to
        `filter`. The rest of the request is unchanged."""
        if self.of_solr:
            new: Any = edismax.with_boosts(self.body, boosts, self.place)
        else:
            query = _with_boosts(self.query, boosts)
            new = None if query is None else {**self.body, "query": query}
        if new is None:
            raise DataError(f"{self.place}: no clause has a boost above 0.")
        return new


def read_search_query(path: Any) -> SearchQuery:
    """Read a request, {"query": ...}, from a file or a mapping; it may contain templates inside strings.

    Raises
        DataFormatError   the file cannot be read, or its score is no sum of the scores of its named clauses
    """
    if not isinstance(path, str | os.PathLike):
        return search_query(path)
    return search_query(read_json(path, EXPECTED), str(path))


def search_query(body: Any, place: str = "the query") -> SearchQuery:
    """Make a SearchQuery from the content of a request; raises the errors of `read_search_query`."""
    with _named(place):
        _check_request(body)
        unscored: set[str] = set()
        named_clauses = list(_clauses(SearchQuery(body, place=place).query, 1.0, True, unscored))
        names = [*(clause.name for clause in named_clauses), *unscored]
        for name in names:
            if names.count(name) > 1 or name in RESERVED:
                raise DataFormatError(f"{brief(name)} is the name of two clauses, or taken; give each its own name.")
        if not named_clauses:
            raise DataFormatError(
                f"no must or should clause has a {NAME}; name each clause that is to be tuned, as 'sparserank "
                "inspect' does with a file, and send that request."
            )
        clauses = {clause.name: clause for clause in named_clauses}
        return SearchQuery(body, clauses, frozenset(unscored), place)


@contextmanager
def _named(place: str) -> Iterator[None]:
    """Begin messages about a request with its place."""
    try:
        yield
    except DataFormatError as error:
        raise DataFormatError(f"{place}: {error}") from error


def _check_request(body: Any) -> None:
    """Refuse content that is no request, or in which more than the query affects the order of documents."""
    if edismax.is_request(body):
        edismax.check(body)
        return
    parts = body if isinstance(body, Mapping) else {}
    for part, why in REFUSED.items():
        if parts.get(part, 0) != 0:
            raise DataFormatError(f"{part} {why}.")
    if "query" not in parts:
        raise DataFormatError('is no search request; expected {"query": ...}.')


def _clauses(query: Any, outer: float, must: bool, unscored: set[str]) -> Iterator[Clause]:
    """The named clauses of a query whose scores count; the names of other queries are added to `unscored`."""
    kind, content, named = _read(query)
    _check_form(kind, content)
    if named is not None:
        inside_it = list(_names(content))
        inside_it.remove(named[NAME])
        if inside_it:
            raise DataFormatError(
                f"clause {brief(named[NAME])} has {brief(inside_it[0])} inside, which would count twice; "
                "remove one of the two names."
            )
        if why := no_factor(query):
            raise DataFormatError(f"clause {brief(named[NAME])} has {why}.")
        yield Clause(named[NAME], _boost(named), outer, must, *_limits(kind, content))
    elif kind == "bool" and isinstance(content, Mapping):
        inside = outer * _boost(content)
        for entry in (e for part in UNSCORED for e in entries_of(content.get(part))):
            unscored.update(_names(entry))
        named_inside = [
            clause
            for part in SCORED
            for entry in entries_of(content.get(part))
            for clause in _clauses(entry, inside, part == "must", unscored)
        ]
        required = "must" in content or "filter" in content
        if named_inside and content.get(LEAST) not in (None, *((0, "0") if required else EITHER)):
            raise DataFormatError(
                f"{LEAST} is {content[LEAST]}, so optional clauses decide about others; write those of which "
                "some must match as a bool of their own in must (for 1, as 'sparserank inspect' does), with a "
                f"{NAME} of its own if it is not 1."
            )
        yield from named_inside
    elif name := next(_names(content), None):
        why = QUERY_TYPES.get(kind, OTHER).whole or OTHER.whole
        raise DataFormatError(f"clause {brief(name)} is inside {brief(kind)}, which {why}.")


def _check_form(kind: str, content: Any) -> None:
    """Refuse a query type that cannot be part of a sum, and a name next to the field, which engines refuse."""
    of = QUERY_TYPES.get(kind, OTHER)
    if of.refused:
        raise DataFormatError(f"{kind} {of.refused}.")
    if of.value is not None and kind != "knn" and not (isinstance(content, Mapping) and len(content) == 1):
        raise DataFormatError(
            f"{kind} takes one field, and {NAME} and {BOOST} stand inside the object of that field; got "
            f"{brief(str(content))}."
        )


def _unnamed(query: Any) -> tuple[int, ...]:
    """The `id` of each clause without a name that adds to the score."""
    kind, content, named = _read(query)
    if named is not None:
        return ()
    return (id(query),) if _is_whole(kind, content) else tuple(i for e in _scored(content) for i in _unnamed(e))


def _is_whole(kind: str, content: Any) -> bool:
    """Whether a query without a name is one clause. A bool is one if more than one of its optional clauses must match,
    because none of these may then have a name."""
    return kind != "bool" or content.get(LEAST) not in (None, *EITHER)


def _limits(kind: str, content: Body) -> tuple[float, float]:
    """The smallest and the largest score of a query without its boost (Elasticsearch and OpenSearch: Query DSL)."""
    rewrites = any(isinstance(of, Mapping) and "rewrite" in of for of in content.values())
    if kind in CONSTANT or (kind in REWRITTEN and not rewrites):
        return 1.0, 1.0
    bounded = kind == "rank_feature" and not {"log", "linear"} & content.keys()
    return 0.0, 1.0 if bounded or kind == "distance_feature" else math.inf


def _with_boosts(query: Any, boosts: Mapping[str, float]) -> Any:
    """The query with these boosts; None if it contains no scored query any more."""
    kind, content, named = _read(query)
    if named is not None:
        boost = boosts.get(named[NAME], 0.0)
        changed = {**named, BOOST: boost}
        return {kind: changed if named is content else {next(iter(content)): changed}} if boost else None
    if kind != "bool" or not list(_names(_scored(content))):
        return query
    out = {part: value for part, value in content.items() if part not in SCORED}
    moved = []
    for part in SCORED:
        entries = entries_of(content.get(part))
        changed_entries = [_with_boosts(entry, boosts) for entry in entries]
        if left := [new for new in changed_entries if new is not None]:
            out[part] = left[0] if isinstance(content[part], Mapping) else left
        moved += [e for e, new in zip(entries, changed_entries, strict=True) if new is None and part == "must"]
    if out.keys().isdisjoint(SCORED):
        return None
    if moved:
        out["filter"] = [*entries_of(content.get("filter")), *moved]
    return {kind: out}


def _finds(query: Any, matched: Collection[str], rest: bool | Collection[int]) -> bool:
    kind, content, named = _read(query)
    if named is not None:
        return named[NAME] in matched
    if _is_whole(kind, content):
        return rest is True or (rest is not False and id(query) in rest)
    parts = {part: [_finds(e, matched, rest) for e in entries_of(content.get(part))] for part in SCORED}
    # Every returned document satisfies the filters without a scored name, so only the others are checked.
    required = [e for e in entries_of(content.get("filter")) if list(_names(e))]
    # then at least one optional clause must match, whatever the request says
    alone = not parts["must"] and not content.get("filter")
    fewest = min(len(parts["should"]), 1) if alone else 0
    least = max(int(content.get(LEAST, fewest)), fewest)
    all_required = all(_finds(e, matched, True) for e in required)
    return all_required and all(parts["must"]) and sum(parts["should"]) >= least


def difference(expected: Any, sent: Any) -> str:
    """The place where two requests differ in their query or in other parts that change scores, such as
    'query.bool.should.0.match'; '' if they do not. What a user searches for may differ: strings with templates, the
    values of TEXT, and the short form of a query of one field."""
    if not (isinstance(expected, Mapping) and isinstance(sent, Mapping)):
        return "its form"
    return _difference(_compared(expected), _compared(sent), ())


def _compared(body: Body) -> Json:
    """The parts of a request that two requests must have in common."""
    if edismax.is_request(body):
        return {edismax.PARAMS: {key: v for key, v in body[edismax.PARAMS].items() if key not in edismax.FREE}}
    parts = [part for part in ("query", *REFUSED) if part not in PAGES]
    return {part: body[part] for part in parts if part in body}


def _difference(expected: Any, sent: Any, at: tuple[str, ...]) -> str:
    kind, key = ("", "", *at)[-2:]
    if key in VECTORS or (
        isinstance(expected, str) and ("{{" in expected or key in TEXT or QUERY_TYPES.get(kind, OTHER).value)
    ):
        return ""
    inside: Any = None
    if isinstance(expected, Mapping) and isinstance(sent, Mapping) and expected.keys() == sent.keys():
        inside = expected
    elif isinstance(expected, list) and isinstance(sent, list) and len(expected) == len(sent):
        inside = range(len(expected))
    if inside is None:
        return "" if expected == sent else ".".join(at) or "its parts"
    return next(filter(None, (_difference(expected[k], sent[k], (*at, str(k))) for k in inside)), "")


def proposed(body: Any, place: str) -> tuple[Any, list[str]]:
    """(the request in a form that can be tuned, with the same documents and scores, or None if it has that form;
    sentences about what was done, and what could not be). Each scored clause gets a name if no clause had one.

    Raises
        DataFormatError   whatever `search_query` refuses
    """
    notes: list[str] = []
    with _named(place):
        _check_request(body)
        if edismax.is_request(body):
            new, notes = edismax.proposed(body)
        else:
            query = _rewritten(body["query"], None, notes)
            if next(_clauses(query, 1.0, True, set()), None) is None:
                query = _rewritten(query, dict.fromkeys((*RESERVED, *_names(query)), 1), notes)
                notes.insert(0, "names were added; all documents and scores are the same.")
            new = {**body, "query": query} if notes else None
    request = search_query(new or body, place)
    if len(request.clauses) == 1 and not request.unnamed:
        notes.append(ONE_CLAUSE)
    return new, notes


def _rewritten(query: Any, taken: dict[str, int] | None, notes: list[str]) -> Any:
    """The query in a form that can be tuned. Optional clauses of which one must match, next to clauses that must match,
    become a bool inside must. Each scored clause gets a name, that of its field if it has one. A `multi_match` that is
    a sum becomes one clause per field. taken: {name: number of clauses so far}; None: no names are added."""
    kind, content, named = _read(query)
    if not isinstance(content, Mapping):
        return query
    why = QUERY_TYPES.get(kind, OTHER).whole
    if kind == "multi_match" and taken is not None:
        clauses, why = per_field(content)
        if clauses:
            kind = "bool"
            content = {SCORED[1]: clauses, **{k: v for k, v in content.items() if k == BOOST}}
            notes.append("multi_match is one clause per field.")
    if kind == "bool" and named is None:
        out = dict(content)
        for part in SCORED:
            if part in content:
                out[part] = [_rewritten(entry, taken, notes) for entry in entries_of(content[part])]
        if out.get("should") and ("must" in out or "filter" in out) and out.get(LEAST) in (1, "1"):
            del out[LEAST]
            out["must"] = [*out.get("must", []), {"bool": {"should": out.pop("should")}}]
            notes.append(f"{LEAST} 1 became a bool of its own in must.")
        return {kind: out}
    if taken is None:
        return query
    field_name = field_of(kind, content)
    # rank_feature and similar queries name their field in `field`
    called = field_name or str(content.get("field", kind))
    taken[called] = taken.get(called, 0) + 1
    name = called if taken[called] == 1 else f"{called} {taken[called]}"
    if kind not in QUERY_TYPES:
        notes.append(f"{kind} is an unknown type of query; see whether your engine takes its name where it stands.")
    elif why and kind != "constant_score" and not str(content.get("query")).startswith("{'match_all'"):
        notes.append(f"{name} stays one clause, because a {kind} {why}.")
    if field_name is None:
        return {kind: {**content, NAME: name}}
    value = content[field_name]
    inner = value if isinstance(value, Mapping) else {QUERY_TYPES[kind].value: value}
    return {kind: {field_name: {**inner, NAME: name}}}


def _read(query: Any) -> tuple[str, Any, Body | None]:
    """(type of a query, its content, the object that contains its name or None). In a query of an unknown type, the
    object may be the query's content or the value of its only field."""
    if not isinstance(query, Mapping) or len(query) != 1:
        raise DataFormatError(f'expected one query {{"type": ...}}; got {brief(str(query))}.')
    ((kind, content),) = query.items()
    if not isinstance(content, Mapping):
        return kind, content, None
    of_field = field_of(kind, content)
    places = (content if of_field is None else content[of_field],)
    if kind not in QUERY_TYPES and len(content) == 1:
        places = (content, *content.values())
    named = next((p for p in places if isinstance(p, Mapping) and isinstance(p.get(NAME), str)), None)
    return kind, content, named


def _scored(content: Body) -> list[Any]:
    """The queries of a bool query that add to its score."""
    return [entry for part in SCORED for entry in entries_of(content.get(part))]


def _names(content: Any) -> Iterator[str]:
    """The names of all queries inside."""
    for key, value in content.items() if isinstance(content, Mapping) else ():
        if key == NAME and isinstance(value, str):
            yield value
        yield from _names(value)
    for value in content if isinstance(content, list) else ():
        yield from _names(value)


def _boost(holder: Body) -> float:
    boost = holder.get(BOOST, 1.0)
    if not 0 <= as_real(boost) < math.inf:
        raise DataFormatError(f"a boost must be a number >= 0, written without quotes; got {brief(str(boost))}.")
    return float(boost)
