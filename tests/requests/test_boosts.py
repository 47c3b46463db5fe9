"""Boosts of a search request: which requests are sums of clauses, the request with other boosts, responses as data, and
the whole job against a small search engine."""

import copy
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.read import as_datasets
from sparserank.errors import DataError, DataFormatError, DataWarning, ParameterError
from sparserank.requests.search_query import search_query
from tests.oracles.search_engine import listed, scored
from tests.support.command_line import Cli, assert_refused
from tests.support.made_responses import collection, response, write

MATCH = {"match": {"title": {"query": "{{q}}", "_name": "title", "boost": 5}}}
BODY = {"match": {"body": {"query": "{{q}}", "_name": "body"}}}
UNNAMED = {"match": {"title": "{{q}}"}}


QUICK: dict[str, Any] = {"penalties": "l1", "n_alphas": 3, "half_samples": 0, "rival": "none", "cv": 3}
Lists = dict[str, dict[str, dict[str, float]]]  # {query: {document: {leaf: score}}}


def wrapped(kind: str, **content: Any) -> dict[str, Any]:
    return {"query": {kind: content}}


def of_leaves(*names: str, **boosts: float) -> dict[str, Any]:
    """A request of optional clauses, with these boosts or none."""
    leaves = [{"id": n, "_name": n} for n in names] + [{"id": n, "_name": n, "boost": b} for n, b in boosts.items()]
    return wrapped("bool", should=[{"leaf": leaf} for leaf in leaves])


def answered(file: Path, body: dict[str, Any], documents: Lists) -> Path:
    """A file of the responses to a request."""
    return write(file, [response(q, of, body) for q, of in documents.items()])


def tuned(file: Path, body: dict[str, Any], documents: Lists, judged: Any, **options: Any) -> sr.SelectionResult:
    answered(file, body, documents)
    return sr.select(file, qrels=judged, engine="elasticsearch-query", query=body, **QUICK | options)


def first_three(documents: Lists, worth: Callable[[dict[str, float]], float]) -> dict[str, dict[str, int]]:
    """Judgments by which the three best documents of each query are relevant."""
    best = {q: sorted(of, key=lambda d: -worth(of[d]))[:3] for q, of in documents.items()}
    return {q: {d: 3 - i for i, d in enumerate(of)} for q, of in best.items()}


