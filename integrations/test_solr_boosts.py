"""Boosts of edismax, tuned on the responses of a running Solr, as docs/deployment/solr.md does it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrations.matrix import ran
from servers import WORDS, Server, solr, user_queries

import sparserank as sr
from sparserank.requests.search_query import search_query

PAGE = Path(__file__).parent.parent / "docs" / "deployment" / "solr.md"
(TEXT,) = re.findall(r"cat > plain.json <<'EOF'\n(.*?)EOF", PAGE.read_text(), re.DOTALL)
OF_PAGE = json.loads(TEXT)["params"]
POPULAR = "bf_log_sum_popularity_1"
N_DOCS, N_QUERIES = 300, 40
pytestmark = pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")


@pytest.fixture(scope="module", params=["9.10.1", "8.11.4"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with solr(request.param, tmp_path_factory.mktemp("solr")) as running:
        rng = np.random.default_rng(0)
        share = 1.0 / np.arange(3, 63)
        documents = [
            {
                "id": f"d{i}",
                "title": " ".join(rng.choice(WORDS, 4, p=share / share.sum())),
                "body": " ".join(rng.choice(WORDS, 30, p=share / share.sum())),
                "brand_s": f"w{i % 12}",
                **({"popularity": float(np.float32(10.0 * rng.lognormal()))} if i % 10 else {}),
            }
            for i in range(N_DOCS)
        ]
        running.send("/update?commit=true", documents)
        yield running


@pytest.fixture(scope="module")
def queries() -> dict[str, str]:
    return user_queries(np.random.default_rng(1), N_QUERIES)


@pytest.fixture(scope="module")
def judged(server: Server, queries: dict[str, str]) -> dict[str, dict[str, int]]:
    """What a word in the title, in the body, and popularity are worth to people."""
    documents = server.search(q="*:*", rows=N_DOCS, fl="id,title,body,popularity")["response"]["docs"]
    rng = np.random.default_rng(2)
    out: dict[str, dict[str, int]] = {}
    for q, text in queries.items():
        for d in documents:
            words = text.split()
            worth = sum(2.0 * (w in d["title"].split()) + 0.8 * d["body"].split().count(w) for w in words)
            worth += 0.5 * np.log10(1 + d.get("popularity", 0.0)) * (worth > 0) + rng.normal(0, 0.4)
            out.setdefault(q, {})[d["id"]] = int(np.digitize(worth, [1.5, 3.0]))
    return out


def collected(server: Server, request: dict[str, Any], queries: dict[str, str], path: Path) -> Path:
    """The responses to a request, one line for each query, with what was sent."""
    sent = {q: {"params": {**request, "q": text}} for q, text in queries.items()}
    lines = [{"qid": q, "request": body, "response": server.send("/select", body)} for q, body in sent.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def scores_in(path: Path) -> dict[tuple[str, str], float]:
    lines = map(json.loads, path.read_text().splitlines())
    return {(a["qid"], d["id"]): d["score"] for a in lines for d in a["response"]["response"]["docs"]}


def with_factors(request: dict[str, Any], factors: dict[str, float]) -> dict[str, Any]:
    """The request with its boosts times the factors, and without the clauses that have none."""

    def times(part: str) -> str:
        return " ".join(f"{of}^{float(boost) * factors[of]!r}" for of, boost in fields(part) if of in factors)

    def fields(part: str) -> list[list[str]]:
        return [entry.split("^") for entry in request[part].split()]

    function, boost = request["bf"].split("^")
    popular = f"{function}^{float(boost) * factors[POPULAR]!r}" if POPULAR in factors else ""
    return {**request, "qf": times("qf"), "bf": popular, "fl": "id,score"}


def check_scores(
    server: Server,
    model: sr.RankingModel,
    before: Path,
    judged: Any,
    queries: dict[str, str],
    request: dict[str, Any],
    least: int = 5000,
    **clauses: Any,
) -> dict[tuple[str, str], float]:
    """The scores of a tuned request, which are those of the model on the responses to the request before."""
    after = scores_in(collected(server, request, queries, before.with_name("after.jsonl")))
    data = sr.read(before, qrels=judged, **clauses)
    ids = (data.to_input_order(np.asarray(column)).tolist() for column in (data.qid, data.docid))
    weights = model.weights
    ours = dict(
        zip(zip(*ids, strict=True), (model.score_dataset(data) / weights.get("rest", 1.0)).tolist(), strict=True)
    )
    assert after.keys() <= ours.keys()
    assert len(after) > least
    # Each clause, their sum and the boosts are rounded.
    np.testing.assert_allclose([after[pair] for pair in after], [ours[pair] for pair in after], rtol=1e-6)
    for q in queries:
        best = sorted((d for d in after if d[0] == q), key=lambda d: -after[d])[:10]
        top = sorted((s for d, s in ours.items() if d[0] == q and d in after), reverse=True)[:10]
        np.testing.assert_allclose([ours[d] for d in best], top, rtol=1e-6)
    return after


QUICK: dict[str, Any] = {
    "penalties": "l1",
    "n_alphas": 15,
    "cv": 3,
    "half_samples": 0,
    "rival": "none",
    "engine": "solr-query",
}


def test_what_is_not_returned_is_the_rest_and_stays(
    server: Server, queries: dict[str, str], judged: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    """A field, phrases and a query without a value in fl."""
    today = {**inspected({**OF_PAGE, "rows": N_DOCS}, tmp_path), "pf": "body^2", "bq": "title:w9^0.1"}
    today["fl"] = today["fl"].replace(",body:query($of_body)", "")
    before = collected(server, today, queries, tmp_path / "before.jsonl")
    found = sr.select(before, qrels=judged, **QUICK)
    assert set(found.model.feature_names) == {"title", POPULAR, "rest"}
    assert "rest" in found.model.weights
    factors = {**json.loads(str(found.model.export("solr-query")["boosts.json"])), "body": 1.0}
    check_scores(server, found.model, before, judged, queries, with_factors(today, factors))


@pytest.mark.parametrize("more", [{"tie": 0.1}, {"boost": "0.5"}])
def test_what_is_no_sum_is_refused(
    server: Server, queries: dict[str, str], judged: dict[str, dict[str, int]], tmp_path: Path, more: dict[str, Any]
) -> None:
    before = collected(
        server, {**inspected({**OF_PAGE, "rows": N_DOCS}, tmp_path), **more}, queries, tmp_path / "before.jsonl"
    )
    with pytest.raises(sr.errors.DataFormatError, match="but its clauses sum to"):
        sr.read(before, qrels=judged)


# -- the request itself, with other boosts -----------------------------------------------------------------------------

PLAIN = {
    **OF_PAGE,
    "rows": N_DOCS,
    "pf": "title^2 body~3^0.3",
    "pf2": "body^0.5",
    "bq": ["title:w9^0.4", "(body:w10 body:w11)", "({!term f=brand_s}w3)^0.2"],
    "bf": "log(sum(popularity,1))^0.7 sqrt(def(popularity,2))^0.05",
    "ps": 2,
}
REQUESTS = {
    "that of the page": {**OF_PAGE, "rows": N_DOCS},
    "phrases, queries and functions": PLAIN,
    "two of three words": {**PLAIN, "mm": "2<67%", "pf3": "title", "q.op": "OR"},
}


def inspected(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The request as `sparserank inspect` writes it."""
    (folder / "plain.json").write_text(json.dumps({"params": request}))
    call = [sys.executable, "-m", "sparserank", "inspect", str(folder / "plain.json")]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    params: dict[str, Any] = json.loads(done.stdout)["params"]
    return params


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_rewritten_with_the_boosts_that_were_printed(
    server: Server, queries: dict[str, str], judged: dict[str, dict[str, int]], tmp_path: Path, name: str
) -> None:
    """Inspect, collect, select, export, collect again: scores and first documents are those of the model."""
    plain = REQUESTS[name]
    texts = {q: f"{text} w{i}" for i, (q, text) in enumerate(queries.items())}
    today = inspected(plain, tmp_path)
    before = collected(server, today, texts, tmp_path / "before.jsonl")
    bare = scores_in(collected(server, {**plain, "fl": "id,score"}, texts, tmp_path / "plain.jsonl"))
    assert scores_in(before) == bare
    body = {"params": today}
    found = sr.select(before, qrels=judged, query=body, **QUICK)
    assert "rest" not in found.model.feature_names
    old = sr.evaluate(bare, judged, "default:ndcg@10")["ndcg@10"]
    assert found.change is not None
    assert found.change.mean == pytest.approx(old, abs=1e-6)
    for model in (found.model, found.model_of(2)):
        new = json.loads(str(model.export("solr-query", query=body)["query.json"]))
        after = collected(server, new["params"], texts, tmp_path / "after.jsonl")
        asked = {"clauses": model.parameters["request"], "least": 100 if "mm" in plain else 5000}
        check_scores(server, model, before, judged, texts, new["params"], **asked)
        # In the second week, today is what was printed.
        week2 = sr.select(after, qrels=judged, query=new, k=2, **QUICK)
        then = sr.evaluate(scores_in(after), judged, "default:ndcg@10")["ndcg@10"]
        assert week2.change is not None
        assert week2.change.mean == pytest.approx(then, abs=1e-6)
    ran("solr-query", f"Solr {server.version}", "boosts")


