"""A running Solr scores exported models as `predict` does, and its feature logs are training data. The module of
learning to rank is that of Solr 8.11.4, the last one in Maven Central."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from servers import Server, solr
from tests.export import test_categories as categories

import sparserank as sr
from sparserank.datasets import make_curved_ranking, make_ranking

FIELD, QUERY = "org.apache.solr.ltr.feature.FieldValueFeature", "org.apache.solr.ltr.feature.SolrFeature"
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
    rq = f"{{!ltr model={name} reRankDocs={N_DOCS} efi.text=$text}}"
    filters = {"fq": f"qid_s:{qid}"} if qid else {}
    sent = {"q": "*:*", "rq": rq, "rows": N_DOCS, "fl": "id,score", "text": "none", **filters, **parameters}
    documents = server.search(**sent)["response"]["docs"]
    return [int(d["id"]) for d in documents], np.array([d["score"] for d in documents])


def check_scores(server: Server, model: sr.RankingModel, X: np.ndarray, files: dict[str, Any], name: str) -> None:
    """The scores of the server, but for the constant that it does not have, and its first documents."""
    upload(server, files, name)
    expected = model.predict(X)
    size = np.abs(expected).max()
    shift = None
    for q in range(N_QUERIES):
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


def test_steps_as_trees_with_values_at_the_edges(server: Server) -> None:
    data = make_curved_ranking(N_QUERIES, N_DOCS, n_features=12, n_curved=6, random_state=1).data
    X = single(np.asarray(data.X))
    data = sr.RankingDataset(X, data.relevance, data.qid)
    model = sr.SparseRanker(penalty="steps", k=6).fit_dataset(data).to_model()
    rng = np.random.default_rng(3)
    values = single(4.0 * rng.standard_normal(X.shape))
    for j, steps in model.steps.items():
        at = np.float32(steps.edges)
        near = [at, np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf))]
        rows = rng.choice(len(values), 2000, replace=False)
        values[rows, j] = rng.choice(np.concatenate(near), len(rows))
    index_table(server, "f", values)
    files = model.export("solr-trees", name="trees", features=by_fields(model, "f"))
    check_scores(server, model, values, files, "trees")


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
