"""Boosts of a request, tuned on the responses of a running OpenSearch with the code of docs/tutorials/boosts.md and
other-queries.md."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrations.matrix import ran
from servers import OPENSEARCH, WORDS, Server, opensearch, user_queries
from tests.support.doc_blocks import blocks

import sparserank as sr

N_DOCS, N_QUERIES = 300, 40
LENGTHS = {"title": 4, "body": 30, "tags": 3, "brand": 1}
QUICK: dict[str, Any] = {
    "penalties": "l1",
    "n_alphas": 15,
    "cv": 3,
    "half_samples": 0,
    "rival": "none",
    "engine": "opensearch-query",
}
NAMED = "/_search?include_named_queries_score=true"
pytestmark = pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")


@pytest.fixture(scope="module", params=OPENSEARCH)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A shop in which popularity is a rank_feature, and another in which it is a number."""
    with opensearch(request.param, tmp_path_factory.mktemp("opensearch")) as running:
        rng = np.random.default_rng(0)
        share = 1.0 / np.arange(3, 63)
        documents = []
        for i in range(N_DOCS):
            texts = {f: " ".join(rng.choice(WORDS, n, p=share / share.sum())) for f, n in LENGTHS.items()}
            documents.append({"id": i, **texts, "popularity": float(np.float32(10.0 * rng.lognormal()))})
        for shop, kind in (("shop", "rank_feature"), ("numbers", "float")):
            fields = {**{f: {"type": "text"} for f in LENGTHS}, "popularity": {"type": kind}, "id": {"type": "integer"}}
            settings = {"number_of_shards": 1, "number_of_replicas": 0}
            running.send(f"/{shop}", {"settings": settings, "mappings": {"properties": fields}}, "PUT")
            lines = [json.dumps(line) for d in documents for line in ({"index": {"_id": f"d{d['id']}"}}, d)]
            answer = running.send(f"/{shop}/_bulk?refresh=true", "\n".join(lines) + "\n")
            assert not answer["errors"]
        yield running


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the Python of the pages defines, and the requests that it writes, by file."""
    place = tmp_path_factory.mktemp("page")
    space: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        (place / "responses.jsonl").touch()
        for block in [*blocks("tutorials/boosts.md"), *blocks("tutorials/other-queries.md")]:
            if block.language == "python":
                exec(compile(block.text, "boosts", "exec"), space)
    space["files"] = {file.name: json.loads(file.read_text()) for file in place.glob("*.json")}
    assert {"search.json", "product.json", "plain.json"} <= space["files"].keys()
    return space


@pytest.fixture(scope="module")
def queries() -> dict[str, str]:
    return user_queries(np.random.default_rng(1), N_QUERIES)


@pytest.fixture(scope="module")
def judged(server: Server, queries: dict[str, str]) -> dict[str, dict[str, int]]:
    """What words in the title, body and brand, and popularity are worth to people."""
    answer = server.send("/shop/_search", {"query": {"match_all": {}}, "size": N_DOCS})
    documents = {hit["_id"]: hit["_source"] for hit in answer["hits"]["hits"]}
    rng = np.random.default_rng(2)
    out: dict[str, dict[str, int]] = {}
    for q, text in queries.items():
        for name, d in documents.items():
            count = {f: sum(d[f].split().count(w) for w in text.split()) for f in LENGTHS}
            worth = 2.0 * count["title"] + 0.8 * count["body"] + 1.5 * count["brand"]
            worth += 0.5 * np.log10(1 + d["popularity"]) * (worth > 0) + rng.normal(0, 0.4)
            out.setdefault(q, {})[name] = int(np.digitize(worth, [1.5, 3.0]))
    return out


def match(field: str, boost: float, name: str = "") -> dict[str, Any]:
    return {"match": {field: {"query": "{{keywords}}", "boost": boost, **({"_name": name} if name else {})}}}


FIELDS = [match("title", 5.0), match("body", 1.2), match("tags", 3.0)]
REQUESTS: dict[str, dict[str, Any]] = {
    "nested, required and filtered": {
        "must": [{"bool": {"boost": 2.0, "should": [match("title", 5.0, "title"), match("body", 0.2, "body")]}}],
        "should": [match("tags", 3.0, "tags"), match("brand", 1.5)],
        "filter": {"range": {"id": {"gte": 10, "_name": "later"}}},
    },
    "one of the optional clauses must match": {
        "filter": {"range": {"id": {"gte": 10}}},
        "should": FIELDS,
        "minimum_should_match": 1,
    },
    "a multi_match that adds its fields": {
        "must": {
            "multi_match": {"query": "{{keywords}}", "fields": ["title^5", "body^1.2", "brand"], "type": "most_fields"}
        },
        "should": [{"constant_score": {"filter": {"match": {"tags": "{{keywords}}"}}, "boost": 0.5}}],
    },
    "phrases, the best field, and constants": {
        "should": [
            *FIELDS[:2],
            {"match_phrase": {"title": {"query": "{{keywords}}", "slop": 3, "boost": 2.0}}},
            {"dis_max": {"queries": FIELDS[1:], "tie_breaker": 0.3, "boost": 0.7}},
            {"range": {"id": {"gte": 150, "boost": 0.25}}},
        ]
    },
}
OF_PAGE = {"search.json": "shop", "plain.json": "numbers"}


def inspected(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The request as `sparserank inspect` writes it, or as it is if that only shows its clauses."""
    (folder / "plain.json").write_text(json.dumps(request))
    call = [sys.executable, "-m", "sparserank", "inspect", str(folder / "plain.json")]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    body: dict[str, Any] = json.loads(done.stdout) if done.stdout.startswith("{") else request
    return body