WRITTEN = ["w1", "w1 w2", "w1 w2 w3", '"w1 w2" w3', "+w1 -w2 w3", "w1 AND w2", "w1 OR w2 NOT w3", "w*", "w1^3 w2"]
WRITTEN += ["(w1 w2) w3", "w1~1 w2", "!w1 w2", "w1 w1", "none w1", "w1 and w2", 'a"b w1', "w1 w2^0", "w[1 TO 3] w4"]
OTHERS: dict[str, dict[str, Any]] = {
    "a field of whole texts": {"qf": "title^5 brand_s^3"},
    "word by word": {"qf": "title^5 brand_s^3", "sow": "true"},
    "all words": {"mm": "100%"},
    "another name for two fields": {"f.both.qf": "title^2 body", "qf": "both^3 brand_s"},
    "a field alone": {"tie": 0, "qf": "title", "pf": "title", "pf2": "", "bf": "sub(1,popularity)^2"},
}


@pytest.mark.parametrize("name", OTHERS)
def test_scores_are_sums_of_the_clauses_for_whatever_users_write(server: Server, tmp_path: Path, name: str) -> None:
    """Every clause has a name, so that anything else is refused."""
    body = {"params": inspected({**PLAIN, **OTHERS[name]}, tmp_path)}
    clauses = search_query(body).listed
    before = collected(server, body["params"], dict(zip(map(str, range(20)), WRITTEN, strict=False)), tmp_path / "r")
    judged = {q: {d: 1} for q, d in scores_in(before)}
    assert len(judged) > 12
    data = sr.read(before, qrels=judged, clauses=clauses)
    assert "rest" not in (data.feature_names or ())
    others = collected(server, body["params"], {"q": "title:w1 w2"}, tmp_path / "other")
    with pytest.raises(sr.errors.DataFormatError, match=r"but its clauses sum to .* fields in q"):
        sr.read(others, qrels={"q": {"d0": 1}}, clauses=clauses)


