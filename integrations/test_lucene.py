"""Lucene itself ranks by an exported expression, over an index, as `predict` does, computes the derived features of
Elasticsearch and OpenSearch, and runs tuned requests: a JDK and Debian's liblucene8-java."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import data_folder_or_skip
from tests.export.test_export import REAL, real_model

import sparserank as sr
from sparserank.datasets import make_curved_ranking, make_ranking
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform

JARS = Path("/usr/share/java")
NEEDED = ("lucene-core", "lucene-expressions", "lucene-queries", "antlr4-runtime", "asm", "asm-commons")
SOURCES = Path(__file__).parent / "lucene"


def compiled(name: str, classes: Path) -> list[str]:
    """The command that runs a program."""
    jars = [next(iter(sorted(JARS.glob(f"{name}-[0-9]*.jar"))), None) for name in NEEDED]
    if shutil.which("javac") is None or None in jars:
        if os.environ.get("SPARSERANK_REQUIRE_JAVA"):
            pytest.fail(f"needs javac and {', '.join(NEEDED)} in {JARS}")
        pytest.skip("a JDK and Debian's liblucene8-java, libantlr4-runtime-java and libasm-java are not installed")
    path = ":".join([str(classes), *map(str, jars)])
    subprocess.run(
        ["javac", "-cp", path, "-d", str(classes), str(SOURCES / f"{name}.java")], check=True, capture_output=True
    )
    return ["java", "-cp", path, name]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return compiled("RankByExpression", tmp_path_factory.mktemp("classes"))


@pytest.fixture(scope="module")
def derived_features(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return compiled("DerivedFeatures", tmp_path_factory.mktemp("classes"))


def ranked(program: list[str], folder: Path, model: sr.RankingModel, X: np.ndarray, **options: object) -> np.ndarray:
    """(n_docs, 2) rows and scores as Lucene ranks them."""
    (text,) = model.export("lucene", **options).values()
    (folder / "model.expression").write_text(text)
    lines = ["\t".join(model.feature_names), *("\t".join(map(repr, map(float, row))) for row in X)]
    (folder / "docs.tsv").write_text("\n".join(lines) + "\n")
    call = [*program, str(folder / "model.expression"), str(folder / "docs.tsv")]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.array([line.split() for line in done.stdout.splitlines()], dtype=float)


@pytest.fixture(scope="module")
def models() -> dict[str, tuple[sr.RankingModel, np.ndarray]]:
    rng = np.random.default_rng(0)
    plain = make_ranking(60, (8, 14), 12, n_informative=4, n_redundant=2, noise=0.5, random_state=1).data
    curved = make_curved_ranking(60, random_state=1).data
    X = np.exp(2.0 * rng.standard_normal((1000, 12))) * rng.choice([-1.0, 1.0], size=(1000, 12))
    wild = 4.0 * rng.standard_normal((1000, curved.n_features))
    makers = {
        "linear": (sr.SparseRanker(penalty="mcp", k=5), plain, X),
        "log": (sr.SparseRanker(k=6, feature_transform="log"), plain, X),
        "asinh": (sr.SparseRanker(k=6, feature_transform="asinh"), plain, X),
        "steps": (sr.SparseRanker(penalty="steps", k=6), curved, wild),
    }
    return {name: (ranker.fit_dataset(data).to_model(), values) for name, (ranker, data, values) in makers.items()}


@pytest.mark.parametrize("kind", ["linear", "log", "asinh", "steps", *REAL])
def test_lucene_ranks_as_predict_does(program, models, tmp_path: Path, kind: str) -> None:
    model, X = models[kind] if kind in models else real_model(kind, data_folder_or_skip())
    expected = model.predict(X)
    offset = float(np.ceil(-expected.min())) + 1.0
    found = ranked(program, tmp_path, model, X, offset=offset)
    rows = found[:, 0].astype(int)
    assert sorted(rows) == list(range(1000))
    np.testing.assert_allclose(found[:, 1], expected[rows] + offset, rtol=1e-6)
    falls = np.diff(expected[rows])
    assert falls.max() <= 1e-6 * (np.abs(expected).max() + offset)  # single precision, nothing else


def test_without_an_offset_lucene_clamps_and_the_order_is_lost(program, models, tmp_path: Path) -> None:
    model, X = models["linear"]
    found = ranked(program, tmp_path, model, X)
    expected = model.predict(X)
    assert (found[:, 1] == 0.0).sum() == (expected <= 0).sum() > 10
    mapped = ranked(program, tmp_path, model, X, features={n: f"({n} + 0)" for n in model.feature_names}, offset=1e4)
    assert (mapped[:, 1] > 0).all()


def as_derived(
    program: list[str], folder: Path, model: sr.RankingModel, X: np.ndarray, **options: object
) -> np.ndarray:
    """(n_docs,) scores by the features and weights of an export to Elasticsearch."""
    given = {name: {"template": {"of": name}} for name in model.feature_names}
    files = model.export("elasticsearch", features=given, **options)
    features = json.loads(files["featureset.json"])["featureset"]["features"]
    weights = json.loads(json.loads(files["model.json"])["model"]["model"]["definition"])
    derived = {f["name"]: f["template"] for f in features if f["template_language"] == "derived_expression"}
    assert all("\n" not in text and "\t" not in text for text in derived.values())
    number = {f["name"]: f"n{i}" for i, f in enumerate(features) if not f["name"].isprintable()}  # only in the table
    called = [number.get(f["name"], f["name"]) for f in features]
    table = [
        (n, derived.get(f["name"], ""), repr(weights.get(f["name"], 0.0)))
        for n, f in zip(called, features, strict=True)
    ]
    (folder / "set.tsv").write_text("\n".join("\t".join(line) for line in table) + "\n")
    ours = [(n, f["template"]["of"]) for n, f in zip(called, features, strict=True) if f["name"] not in derived]
    columns = [model.feature_names.index(name) for _, name in ours]
    lines = ["\t".join(n for n, _ in ours), *("\t".join(map(repr, map(float, row))) for row in X[:, columns])]
    (folder / "docs.tsv").write_text("\n".join(lines) + "\n")
    call = [*program, str(folder / "set.tsv"), str(folder / "docs.tsv")]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.array(done.stdout.split(), dtype=float)


@pytest.mark.parametrize("kind", ["linear", "log", "asinh", "steps", *REAL])
def test_lucene_computes_derived_features_as_predict_does(derived_features, models, tmp_path: Path, kind: str) -> None:
    model, X = models[kind] if kind in models else real_model(kind, data_folder_or_skip())
    expected = model.predict(X)
    found = as_derived(derived_features, tmp_path, model, X, offset=2.0)
    size = np.abs(expected).max() + 2.0
    np.testing.assert_allclose(found, expected + 2.0, atol=3e-6 * size)
    assert np.abs(found - expected[::-1]).max() > 1e-2 * size  # of other documents


def test_names_of_derived_features_are_variables_of_lucene(derived_features, tmp_path: Path) -> None:
    names = ("a b", "a'b", 'a"b', "日本", "ln", "abs", "max", "a.b", "_", "doc", "1st", "x\x1by", "", "true", "null")
    d = len(names)
    transform = Transform(("log", "asinh", "log") * (d // 3), np.full(d, 2.5))
    scaling = FeatureScaling("none", np.zeros(d), np.ones(d))
    model = sr.RankingModel(np.linspace(-1.0, 1.5, d), names, scaling, transform=transform)
    X = np.random.default_rng(0).standard_normal((50, d))
    expected = model.predict(X)
    found = as_derived(derived_features, tmp_path, model, X)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert as_derived(derived_features, tmp_path, model, X, offset=2.0) == pytest.approx(expected + 2.0, abs=1e-5)


# -- boosts of a request -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return compiled("ScoredClauses", tmp_path_factory.mktemp("classes"))


WORDS = [f"w{i}" for i in range(60)]
COUNTS = {"title": 4, "body": 30, "tags": 3, "brand": 1}


def library(folder: Path) -> tuple[Path, Path, dict[str, dict[str, int]]]:
    """(documents, queries, judgments) of a made collection: words of the title and of the body say what it is about."""
    rng = np.random.default_rng(0)
    common = 1.0 / np.arange(3, 63)
    texts = {
        f"d{i}": {f: rng.choice(WORDS, n, p=common / common.sum()).tolist() for f, n in COUNTS.items()}
        for i in range(300)
    }
    lines = ["id\t" + "\t".join(COUNTS), *("\t".join([d, *map(" ".join, of.values())]) for d, of in texts.items())]
    (folder / "docs.tsv").write_text("\n".join(lines) + "\n")
    queries = {f"q{i}": rng.choice(WORDS[5:], 2, replace=False).tolist() for i in range(200)}
    (folder / "queries.tsv").write_text("".join(f"{q}\t{' '.join(words)}\n" for q, words in queries.items()))
    judged: dict[str, dict[str, int]] = {}
    for q, words in queries.items():
        worth = {
            d: sum(2.0 * (w in of["title"]) + 0.8 * of["body"].count(w) + 1.5 * (w in of["brand"]) for w in words)
            for d, of in texts.items()
        }
        judged[q] = {d: int(np.digitize(w + rng.normal(0, 0.4), [1.5, 3.0])) for d, w in worth.items() if w > 0}
    return folder / "docs.tsv", folder / "queries.tsv", judged


def tree(query: dict[str, Any]) -> list[str]:
    """A request as the program reads it."""
    ((kind, content),) = query.items()
    if kind != "bool":
        ((field, of),) = content.items()
        return [f"match {of.get('_name', '-')} {field} {of.get('boost', 1.0)}"]
    lines, occurs = [], []
    for part, occur in (("must", "MUST"), ("should", "SHOULD"), ("filter", "FILTER")):
        given = content.get(part, [])
        for entry in given if isinstance(given, list) else [given]:
            lines += tree(entry)
            occurs.append(occur)
    least = content.get("minimum_should_match", 0)
    return [*lines, f"bool {content.get('boost', 1.0)} {least} {' '.join(occurs)}"]


def searched(
    engine: list[str], folder: Path, files: tuple[Path, Path], body: dict[str, Any]
) -> list[tuple[str, str, float, dict[str, float]]]:
    """(query, document, score, scores of named clauses) of the hits of a request, best first."""
    (folder / "request.txt").write_text("\n".join(tree(body["query"])) + "\n")
    call = [*engine, str(files[0]), str(folder / "request.txt"), str(files[1])]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    hits = []
    for line in done.stdout.splitlines():
        q, d, score, *clauses = line.split()
        hits.append((q, d, float(score), {n: float(s) for n, _, s in (c.partition("=") for c in clauses)}))
    return hits


def match(field: str, boost: float, name: str | None = None) -> dict[str, Any]:
    return {"match": {field: {"query": "{{q}}", "boost": boost, **({"_name": name} if name else {})}}}


REQUESTS = {
    "all optional": {"should": [match(f, b, f) for f, b in {"title": 5.0, "body": 1.0, "tags": 3.0}.items()]},
    "required and nested": {
        "must": [{"bool": {"boost": 2.0, "should": [match("title", 5.0, "title"), match("body", 0.2, "body")]}}],
        "should": [match("tags", 3.0, "tags"), match("brand", 1.5)],
        "filter": match("body", 1.0),
    },
}


@pytest.mark.parametrize("name", REQUESTS)
def test_lucene_runs_a_tuned_request_as_predict_does(engine: list[str], tmp_path: Path, name: str) -> None:
    *files, judged = library(tmp_path)
    body = {"query": {"bool": REQUESTS[name]}}
    before = searched(engine, tmp_path, tuple(files), body)
    hits: dict[str, list[dict[str, Any]]] = {}
    for q, d, score, clauses in before:
        hits.setdefault(q, []).append({"_id": d, "_score": score, "matched_queries": clauses})
    lines = [json.dumps({"qid": q, "response": {"hits": {"hits": of}}}) for q, of in hits.items()]
    (tmp_path / "r.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.warns(sr.errors.DataWarning, match="responses with hits"):
        found = sr.select(
            tmp_path / "r.jsonl",
            qrels=judged,
            query=body,
            engine="elasticsearch-query",
            drop=["tags"],
            penalties="mcp",
            half_samples=0,
            rival="none",
        )
    assert "tags" not in found.model.weights
    after = json.loads(str(found.model.export("elasticsearch-query", query=body)["query.json"]))
    again = {(q, d): s for q, d, s, _ in searched(engine, tmp_path, tuple(files), after)}
    # The scores are those of the model to single precision, and so is the order.
    with pytest.warns(sr.errors.DataWarning):
        data = sr.read(tmp_path / "r.jsonl", qrels=judged, clauses=found.model.parameters["request"])
    scores = found.model.score_dataset(data)
    ours = {
        (str(q), str(d)): s
        for q, d, s in zip(
            data.to_input_order(data.qid), data.to_input_order(np.asarray(data.docid)), scores, strict=True
        )
    }
    both = [pair for pair in ours if pair in again]
    assert len(both) > 5000
    assert len({q for q, _ in both}) == 200
    np.testing.assert_allclose([again[p] for p in both], [ours[p] for p in both], rtol=2e-6)
    # Today's figure is that of the order of the engine, and the new request ranks better.
    metric = "default:ndcg@10"
    assert found.change is not None
    # The ideal order is that of all judged documents, also of those that the request did not return.
    old = sr.evaluate({(q, d): s for q, d, s, _ in before}, judged, metric)["ndcg@10"]
    assert found.change.mean == pytest.approx(old, abs=1e-6)
    assert sr.evaluate(again, judged, metric)["ndcg@10"] > old
    # Without a clause, and with its boost 0, documents that both return are in the same order.
    zeroed = json.loads(json.dumps(after))
    zeroed["query"]["bool"].setdefault("should", [])
    if isinstance(zeroed["query"]["bool"]["should"], list):
        zeroed["query"]["bool"]["should"].append(match("tags", 0.0, "tags"))
    with_zero = searched(engine, tmp_path, tuple(files), zeroed)
    assert [(q, d) for q, d, *_ in with_zero if (q, d) in again] == list(again)