def hits_in(path: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, path.read_text().splitlines())
    return [{"qid": line["qid"], **hit} for line in lines for hit in line["response"]["hits"]["hits"]]


def scores_in(path: Path) -> dict[tuple[str, str], float]:
    return {(hit["qid"], hit["_id"]): hit["_score"] for hit in hits_in(path)}


@pytest.mark.parametrize("name", [*OF_PAGE, *REQUESTS])
def test_the_tutorial_gives_the_scores_that_it_predicts(
    server: Server, page: dict[str, Any], queries: dict[str, str], judged: Any, tmp_path: Path, name: str
) -> None:
    """Inspect, collect, select, export, collect again, and the second week."""
    given = page["files"][name] if name in OF_PAGE else {"query": {"bool": REQUESTS[name]}}
    plain = {**given, "size": N_DOCS}
    url = f"{server.url}/{OF_PAGE.get(name, 'shop')}{NAMED}"

    def collected(body: dict[str, Any], file: str) -> Path:
        (tmp_path / "request.json").write_text(json.dumps(body))
        page["collect"](url, queries, str(tmp_path / "request.json"), str(tmp_path / file))
        return tmp_path / file

    today = inspected(plain, tmp_path)
    before = collected(today, "before.jsonl")
    bare = scores_in(collected(plain, "plain.jsonl"))
    assert scores_in(before) == pytest.approx(bare, rel=1e-6)
    found = sr.select(before, qrels=judged, query=today, **QUICK)
    old = sr.evaluate(scores_in(before), judged, "default:ndcg@10")["ndcg@10"]
    assert found.change is not None
    assert found.change.mean == pytest.approx(old, abs=1e-6)
    new = json.loads(str(found.model.export("opensearch-query", query=today)["query.json"]))
    after = collected(new, "after.jsonl")
    data = sr.read(before, qrels=judged, clauses=found.model.parameters["request"])
    pairs = zip(*(data.to_input_order(np.asarray(column)).tolist() for column in (data.qid, data.docid)), strict=True)
    unit = found.model.weights.get("rest", 1.0)
    ours = dict(zip(pairs, (found.model.score_dataset(data) / unit).tolist(), strict=True))
    theirs = scores_in(after)
    assert theirs.keys() <= ours.keys()
    assert len(theirs) > 2000
    # A rank_feature is 1 - k / (value + k) in single precision, so its error does not fall with its score.
    atol = 8 * 2.0**-23 * max(found.model.weights.values()) / unit
    np.testing.assert_allclose(list(theirs.values()), [ours[pair] for pair in theirs], rtol=1e-6, atol=atol)
    for q in queries:
        best = [hit["_id"] for hit in hits_in(after) if hit["qid"] == q][:10]
        top = sorted((s for pair, s in ours.items() if pair[0] == q and pair in theirs), reverse=True)[:10]
        np.testing.assert_allclose([ours[q, d] for d in best], top, rtol=1e-6, atol=atol)
    # In the second week, today is the new request, in the order of the engine.
    week2 = sr.select(after, qrels=judged, query=new, **QUICK)
    assert week2.change is not None
    then = sr.evaluate(theirs, judged, "default:ndcg@10")["ndcg@10"]
    assert week2.change.mean == pytest.approx(then, abs=1e-6)
    page["write_run"](str(after), str(tmp_path / "after.run"))
    run = sr.evaluate(tmp_path / "after.run", judged, "default:ndcg@10")["ndcg@10"]
    assert run >= then - 1e-6  # in a run, ranks order documents of equal scores
    for engine in ("opensearch-query", "elasticsearch-query"):  # one request
        ran(engine, f"OpenSearch {server.version}", "boosts")