def test_without_a_field_that_counts_the_fields_still_find_the_documents(
    server: Server, queries: dict[str, str], judged: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    """Only popularity is relevant; the next week begins with fields whose boost is 0."""
    body = {"params": inspected({**OF_PAGE, "rows": N_DOCS}, tmp_path)}
    before = collected(server, body["params"], queries, tmp_path / "before.jsonl")
    values = {
        d["id"]: d[POPULAR]
        for line in map(json.loads, before.read_text().splitlines())
        for d in line["response"]["response"]["docs"]
    }
    popular = {q: {d: int(np.digitize(v, [0.7, 1.2])) for d, v in values.items()} for q in queries}
    found = sr.select(before, qrels=popular, query=body, **QUICK)
    assert list(found.model.weights) == [POPULAR]
    new = json.loads(str(found.model.export("solr-query", query=body)["query.json"]))
    assert new["params"]["qf"] == "title^0 body^0"
    check_scores(
        server, found.model, before, popular, queries, new["params"], clauses=found.model.parameters["request"]
    )
    after = collected(server, new["params"], queries, tmp_path / "after.jsonl")
    assert scores_in(after).keys() == scores_in(before).keys()
    week2 = sr.select(after, qrels=popular, query=new, **QUICK)
    assert week2.change is not None
    then = sr.evaluate(scores_in(after), popular, "default:ndcg@10")["ndcg@10"]
    assert week2.change.mean == pytest.approx(then, abs=1e-6)
