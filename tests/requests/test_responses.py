"""What `select` prints about a user's own request, beside what a search engine shows: values, ties, queries without
judgments, judged documents that no response has, responses to another request, and a run as the ranker in use."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.read import as_datasets
from sparserank.errors import DataFormatError, DataWarning, ParameterError
from sparserank.report.screen import screen_lines
from sparserank.requests.search_query import difference, search_query
from tests.oracles.text_engine import TextEngine, mean_ndcg, single
from tests.support.command_line import Cli, assert_refused
from tests.support.doc_blocks import DOCS
from tests.support.made_responses import write
from tests.support.made_shop import shop

pytestmark = [pytest.mark.usefixtures("no_processes"), pytest.mark.filterwarnings("ignore:responses with hits")]
QUICK: dict[str, Any] = {"penalties": "l1", "n_alphas": 12, "half_samples": 0, "rival": "none", "cv": 3}
ENGINE = {"engine": "elasticsearch-query"}
Body = dict[str, Any]


def text(field: str, boost: float, kind: str = "match") -> Body:
    return {kind: {field: {"query": "{{keywords}}", "_name": field, "boost": boost}}}


def several(kind: str, fields: list[str]) -> Body:
    return {"multi_match": {"query": "{{keywords}}", "type": kind, "fields": fields, "_name": "text"}}


POPULAR = {"rank_feature": {"field": "popularity", "boost": 0.7, "_name": "popularity"}}
STOCK = {"constant_score": {"filter": {"term": {"in_stock": True}}, "boost": 0.5, "_name": "stock"}}
FIELDS = [text("title", 5), text("body", 1.2), text("brand", 2)]


def asked(size: int = 200, **parts: Any) -> Body:
    return {"query": {"bool": parts}, "size": size}


SEARCH = asked(should=[*FIELDS, POPULAR, STOCK])
REQUESTS = {
    "clauses": SEARCH,
    "must and filter": asked(must=[several("best_fields", ["title^5", "body^1.2"])], should=[POPULAR, STOCK]),
    "cross_fields": asked(should=[several("cross_fields", ["title^5", "body", "brand"]), POPULAR, STOCK]),
    "phrase": asked(should=[several("phrase", ["title^5", "body"]), *FIELDS, POPULAR, STOCK]),
    "some without a name": asked(
        should=[FIELDS[0], {"bool": {"should": [{"match": {"body": "{{keywords}}"}}], "minimum_should_match": "1"}}],
        filter=[{"term": {"in_stock": True}}],
    ),
    "one without a name": asked(should=[FIELDS[0], {"match": {"body": "{{keywords}}"}}, POPULAR, STOCK]),
}


@pytest.fixture(scope="module")
def world() -> tuple[TextEngine, dict[str, str], dict[str, dict[str, int]]]:
    documents, queries, grades = shop()
    return TextEngine(documents), queries, grades


World = tuple[TextEngine, dict[str, str], dict[str, dict[str, int]]]


@pytest.mark.parametrize("name", REQUESTS)
def test_today_and_the_exported_request_are_what_the_engine_shows(name: str, world: World, tmp_path: Path) -> None:
    (engine, queries, grades), body = world, REQUESTS[name]
    before = engine.collect(body, queries)
    found = sr.select(write(tmp_path / "r.jsonl", before), qrels=grades, query=body, **ENGINE, **QUICK)
    assert found.change is not None
    assert found.change.mean == pytest.approx(mean_ndcg(before, grades), abs=1e-12)
    exported = json.loads(str(found.model.export("elasticsearch-query", query=body)["query.json"]))
    after = engine.collect(exported, queries)
    # The model ranks as the engine does with its request, and the figure for new queries is near.
    reading = {"qrels": grades, "clauses": search_query(body).listed}
    (data,) = as_datasets({"responses": tmp_path / "r.jsonl"}, reading=reading).values()
    assert data is not None
    sr.write_run(data, found.model.score_dataset(data), tmp_path / "new.run")
    own = sr.evaluate(tmp_path / "new.run", grades, "ndcg@10", convention="default")["ndcg@10"]
    assert own == pytest.approx(mean_ndcg(after, grades), abs=1e-9)
    assert abs(found.chosen.mean - mean_ndcg(after, grades)) < 0.03
    assert found.change.mean < found.chosen.mean + 1e-9


def test_queries_without_judgments_are_left_out_and_said(world: World, tmp_path: Path) -> None:
    engine, queries, grades = world
    lines = engine.collect(SEARCH, queries)
    half = {q: of for q, of in grades.items() if int(q[1:]) % 2}
    file = write(tmp_path / "r.jsonl", lines)
    with pytest.warns(DataWarning, match=r"queries without any judgment, which are left out: 30; returned"):
        found = sr.select(file, qrels=half, query=SEARCH, **ENGINE, **QUICK)
    assert found.n_queries == 30
    assert found.change is not None
    assert found.change.mean == pytest.approx(mean_ndcg(lines, half), abs=1e-12)
    alone = sr.select(
        write(tmp_path / "h.jsonl", [line for line in lines if line["qid"] in half]),
        qrels=half,
        query=SEARCH,
        **ENGINE,
        **QUICK,
    )
    assert dict(found.model.weights) == dict(alone.model.weights)
    assert found.chosen.mean == alone.chosen.mean
    with pytest.raises(DataFormatError, match=r"no query of the responses is judged: they have ids such as 'q0'"):
        sr.select(file, qrels={"topic1": {"p1": 1}}, query=SEARCH, **ENGINE, **QUICK)


def test_columns_of_judgments_may_be_named(world: World, tmp_path: Path) -> None:
    engine, queries, grades = world
    file = write(tmp_path / "r.jsonl", engine.collect(SEARCH, queries))
    rows = [f"{q},{d},{grade}" for q, of in grades.items() for d, grade in of.items()]
    (tmp_path / "judged.csv").write_text("\n".join(["search,page,stars", *rows]))
    named = {"qrels": tmp_path / "judged.csv", "qid": "search", "docid": "page", "label": "stars"}
    found, own = (sr.select(file, query=SEARCH, **each, **ENGINE, **QUICK) for each in (named, {"qrels": grades}))
    assert dict(found.model.weights) == dict(own.model.weights)
    assert found.chosen.mean == own.chosen.mean


@pytest.mark.parametrize("must", [False, True])
def test_the_ideal_order_is_that_of_the_judgments(must: bool, world: World, tmp_path: Path) -> None:
    """Lists of six documents: most relevant ones are in no response, and one query finds nothing."""
    engine, queries, grades = world
    queries = {**queries, "none": "nothing"}
    grades = {**grades, "none": {"p1": 2}}
    body = asked(6, must=[several("best_fields", ["title^5", "body"])], should=[POPULAR, STOCK])
    body = body if must else asked(6, should=[FIELDS[0], FIELDS[1]])
    lines = engine.collect(body, queries)
    assert not lines[-1]["response"]["hits"]["hits"]
    found = sr.select(write(tmp_path / "r.jsonl", lines), qrels=grades, query=body, **ENGINE, **QUICK)
    assert found.n_queries == 61
    assert found.change is not None
    assert found.change.mean == pytest.approx(mean_ndcg(lines, grades), abs=1e-12)
    if must:  # nothing can be lost, so today's boosts, as a candidate, have the same value
        today = next(c for c in found.choice.candidates if c.formula == "today's boosts")
        assert today.mean == pytest.approx(found.change.mean, abs=1e-12)
    assert found.chosen.mean < 0.9


def constant(name: str, boost: float) -> Body:
    return {"constant_score": {"filter": {"term": {name: 1}}, "boost": boost, "_name": name}}


@pytest.mark.parametrize("boosts", [(0.1, 0.2, 0.3), (0.6, 0.7, 1.3), (0.4, 0.8, 1.2), (3.3, 1.1, 4.4)])
def test_hits_that_the_engine_ties_are_tied(boosts: tuple[float, ...], cli_here: Cli) -> None:
    """The relevant document matches c, ten others a and b, whose sum is c in single precision or its neighbour."""
    body = asked(should=[constant(n, b) for n, b in zip("abc", boosts, strict=True)])
    a, b, c = map(single, boosts)
    total = single(a + b)
    order = [total] * 10
    lines, judged = [], {}
    for q in range(12):
        hits = [{"_id": f"d{q}-{i}", "_score": s, "matched_queries": {"a": a, "b": b}} for i, s in enumerate(order)]
        hits.append({"_id": f"r{q}", "_score": c, "matched_queries": {"c": c}})
        hits.append({"_id": f"last{q}", "_score": a, "matched_queries": {"a": a}})
        hits.sort(key=lambda hit: -float(hit["_score"]))
        lines.append({"qid": f"q{q}", "response": {"hits": {"hits": hits}}})
        judged[f"q{q}"] = {f"r{q}": 1}
    file = write(Path("r.jsonl"), lines)
    found = sr.select(file, qrels=judged, query=body, **ENGINE, **QUICK)
    expected = 1.0 if c > total else 0.0
    assert found.change is not None
    assert found.change.mean == expected
    candidate = next(x for x in found.choice.candidates if x.formula == "today's boosts")
    assert candidate.mean == expected
    # The same ranking has the same value as a run, also by the sums of the model.
    Path("q.json").write_text(json.dumps(judged))
    run = {line["qid"]: {h["_id"]: h["_score"] for h in line["response"]["hits"]["hits"]} for line in lines}
    Path("now.json").write_text(json.dumps(run))
    shown = cli_here(
        "evaluate", "--qrels", "q.json", "--system", "now.json", "--convention", "default", "--format", "json"
    )
    assert json.loads(shown.out)[0]["mean"] == expected


# -- another request -------------------------------------------------------------------------------------------------


def changed(**boosts: float) -> Body:
    """SEARCH with other boosts."""
    body = json.loads(json.dumps(SEARCH))
    for clause in body["query"]["bool"]["should"]:
        ((_, content),) = clause.items()
        named = content if "_name" in content else next(iter(content.values()))
        named["boost"] = boosts.get(named["_name"], named["boost"])
    return dict(body)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (changed(popularity=8.7), "clause 'popularity', has the score [0-9.]+, which its boost of 0.7 cannot give"),
        (changed(stock=4.5), "clause 'stock', has the score 4.5, which its boost of 0.5 cannot give"),
        (changed(stock=0.25), "clause 'stock', has the score 0.25, which its boost of 0.5 cannot give"),
        (asked(should=[text("tags", 5)]), None),
    ],
)
def test_responses_to_another_request_are_refused(sent: Body, said: str | None, world: World, tmp_path: Path) -> None:
    engine, queries, grades = world
    lines = engine.collect(sent, {"q0": queries["q0"]})
    if said is None:  # a name that the request does not have
        lines[0]["response"]["hits"]["hits"] = [{"_id": "p1", "_score": 1.0, "matched_queries": {"tags": 1.0}}]
        said = "clause 'tags', which the request does not have"
    with pytest.raises(DataFormatError, match=said):
        sr.select(write(tmp_path / "r.jsonl", lines), qrels=grades, query=SEARCH, **ENGINE, **QUICK)


def test_a_response_without_what_the_request_requires_is_refused(world: World, tmp_path: Path) -> None:
    engine, queries, grades = world
    strict = asked(must=[FIELDS[0]], should=[FIELDS[1], POPULAR, STOCK])
    file = write(tmp_path / "r.jsonl", engine.collect(asked(should=[FIELDS[0], FIELDS[1], POPULAR, STOCK]), queries))
    with pytest.raises(DataFormatError, match="matches less than the request requires: the responses are to another"):
        sr.select(file, qrels=grades, query=strict, **ENGINE, **QUICK)
    zero = changed(brand=0)
    with pytest.raises(
        DataFormatError, match=r"clause 'brand', has the score [0-9.]+, which its boost of 0 cannot give"
    ):
        sr.select(
            write(tmp_path / "r.jsonl", engine.collect(SEARCH, queries)), qrels=grades, query=zero, **ENGINE, **QUICK
        )


def test_a_request_beside_its_response_is_compared(world: World, cli_here: Cli) -> None:
    """Boosts of match clauses are in no response: only the stored request tells."""
    engine, queries, grades = world
    Path("q.json").write_text(json.dumps(grades))
    Path("search.json").write_text(json.dumps(SEARCH))
    call = ("select", "r.jsonl", "--qrels", "q.json", "--engine", "elasticsearch-query", "--out", "run")
    few = {q: queries[q] for q in list(queries)[:12]}
    lines = engine.collect(SEARCH, few, request=True)
    other = engine.collect(changed(title=9), few, request=True)
    write(Path("r.jsonl"), other)
    said = "r.jsonl:1: its request differs from that of --query in query.bool.should.0.match.title.boost: the responses"
    assert_refused(cli_here(*call, "--query", "search.json"), 1, said)
    write(Path("r.jsonl"), [*lines[:6], *other[6:]])
    said = "r.jsonl:7: its request differs from those of other lines in query.bool.should.0.match.title.boost"
    assert_refused(cli_here(*call), 1, said)
    write(Path("r.jsonl"), [*lines[:6], *engine.collect(SEARCH, few)[6:]])
    assert_refused(cli_here(*call, "--query", "search.json"), 1, "but the lines before are responses of Elasticsearch")
    for line in lines:  # pages may differ, and what is not scored
        line["request"] |= {"from": 0, "size": 7, "aggs": {}}
    write(Path("r.jsonl"), lines)
    quick = ("--penalty", "l1", "--transform", "none", "--half-samples", "0", "--rival", "none", "--n-alphas", "6")
    assert cli_here(*call, "--query", "search.json", *quick).code == 0


@pytest.mark.parametrize(
    ("sent", "where"),
    [
        ({"query": {"match": {"title": {"query": "red lamp", "boost": 5}}}}, ""),
        ({"query": {"match": {"title": {"query": "red lamp", "boost": 5.0}}}, "size": 3}, ""),
        ({"query": {"match": {"title": {"query": "red lamp", "boost": 6}}}}, "query.match.title.boost"),
        ({"query": {"match": {"body": {"query": "red lamp", "boost": 5}}}}, "query.match"),
        ({"query": {"match": {"title": "red lamp"}}}, "query.match.title"),
        ({"query": {"match": {"title": {"query": "x", "boost": 5}}}, "rescore": {}}, "its parts"),
        ("a text", "its form"),
    ],
)
def test_requests_are_compared_but_for_the_text(sent: Any, where: str) -> None:
    for keywords in ("{{keywords}}", "blue desk"):
        assert difference({"query": {"match": {"title": {"query": keywords, "boost": 5}}}}, sent) == where


def test_a_model_is_not_used_on_responses_to_another_request(world: World, cli_here: Cli) -> None:
    engine, queries, grades = world
    found = sr.select(
        write(Path("r.jsonl"), engine.collect(SEARCH, queries)), qrels=grades, query=SEARCH, **ENGINE, **QUICK
    )
    found.model.save("model.json")
    assert cli_here("predict", "model.json", "r.jsonl", "--run", "new.run").code == 0
    write(Path("next.jsonl"), engine.collect(changed(stock=4.5), queries))
    refused = cli_here("predict", "model.json", "next.jsonl", "--run", "next.run")
    assert_refused(refused, 1, "clause 'stock', has the score 4.5, which its boost of 0.5 cannot give")


# -- what users see --------------------------------------------------------------------------------------------------


def run_of(lines: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    return {line["qid"]: {h["_id"]: h["_score"] for h in line["response"]["hits"]["hits"]} for line in lines}


def trec(lines: list[dict[str, Any]]) -> str:
    return "".join(
        f"{q} Q0 {d} {r} {s} x\n" for q, of in run_of(lines).items() for r, (d, s) in enumerate(of.items(), start=1)
    )


def test_what_test_data_lack_is_said(world: World, tmp_path: Path) -> None:
    """Judgments of the training queries alone, or a run of them alone."""
    engine, queries, grades = world
    train = {q: k for q, k in queries.items() if int(q[1:]) < 30}
    test = {q: k for q, k in queries.items() if q not in train}
    file = write(tmp_path / "r.jsonl", engine.collect(SEARCH, train))
    later = write(tmp_path / "t.jsonl", engine.collect(SEARCH, test))
    own = {q: of for q, of in grades.items() if q in train}
    with pytest.raises(DataFormatError, match=r"t\.jsonl: no query of the responses is judged: they have ids such as"):
        sr.select(file, test=later, qrels=own, query=SEARCH, **ENGINE, **QUICK)
    before = {(q, d): s for q, of in run_of(engine.collect(SEARCH, train)).items() for d, s in of.items()}
    why = "needs the queries of training, validation and test"
    with pytest.warns(DataWarning, match="no documents for 30 of the test"), pytest.raises(ParameterError, match=why):
        sr.select(file, test=later, qrels=grades, query=SEARCH, current=before, **ENGINE, **QUICK)


def test_what_changes_in_a_request_is_never_left_out(world: World, tmp_path: Path) -> None:
    """However few lines a screen has. The first lines say if it is not shown to be better."""
    engine, queries, grades = world
    file = write(tmp_path / "r.jsonl", engine.collect(SEARCH, queries))
    result = sr.select(file, qrels=grades, query=SEARCH, **ENGINE, **QUICK)
    notes = [note for note in result.notes if note.startswith(("boosts: ", "only deleted clauses find "))]
    assert notes
    crowded = replace(result, notes=[*result.notes, *(f"another note {i}." for i in range(5))])
    for most in (30, 18):
        shown = " ".join(line.strip() for line in screen_lines(crowded, "run", most=most))
        assert all(note in shown for note in notes)
    said = "These queries do not show that it ranks better than today's ranker."
    assert result.change is not None
    unclear = replace(result, change=replace(result.change, difference=0.01, low=-0.01, high=0.03))
    assert said in " ".join(screen_lines(unclear))
    assert said not in " ".join(screen_lines(replace(result, change=replace(unclear.change, low=0.001))))


def test_a_run_is_the_ranker_in_use_through_to_the_test(world: World, cli_here: Cli) -> None:
    """Users see another query, whose documents the responses do not have."""
    engine, queries, grades = world
    train = {q: k for q, k in queries.items() if int(q[1:]) < 45}
    test = {q: k for q, k in queries.items() if q not in train}
    short = {**SEARCH, "size": 12}
    live = asked(15, should=[several("cross_fields", ["brand^5", "body"])])
    write(Path("r.jsonl"), engine.collect(short, train))
    write(Path("t.jsonl"), engine.collect(short, test))
    seen, seen_later = engine.collect(live, train), engine.collect(live, test)
    Path("before.run").write_text(trec([*seen, *seen_later]))
    Path("q.json").write_text(json.dumps(grades))
    Path("search.json").write_text(json.dumps(SEARCH))
    call = ("select", "r.jsonl", "--test", "t.jsonl", "--qrels", "q.json", "--engine", "elasticsearch-query")
    call += ("--query", "search.json", "--penalty", "l1", "--half-samples", "0", "--rival", "none", "--n-alphas", "6")
    done = cli_here(*call, "--current", "before.run", "--out", "run").done
    result = json.loads(Path("run/result.json").read_text())
    assert result["change"]["mean"] == pytest.approx(mean_ndcg(seen, grades, as_listed=True), abs=1e-12)
    row = next(r for r in result["test"] if r["system"] == "model in use (before.run)" and r["metric"] == "ndcg@10")
    assert row["mean"] == pytest.approx(mean_ndcg(seen_later, grades, as_listed=True), abs=1e-12)
    assert result["change"]["enter"] == []
    assert "today (before.run)" in done.out
    assert any(c.startswith("today's boosts") for c in formulas(result))
    # Without the run, the row says that it is the request on these hits; a mapping is a run, too.
    done = cli_here(*call, "--out", "run2").done
    assert "today (search.json, these hits)" in done.out
    data = {"train": "r.jsonl", "qrels": grades, "query": SEARCH, **ENGINE, **QUICK}
    found = sr.select(**data, current=run_of(seen))
    assert found.change is not None
    assert found.change.mean == pytest.approx(mean_ndcg(seen, grades), abs=1e-12)
    for other in ("title", found.model):
        with pytest.raises(ParameterError, match="current cannot be combined with query, whose boosts are in use"):
            sr.select(**data, current=other)


def formulas(result: dict[str, Any]) -> list[str]:
    return [p["penalty"] for p in result["penalties"]]


def test_the_first_page_is_counted(world: World, tmp_path: Path) -> None:
    engine, queries, grades = world
    rng = np.random.default_rng(1)
    judged = {q: {d: g for d, g in of.items() if rng.random() < 0.6} for q, of in grades.items()}
    lines = engine.collect(SEARCH, queries)
    found = sr.select(write(tmp_path / "r.jsonl", lines), qrels=judged, query=SEARCH, **ENGINE, **QUICK)
    exported = json.loads(str(found.model.export("elasticsearch-query", query=SEARCH)["query.json"]))
    pages = [
        {line["qid"]: [h["_id"] for h in line["response"]["hits"]["hits"]][:10] for line in of}
        for of in (lines, engine.collect(exported, queries))
    ]
    unjudged = [np.mean([d not in judged[q] for q, page in of.items() for d in page]) for of in pages]
    moved = np.mean([{*pages[0][q]} != {*pages[1][q]} for q in queries])
    assert found.change is not None
    top = dict(found.change.top or {})
    assert top == pytest.approx(
        {"documents": 10, "unjudged": unjudged[0], "unjudged_new": unjudged[1], "changed": moved}, abs=0.01
    )
    assert found.to_json()["change"]["top"] == top
    assert (
        f"are {top['unjudged']:.0%} of them today and {top['unjudged_new']:.0%} with the new boosts." in found.notes[1]
    )


def test_trees_are_compared_on_the_documents_of_the_candidates(world: World, tmp_path: Path) -> None:
    """They have no score of relevant documents that no response has, as no candidate has."""
    pytest.importorskip("lightgbm")
    engine, queries, grades = world
    lines = engine.collect({**SEARCH, "size": 8}, queries)
    asked_of = {**QUICK, "rival": "lightgbm", "qrels": grades, "query": SEARCH, **ENGINE}
    found = sr.select(write(tmp_path / "r.jsonl", lines), **asked_of)
    assert [r.name for r in found.rivals.compared] == ["LightGBM"]
    best = []
    for line in lines:
        hits = {h["_id"] for h in line["response"]["hits"]["hits"]}
        best.append(_best([(d in hits, g) for d, g in grades[line["qid"]].items()]))
    assert found.change is not None
    assert found.change.mean < found.rivals.compared[0].mean <= np.mean(best)
    # The lists of queries show what was returned.
    returned = run_of(lines)
    for query in (*found.queries.lost, *found.queries.won):
        for shown in query.lists:
            assert {d for d, _ in shown.documents} <= returned[query.query].keys(), shown.ranker


def test_what_has_no_name_may_require_a_share_of_its_clauses() -> None:
    some = {"bool": {"should": [{"match": {"body": "x"}}], "minimum_should_match": "2<75%"}}
    assert search_query(asked(should=[FIELDS[0], some])).finds({"title"}, False)


def _best(documents: list[tuple[bool, int]]) -> float:
    """NDCG@10 of the best order of the returned documents, (returned, grade) each."""
    discounts = 1 / np.log2(np.arange(2, 12))
    shown = sorted((2.0**g - 1 for is_hit, g in documents if is_hit), reverse=True)[:10]
    ideal = sorted((2.0**g - 1 for _, g in documents), reverse=True)[:10]
    return float(np.dot(shown, discounts[: len(shown)]) / np.dot(ideal, discounts))


@pytest.mark.slow
def test_the_second_week_of_the_tutorial_is_printed_as_it_was(cli_here: Cli) -> None:
    documents, queries, grades = shop(n_docs=400, n_queries=160)
    engine, rng = TextEngine(documents), np.random.default_rng(3)
    first = {**SEARCH, "size": 100}
    lines = engine.collect(first, queries, request=True)
    pools = {line["qid"]: [h["_id"] for h in line["response"]["hits"]["hits"]][:30] for line in lines}
    judged = {
        q: {
            d: g
            for d, g in grades[q].items()
            if (d in pools[q] and rng.random() < 0.8) or (g > 0 and rng.random() < 0.5)
        }
        for q in queries
    }
    write(Path("responses.jsonl"), lines)
    Path("search.json").write_text(json.dumps(first))
    Path("judged.json").write_text(json.dumps(judged))
    Path("before.run").write_text(trec(lines))
    call = ("--qrels", "judged.json", "--rival", "none")
    week = ("--engine", "elasticsearch-query", "--query", "search.json", "--half-samples", "0", "--out", "boosts")
    assert cli_here("select", "responses.jsonl", *call, *week).code == 0
    assert (
        cli_here("export", "boosts", "--to", "elasticsearch-query", "--query", "search.json", "--out", "new.json").code
        == 0
    )
    write(Path("week2.jsonl"), engine.collect(json.loads(Path("new.json").read_text()), queries, request=True))
    page = (DOCS / "tutorials/other-queries.md").read_text(encoding="utf-8")
    again = ("select", "week2.jsonl", *call, "--start", "boosts", "--out", "week2", "--restart")
    refused = cli_here(*again, "--query", "search.json")
    assert refused.err.splitlines()[-1] in page
    for more in ((), ("--current", "before.run")):
        rows = cli_here(*again, "--query", "new.json", *more).done.out.splitlines()
        shown = [row for row in rows if row.startswith(("today ", "all features", "chosen "))]
        assert len(shown) == 3
        # The second screen is told in a sentence: what today is worth, and by how much the chosen boosts are better.
        figures = re.findall(r"0\.\d{4}|\+[\d.]+% \(.+\) better", shown[0]) if more else shown
        assert len(figures) > 1
        assert all(row.removesuffix(" better") in page for row in figures)
