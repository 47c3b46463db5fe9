"""A running OpenSearch ranks by exported expressions, as scripts, as `predict` does, and its queries find levels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from integrations.matrix import ran
from servers import Server, opensearch
from tests.conftest import data_folder_or_skip
from tests.export import test_categories as categories
from tests.export.test_export import REAL, real_model

import sparserank as sr
from sparserank.data.categories import Derived
from sparserank.datasets import make_curved_ranking, make_ranking
from sparserank.shards.scaling import FeatureScaling

N_QUERIES, N_DOCS = 40, 300
EPS = 2.0**-23  # of single precision


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with opensearch("2.19.6", tmp_path_factory.mktemp("opensearch")) as running:
        yield running


def index(server: Server, name: str, X: np.ndarray) -> None:
    """One document for each row: the value of a feature is in a field of double precision; a NaN has none."""
    fields = {**{f"f{j}": {"type": "double"} for j in range(X.shape[1])}, "qid": {"type": "integer"}}
    settings = {"number_of_shards": 1, "number_of_replicas": 0}
    server.send(f"/{name}", {"settings": settings, "mappings": {"properties": fields}}, "PUT")
    lines = []
    for i, row in enumerate(X.tolist()):
        lines.append({"index": {"_id": str(i)}})
        lines.append({"qid": i // N_DOCS, **{f"f{j}": v for j, v in enumerate(row) if v == v}})
    answer = server.send(f"/{name}/_bulk?refresh=true", "\n".join(map(json.dumps, lines)) + "\n")
    assert not answer["errors"]


@pytest.fixture(scope="module")
def models() -> dict[str, tuple[sr.RankingModel, np.ndarray]]:
    rng = np.random.default_rng(0)
    plain = make_ranking(N_QUERIES, N_DOCS, 12, n_informative=4, n_redundant=2, noise=0.5, random_state=1).data
    curved = make_curved_ranking(N_QUERIES, N_DOCS, n_features=12, n_curved=6, random_state=1).data
    shape = N_QUERIES * N_DOCS, 12
    X = np.exp(2.0 * rng.standard_normal(shape)) * rng.choice([-1.0, 1.0], size=shape)
    holes = np.where(rng.random(shape) < 0.1, np.nan, X)
    makers = {
        "linear": (sr.SparseRanker(penalty="mcp", k=5), plain, X),
        "log": (sr.SparseRanker(k=6, feature_transform="log"), plain, X),
        "asinh": (sr.SparseRanker(k=6, feature_transform="asinh"), plain, X),
        "asinh, without some values": (sr.SparseRanker(k=6, feature_transform="asinh"), plain, holes),
        "steps": (sr.SparseRanker(penalty="steps", k=6), curved, 4.0 * rng.standard_normal(shape)),
    }
    return {name: (ranker.fit_dataset(data).to_model(), values) for name, (ranker, data, values) in makers.items()}


@pytest.mark.parametrize("kind", ["linear", "log", "asinh", "asinh, without some values", "steps", *REAL])
def test_a_script_of_lucenes_expressions_ranks_as_predict_does(server: Server, models, kind: str) -> None:
    model, X = models[kind] if kind in models else real_model(kind, data_folder_or_skip())
    X = X[: len(X) // N_DOCS * N_DOCS]
    name = "".join(c for c in kind.lower() if c.isalnum())
    index(server, name, X)
    expected = model.predict(np.nan_to_num(X))
    offset = float(np.ceil(-expected.min())) + 1.0
    sources = {n: f"doc['f{j}'].value" for j, n in enumerate(model.feature_names)}
    (text,) = model.export("lucene", offset=offset, features=sources).values()
    script = {"lang": "expression", "source": text}
    size = np.abs(expected).max() + offset
    for q in range(len(X) // N_DOCS):
        of_query: dict[str, Any] = {"bool": {"filter": {"term": {"qid": q}}}}
        for query in (
            {"script_score": {"query": of_query, "script": script}},
            {"function_score": {"query": of_query, "script_score": {"script": script}, "boost_mode": "replace"}},
        ):
            hits = server.send(f"/{name}/_search", {"query": query, "size": N_DOCS})["hits"]["hits"]
            rows = [int(hit["_id"]) for hit in hits]
            assert sorted(rows) == list(range(q * N_DOCS, (q + 1) * N_DOCS))
            scores = [hit["_score"] for hit in hits]
            np.testing.assert_allclose(scores, expected[rows] + offset, atol=2 * EPS * size)
            best = np.sort(expected[q * N_DOCS : (q + 1) * N_DOCS])[::-1][:10]
            np.testing.assert_allclose(expected[rows[:10]], best, atol=4 * EPS * size)
    shown = {"linear": "weights", "log": "logarithms", "steps": "steps", "asinh, without some values": "missing"}
    for what in {"offset", shown.get(kind, "offset")}:
        ran("lucene", f"OpenSearch {server.version}", what)


def test_the_queries_of_levels_and_flags_find_what_predict_counts(server: Server) -> None:
    """Features that --to elasticsearch makes from columns: each is a query, whose score is the value."""
    levels = [
        *categories.LEVELS,
        " a",
        "a ",
        " ",
        "a",
        "*",
        "a\nb",
        "null",
        "'",
        "💡",
        "e\u0301",
        "a:b",
        "AND",
        "\u2003",
    ]
    names = tuple(Derived("brand", level).name for level in levels)
    derived = {name: Derived("brand", level) for name, level in zip(names, levels, strict=True)}
    derived["price is missing"] = Derived("price", None)
    d = len(derived)
    model = sr.RankingModel.from_arrays(
        np.ones(d), tuple(derived), FeatureScaling("none", np.zeros(d), np.ones(d)), derived=derived
    )
    features = {"brand": {"field": "brand"}, "price": {"field": "price"}}
    text = str(model.export("elasticsearch", features=features)["featureset.json"])
    queries = {f["name"]: f["template"] for f in json.loads(text)["featureset"]["features"]}
    fields = {"brand": {"type": "keyword"}, "price": {"type": "float"}}
    server.send("/levels", {"mappings": {"properties": fields}, "settings": {"number_of_replicas": 0}}, "PUT")
    brands = [*levels, "other", None]
    rows = [({"brand": b} if b is not None else {}) | ({"price": 0.0} if i % 2 else {}) for i, b in enumerate(brands)]
    lines = [line for i, row in enumerate(rows) for line in ({"index": {"_id": str(i)}}, row)]
    answer = server.send("/levels/_bulk?refresh=true", "\n".join(map(json.dumps, lines)) + "\n")
    assert not answer["errors"]
    frame = pd.DataFrame({"brand": brands, "price": [row.get("price", np.nan) for row in rows]})
    for name, of in derived.items():
        alone = sr.RankingModel.from_arrays(
            np.ones(1), (name,), FeatureScaling("none", np.zeros(1), np.ones(1)), derived={name: of}
        )
        hits = server.send("/levels/_search", {"query": queries[name], "size": 100})["hits"]["hits"]
        found = np.zeros(len(rows))
        found[[int(hit["_id"]) for hit in hits]] = [hit["_score"] for hit in hits]
        np.testing.assert_array_equal(found, alone.predict(frame), err_msg=name[:40])
    for engine in ("opensearch", "elasticsearch"):  # which have the same files
        ran(engine, f"OpenSearch {server.version}", "categories")
