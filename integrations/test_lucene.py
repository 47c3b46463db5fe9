"""Lucene itself ranks by an exported expression, over an index, as `predict` does, and computes the derived
features of Elasticsearch and OpenSearch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrations.matrix import ran
from servers import LUCENE, lucene
from tests.conftest import data_folder_or_skip
from tests.export.test_export import OF_MATRIX, REAL, real_model

import sparserank as sr
from sparserank.datasets import make_curved_ranking, make_ranking
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform

N_DOCS = 1000


@pytest.fixture(scope="module", params=LUCENE)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ranked(version: str, folder: Path, model: sr.RankingModel, X: np.ndarray, **options: Any) -> np.ndarray:
    """(n_docs, 2) rows and scores as Lucene ranks them; a NaN is a field that the document does not have."""
    (text,) = model.export("lucene", **options).values()
    (folder / "model.expression").write_text(str(text))
    rows = (["" if v != v else repr(v) for v in row] for row in X.tolist())
    lines = ["\t".join(model.feature_names), *map("\t".join, rows)]
    (folder / "docs.tsv").write_text("\n".join(lines) + "\n")
    found = lucene("RankByExpression", version, folder / "model.expression", folder / "docs.tsv")
    return np.array([line.split() for line in found.splitlines()], dtype=float)


@pytest.fixture(scope="module")
def models() -> dict[str, tuple[sr.RankingModel, np.ndarray]]:
    rng = np.random.default_rng(0)
    plain = make_ranking(60, (8, 14), 12, n_informative=4, n_redundant=2, noise=0.5, random_state=1).data
    curved = make_curved_ranking(60, random_state=1).data
    X = np.exp(2.0 * rng.standard_normal((N_DOCS, 12))) * rng.choice([-1.0, 1.0], size=(N_DOCS, 12))
    wild = 4.0 * rng.standard_normal((N_DOCS, curved.n_features))
    makers = {
        "linear": (sr.SparseRanker(penalty="mcp", k=5), plain, X),
        "log": (sr.SparseRanker(k=6, feature_transform="log"), plain, X),
        "asinh": (sr.SparseRanker(k=6, feature_transform="asinh"), plain, X),
        "steps": (sr.SparseRanker(penalty="steps", k=6), curved, wild),
    }
    return {name: (ranker.fit_dataset(data).to_model(), values) for name, (ranker, data, values) in makers.items()}


@pytest.mark.parametrize("kind", ["linear", "log", "asinh", "steps", *REAL])
def test_lucene_ranks_as_predict_does(version, models, tmp_path: Path, kind: str) -> None:
    model, X = models[kind] if kind in models else real_model(kind, data_folder_or_skip())
    expected = model.predict(X)
    offset = float(np.ceil(-expected.min())) + 1.0
    found = ranked(version, tmp_path, model, X, offset=offset)
    rows = found[:, 0].astype(int)
    assert sorted(rows) == list(range(N_DOCS))
    np.testing.assert_allclose(found[:, 1], expected[rows] + offset, rtol=1e-6)
    falls = np.diff(expected[rows])
    assert falls.max() <= 1e-6 * (np.abs(expected).max() + offset)  # single precision, nothing else
    for what in (OF_MATRIX.get(kind, "weights"), "offset"):
        ran("lucene", f"Lucene {version}", what)


@pytest.mark.parametrize("kind", ["linear", "asinh", "steps"])
def test_a_document_without_a_field_has_the_value_0(version, models, tmp_path: Path, kind: str) -> None:
    model, X = models[kind]
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    expected = model.predict(np.nan_to_num(holes))
    offset = float(np.ceil(-expected.min())) + 1.0
    found = ranked(version, tmp_path, model, holes, offset=offset)
    np.testing.assert_allclose(found[:, 1], expected[found[:, 0].astype(int)] + offset, rtol=1e-6)
    ran("lucene", f"Lucene {version}", "missing")


def test_without_an_offset_lucene_clamps_and_the_order_is_lost(version, models, tmp_path: Path) -> None:
    model, X = models["linear"]
    found = ranked(version, tmp_path, model, X)
    expected = model.predict(X)
    assert (found[:, 1] == 0.0).sum() == (expected <= 0).sum() > 10
    mapped = ranked(version, tmp_path, model, X, features={n: f"({n} + 0)" for n in model.feature_names}, offset=1e4)
    assert (mapped[:, 1] > 0).all()


def as_derived(version: str, folder: Path, model: sr.RankingModel, X: np.ndarray, **options: Any) -> np.ndarray:
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
    found = lucene("DerivedFeatures", version, folder / "set.tsv", folder / "docs.tsv")
    return np.array(found.split(), dtype=float)


@pytest.mark.parametrize("kind", ["linear", "log", "asinh", "steps", *REAL])
def test_lucene_computes_derived_features_as_predict_does(version, models, tmp_path: Path, kind: str) -> None:
    model, X = models[kind] if kind in models else real_model(kind, data_folder_or_skip())
    expected = model.predict(X)
    found = as_derived(version, tmp_path, model, X, offset=2.0)
    size = np.abs(expected).max() + 2.0
    np.testing.assert_allclose(found, expected + 2.0, atol=3e-6 * size)
    assert np.abs(found - expected[::-1]).max() > 1e-2 * size  # of other documents
    for engine in ("elasticsearch", "opensearch"):  # which have the same files
        for what in (OF_MATRIX.get(kind, "weights"), "offset"):
            ran(engine, f"Lucene {version}", what)


def test_names_of_derived_features_are_variables_of_lucene(version, tmp_path: Path) -> None:
    names = ("a b", "a'b", 'a"b', "日本", "ln", "abs", "max", "a.b", "_", "doc", "1st", "x\x1by", "", "true", "null")
    d = len(names)
    transform = Transform(("log", "asinh", "log") * (d // 3), np.full(d, 2.5))
    scaling = FeatureScaling("none", np.zeros(d), np.ones(d))
    model = sr.RankingModel.from_arrays(np.linspace(-1.0, 1.5, d), names, scaling, transform=transform)
    X = np.random.default_rng(0).standard_normal((50, d))
    expected = model.predict(X)
    found = as_derived(version, tmp_path, model, X)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert as_derived(version, tmp_path, model, X, offset=2.0) == pytest.approx(expected + 2.0, abs=1e-5)