# Structures of requests in public documentation, written anew.
REQUESTS: dict[str, tuple[dict[str, Any], str | dict[str, tuple[float, float, bool]]]] = {
    "two optional clauses": (
        wrapped("bool", should=[MATCH, BODY]),
        {"title": (5.0, 1.0, False), "body": (1.0, 1.0, False)},
    ),
    "one clause is the query": ({"query": MATCH}, {"title": (5.0, 1.0, True)}),
    "required, optional, filters": (
        wrapped("bool", must=MATCH, should=[BODY], filter=[{"term": {"lang": {"value": "en", "_name": "lang"}}}]),
        {"title": (5.0, 1.0, True), "body": (1.0, 1.0, False)},
    ),
    "boosts around multiply": (
        wrapped("bool", boost=2, should=[{"bool": {"boost": 3, "must": [MATCH]}}, BODY]),
        {"title": (5.0, 6.0, True), "body": (1.0, 2.0, False)},
    ),
    "whatever is inside a clause": (
        wrapped(
            "bool",
            should=[
                {"dis_max": {"queries": [UNNAMED, UNNAMED], "_name": "best"}},
                {"function_score": {"query": UNNAMED, "functions": [], "_name": "fresh", "boost": 0.5}},
                {"multi_match": {"query": "{{q}}", "fields": ["a", "b"], "type": "best_fields", "_name": "multi"}},
                UNNAMED,
            ],
        ),
        {"best": (1.0, 1.0, False), "fresh": (0.5, 1.0, False), "multi": (1.0, 1.0, False)},
    ),
    "function_score around": (
        wrapped("function_score", query={"bool": {"should": [MATCH]}}, field_value_factor={"field": "clicks"}),
        "clause 'title' is inside 'function_score', which multiplies scores; write each function as a named should",
    ),
    "dis_max around": (wrapped("dis_max", queries=[MATCH, BODY]), "'dis_max', which takes the best score inside"),
    "boosting around": (
        wrapped("boosting", positive=MATCH, negative=UNNAMED, negative_boost=0.5),
        "'boosting', which multiplies scores",
    ),
    "script_score around": (
        wrapped("bool", must=[{"script_score": {"query": MATCH, "script": {"source": "_score"}}}]),
        "'script_score', which replaces the score inside",
    ),
    "constant_score around": (wrapped("constant_score", filter=MATCH), "name the constant_score itself"),
    "nested around": (
        wrapped("nested", path="offers", query=MATCH),
        "'nested', which computes a score of its own from those inside; name it itself",
    ),
    "a clause inside another": (
        wrapped("bool", should=[{"bool": {"_name": "text", "should": [MATCH]}}]),
        "clause 'text' has 'title' inside",
    ),
    "a field called _name": (
        wrapped("bool", should=[{"match": {"_name": {"query": "x"}}}, BODY]),
        {"body": (1.0, 1.0, False)},
    ),
    "another order": ({**wrapped("bool", should=[MATCH]), "sort": ["price"]}, "sort orders documents otherwise"),
    "rescore": ({**wrapped("bool", should=[MATCH]), "rescore": {}}, "rescore replaces scores"),
    "two must match": (
        wrapped("bool", should=[MATCH, BODY], minimum_should_match=2),
        "minimum_should_match is 2, so optional clauses decide about others",
    ),
    "one must match, beside what must match anyway": (
        wrapped("bool", must=[MATCH], should=[BODY], minimum_should_match=1),
        "write those of which some must match as a bool of their own in must",
    ),
    "share must match": (wrapped("bool", should=[MATCH, BODY], minimum_should_match="75%"), "minimum_should_match is"),
    "no name": (wrapped("bool", should=[UNNAMED]), "no must or should clause has a _name"),
    "one name twice": (wrapped("bool", should=[MATCH, MATCH]), "'title' is the name of two clauses"),
    "one name, also in a filter": (wrapped("bool", should=[MATCH], filter=[MATCH]), "is the name of two clauses, or"),
    "a name of ours": (wrapped("bool", should=[{"match": {"a": {"_name": "rest"}}}]), "'rest' is the name of two"),
    "boosts of indices": ({**wrapped("bool", should=[MATCH]), "indices_boost": []}, "indices_boost multiplies scores"),
    "a boost that is no factor": (
        wrapped("bool", should=[{"function_score": {"query": UNNAMED, "boost_mode": "replace", "_name": "f"}}]),
        "clause 'f' has boost_mode replace, of which its boost is no factor",
    ),
    "a boost in a template": (
        {"query": {"match": {"title": {"query": "x", "_name": "title", "boost": "{{b}}"}}}},
        "a boost must be a number >= 0, written without quotes; got '{{b}}'",
    ),
    "a boost below 0": (
        {"query": {"match": {"title": {"query": "x", "_name": "title", "boost": -1}}}},
        "a boost must be a number >= 0, written without quotes; got '-1'",
    ),
    "no request": ({"size": 10}, 'is no search request; expected {"query": ...}'),
    "two types at once": ({"query": {**MATCH, **wrapped("bool")["query"]}}, 'expected one query {"type": ...}'),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_are_sums_of_clauses_or_refused(name: str) -> None:
    body, expected = REQUESTS[name]
    if isinstance(expected, str):
        with pytest.raises(DataFormatError) as refused:
            search_query(body, "s.json")
        assert expected in str(refused.value)
        assert str(refused.value).startswith("s.json: ")
        return
    found = search_query(body)
    assert {n: (c.boost, c.outer, c.must) for n, c in found.clauses.items()} == expected
    assert search_query(found.with_boosts({n: c.boost for n, c in found.clauses.items()})).clauses == found.clauses


# -- the request with other boosts -------------------------------------------------------------------------------------


def leaves(query: dict[str, Any]) -> Iterator[dict[str, Any]]:
    ((kind, content),) = query.items()
    if kind != "bool":
        yield content
        return
    for part in ("must", "should", "filter", "must_not"):
        given = content.get(part, [])
        for q in given if isinstance(given, list) else [given]:
            yield from leaves(q)


def random_request(rng: random.Random) -> dict[str, Any]:
    """A bool query of named and unnamed leaves, two levels deep."""
    ids = (f"l{i}" for i in itertools.count())

    def leaf(named: bool) -> dict[str, Any]:
        name = next(ids)
        content = {"id": name, **({"_name": name} if named else {})}
        return {"leaf": {**content, **({"boost": rng.choice([0.5, 2, 3.0])} if rng.random() < 0.6 else {})}}

    def of_bool(deep: bool) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for part, most in (("must", 2), ("should", 3), ("filter", 1)):
            entries = []
            for _ in range(rng.randint(0, most)):
                scores = part != "filter"
                inner = deep and scores and rng.random() < 0.3
                entries.append(of_bool(False) if inner else leaf(scores and rng.random() < 0.8))
            if entries:
                content[part] = entries[0] if len(entries) == 1 and rng.random() < 0.5 else entries
        if "must" not in content and "should" not in content:
            content["should"] = [leaf(True)]
        if rng.random() < 0.3:
            content["boost"] = 2.0
        if "should" in content and not {"must", "filter"} & content.keys() and rng.random() < 0.5:
            content["minimum_should_match"] = 1
        return {"bool": content}

    return {"query": of_bool(True), "size": 10}


def scored_leaves(query: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """{id: leaf} of the leaves in must and should."""
    ((kind, content),) = query.items()
    if kind != "bool":
        return {content["id"]: content}
    out: dict[str, dict[str, Any]] = {}
    for part in ("must", "should"):
        given = content.get(part, [])
        for q in given if isinstance(given, list) else [given]:
            out |= scored_leaves(q)
    return out


@pytest.mark.parametrize("seed", range(10))
def test_scores_are_sums_and_the_request_with_new_boosts_gives_the_new_sums(seed: int) -> None:
    rng, n_found, n_lost, n_without_outer = random.Random(seed), 0, 0, 0
    for _ in range(100):
        body = random_request(rng)
        if not any("_name" in leaf for leaf in scored_leaves(body["query"]).values()):
            continue
        request = search_query(body)
        before, boosts = copy.deepcopy(body), {n: rng.choice([0.0, 0.0, 1.5, 4.0]) for n in request.clauses}
        if not any(boosts.values()) and all("_name" in leaf for leaf in scored_leaves(body["query"]).values()):
            with pytest.raises(DataError, match="no clause has a boost above 0"):
                request.with_boosts(boosts)
            continue
        after = request.with_boosts(boosts)
        assert body == before
        # All else stands: what is not scored by name is scored as before, nothing is new, and nothing required goes.
        old, new = scored_leaves(body["query"]), scored_leaves(after["query"])
        if any(boosts.values()) or any("_name" not in leaf for leaf in old.values()):
            assert {n for n in new if "_name" in new[n]} == {n for n, b in boosts.items() if b}
        assert {n: leaf for n, leaf in new.items() if "_name" not in leaf}.keys() <= old.keys()
        assert {k: v for k, v in after.items() if k != "query"} == {"size": 10}
        ids = [leaf["id"] for leaf in leaves(after["query"])]
        assert len(ids) == len(set(ids))
        gone = {n for n in request.clauses if n not in ids}
        assert all(not request.clauses[n].must or boosts[n] == 0 for n in gone)
        for _ in range(12):
            document = {leaf["id"]: rng.uniform(0.5, 2.0) for leaf in leaves(body["query"]) if rng.random() < 0.7}
            score = scored(body["query"], document)
            if score is None:
                continue
            named = {n: s for n, s in listed(body["query"], document).items() if n in request.clauses}
            new_score = scored(after["query"], document)
            if new_score is None:  # only deleted clauses, which alone decided, or nothing, found it
                n_lost += 1
                continue
            if not any(boosts.values()):
                continue
            n_found += 1
            unboosted = {n: s / request.clauses[n].boost for n, s in named.items()}
            reached = {n for n in named if in_sum(body["query"], document, n)}
            total = sum(request.clauses[n].outer * request.clauses[n].boost * unboosted[n] for n in reached)
            expected = sum(request.clauses[n].outer * boosts[n] * unboosted[n] for n in reached)
            n_without_outer += abs(sum(boosts[n] * unboosted[n] for n in reached) - expected) > 1e-9
            # What is in no clause changes only where the whole bool around it goes, of which it would be the rest.
            assert new_score - expected == pytest.approx(score - total, abs=1e-9) or not kept_whole(body, after)
    assert n_found > 300
    assert n_lost < n_found
    assert n_without_outer > 50  # a sum without the boosts around it would be another one


def in_sum(query: dict[str, Any], document: dict[str, float], name: str) -> bool:
    """Whether the leaf of this name counts in the score: no bool around it fails."""
    ((kind, content),) = query.items()
    if kind != "bool":
        return bool(content.get("_name") == name and content["id"] in document)
    if scored(query, document) is None:
        return False
    for part in ("must", "should"):
        given = content.get(part, [])
        if any(in_sum(q, document, name) for q in (given if isinstance(given, list) else [given])):
            return True
    return False


def kept_whole(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether every leaf without a name is still scored."""
    old, new = scored_leaves(before["query"]), scored_leaves(after["query"])
    return all(n in new for n, leaf in old.items() if "_name" not in leaf)


# -- responses as data -------------------------------------------------------------------------------------------------

TUNED = wrapped(
    "bool",
    must=[{"leaf": {"id": "title", "_name": "title", "boost": 5}}],
    should=[
        {"leaf": {"id": "body", "_name": "body", "boost": 1.2}},
        {"bool": {"boost": 2, "should": [{"leaf": {"id": "tags", "_name": "tags"}}]}},
        {"leaf": {"id": "never", "_name": "never"}},
        {"leaf": {"id": "pop", "boost": 0.7}},
    ],
    filter={"leaf": {"id": "title", "_name": "required"}},
)


@pytest.mark.usefixtures("no_processes")
def test_a_request_is_tuned_and_run_again(cli_here: Cli) -> None:
    documents, judged = collection(60)
    write(Path("r.jsonl"), [response(q, of, TUNED) for q, of in documents.items()])
    Path("s.json").write_text(json.dumps(TUNED))
    Path("j.json").write_text(json.dumps(judged))
    quick = ("--penalty", "mcp", "--transform", "none", "--half-samples", "0", "--rival", "none", "--n-alphas", "8")
    call = ("--qrels", "j.json", "--engine", "elasticsearch-query", "--query", "s.json")
    done = cli_here("select", "r.jsonl", *call, *quick, "--out", "run").done
    said = " ".join(done.err.split())
    assert "responses with hits to 60 queries, of 20 documents (median); only these can move" in said
    assert "without a judgment, which count as 0: 0; judged documents that are in no response: 0 (0 judged" in said
    assert "clauses that never match, or whose boost is 0, so that nothing can be learned: never." in said
    model, found = sr.load_model("run"), json.loads(Path("run/result.json").read_text())
    boosts = {n: w for n, w in model.weights.items() if n != "rest"}
    assert {"title", "body"} <= boosts.keys()
    assert boosts["body"] > boosts["title"]
    assert all(b > 0 and float(f"{b:.1e}") == b for b in boosts.values())
    assert model.weights["rest"] == 1.0
    # The request with these boosts ranks as the model says, and better than before; today's figure is the engine's.
    assert cli_here("export", "run", "--to", "opensearch-query", "--query", "s.json", "--out", "new.json").code == 0
    after = json.loads(Path("new.json").read_text())
    metric, qrels = "ndcg@10", {(q, d): float(g) for q, of in judged.items() for d, g in of.items()}
    runs = []
    for body in (TUNED, after):
        scores = {(q, d): scored(body["query"], v) for q, of in documents.items() for d, v in of.items()}
        runs.append({pair: s for pair, s in scores.items() if s is not None})
    old, new = (sr.evaluate(run, qrels, metric, convention="default")[metric] for run in runs)
    assert found["change"]["mean"] == pytest.approx(old, abs=1e-6)
    assert new > old + 0.02
    assert cli_here("predict", "run", "r.jsonl", "--run", "new.run").code == 0
    predicted = sr.evaluate("new.run", qrels, metric, convention="default")[metric]
    assert predicted == pytest.approx(new, abs=1e-6)
    # The new request lacks a clause of the one before, and may be tuned by the same options.
    write(Path("r2.jsonl"), [response(q, of, after) for q, of in documents.items()])
    again = ("--qrels", "j.json", "--query", "new.json", "--start", "run", "--out", "run2")
    assert "Options of 'run', but --query new.json." in cli_here("select", "r2.jsonl", *again).done.out
    assert "d3-" in cli_here("explain", "run", "r.jsonl", "--query", "q3").done.out
    # The same scores in another form are not responses; what a model learned from responses does not apply to them.
    Path("t.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    assert_refused(
        cli_here("predict", "run", "t.txt"), 1, "was trained on search responses, and needs responses; got letor"
    )
    asked = ("select", "t.txt", "--engine", "elasticsearch-query", "--query", "s.json", "--out", "p")
    assert_refused(cli_here(*asked), 2, "needs responses to the request, as JSON Lines; got 't.txt'")
    for damage in ('["5", 5.0]', "[-1, 5.0]", "3", "[1]"):
        text = Path("run/model.json").read_text()
        Path("d.json").write_text(re.sub(r'("request": \{\s*"title": )\[[^\]]*\]', rf"\g<1>{damage}", text))
        assert_refused(cli_here("predict", "d.json", "r.jsonl"), 1, "its request must have two numbers >= 0")
    # Without the request, clauses in filter would count.
    assert_refused(
        cli_here("select", "r.jsonl", *call[:4], *quick, "--out", "o"),
        1,
        "clauses in filter are counted, which only the",
    )


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
@pytest.mark.parametrize(("boost", "name"), [(2.0, "today's boosts"), (2.25, "today's boosts, rounded")])
def test_boosts_that_nothing_beats_stay(boost: float, name: str, tmp_path: Path) -> None:
    clauses = {"title": 1.0, "body": boost, "pop": 0.5}
    body, (documents, _) = of_leaves(**clauses), collection(60)
    # The three documents that the request ranks first are the relevant ones: nothing can be better, and ties go to it.
    judged = first_three(documents, lambda v: float(scored(body["query"], v) or 0))

    def selected(**options: Any) -> sr.SelectionResult:
        return tuned(tmp_path / "r.jsonl", body, documents, judged, n_alphas=5, **options)

    found = selected(margin=0.0)
    assert found.chosen.label == name
    assert dict(found.model.weights) == {n: float(f"{b:.1e}") for n, b in clauses.items()}
    assert f"Keep 3 of 3 features: {name}." in str(found)
    assert ("today's stay" in found.notes[0]) == (boost == 2.0)
    new = found.model.export("elasticsearch-query", query=body)["query.json"]
    assert (json.loads(str(new)) == body) == (boost == 2.0)
    # A limit can exclude them; what is dropped by name is in no candidate.
    small = selected(k=2)
    assert small.chosen.label != name
    assert len(small.model.support) == 2
    first = next(n for n in clauses if n in small.model.weights)  # keeps its boost, because only ratios matter
    assert small.model.weights[first] == float(f"{clauses[first]:.1e}")
    dropped = selected(margin=0.0, drop=["pop"])
    assert "pop" not in dropped.model.weights
    assert not any(c.formula for c in dropped.choice.candidates)
    with pytest.raises(ParameterError, match="current cannot be combined with query, whose boosts are in use"):
        selected(current="title")


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_rules_about_what_is_in_no_clause_are_refused_by_their_own_names(tmp_path: Path) -> None:
    clauses = [{"leaf": {"id": n, "_name": n}} for n in ("title", "body")]
    body = wrapped("bool", must=[{"leaf": {"id": "all", "boost": 3.0}}], should=clauses)
    documents, judged = collection(30)
    everywhere = {q: {d: {**v, "all": 1.0} for d, v in of.items()} for q, of in documents.items()}
    with pytest.raises(ParameterError, match="keep names rest, which is the same for all documents of a query"):
        tuned(tmp_path / "r.jsonl", body, everywhere, judged, keep=["rest"])
    for name in ("keep", "drop"):
        with pytest.raises(ParameterError, match=f"{name} must be a list of feature names; got 'title'"):
            tuned(tmp_path / "r.jsonl", body, everywhere, judged, **{name: "title"})


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_rounding_the_first_boost_leaves_the_others(tmp_path: Path) -> None:
    body, (documents, _) = of_leaves(title=2.25, body=3.4, pop=0.5), collection(60)  # 3.4 * 2.25 / 2.2 would be 3.5
    rounded = {"title": 2.2, "body": 3.4, "pop": 0.5}
    judged = first_three(documents, lambda v: sum(rounded[n] * s for n, s in v.items() if n in rounded))
    found = tuned(tmp_path / "r.jsonl", body, documents, judged, margin=0.0)
    assert found.chosen.formula == "today's boosts, rounded"
    assert dict(found.model.weights) == rounded
    assert found.chosen.mean == 1.0


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_a_clause_that_adds_nothing_leaves_todays_boosts(tmp_path: Path) -> None:
    body, (documents, _) = of_leaves(title=1.0, body=2.0, tags=0.01, ghost=3.0), collection(60)
    judged = first_three(documents, lambda v: v["title"] + 2 * v.get("body", 0.0))
    found = tuned(tmp_path / "r.jsonl", body, documents, judged)
    # The clause that matches nothing is deleted, so these are no longer today's boosts as they are.
    name = "today's boosts of the clauses that match"
    named = [c for c in found.choice.candidates if c.formula]
    assert [c.formula for c in named] == [name, *(f"{name} without {n}" for n in ("title", "body", "tags"))]
    assert found.chosen.formula == f"{name} without tags"
    assert dict(found.model.weights) == {"title": 1.0, "body": 2.0}
    assert "without: tags (0.01), ghost (3)." in found.notes[0]


@pytest.mark.filterwarnings("ignore:responses with hits")
def test_a_request_that_does_not_depend_on_the_query_is_said(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    popular = {f"d{i}": float(rng.gamma(2.0)) for i in range(40)}  # the same documents answer all queries
    body = of_leaves("text", "popular")
    documents = {
        f"q{q}": {d: {"text": float(rng.gamma(2.0)), "popular": p} for d, p in popular.items() if rng.random() < 0.5}
        for q in range(40)
    }
    judged = {q: {d: int(v["popular"] > 2) for d, v in of.items()} for q, of in documents.items()}
    said = "no clause that is left depends on the query"
    with pytest.warns(DataWarning, match=said):
        found = tuned(tmp_path / "r.jsonl", body, documents, judged, n_alphas=6)
    assert list(found.model.weights) == ["popular"]
    assert said in found.notes[0]
    tuned(tmp_path / "r.jsonl", body, documents, judged, keep=["text"], n_alphas=6)  # a warning would be an error


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
@pytest.mark.parametrize("names", [("title",), ("title", "body", "pop")])
def test_finished_work_is_read_again(names: tuple[str, ...], tmp_path: Path) -> None:
    asked = (tmp_path / "r.jsonl", of_leaves(*names), *collection(60))
    options = {"penalties": None, "n_alphas": 4, "half_samples": 2, "cv": 2, "out": tmp_path / "run"}
    first = tuned(*asked, **options)
    model, log = (tmp_path / "run/model.json").read_text(), (tmp_path / "run/log.jsonl").read_text()
    assert ("refined" in {c.penalty for c in first.choice.candidates}) == (len(names) > 1)
    assert '"what": "refined fold 1"' in log
    tuned(*asked, **options)
    assert (tmp_path / "run/model.json").read_text() == model
    again = (tmp_path / "run/log.jsonl").read_text()[len(log) :]
    assert '"event": "piece"' not in again


def test_without_a_request_weights_are_factors_of_the_boosts(tmp_path: Path) -> None:
    body, (documents, judged) = of_leaves("title", "body"), collection(60)
    answered(tmp_path / "r.jsonl", body, documents)
    with pytest.warns(DataWarning, match="responses with hits to 60 queries"):
        found = sr.select(tmp_path / "r.jsonl", qrels=judged, engine="opensearch-query", **QUICK | {"n_alphas": 6})
    factors = json.loads(str(found.model.export("opensearch-query")["boosts.json"]))
    assert factors == dict(found.model.weights)
    assert min(factors.values()) > 0
    with pytest.raises(DataError, match="that was given to select, too"):
        found.model.export("opensearch-query", query=body)
    with pytest.raises(ParameterError, match="monotone cannot be - for title"):
        sr.select(found_data(tmp_path, judged), engine="opensearch-query", monotone={"title": "-"}, **QUICK)
    with pytest.raises(ParameterError, match="query needs engine='elasticsearch-query' or engine='opensearch-query'"):
        sr.select(found_data(tmp_path, judged), query=body, **QUICK)


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def found_data(folder: Path, judged: dict[str, Any]) -> sr.RankingDataset:
    with pytest.warns(DataWarning):
        return sr.read(folder / "r.jsonl", qrels=judged)


def test_a_response_is_a_row_per_hit(tmp_path: Path) -> None:
    documents = {"a": {"title": 1.0, "body": 2.0, "pop": 1.0}, "b": {"title": 2.0}, "c": {"body": 1.0}}
    judged = {"q": {"a": 2, "x": 1}, "r": {"b": 1}}
    pages = [response("q", {d: documents[d] for d in page}, TUNED) for page in ("a", "ab")]
    file = write(tmp_path / "r.jsonl", [*pages, response("r", documents, TUNED), response("s", {}, TUNED)])
    clauses = {"title": (0.2, 5.0), "body": (1 / 1.2, 1.2), "required": None}
    with pytest.warns(
        DataWarning,
        match=r"responses with hits to 2 queries, of 2 documents .* as 0: 2; .* response: 1 \(0 judged.*\.",
    ):
        (data,) = as_datasets({"train": file}, reading={"qrels": judged, "clauses": clauses}).values()
    assert data is not None
    assert list(data.feature_names or ()) == ["title", "body", "rest"]
    assert list(np.asarray(data.docid)) == ["a", "b", "b", "a"]
    np.testing.assert_array_equal(data.relevance, [2, 0, 1, 0])
    np.testing.assert_allclose(data.X, [[1, 2, 0.7], [2, 0, 0], [2, 0, 0], [1, 2, 0.7]], atol=1e-6)


def of_solr(line: dict[str, Any]) -> dict[str, Any]:
    """The same response as Solr writes it, with a value for each clause."""
    hits = line["response"]["hits"]["hits"]
    docs = [{"id": h["_id"], "score": h["_score"], "title": 0.0, "body": 0.0} | h["matched_queries"] for h in hits]
    return {**line, "response": {"responseHeader": {"status": 0}, "response": {"numFound": len(docs), "docs": docs}}}


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_responses_of_solr_are_the_same_data(tmp_path: Path) -> None:
    body = wrapped(
        "bool", should=[{"leaf": {"id": n, "_name": n}} for n in ("title", "body")] + [{"leaf": {"id": "pop"}}]
    )
    documents, judged = collection(40)
    lines = [response(q, of, body) for q, of in documents.items()]
    write(tmp_path / "r.jsonl", lines)
    elastic = found_data(tmp_path, judged)
    write(tmp_path / "r.jsonl", [of_solr(line) for line in lines])
    solr = found_data(tmp_path, judged)
    assert solr.feature_names == ("title", "body", "rest")
    assert elastic.docid is not None
    assert solr.docid is not None
    assert elastic.docid.tolist() == solr.docid.tolist()
    assert elastic.relevance.tolist() == solr.relevance.tolist()
    columns = [list(elastic.feature_names or ()).index(name) for name in solr.feature_names]
    assert np.asarray(elastic.X)[:, columns].tolist() == np.asarray(solr.X).tolist()
    # Weights are factors of the boosts, in units of what is in no clause; a request must be one to Solr.
    quick: dict[str, Any] = QUICK | {"k": 3}
    model = sr.select(tmp_path / "r.jsonl", qrels=judged, engine="solr-query", **quick).model
    assert json.loads(str(model.export("solr-query")["boosts.json"])) == {
        n: w for n, w in model.weights.items() if n != "rest"
    }
    with pytest.raises(DataError, match="is no request of the engine solr-query; use elasticsearch-query"):
        sr.select(tmp_path / "r.jsonl", qrels=judged, engine="solr-query", query=body, **quick)
    # Today's boosts are a factor of 1 each.
    found = sr.select(tmp_path / "r.jsonl", qrels=judged, engine="solr-query", **quick)
    assert found.change is not None
    scores = {
        q: {h["_id"]: h["_score"] for h in line["response"]["hits"]["hits"]}
        for q, line in zip(judged, lines, strict=True)
    }
    assert found.change.mean == pytest.approx(sr.evaluate(scores, judged, "default:ndcg@10")["ndcg@10"], abs=1e-6)
    assert "today's boosts" in {c.formula for c in found.choice.candidates}
    # With a tie below 1, the best clause counts more than the others, and the sum is above the score.
    for damage, said in (
        ({"score": 0.5}, r"has the score 0.5, but its clauses sum to"),
        ({"title": "a text"}, "has the score 'a text'; expected numbers >= 0"),
        ({"id": None}, "of Solr, response.response.docs, each with id and score"),
    ):
        bad = copy.deepcopy(of_solr(lines[0]))
        bad["response"]["response"]["docs"][0] |= damage
        write(tmp_path / "r.jsonl", [bad])
        with pytest.raises(DataFormatError, match=said):
            as_datasets({"responses": tmp_path / "r.jsonl"}, reading={"qrels": judged})


def hit(**more: Any) -> dict[str, Any]:
    return {"_id": "a", "_score": 3.0, "matched_queries": {"title": 2.0, "body": 1.0}, **more}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "list": (hit(matched_queries=["title"]), "has clauses without scores; send the request with include_named_queries"),
    "sorted by a field": (hit(_score=None), "has the score 'None'; expected numbers >= 0"),
    "not a number": (hit(_score=float("nan")), "has the score 'nan'; expected numbers >= 0"),
    "clause below 0": (hit(matched_queries={"title": -1.0}), "has the score '-1.0'; expected numbers >= 0"),
    "text": (hit(matched_queries={"title": "3"}), "has the score '3'; expected numbers >= 0"),
    "too much": (hit(_score=2.9), "document 'a' has the score 2.9, but its clauses sum to 3: something multiplies"),
    "another request": (
        hit(matched_queries={"titel": 2.0}),
        "has the clause 'titel', which the request does not have",
    ),
    "rest is taken": (hit(matched_queries={"rest": 2.0}), "which is taken; rename the clause"),
    "no clauses": (hit(matched_queries=None), "has clauses without scores"),
    "no id": ({"_score": 1.0}, "is no search response; expected response.hits.hits, each with _id and _score"),
    "huge": (hit(_score=10**400), "expected numbers >= 0"),
    "id": (hit(_id="\ud800"), "ids and names of clauses must be valid UTF-8 text"),
    "again, otherwise": (hit(_score=9.0), "document 'a' of query '1' has other scores than before"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_responses_are_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    odd, message = BAD[name]
    lines = [{"qid": 1, "response": {"hits": {"hits": [h]}}} for h in (hit(), odd)]
    file = write(tmp_path / "r.jsonl", lines)
    reading = {"qrels": {"1": {"a": 1}}, "clauses": {"title": (1.0, 1.0), "body": (1.0, 1.0)}}
    with pytest.raises(DataFormatError) as refused:
        as_datasets({"train": file}, reading=reading)
    assert message in str(refused.value)
    assert f"{file}:2" in str(refused.value)


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_responses_to_two_requests_are_not_mixed(tmp_path: Path) -> None:
    body = of_leaves("title", "body")
    more = wrapped("bool", should=[*body["query"]["bool"]["should"], {"leaf": {"id": "pop"}}])
    documents, judged = collection(4)
    plain, with_pop = ([response(q, of, b) for q, of in documents.items()] for b in (body, more))
    solr = [of_solr(line) for line in plain]
    other = copy.deepcopy(solr[1])
    for doc in other["response"]["response"]["docs"]:
        doc["tags"] = 0.0
    logged = {"qid": "q9", "label": 1, "id": "d", "[features]": "title=1"}
    file, clauses = tmp_path / "r.jsonl", search_query(body).listed
    for lines, said in (
        (
            [solr[0], other],
            "document 'd1-0' has the values body, tags, title, others body, title: two requests are mixed",
        ),
        (
            [plain[0], solr[1]],
            "is responses of Solr, but the lines before are responses of Elasticsearch or OpenSearch",
        ),
        ([plain[0], logged], "is logged features, but the lines before are responses of Elasticsearch"),
        (with_pop, "and every clause of the request has a name: the responses are to another request"),
    ):
        known = clauses if lines is with_pop else None
        with pytest.raises(DataFormatError, match=said):
            as_datasets({"train": write(file, lines)}, reading={"qrels": judged, "clauses": known})
    assert (
        as_datasets({"train": write(file, plain)}, reading={"qrels": judged, "clauses": clauses})["train"] is not None
    )
    # The request with an unnamed clause explains the rest; a file given twice is refused.
    as_datasets({"train": write(file, with_pop)}, reading={"qrels": judged, "clauses": search_query(more).listed})
    with pytest.raises(DataFormatError, match="give each file once"):
        as_datasets({"train": [file, file]}, reading={"qrels": judged})


def test_responses_need_judgments_and_queries(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", [{"qid": 1, "response": {"hits": {"hits": [hit()]}}}])
    with pytest.raises(DataFormatError, match="have no labels; give judgments to select or inspect"):
        sr.read(file)
    write(file, [{"qid": None, "response": {"hits": {"hits": [hit()]}}}])
    with pytest.raises(DataFormatError, match="has no 'qid'; every response needs its query"):
        sr.read(file, qrels={"1": {"a": 1}})
    (tmp_path / "t.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    with pytest.raises(ParameterError, match=r"qrels applies to search responses; .*t.txt is letor"):
        sr.read(tmp_path / "t.txt", qrels={"1": {"a": 1}})


def test_a_request_without_names_is_printed_with_names(cli_here: Cli) -> None:
    """All else stays, and the printed request is accepted."""
    text = {"query": "{{q}}", "operator": "and"}
    multi = {"multi_match": {**text, "fields": ["title^2", "body"], "type": "most_fields", "boost": 3}}
    others = [{"rank_feature": {"field": "pop"}}, {"term": {"brand": "a"}}, {"match": {"title": {"query": "x"}}}]
    loose = {"multi_match": {"query": "x", "fields": ["t.*"]}}  # of unknown fields: one clause
    body = {"size": 7, "query": {"bool": {"must": [multi], "should": [*others, loose], "filter": [UNNAMED]}}}
    Path("search.json").write_text(json.dumps(body))
    Path("r.jsonl").write_text('{"qid": 1, "response": {"hits": {"hits": []}}}\n')
    call = ("select", "r.jsonl", "--qrels", "r.jsonl", "--engine", "elasticsearch-query", "--query", "search.json")
    refusal = "search.json: no must or should clause has a _name; name each clause that is to be tuned, as 'sparserank"
    assert_refused(cli_here(*call, "--out", "run"), 1, refusal)
    assert not Path("run").exists()
    done = cli_here("inspect", "search.json")
    assert done.code == 0
    assert "names were added; all documents and scores are the same" in done.err
    assert "multi_match is one clause per field" in done.err
    assert (
        "multi_match stays one clause, because a multi_match searches fields that are not listed once each" in done.err
    )
    named = json.loads(done.out)
    assert named["size"] == 7
    assert named["query"]["bool"]["filter"] == [UNNAMED]
    found = {c.name: (c.boost, c.outer, c.must) for c in search_query(named).clauses.values()}
    once = (1.0, 1.0, False)
    split = {"title": (2.0, 3.0, False), "body": (1.0, 3.0, False)}
    assert found == {**split, "pop": once, "brand": once, "title 2": once, "multi_match": once}
    inside = named["query"]["bool"]["must"][0]["bool"]["should"]
    assert inside[0] == {"match": {"title": {**text, "boost": 2.0, "_name": "title"}}}
    Path("named.json").write_text(done.out)
    shown = cli_here("inspect", "named.json", "--format", "csv")
    assert shown.out.splitlines()[:2] == ["clause,boost,boosts around,must", "title,2.0,3.0,False"]
    for odd in ({"match": {"a": "x"}}, {"multi_match": {"fields": ["a^b"]}}, {"match_all": {}}):
        Path("search.json").write_text(json.dumps({"query": odd}))
        assert_refused(cli_here(*call, "--out", "run"), 1, "no must or should clause has a _name")
        assert json.loads(cli_here("inspect", "search.json").out)["query"].keys() == odd.keys()
    for odd, said in (({"bool": {}}, "no must or should clause has a _name"), ({"match": {}}, "match takes one field")):
        Path("search.json").write_text(json.dumps({"query": odd}))
        assert_refused(cli_here(*call, "--out", "run"), 1, said)
        assert_refused(cli_here("inspect", "search.json"), 1, said)
