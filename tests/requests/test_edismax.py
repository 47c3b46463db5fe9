"""Requests to Solr's edismax as sums of clauses: what inspect writes, new boosts, what is no sum. A running Solr is in
integrations/test_solr_boosts.py."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.errors import DataError, DataFormatError, DataWarning
from sparserank.requests.search_query import SearchQuery, difference, proposed, search_query
from tests.support.command_line import Cli, assert_refused

PLAIN = {
    "q": "{{keywords}}",
    "defType": "edismax",
    "tie": 1,
    "qf": "title^5 body^1.2",
    "pf": "title~2^3",
    "bq": "brand:acme^0.4",
    "bf": "log(sum(popularity,1))^0.7",
}
PARTS = ("qf", "pf", "pf2", "pf3", "bq", "bf")


def named(params: dict[str, Any]) -> dict[str, Any]:
    new, _ = proposed({"params": params}, "s.json")
    assert new is not None
    return new


def clauses_in(params: dict[str, Any], part: str) -> list[tuple[str, float]]:
    """(clause, boost) by a grammar of their own: what stands before the last ^, and the number behind it."""
    given = params.get(part, [])
    values = given if isinstance(given, list) else [given]
    pieces = [p for value in values for p in ([value] if part == "bq" else value.split()) if p]
    return [(of, float(boost)) for of, _, boost in (p.rpartition("^") if "^" in p else (p, "", "1") for p in pieces)]


def test_the_scores_of_clauses_are_asked_for_and_each_is_a_query_alone() -> None:
    new = named(PLAIN)["params"]
    assert {key: new[key] for key in PLAIN} == PLAIN
    names = ["title", "body", "pf_title_2", "bq_brand_acme", "bf_log_sum_popularity_1"]
    assert new["fl"] == ",".join(["id", "score", *(f"{name}:query($of_{name})" for name in names)])
    off = "pf2='' pf3='' bq='' bf='' boost='' v=$q}"
    assert new["of_title"] == f"{{!edismax qf='title^5 body^0' pf='' {off}"
    assert new["of_pf_title_2"] == f"{{!edismax qf='title^0 body^0' pf='title~2^3' {off}"
    assert new["of_bq_brand_acme"] == "brand:acme^0.4"
    assert new["of_bf_log_sum_popularity_1"] == "{!func}product(0.7,log(sum(popularity,1)))"
    request = search_query({"params": new})
    assert {c.name: (c.boost, c.outer, c.must) for c in request.clauses.values()} == {
        name: (boost, 1.0, False) for name, boost in zip(names, (5, 1.2, 3, 0.4, 0.7), strict=True)
    }
    assert request.unnamed == ()
    assert proposed({"params": new}, "s.json") == (None, [])


def generated(rng: np.random.Generator) -> dict[str, Any]:
    """A request with one to three entries in some of the parts, with and without boosts."""

    def some(of: list[str], least: int = 0) -> list[str]:
        chosen = rng.choice(of, rng.integers(least, 4), replace=False).tolist()
        boosts = rng.choice(["", "^2", "^0.35", "^10.25", "^1"], len(chosen)).tolist()
        return [text + boost for text, boost in zip(chosen, boosts, strict=True)]

    fields = ["title", "body", "tags.de", "sku-no", "_x"]
    params: dict[str, Any] = {"q": "{{k}}", "defType": "edismax", "tie": "1.0", "mm": "0%", "rows": 50}
    params["qf"] = " ".join(some(fields, 1))
    for part in ("pf", "pf2", "pf3"):
        if phrases := some([*fields[:3], "title~4"]):
            params[part] = " ".join(phrases)
    if queries := some(["brand:acme", 'title:"red lamp"', "(a:b OR (c:d AND e:f))", "(x)"]):
        params["bq"] = queries if len(queries) > 1 or rng.random() < 0.5 else queries[0]
    if functions := some(["log(sum(n,1))", "recip(ms(NOW,day),3.16e-11,1,1)", "field(pop)"]):
        params["bf"] = " ".join(functions)
    return params


def test_requests_differ_only_in_boosts_and_deleted_clauses() -> None:
    rng = np.random.default_rng(0)
    n_deleted = 0
    for _ in range(1000):
        params = generated(rng)
        request = search_query(named(params))
        kept = {name: float(f"{10 ** rng.uniform(-6, 3):.2g}") for name in request.clauses if rng.random() < 0.7}
        if not kept:
            continue
        before = copy.deepcopy(request.body)
        after = request.with_boosts(kept)
        assert request.body == before
        free = {*PARTS, "fl", *(f"of_{name}" for name in request.clauses)}
        old, new = (body["params"] for body in (before, after))
        assert {k: v for k, v in old.items() if k not in free} == {k: v for k, v in new.items() if k not in free}
        names = iter(request.clauses)
        for part in PARTS:
            mine = [(of, kept.get(next(names), 0.0)) for of, _ in clauses_in(old, part)]
            left = [(of, boost) for of, boost in mine if boost]
            n_deleted += len(mine) - len(left)
            # Fields find the documents, and stay with the boost 0 if no other is left.
            expected = left if left or part != "qf" else mine
            assert clauses_in(new, part) == expected
        again = search_query(after)
        assert {n: c.boost for n, c in again.clauses.items() if c.boost} == kept
    assert n_deleted > 500


def test_documents_that_only_deleted_fields_find_are_known() -> None:
    request = search_query(named(PLAIN))
    assert request.finds({"title"}, True)
    assert not request.finds({"pf_title_2", "bf_log_sum_popularity_1"}, True)
    after = SearchQuery(request.with_boosts({"title": 1.0}))
    assert request.loses(after, {"body"}, False) == {True}
    assert request.loses(after, {"body", "title"}, False) == {False}
    only = SearchQuery(request.with_boosts({"bq_brand_acme": 2.0}))
    assert request.loses(only, {"body"}, False) == {False}
    assert only.body["params"]["qf"] == "title^0 body^0"


@pytest.mark.parametrize("more", [{"mm": "2<67%"}, {"mm": 2}, {"q.op": "AND"}])
def test_documents_that_need_several_words_may_be_lost_with_a_field(more: dict[str, Any]) -> None:
    request = search_query(named({**PLAIN, **more}))
    with pytest.warns(DataWarning, match="documents must have several words .* so without body in qf, some"):
        request.with_boosts({"title": 1.0})
    request.with_boosts({"title": 1.0, "body": 2.0})


NO_SUM: dict[str, tuple[dict[str, Any], str]] = {
    "boost": ({"boost": "popularity"}, "boost multiplies scores; write it as bf"),
    "rq": ({"rq": "{!ltr model=a}"}, "rq replaces scores"),
    "sort": ({"sort": "price asc"}, "sort orders documents otherwise"),
    "start": ({"start": 10}, "start skips the first documents"),
    "group": ({"group": "true"}, "group leaves out documents"),
    "dismax": ({"defType": "dismax"}, "defType is 'dismax'; only edismax can be tuned"),
    "tie": ({"tie": 0.1}, "tie is 0.1, so the best field of qf counts; with tie 1"),
    "no fields": ({"qf": ""}, "has no qf; write the parameters of your handler into the request"),
    "a number": ({"bf": 3}, "must be text"),
    "twice": ({"qf": "title^2 title^3"}, "is the name of two clauses"),
}


@pytest.mark.parametrize("name", NO_SUM)
def test_what_is_no_sum_is_refused(name: str, cli_here: Cli) -> None:
    odd, said = NO_SUM[name]
    Path("s.json").write_text(json.dumps({"params": {**PLAIN, **odd}}))
    assert_refused(cli_here("inspect", "s.json"), 1, said)
    assert difference({"params": PLAIN}, {"params": {**PLAIN, **odd}}) != ""


def test_inspect_writes_the_request_and_then_shows_its_clauses(cli_here: Cli) -> None:
    Path("s.json").write_text(
        json.dumps({"params": {**PLAIN, "bq": ["brand:acme^0.4", "{!term f=x}y", "a:b^2 c:d"], "bf": "n^1e-3 m^2"}})
    )
    done = cli_here("inspect", "s.json")
    said = " ".join(done.err.split())
    assert "the scores of the clauses were added to fl; all documents and scores are the same" in said
    assert "'{!term f=x}y' of bq keeps its boost; as (...)^1, it can be tuned" in said
    assert "'a:b^2 c:d' of bq keeps its boost" in said
    assert "'n^1e-3' of bf keeps its boost; as a name or function, ^ and a number such as 0.5, it can be tuned" in said
    Path("named.json").write_text(done.out)
    shown = cli_here("inspect", "named.json")
    assert "bf_m" in shown.out
    assert "3 of its scored clauses have no value in fl" in " ".join(shown.err.split())
    content = json.loads(done.out)
    content["params"]["qf"] = "title^4 body^1.2"
    Path("named.json").write_text(json.dumps(content))
    assert_refused(cli_here("inspect", "named.json"), 1, "of_title is not the clause 'title' of the request; remove fl")


def test_other_requests_are_told_apart_but_for_what_users_look_for() -> None:
    own = named(PLAIN)
    sent = {"params": {**own["params"], "q": "red lamp", "rows": 10, "fq": "stock:1"}}
    assert difference(own, sent) == ""
    assert difference(own, {"params": {**sent["params"], "qf": "title^4 body^1.2"}}) == "params.qf"
    assert difference(own, {"params": {**sent["params"], "mm": "1"}}) == "params"
    assert difference(own, {"query": {"match_all": {}}}) != ""


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_responses_tune_the_request_and_the_export_is_for_solr(tmp_path: Path) -> None:
    """Scores as edismax adds them; the title says what is relevant."""
    body, rng = named(PLAIN), np.random.default_rng(1)
    today = {name: c.boost for name, c in search_query(body).clauses.items()}
    judged: dict[str, dict[str, int]] = {}
    with (tmp_path / "r.jsonl").open("w") as out:
        for q in range(40):
            docs = []
            for d in range(12):
                of = {name: float(np.float32(rng.exponential() * (rng.random() < 0.6))) for name in today}
                of["body"] += 0.1
                judged.setdefault(f"q{q}", {})[f"d{d}"] = int(of["title"] + of["pf_title_2"] + rng.normal(0, 0.4) > 1.2)
                values = {name: float(np.float32(v * today[name])) for name, v in of.items()}
                docs.append({"id": f"d{d}", "score": float(np.float32(sum(values.values()))), **values})
            sent = {"params": {**body["params"], "q": f"words {q}"}}
            out.write(json.dumps({"qid": f"q{q}", "request": sent, "response": {"response": {"docs": docs}}}) + "\n")
    quick: dict[str, Any] = {
        "n_alphas": 8,
        "half_samples": 0,
        "rival": "none",
        "qrels": judged,
        "engine": "solr-query",
        "penalties": "l1",
    }
    found = sr.select(tmp_path / "r.jsonl", query=body, **quick)
    assert {"title", "pf_title_2"} <= found.model.weights.keys()
    assert "bq_brand_acme" not in found.model.weights
    new = json.loads(str(found.model.export("solr-query", query=body)["query.json"]))
    boosts = {name: c.boost for name, c in search_query(new).clauses.items() if c.boost}
    assert boosts == pytest.approx(found.model.weights)
    with pytest.raises(DataError, match="is no request of the engine elasticsearch-query; use solr-query"):
        found.model.export("elasticsearch-query", query=body)
    with pytest.raises(DataFormatError, match=r"differs from that of query in params"):
        sr.select(tmp_path / "r.jsonl", query=new, **quick)
