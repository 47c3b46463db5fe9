"""A running Solr scores exported models as `predict` does, and its feature logs are training data. The module of
learning to rank is that of Solr 8.11.4, the last one in Maven Central."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrations.matrix import ran
from servers import WORDS, Server, solr, user_queries
from tests.conftest import data_folder_or_skip
from tests.export import test_categories as categories
from tests.export.test_export import REAL, real_model
from tests.support.models import steps_of

import sparserank as sr
from sparserank.data.categories import Derived
from sparserank.datasets import make_curved_ranking, make_ranking
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform

PACKAGE = "org.apache.solr.ltr.feature."
FIELD, QUERY = PACKAGE + "FieldValueFeature", PACKAGE + "SolrFeature"
N_QUERIES, N_DOCS = 40, 300
EPS = 2.0**-23  # of single precision


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with solr("8.11.4", tmp_path_factory.mktemp("solr")) as running:
        yield running


def single(X: np.ndarray) -> np.ndarray:
    """The values as an index of single precision has them."""
    return np.asarray(X, dtype=np.float32).astype(float)


def index(server: Server, rows: list[dict[str, Any]]) -> None:
    """Documents of the server, instead of those that it has."""
    server.send("/update", {"delete": {"query": "*:*"}})
    server.send("/update?commit=true", rows)


def index_table(server: Server, prefix: str, X: np.ndarray) -> None:
    """One document for each row: the value of a feature is in a field; a NaN has none."""
    rows = [
        {"id": str(i), "qid_s": str(i // N_DOCS), **{f"{prefix}{j}": v for j, v in enumerate(row) if v == v}}
        for i, row in enumerate(X.tolist())
    ]
    index(server, rows)


def upload(server: Server, files: dict[str, Any], name: str) -> None:
    """Features and model of an export, as the page says; older ones of this name are deleted."""
    server.send(f"/schema/model-store/{name}", method="DELETE")
    server.send(f"/schema/feature-store/{name}", method="DELETE")
    server.send("/schema/feature-store", str(files["features.json"]), "PUT")
    server.send("/schema/model-store", str(files["model.json"]), "PUT")


def reranked(server: Server, name: str, qid: str, **parameters: str) -> tuple[list[int], np.ndarray]:
    """(documents, scores) of a query, best first."""
    rq = f"{{!ltr model={name} reRankDocs={N_DOCS} efi.text=$text efi.quoted=$quoted}}"
    filters = {"fq": f"qid_s:{qid}"} if qid else {}
    sent = {"q": "*:*", "rq": rq, "rows": N_DOCS, "fl": "id,score", "text": "_", "quoted": "_", **filters, **parameters}
    documents = server.search(**sent)["response"]["docs"]
    return [int(d["id"]) for d in documents], np.array([d["score"] for d in documents])


def check_scores(server: Server, model: sr.RankingModel, X: np.ndarray, files: dict[str, Any], name: str) -> None:
    """The scores of the server, but for the constant that it does not have, and its first documents."""
    upload(server, files, name)
    expected = model.predict(X)
    size = np.abs(expected).max()
    shift = None
    for q in range(len(X) // N_DOCS):
        found, scores = reranked(server, name, str(q))
        assert sorted(found) == list(range(q * N_DOCS, (q + 1) * N_DOCS))
        ours = expected[found]
        shift = float(np.median(scores - ours)) if shift is None else shift
        error = 16 * EPS * (size + abs(shift))
        np.testing.assert_allclose(scores - shift, ours, atol=error)
        best = np.sort(expected[q * N_DOCS : (q + 1) * N_DOCS])[::-1]
        np.testing.assert_allclose(ours[:10], best[:10], atol=2 * error)
        assert np.ptp(best) > 1e3 * error


def by_fields(model: sr.RankingModel, prefix: str, **parameters: Any) -> dict[str, Any]:
    """The definition of each feature."""
    return {
        name: {"class": FIELD, "params": {"field": f"{prefix}{j}", **parameters}}
        for j, name in enumerate(model.feature_names)
    }


@pytest.fixture(scope="module")
def plain() -> sr.RankingDataset:
    return make_ranking(N_QUERIES, N_DOCS, 12, n_informative=4, n_redundant=2, noise=0.5, random_state=1).data


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    """Rows of both signs and of many sizes, which no model has seen."""
    rng = np.random.default_rng(0)
    shape = N_QUERIES * N_DOCS, 12
    return single(np.exp(2.0 * rng.standard_normal(shape)) * rng.choice([-1.0, 1.0], size=shape))


@pytest.mark.parametrize("kind", ["none", "log", "asinh"])
def test_a_linear_model_of_fields(server: Server, plain: sr.RankingDataset, values: np.ndarray, kind: str) -> None:
    model = sr.SparseRanker(penalty="mcp", k=5, feature_transform=kind).fit_dataset(plain).to_model()
    index_table(server, "f", values)
    features = by_fields(model, "f")
    check_scores(server, model, values, model.export("solr", name="shop", features=features), "shop")
    if kind == "none":
        scaled = model.export("solr", name="shop", features=features, normalizers=True)
        check_scores(server, model, values, scaled, "shop")
    ran("solr", f"Solr {server.version}", "weights" if kind == "none" else "logarithms")


@pytest.mark.parametrize("kind", ["none", "log", "asinh"])
def test_queries_as_features_which_have_no_score_below_0(
    server: Server, plain: sr.RankingDataset, values: np.ndarray, kind: str
) -> None:
    model = sr.SparseRanker(penalty="mcp", k=5, feature_transform=kind).fit_dataset(plain).to_model()
    index_table(server, "f", values)
    function = '{{!func}}field("f{}")'
    features = {n: {"class": QUERY, "params": {"q": function.format(j)}} for j, n in enumerate(model.feature_names)}
    check_scores(server, model, np.maximum(values, 0), model.export("solr", name="shop", features=features), "shop")


@pytest.mark.parametrize("kind", REAL)
def test_models_of_real_data(server: Server, kind: str) -> None:
    model, X = real_model(kind, data_folder_or_skip())
    X = single(X[: len(X) // N_DOCS * N_DOCS])
    index_table(server, "f", X)
    check_scores(server, model, X, model.export("solr", name="real", features=by_fields(model, "f")), "real")


@pytest.mark.parametrize("kind", ["none", "log", "asinh"])
def test_missing_values_are_those_of_the_definition(
    server: Server, plain: sr.RankingDataset, values: np.ndarray, kind: str
) -> None:
    """Fields that a document does not have, with the default 0, and with that of the model."""
    model = sr.SparseRanker(penalty="mcp", k=5, feature_transform=kind).fit_dataset(plain).to_model()
    holes = values.copy()
    holes[np.random.default_rng(2).random(values.shape) < 0.2] = np.nan
    index_table(server, "f", holes)
    for default in (0.0, -1.5, 2.5):
        filled = np.where(np.isnan(holes), default, holes)
        features = by_fields(model, "f", **({"defaultValue": default} if default else {}))
        check_scores(server, model, filled, model.export("solr", name="shop", features=features), "shop")
    ran("solr", f"Solr {server.version}", "missing")


def test_steps_as_trees_with_values_at_the_edges(server: Server) -> None:
    data = make_curved_ranking(N_QUERIES, N_DOCS, n_features=12, n_curved=6, random_state=1).data
    X = single(np.asarray(data.X))
    data = sr.RankingDataset(X, data.relevance, data.qid)
    model = sr.SparseRanker(penalty="steps", k=6).fit_dataset(data).to_model()
    rng = np.random.default_rng(3)
    values = single(4.0 * rng.standard_normal(X.shape))
    for j, steps in steps_of(model).items():
        at = np.float32(steps.edges)
        near = [at, np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf))]
        rows = rng.choice(len(values), 2000, replace=False)
        values[rows, j] = rng.choice(np.concatenate(near), len(rows))
    index_table(server, "f", values)
    files = model.export("solr-trees", name="trees", features=by_fields(model, "f"))
    check_scores(server, model, values, files, "trees")
    ran("solr-trees", f"Solr {server.version}", "steps")
    found, scores = reranked(server, "trees", "0")
    upload(server, model.export("solr-trees", name="trees", features=by_fields(model, "f"), offset=2.5), "trees")
    same, shifted = reranked(server, "trees", "0")
    np.testing.assert_allclose(shifted - 2.5, scores, atol=16 * EPS * (np.abs(scores).max() + 2.5))
    assert sorted(same) == sorted(found)
    ran("solr-trees", f"Solr {server.version}", "offset")


@pytest.mark.parametrize("kind", categories.KINDS)
def test_categories_and_flags_of_missing_values(server: Server, kind: str) -> None:
    """Levels with quotes, backslashes and spaces; texts that are empty or not there; numbers that are not there."""
    rows = categories.ROWS.copy()
    rows["rating"] = rows["rating"].where(rows["rating"].abs() < 1e3)
    rows[["bm25", "rating"]] = single(rows[["bm25", "rating"]].to_numpy())
    documents = rows.rename(columns={"brand": "brand_s"}).to_dict("records")
    held = [{k: v for k, v in d.items() if isinstance(v, str) or (v is not None and v == v)} for d in documents]
    index(server, [{"id": str(i), "qid_s": str(i // N_DOCS), **d} for i, d in enumerate(held)])
    model = categories.model_of(kind)
    number = {n: {"class": FIELD, "params": {"field": n, "defaultValue": f}} for n, f in (("bm25", 1), ("rating", 3.5))}
    to = "solr-trees" if kind == "steps" else "solr"
    files = model.export(to, name="c", features={"brand": {"field": "brand_s"}, **number}, filled=True)
    upload(server, files, "c")
    expected, shift = model.predict(rows), None
    for q in range(3):
        found, scores = reranked(server, "c", str(q))
        shift = float(np.median(scores - expected[found])) if shift is None else shift
        np.testing.assert_allclose(scores - shift, expected[found], atol=16 * EPS * np.abs(expected).max())
    ran(to, f"Solr {server.version}", "categories")
    ran(to, f"Solr {server.version}", "missing")


# -- queries, and the feature log --------------------------------------------------------------------------------------

TEXTS = {"title_t": 4, "body_t": 30}
ODD = ("a b", 'say "x"', "it's", "back\\slash", "日本", "a=b", "a, b", "{!x}", "$y", "_")


def library(rng: np.random.Generator) -> tuple[list[dict[str, Any]], dict[str, str], dict[tuple[str, str], int]]:
    """(documents, queries, judgments) of a made collection: words and popularity say how good a document is."""
    share = 1.0 / np.arange(3, 63)
    documents = [
        {
            "id": str(i),
            **{f: " ".join(rng.choice(WORDS, n, p=share / share.sum())) for f, n in TEXTS.items()},
            **({"popularity": float(np.float32(rng.lognormal()))} if i % 10 else {}),
        }
        for i in range(N_DOCS)
    ]
    queries = user_queries(rng, N_QUERIES)
    queries["q0"] = '"w0 w1" w7'  # a phrase, which is quoted
    judged = {}
    for q, text in queries.items():
        words = text.replace('"', "").split()
        for d in documents:
            worth = sum(2.0 * (w in d["title_t"].split()) + 0.4 * d["body_t"].split().count(w) for w in words)
            worth += 0.7 * np.log1p(d.get("popularity", 0.0)) + rng.normal(0, 0.4)
            judged[q, d["id"]] = int(np.digitize(worth, [2.0, 3.5]))
    return documents, queries, judged


def definitions(store: str) -> dict[str, dict[str, Any]]:
    """Features of fields and queries; names of every kind."""
    query = "{{!edismax qf={} mm=0}}${{text}}"
    given = {
        "title": {"class": QUERY, "params": {"q": query.format("title_t")}},
        "body": {"class": QUERY, "params": {"q": query.format("body_t")}},
        "popularity": {"class": FIELD, "params": {"field": "popularity"}},
        "first": {"class": PACKAGE + "OriginalScoreFeature", "params": {}},
        **{n: {"class": FIELD, "params": {"field": n}} for n in ODD},
    }
    return {name: {"store": store, "name": name, **of} for name, of in given.items()}


MATCHES = {"q": "{!bool must=*:* should=$words}", "words": "{!edismax qf='title_t body_t' mm=0 v=$text}"}


@pytest.fixture(scope="module")
def collected(server: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], Path]:
    """(queries, the feature log of all documents for each of them, with judgments)."""
    rng = np.random.default_rng(5)
    documents, queries, judged = library(rng)
    for d in documents:
        d |= {name: float(np.float32(v)) for name, v in zip(ODD, rng.normal(size=len(ODD)), strict=True)}
    index(server, documents)
    server.send("/schema/feature-store", list(definitions("raw").values()), "PUT")
    lines = []
    for q, text in queries.items():
        fields = "id,[features store=raw efi.text=$text]"
        found = server.search(**MATCHES, text=text, fl=fields, rows=N_DOCS)["response"]["docs"]
        lines += [json.dumps({"qid": q, "label": judged[q, d["id"]], **d}) for d in found]
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return queries, path


def check_log(server: Server, model: sr.RankingModel, collected: tuple[dict[str, str], Path]) -> None:
    """The scores of the server are those of the model for the features that the server logged. The text of a query
    stands in a function, where quotes and backslashes are escaped, if its feature is transformed."""
    queries, path = collected
    given = {name: {k: of[k] for k in ("class", "params")} for name, of in definitions("").items()}
    for feature in model.features:
        if feature.kind != "none" and "q" in (params := given[feature.name]["params"]):
            params["q"] = params["q"].replace("${text}", "${quoted}")
    upload(server, model.export("solr", name="shop", features=given), "shop")
    data = sr.read(path)
    scores = model.score_dataset(data)
    qid, docid = (data.to_input_order(np.asarray(column)) for column in (data.qid, data.docid))
    size, shift = np.abs(scores).max(), None
    for q, text in queries.items():
        ours = dict(zip(docid[qid == q].astype(int).tolist(), scores[qid == q].tolist(), strict=True))
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        found, theirs = reranked(server, "shop", "", **{**MATCHES, "text": text, "quoted": quoted})
        expected = np.array([ours[d] for d in found])
        shift = float(np.median(theirs - expected)) if shift is None else shift
        np.testing.assert_allclose(theirs - shift, expected, atol=16 * EPS * (size + abs(shift)))
        assert len(found) == N_DOCS


def test_the_feature_log_is_training_data_of_a_model_that_ranks_as_predict_does(
    server: Server, collected: tuple[dict[str, str], Path]
) -> None:
    """Collect features, train, upload, and rank: start to end."""
    found = sr.select(collected[1], engine="solr", feature_transform="none", half_samples=0, rival="none")
    assert {"title", "body"} <= set(found.model.weights)
    assert not {*ODD, "first"} & set(found.model.weights)
    check_log(server, found.model, collected)


@pytest.mark.parametrize("untransformed", [set(), {"title", 'say "x"'}, {"body", "popularity"}])
def test_features_of_every_name_and_logarithms_of_queries(
    server: Server, collected: tuple[dict[str, str], Path], untransformed: set[str]
) -> None:
    names = sr.read(collected[1]).feature_names
    assert names is not None
    assert set(names) == set(definitions(""))
    unit = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
    weights = np.random.default_rng(0).normal(size=len(names))
    kinds = tuple("none" if name in {"first", *untransformed} else "log" for name in names)
    model = sr.RankingModel.from_arrays(weights, names, unit, transform=Transform(kinds, np.ones(len(names))))
    check_log(server, model, collected)


def test_levels_of_every_kind_are_found_as_they_are(server: Server) -> None:
    levels = [
        " a",
        "a ",
        " ",
        "a",
        "a  b",
        "a b",
        "{!x}",
        "$q",
        "*",
        "a\nb",
        "\t",
        "a,b",
        "null",
        "\\",
        '"',
        "'",
        "a}b",
    ]
    levels += ["", "x" * 10_000, "💡", "é", "e\u0301", "+a", "-a", "a OR b", "v=1", "#", "%41", "&amp;", "A", "\u2003"]
    field = 'of "brand"_s'
    names = tuple(Derived("brand", level).name for level in levels)
    derived = {name: Derived("brand", level) for name, level in zip(names, levels, strict=True)}
    unit = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
    model = sr.RankingModel.from_arrays(np.arange(1.0, len(names) + 1), names, unit, derived=derived)
    upload(server, model.export("solr", name="levels", features={"brand": field}), "levels")
    index(server, [{"id": str(i), field: level} for i, level in enumerate([*levels, "other"])])
    found, scores = reranked(server, "levels", "")
    assert dict(zip(found, scores.tolist(), strict=True)) == {
        i: (i + 1) % (len(levels) + 1) for i in range(len(levels) + 1)
    }
