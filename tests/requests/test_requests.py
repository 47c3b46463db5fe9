"""Search requests: where the name of each type of query stands, which requests are written anew with the same documents
and scores, what is refused before a response is collected, and what the notes and messages on them say."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

import sparserank as sr
from sparserank.errors import DataFormatError, DataWarning, ParameterError
from sparserank.requests.query_types import QUERY_TYPES
from sparserank.requests.search_query import proposed, search_query
from tests.oracles import query_dsl
from tests.oracles.search_engine import listed, scored
from tests.requests.test_boosts import leaves, wrapped
from tests.support.command_line import Cli, assert_refused
from tests.support.made_responses import collection, response, write

TEXT = "red desk"
OTHER = {"match": {"other": "x"}}
INNER = {"match": {"title": "x"}}
# One query of each type, as the manuals of Elasticsearch and OpenSearch write it, and the name that it gets.
EXAMPLES: dict[str, tuple[dict[str, Any], str]] = {
    "match": ({"title": TEXT}, "title"),
    "match_phrase": ({"title": {"query": TEXT, "slop": 2}}, "title"),
    "match_phrase_prefix": ({"title": {"query": TEXT}}, "title"),
    "match_bool_prefix": ({"title": TEXT}, "title"),
    "term": ({"brand": "a"}, "brand"),
    "prefix": ({"brand": {"value": "a"}}, "brand"),
    "wildcard": ({"brand": "a*"}, "brand"),
    "fuzzy": ({"brand": {"value": "a", "fuzziness": 1}}, "brand"),
    "regexp": ({"brand": {"value": "a.*"}}, "brand"),
    "span_term": ({"title": "red"}, "title"),
    "range": ({"price": {"lte": 10}}, "price"),
    "terms_set": ({"tags": {"terms": ["a"], "minimum_should_match_field": "n"}}, "tags"),
    "intervals": ({"title": {"match": {"query": TEXT, "max_gaps": 0}}}, "title"),
    "text_expansion": ({"ml": {"model_id": "m", "model_text": TEXT}}, "ml"),
    "weighted_tokens": ({"ml": {"tokens": {"red": 1.5}}}, "ml"),
    "neural": ({"vector": {"query_text": TEXT, "model_id": "m", "k": 5}}, "vector"),
    "neural_sparse": ({"ml": {"query_text": TEXT, "model_id": "m"}}, "ml"),
    "knn": ({"vector": {"vector": [0.1], "k": 5}}, "vector"),
    "knn of Elasticsearch": ({"field": "vector", "query_vector": [0.1], "num_candidates": 50}, "vector"),
    "match_all": ({}, "match_all"),
    "match_none": ({}, "match_none"),
    "exists": ({"field": "image"}, "image"),
    "ids": ({"values": ["1"]}, "ids"),
    "terms": ({"tags": ["a", "b"]}, "terms"),
    "script": ({"script": {"source": "true"}}, "script"),
    "percolate": ({"field": "query", "document": {}}, "query"),
    "rank_feature": ({"field": "popularity", "saturation": {"pivot": 8}}, "popularity"),
    "distance_feature": ({"field": "date", "origin": "now", "pivot": "7d"}, "date"),
    "more_like_this": ({"fields": ["title"], "like": TEXT}, "more_like_this"),
    "sparse_vector": ({"field": "ml", "inference_id": "e", "query": TEXT}, "ml"),
    "semantic": ({"field": "text", "query": TEXT}, "text"),
    "sltr": ({"params": {"q": TEXT}, "model": "m"}, "sltr"),
    "geo_bounding_box": ({"at": {"top_left": "1,2", "bottom_right": "2,1"}}, "geo_bounding_box"),
    "geo_distance": ({"distance": "5km", "at": "1,2"}, "geo_distance"),
    "geo_grid": ({"at": {"geohash": "u0"}}, "geo_grid"),
    "geo_shape": ({"at": {"shape": {}}}, "geo_shape"),
    "nested": ({"path": "offers", "query": INNER, "score_mode": "max"}, "nested"),
    "has_child": ({"type": "offer", "query": INNER, "score_mode": "max"}, "has_child"),
    "has_parent": ({"parent_type": "shop", "query": INNER, "score": True}, "has_parent"),
    "parent_id": ({"type": "offer", "id": "1"}, "parent_id"),
    "span_first": ({"match": {"span_term": {"title": "red"}}, "end": 3}, "span_first"),
    "span_near": ({"clauses": [{"span_term": {"title": "red"}}], "slop": 2}, "span_near"),
    "span_or": ({"clauses": [{"span_term": {"title": "red"}}]}, "span_or"),
    "span_not": ({"include": {"span_term": {"a": "b"}}, "exclude": {"span_term": {"a": "c"}}}, "span_not"),
    "combined_fields": ({"query": TEXT, "fields": ["title^5", "body"]}, "combined_fields"),
    "query_string": ({"query": TEXT, "fields": ["title^5", "body"]}, "query_string"),
    "simple_query_string": ({"query": TEXT, "fields": ["title"], "default_operator": "and"}, "simple_query_string"),
    "multi_match": ({"query": TEXT, "fields": ["title^5", "body"]}, "multi_match"),
    "dis_max": ({"queries": [INNER, OTHER], "tie_breaker": 0.3}, "dis_max"),
    "function_score": ({"query": INNER, "field_value_factor": {"field": "popularity"}}, "function_score"),
    "script_score": ({"query": INNER, "script": {"source": "_score"}}, "script_score"),
    "boosting": ({"positive": INNER, "negative": OTHER, "negative_boost": 0.5}, "boosting"),
    "constant_score": ({"filter": INNER, "boost": 0.5}, "constant_score"),
}
SAME_FORM = {  # types without an example of their own, which are written like another
    **dict.fromkeys(("common",), "match"),
    **dict.fromkeys(("geo_polygon", "shape", "xy_shape"), "geo_shape"),
    **dict.fromkeys(("span_containing", "span_within", "span_multi"), "span_not"),
    **dict.fromkeys(("span_field_masking", "field_masking_span"), "span_first"),
    "type": "ids",
}
REFUSED = ("wrapper", "hybrid", "pinned", "rule", "rule_query")


def type_of(example: str) -> str:
    return example.partition(" ")[0]


def test_every_type_has_an_example() -> None:
    assert {type_of(e) for e in EXAMPLES} | set(SAME_FORM) | set(REFUSED) | {"bool"} == set(QUERY_TYPES)
    for kind, like in SAME_FORM.items():
        assert QUERY_TYPES[kind].value == QUERY_TYPES[like].value


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_name_of_each_type_stands_where_engines_read_it(example: str) -> None:
    content, name = EXAMPLES[example]
    kind = type_of(example)
    body = wrapped("bool", should=[{kind: content}, OTHER])
    before = copy.deepcopy(body)
    named, said = proposed(body, "s.json")
    assert body == before
    query_dsl.check(named["query"])  # the engine takes it
    assert list(query_dsl.named(named["query"])) == [name, "other"]
    assert ("stays one clause" in " ".join(said)) == bool(QUERY_TYPES[kind].whole and kind != "constant_score")
    # A boost stands beside the name, and a name is read where it was written.
    request = search_query(named)
    assert list(request.clauses) == [name, "other"]
    boosted = request.with_boosts({name: 3.0, "other": 1.5})
    query_dsl.check(boosted["query"])
    (held,) = query_dsl.named(boosted["query"])[name].values()
    held = held if "_name" in held else next(iter(held.values()))
    assert held["boost"] == 3.0
    # Beside the field, the name of a type that takes it inside is refused, by engines and here.
    if QUERY_TYPES[kind].value is not None and len(content) == 1:
        wrong = {kind: {**content, "_name": name}}
        with pytest.raises(query_dsl.NotAllowedError):
            query_dsl.check(wrong)
        if kind != "knn":
            with pytest.raises(DataFormatError, match=f"{kind} takes one field, and _name and boost stand inside"):
                search_query(wrapped("bool", should=[wrong, {"match": {"a": {"query": "x", "_name": "a"}}}]))
        else:
            assert "stays" not in " ".join(said)


@pytest.mark.parametrize("kind", REFUSED)
def test_types_that_are_no_part_of_a_sum_are_refused(kind: str) -> None:
    body = wrapped("bool", should=[{kind: {"queries": [INNER], "organic": INNER}}, {"match": {"a": "x"}}])
    for refuse in (search_query, proposed):
        with pytest.raises(DataFormatError, match=f"s.json: {kind} .*; (tune|write)"):
            refuse(body, "s.json")


def test_an_unknown_type_is_named_beside_its_content_and_said() -> None:
    named, said = proposed(wrapped("bool", should=[{"sparkle": {"glow": {"a": 1}}}, OTHER]), "s.json")
    assert named["query"]["bool"]["should"][0] == {"sparkle": {"glow": {"a": 1}, "_name": "sparkle"}}
    assert "sparkle is an unknown type of query" in " ".join(said)
    assert list(search_query(named).clauses) == ["sparkle", "other"]


# -- the same documents and scores -------------------------------------------------------------------------------------

WORDS = ["red", "desk", "lamp", "blue", "oak", "readers", "old", "small"]


def corpus() -> dict[str, dict[str, Any]]:
    rng = random.Random(3)
    texts = [[rng.choice(WORDS) for _ in range(rng.randint(1, 7))] for _ in range(120)]
    return {
        f"d{i}": {
            "title": " ".join(texts[3 * i]),
            "body": " ".join(texts[3 * i + 1]),
            "tags": " ".join(texts[3 * i + 2]),
        }
        | {"popularity": float(rng.randint(1, 50)), "stock": rng.choice(["yes", "no"])}
        for i in range(40)
    }


CORPUS = corpus()
STOCK = {"term": {"stock": "yes"}}


def multi(**more: Any) -> dict[str, Any]:
    return {"multi_match": {"query": TEXT, "fields": ["title^5", "body^1.2", "tags"], **more}}


FIELDS = ["title", "body", "tags"]
# A request: (its query, the names of the clauses, words of the notes).
SAME: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "most_fields": (multi(type="most_fields"), FIELDS, "multi_match is one clause per field"),
    "most_fields, all words": (multi(type="most_fields", operator="and"), FIELDS, "one clause per field"),
    "most_fields, a share of words": (multi(type="most_fields", minimum_should_match="75%"), FIELDS, "per field"),
    "most_fields with a boost": (multi(type="most_fields", boost=3), FIELDS, "one clause per field"),
    "best_fields": (multi(), ["multi_match"], "takes the score of the best field"),
    "best_fields, a tie_breaker": (multi(tie_breaker=0.3), ["multi_match"], "takes the score of the best field"),
    "best_fields, all fields": (multi(tie_breaker=1.0), FIELDS, "one clause per field"),
    "most_fields, a tie_breaker": (multi(type="most_fields", tie_breaker=0.5), ["multi_match"], "the best field"),
    "most_fields with slop": (multi(type="most_fields", slop=2), ["multi_match"], "has slop, which a match does not"),
    "phrase": (multi(type="phrase", slop=2), ["multi_match"], "takes the score of the best field"),
    "phrase, all fields": (multi(type="phrase", slop=2, tie_breaker=1), FIELDS, "one clause per field"),
    "phrase_prefix": (multi(type="phrase_prefix", query="red d"), ["multi_match"], "the score of the best field"),
    "phrase_prefix, all fields": (multi(type="phrase_prefix", query="red d", tie_breaker=1), FIELDS, "per field"),
    "bool_prefix": (multi(type="bool_prefix", query="red d"), FIELDS, "one clause per field"),
    "cross_fields": (multi(type="cross_fields"), ["multi_match"], "scores each word over all fields at once"),
    "cross_fields, all words, all fields": (
        multi(type="cross_fields", operator="and", tie_breaker=1),
        ["multi_match"],
        "scores each word over all fields at once",
    ),
    "one field": (multi(fields=["title^5"], type="cross_fields"), ["title"], "one clause per field"),
    "one field twice": (multi(type="most_fields", fields=["title^5", "title^2"]), ["multi_match"], "not listed once"),
    "dis_max": (
        {"dis_max": {"queries": [{"match": {"title": {"query": TEXT, "boost": 5}}}, {"match": {"body": TEXT}}]}},
        ["dis_max"],
        "takes the best score inside",
    ),
    "function_score": (
        {"function_score": {"query": multi(), "field_value_factor": {"field": "popularity", "modifier": "ln1p"}}},
        ["function_score"],
        "multiplies scores; write each function as a named should clause",
    ),
    "constant_score": ({"constant_score": {"filter": STOCK, "boost": 0.5}}, ["constant_score"], ""),
    "one must match beside a filter": (
        {
            "bool": {
                "should": [{"match": {"title": TEXT}}, {"match": {"body": TEXT}}],
                "filter": STOCK,
                "minimum_should_match": 1,
                "boost": 2,
            }
        },
        ["title", "body"],
        "minimum_should_match 1 became a bool of its own in must",
    ),
    "one must match beside what must": (
        {
            "bool": {
                "must": {"match": {"tags": "red lamp oak"}},
                "should": [multi(type="most_fields"), {"rank_feature": {"field": "popularity", "boost": 0.2}}],
                "must_not": [{"term": {"title": "blue"}}],
                "minimum_should_match": "1",
            }
        },
        ["tags", "title", "body", "tags 2", "popularity"],
        "minimum_should_match 1 became a bool of its own in must",
    ),
    "a function alone adds": (
        {
            "bool": {
                "must": [multi(type="most_fields")],
                "should": [
                    {
                        "function_score": {
                            "query": {"match_all": {}},
                            "field_value_factor": {"field": "popularity", "modifier": "ln1p"},
                            "boost": 2,
                        }
                    }
                ],
            }
        },
        [*FIELDS, "function_score"],
        "one clause per field",
    ),
    "inside must": (
        {"bool": {"must": [multi(type="most_fields", operator="and")], "filter": [STOCK], "should": [INNER]}},
        ["title", "body", "tags", "title 2"],
        "one clause per field",
    ),
}


def same(first: dict[str, float], second: dict[str, float]) -> bool:
    return first.keys() == second.keys() and all(second[d] == pytest.approx(s, rel=1e-12) for d, s in first.items())


@pytest.mark.parametrize("name", SAME)
def test_a_request_that_inspect_writes_has_the_same_documents_and_scores(name: str) -> None:
    query, names, note = SAME[name]
    written, said = proposed({"query": query}, "s.json")
    before, after = (query_dsl.search(q, CORPUS) for q in (query, written["query"]))
    assert len(before) > 2
    assert same(before, after)
    assert list(search_query(written).clauses) == names
    assert note in " ".join(said)
    assert ("stays one clause" in " ".join(said)) == any(
        kind in names for kind in ("multi_match", "dis_max", name) if kind != "constant_score"
    )
    # It is as it can be tuned, and with its names the sum of its clauses is the score of each document.
    assert proposed(written, "s.json")[0] is None
    clauses = search_query(written).clauses
    each = {n: query_dsl.search(q, CORPUS) for n, q in query_dsl.named(written["query"]).items()}
    for d, score in after.items():
        assert sum(c.outer * each[n].get(d, 0.0) for n, c in clauses.items()) == pytest.approx(score, rel=1e-12)


def per_field(**more: Any) -> dict[str, Any]:
    boosts = {"title": 5, "body": 1.2, "tags": 1}
    return {"bool": {"should": [{"match": {f: {"query": TEXT, "boost": b, **more}}} for f, b in boosts.items()]}}


OPTIONAL = [{"match": {"title": TEXT}}, {"match": {"body": TEXT}}]
WRONG = {  # the queries that were written before, which are others
    "best_fields": per_field(),
    "best_fields, a tie_breaker": per_field(),
    "cross_fields": per_field(),
    "cross_fields, all words, all fields": per_field(operator="and"),
    "phrase, all fields": per_field(),
    "one must match beside a filter": {"bool": {"should": OPTIONAL, "filter": STOCK, "boost": 2}},
}


@pytest.mark.parametrize("name", WRONG)
def test_another_query_is_told_apart(name: str) -> None:
    assert not same(query_dsl.search(SAME[name][0], CORPUS), query_dsl.search(WRONG[name], CORPUS))


def test_a_match_with_slop_is_what_engines_refuse() -> None:
    with pytest.raises(query_dsl.NotAllowedError, match="slop"):
        query_dsl.search({"match": {"title": {"query": TEXT, "slop": 2}}}, CORPUS)


def test_a_boost_that_is_no_factor_is_refused_and_the_remedy_works() -> None:
    function = {"query": INNER, "functions": [{"field_value_factor": {"field": "popularity"}}], "boost_mode": "sum"}
    inner = {"function_score": {**function, "query": {"match": {"title": TEXT}}}}

    def is_factor(query: dict[str, Any]) -> bool:
        ((kind, content),) = query.items()
        once, twice = (query_dsl.search({kind: {**content, "boost": b}}, CORPUS) for b in (1, 2))
        return all(twice[d] == pytest.approx(2 * s) for d, s in once.items())

    in_bool = {"bool": {"must": [inner]}}
    in_script = {"script_score": {"query": inner, "script": {"source": "_score"}}}
    assert [is_factor(q) for q in (inner, in_bool, in_script)] == [False, False, True]
    for query in (inner, in_bool):
        ((kind, content),) = query.items()
        with pytest.raises(
            DataFormatError, match=r'has boost_mode sum, of which its boost .* source "_score", and name'
        ):
            search_query(wrapped("bool", should=[{kind: {**content, "_name": "a"}}, OTHER]))
    named = {"script_score": {**in_script["script_score"], "_name": "a"}}
    assert list(search_query(wrapped("bool", should=[named, OTHER])).clauses) == ["a"]
    for kind in ("function_score", "script_score"):
        with pytest.raises(DataFormatError, match=f"clause 'a' has a min_score in its {kind}, which its boost moves"):
            search_query({"query": {kind: {"query": INNER, "min_score": 2, "_name": "a"}}})


def test_without_others_one_optional_clause_must_match_even_if_none_is_asked_for() -> None:
    body = wrapped("bool", should=[{"match": {"a": {"query": "x", "_name": "a"}}}], minimum_should_match=0)
    assert not search_query(body).finds(set(), rest=False)
    assert search_query(body).finds({"a"}, rest=False)


# -- what select refuses is refused before -----------------------------------------------------------------------------

TWO = {"bool": {"should": [{"match": {"a": "x"}}, {"match": {"b": "x"}}]}}
ADDING = {"function_score": {"query": INNER, "boost_mode": "sum", "field_value_factor": {"field": "p"}}}
NOT_TUNED: dict[str, tuple[dict[str, Any], str]] = {
    "sort": ({"query": TWO, "sort": ["price", "_score"]}, "sort orders documents otherwise"),
    "rescore": ({"query": TWO, "rescore": {"window_size": 50}}, "rescore replaces scores"),
    "knn": ({"knn": {"field": "e", "k": 5}, "query": TWO}, "knn adds scores that are not in the query"),
    "from": ({"query": TWO, "from": 10}, "from skips the first documents"),
    "search_after": ({"query": TWO, "search_after": [1]}, "search_after skips the first documents"),
    "collapse": ({"query": TWO, "collapse": {"field": "shop"}}, "collapse leaves out documents"),
    "post_filter": ({"query": TWO, "post_filter": STOCK}, "post_filter removes documents after they are ranked"),
    "pipeline": ({"query": TWO, "search_pipeline": "p"}, "search_pipeline may replace scores"),
    "min_score": ({"query": TWO, "min_score": 2}, "min_score cuts at a score"),
    "rrf": (
        {"retriever": {"rrf": {"retrievers": [{"standard": {"query": TWO}}]}}},
        "retriever computes scores outside",
    ),
    "template": ({"source": {"query": TWO}, "params": {"q": "x"}}, "source is that of a search template"),
    "boost_mode": (wrapped("bool", must=[ADDING], should=[OTHER]), "clause 'function_score' has boost_mode sum"),
    "boost as text": (
        wrapped("bool", should=[{"match": {"a": {"query": "x", "boost": "5"}}}, OTHER]),
        "written without quotes; got '5'",
    ),
    "two of three": (
        wrapped("bool", should=[{"match": {f: "x"}} for f in "abc"], minimum_should_match=2),
        "minimum_should_match is 2, so optional clauses decide about others",
    ),
    "a share": (wrapped("bool", should=[OTHER, INNER], minimum_should_match="75%"), "minimum_should_match is 75%"),
    "two fields": (
        wrapped("bool", should=[{"match": {"a": "x", "b": "x"}}, OTHER]),
        "match takes one field, and _name",
    ),
}


def named_anyhow(query: Any) -> Any:
    """Each match of a request with a name: what users might write themselves."""
    if isinstance(query, list):
        return [named_anyhow(q) for q in query]
    if not isinstance(query, dict):
        return query
    if set(query) == {"match"} and len(query["match"]) == 1:
        ((field, value),) = query["match"].items()
        value = value if isinstance(value, dict) else {"query": value}
        return {"match": {field: {**value, "_name": field}}}
    if set(query) == {"function_score"}:
        return {"function_score": {**query["function_score"], "_name": "function_score"}}
    return {key: named_anyhow(value) for key, value in query.items()}


@pytest.mark.parametrize("name", NOT_TUNED)
def test_inspect_refuses_what_select_refuses(name: str, cli_here: Cli) -> None:
    body, said = NOT_TUNED[name]
    Path("s.json").write_text(json.dumps(body))
    assert_refused(cli_here("inspect", "s.json"), 1, said)
    Path("s.json").write_text(json.dumps(named_anyhow(body)))
    assert_refused(cli_here("inspect", "s.json"), 1, said)
    Path("r.jsonl").write_text('{"qid": 1, "response": {"hits": {"hits": []}}}\n')
    call = ("select", "r.jsonl", "--qrels", "r.jsonl", "--engine", "elasticsearch-query", "--query", "s.json")
    assert_refused(cli_here(*call, "--out", "run"), 1, said)
    Path("s.json").write_text(json.dumps({"query": TWO, "from": 0, "size": 100, "_source": ["id"], "aggs": {"a": {}}}))
    assert cli_here("inspect", "s.json").code == 0


@pytest.mark.parametrize("first", [{"_source": {"includes": ["a"]}}, {"aggs": {"n": {"terms": {"field": "a"}}}}, {}])
def test_a_request_is_known_wherever_its_query_stands(first: dict[str, Any], cli_here: Cli) -> None:
    for text in (json.dumps({**first, "query": TWO}), json.dumps({**first, "query": TWO}, indent=2)):
        Path("s.json").write_text(text)
        assert list(search_query(json.loads(cli_here("inspect", "s.json").out)).clauses) == ["a", "b"]
    Path("s.json").write_text('{"query": {"d1": 1.5}}')  # a run of a query of this name
    assert "run" in cli_here("inspect", "s.json").out


def test_one_clause_is_nothing_to_tune(cli_here: Cli) -> None:
    Path("s.json").write_text(json.dumps({"query": multi()}))
    done = cli_here("inspect", "s.json")
    said = " ".join(done.err.split())
    assert "one clause is left, so there is nothing to tune: only ratios of boosts matter. Name its parts" in said
    assert "with a tie_breaker of 1 it would be one clause per field" in said
    Path("named.json").write_text(done.out)
    assert "nothing to tune" in " ".join(cli_here("inspect", "named.json").err.split())
    Path("s.json").write_text(
        json.dumps(wrapped("bool", must=[OTHER], should=[{"rank_feature": {"field": "p", "_name": "p"}}]))
    )
    assert "nothing to tune" not in cli_here("inspect", "s.json").err  # beside what has no name


# -- documents that only deleted clauses find --------------------------------------------------------------------------


def leaf(name: str, boost: float = 1.0, *, named: bool = True) -> dict[str, Any]:
    return {"leaf": {"id": name, "boost": boost, **({"_name": name} if named else {})}}


def test_lost_documents_are_counted_as_far_as_responses_show_them() -> None:
    optional = {"bool": {"should": [leaf("pop"), leaf("title2", named=False)]}}
    before = search_query(wrapped("bool", must=optional, should=[leaf("tags", named=False), leaf("title")]))
    after = search_query(before.with_boosts({"title": 1.0}))
    assert before.loses(after, {"pop"}, rest=True) == {False, True}  # title2 decides, and no score shows it
    assert before.loses(after, {"pop"}, rest=False) == {True}
    assert len(before.unnamed) == 2


def some_request(rng: random.Random) -> dict[str, Any]:
    """One or two groups of which one clause must match, and optional clauses; some have no name."""
    names = iter("abcdefgh")
    groups = [[leaf(next(names), named=rng.random() < 0.6) for _ in range(2)] for _ in range(rng.randint(1, 3))]
    optional, *must = [{"bool": {"should": group}} for group in groups]
    return wrapped("bool", should=optional["bool"]["should"], **({"must": must} if must else {}))


@pytest.mark.parametrize("seed", range(3))
def test_what_can_be_lost_holds_what_is_lost(seed: int) -> None:
    rng, n_lost, n_open, n_missed = random.Random(seed), 0, 0, 0
    for _ in range(150):
        body = some_request(rng)
        boosts = {of["id"]: rng.choice([0.0, 0.0, 2.0]) for of in leaves(body["query"]) if "_name" in of}
        if not any(boosts.values()):
            continue
        request = search_query(body)
        after = search_query(request.with_boosts(boosts))
        for _ in range(8):
            document = {of["id"]: rng.uniform(0.5, 2.0) for of in leaves(body["query"]) if rng.random() < 0.4}
            score, each = scored(body["query"], document), listed(body["query"], document)
            total = sum(c.outer * each.get(n, 0.0) for n, c in request.clauses.items())
            if score is None or total > score + 1e-9:  # such a response is refused
                continue
            can_be = request.loses(after, each.keys() & request.clauses.keys(), score > total + 1e-9)
            is_lost = scored(after.body["query"], document) is None
            assert is_lost in can_be
            assert len(can_be) == 1 or len(request.unnamed) > 1
            n_lost += is_lost
            n_open += len(can_be) > 1
            n_missed += is_lost and after.finds(each, True)
    assert n_lost > 20
    assert n_open > 5
    assert n_missed > 2  # as if all clauses without a name matched


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
@pytest.mark.parametrize(
    ("named", "said"), [(True, "only deleted clauses find 253 of the"), (False, "only deleted clauses find at least ")]
)
def test_the_note_says_at_least_where_clauses_have_no_name(named: bool, said: str, tmp_path: Path) -> None:
    documents, judged = collection(60)
    for of in documents.values():
        for d in list(of)[::4]:
            del of[d]["title"]
        for d in list(of)[::3]:
            of[d]["brand"] = 0.1
    either = {"bool": {"should": [leaf("title"), leaf("tags", 0.3), leaf("brand", 0.1, named=named)]}}
    body = wrapped("bool", must=[either], should=[leaf("body"), leaf("pop", 0.1, named=named)])
    file = write(tmp_path / "r.jsonl", [response(q, of, body) for q, of in documents.items()])
    quick: dict[str, Any] = {
        "penalties": "l1",
        "n_alphas": 6,
        "half_samples": 0,
        "rival": "none",
        "cv": 3,
        "drop": ["tags"],
    }
    found = sr.select(file, qrels=judged, engine="elasticsearch-query", query=body, **quick)
    note = next(n for n in found.notes if "only deleted clauses" in n)
    assert said in note
    assert ("(2 clauses have no name, which hides others)" in note) == (not named)


# -- messages name the cause -------------------------------------------------------------------------------------------

HIT = {"_id": "a", "_score": 3.0, "matched_queries": {"title": 2.0, "body": 1.0}}
ANSWER = {"took": 1, "hits": {"hits": [HIT]}}
DOC = {"id": "a", "score": 3.0, "title": 2.0, "body": 1.0}
SOLR = {"responseHeader": {"status": 0}, "response": {"numFound": 1, "docs": [DOC]}}
NO_QUERY = 'is a response without its query; write {"qid": ..., "response": ...} with the whole answer inside'


def solr(**more: Any) -> dict[str, Any]:
    return {"qid": 1, "response": {**SOLR, "response": {"docs": [{**DOC, **more}]}}}


def of_hit(**more: Any) -> dict[str, Any]:
    return {"qid": 1, "response": {"hits": {"hits": [{**HIT, **more}]}}}


NO_CLAUSE = "no hit has the score of a clause; give each clause a _name"
OF_STORED = "(in Solr, any value besides id and score; fl names them)"
NOT_JUDGED = "of the responses is judged: they have ids such as"
LINES: dict[str, tuple[Any, str]] = {
    "a bare answer": (ANSWER, NO_QUERY),
    "an answer with the query beside": ({"qid": 1, **ANSWER}, NO_QUERY),
    "a bare answer of Solr": (SOLR, NO_QUERY),
    "an answer of Solr with the query beside": ({"qid": 1, **SOLR}, NO_QUERY),
    "msearch": ({"took": 2, "responses": [ANSWER]}, "is an answer of _msearch; write one line"),
    "a list": ([{"qid": 1, "response": ANSWER}], "(jq -c '.[]' writes a list so)"),
    "several lines": (json.dumps({"qid": 1, "response": ANSWER}, indent=1), "without line breaks inside (jq -c ."),
    "the response first": (json.dumps({"response": ANSWER, "qid": 1}, indent=1), "without line breaks inside (jq -c ."),
    "an error": ({"qid": 1, "response": {"error": {"type": "x"}, "status": 400}}, "is an error of the engine"),
    "a bare error": ({"error": {"root_cause": []}, "status": 400}, "is an error of the engine; send its"),
    "groups": ({"qid": 1, "response": {"grouped": {"f": {}}}}, "is a grouped response"),
    "the request": ({"query": TWO}, "is a search request; give the responses to it"),
    "a stored text": (solr(name="x"), f"clause 'name' {OF_STORED}, has the score 'x'; expected numbers >= 0."),
    "a stored list": (solr(title=["t"]), f"clause 'title' {OF_STORED}"),
    "a stored number": (solr(price=9.5), "without 'price', they sum to the score, so clauses in filter are counted"),
    "a tie": (
        solr(score=2.5),
        "something multiplies or replaces scores (in Solr, also a tie below 1, or fields in q), or clauses in",
    ),
    "sorted": (of_hit(_score=None), "expected numbers >= 0 (null if a request sorts by something else)"),
    "no clauses": ({"qid": 1, "response": {"hits": {"hits": [{"_id": "a", "_score": 1.0}]}}}, NO_CLAUSE),
    "an empty list of clauses": (of_hit(matched_queries=[]), NO_CLAUSE),
    "no values": (
        {"qid": 1, "response": {"response": {"docs": [{"id": "a", "score": 1.0}]}}},
        "name the clauses in fl",
    ),
    "ids of queries": ({"qid": "topic1", "response": ANSWER}, f"no query {NOT_JUDGED} 'topic1', and the judgments '1'"),
    "ids of documents": (of_hit(_id="SKU-a"), f"no document {NOT_JUDGED} 'SKU-a', and the judgments 'a'"),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_that_are_no_responses_are_refused_by_their_cause(name: str, tmp_path: Path) -> None:
    line, said = LINES[name]
    (tmp_path / "r.jsonl").write_text(f"{line if isinstance(line, str) else json.dumps(line)}\n")
    with pytest.raises(DataFormatError) as refused:
        sr.read(tmp_path / "r.jsonl", qrels={"1": {"a": 1, "b": 0}})
    assert said in str(refused.value)
    assert str(refused.value).endswith(".")


def test_a_feature_log_may_have_fields_of_these_names(tmp_path: Path) -> None:
    line = {"qid": 1, "id": "a", "[features]": "title=1", "hits": [3], "docs": ["x"], "query": ["red"]}
    (tmp_path / "l.jsonl").write_text("".join(json.dumps({**line, "label": n}) + "\n" for n in (0, 1)))
    assert sr.read(tmp_path / "l.jsonl").n_docs == 2


def test_the_response_may_stand_before_its_query(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(json.dumps({"response": ANSWER, "qid": 1}) + "\n")
    with pytest.warns(DataWarning, match="responses with hits to 1 queries"):
        assert sr.read(tmp_path / "r.jsonl", qrels={"1": {"a": 1}}).n_docs == 1


def test_what_engines_write_beside_the_hits_changes_nothing(tmp_path: Path) -> None:
    """The envelope of an asynchronous search, aggregations and clusters; a query without hits counts as one."""
    more = {"aggregations": {"x": {"buckets": []}}, "_clusters": {"total": 1}, "timed_out": False}
    envelope = {"id": "Fmx", "is_partial": False, "is_running": False}
    nothing = {"hits": {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}}
    plain = [{"qid": 1, "response": ANSWER}, {"qid": 2, "response": nothing}]
    dressed = [{**line, **envelope, "response": {**line["response"], **more}} for line in plain]
    found = []
    for lines in (plain, dressed):
        (tmp_path / "r.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        with pytest.warns(DataWarning, match=r"hits to 1 queries.*\(1 judged queries have no hit here\)"):
            found.append(sr.read(tmp_path / "r.jsonl", qrels={"1": {"a": 1, "b": 0}, "2": {"c": 1}}))
    assert found[0].feature_names == found[1].feature_names
    assert found[0].X.tolist() == found[1].X.tolist() == [[2.0, 1.0]]


def test_responses_to_the_request_before_it_had_names(tmp_path: Path) -> None:
    documents, judged = collection(3)
    body = wrapped("bool", should=[leaf("title"), leaf("body")])
    lines = [response(q, of, body) for q, of in documents.items()]
    for h in [h for line in lines for h in line["response"]["hits"]["hits"]]:
        del h["matched_queries"]
    file = write(tmp_path / "r.jsonl", lines)
    said = "has no matched_queries, although every clause of the request has a name: the request that was sent had no"
    with pytest.raises(DataFormatError, match=said):
        sr.select(file, qrels=judged, engine="elasticsearch-query", query=body)


@pytest.mark.usefixtures("no_processes")
def test_the_next_command_names_the_request(cli_here: Cli) -> None:
    documents, judged = collection(40)
    body = wrapped("bool", should=[leaf("title", 5), leaf("body"), leaf("pop")])
    write(Path("r.jsonl"), [response(q, of, body) for q, of in documents.items()])
    Path("my search.json").write_text(json.dumps(body))
    Path("j.json").write_text(json.dumps(judged))
    call = ("select", "r.jsonl", "--qrels", "j.json", "--engine", "elasticsearch-query", "--query", "my search.json")
    quick = ("--fast", "--half-samples", "0", "--rival", "none", "--n-alphas", "6", "--out", "run")
    done = cli_here(*call, *quick).done
    assert "sparserank export run --to elasticsearch-query --query 'my search.json' --out" in done.out
    assert "--query FILE" not in done.out


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_bounds_are_refused_in_a_sentence_wherever_they_may_be_given(cli_here: Cli) -> None:
    Path("t.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    for flag in ("--bounds", "--max-boost", "--upper", "--max-weight"):
        refused = cli_here("select", "t.txt", flag, "popularity=5")
        assert_refused(refused, 2, f"{flag} is no option: a weight or boost can have a sign, but no bound")
    for given in ("popularity<=5", "popularity=5", "popularity=0:5"):
        assert_refused(
            cli_here("select", "t.txt", "--out", "o", "--monotone", given), 2, "NAME=+ or NAME=-, without a bound"
        )
    for name in ("bounds", "max_boost", "upper"):
        with pytest.raises(
            ParameterError, match=f"{name} is no option: a weight or boost can have a sign, but no bound"
        ):
            sr.select("t.txt", **{name: {"1": 5}})  # type: ignore[call-arg,arg-type,misc]
    for bound in ((0, 5), "<=5", 5):
        with pytest.raises(ParameterError, match=r"must give '\+' or '-' for 'f1', without a bound"):
            sr.select("t.txt", monotone={"f1": bound})  # type: ignore[dict-item]


def test_clauses_without_a_name_are_counted(cli_here: Cli) -> None:
    some = [{"match": {"a": {"query": "x", "_name": "a"}}}, {"match": {"b": "x"}}, {"match": {"c": "x"}}]
    Path("r.json").write_text(json.dumps({"query": {"bool": {"should": some}}}))
    seen = cli_here("inspect", "r.json")
    assert seen.code == 0
    assert "2 of its scored clauses have no _name and keep their boosts; name what is to be tuned." in " ".join(
        seen.err.split()
    )
