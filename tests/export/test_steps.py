"""Models of steps in files: the model file, code, derived features, and one tree for each step."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import sparserank as sr
from sparserank.curves import StepCurve
from sparserank.curves.bins import edges_of
from sparserank.errors import DataError, ModelFormatError
from tests.export.test_export_engines import PLUGIN, assert_same, in_plugin, templates
from tests.support.exported_scores import python_score, rows_of

N_FEATURES = 5
QID = np.repeat(np.arange(30), 30)


@pytest.fixture(scope="module")
def data() -> sr.RankingDataset:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, N_FEATURES))
    y = np.clip(np.round(X[:, 1] + (X[:, 2] > 0.5) + rng.normal(0, 0.5, 900)), 0, 4)
    return sr.RankingDataset(X, y, QID)


@pytest.fixture(scope="module")
def model(data: sr.RankingDataset) -> sr.RankingModel:
    return sr.SparseRanker(penalty="steps", k=3).fit(data.X, data.relevance, qid=QID).to_model()


def test_the_model_file_and_code_have_its_scores(data: sr.RankingDataset, model: sr.RankingModel, tmp_path) -> None:
    model.save(tmp_path / "model.json")
    assert np.array_equal(sr.load_model(tmp_path / "model.json").predict(data.X), model.predict(data.X))
    score = python_score(model)
    own = [score(row) for row in rows_of(model, data.X)]
    np.testing.assert_allclose(own, model.predict(data.X), rtol=1e-12, atol=1e-12)
    content = model.to_json()
    next(f["steps"] for f in content["features"])["values"].append(0.0)
    (tmp_path / "wrong.json").write_text(json.dumps(content))
    with pytest.raises(ModelFormatError, match="one value more than edges"):
        sr.load_model(tmp_path / "wrong.json")


@pytest.mark.parametrize("to", PLUGIN)
def test_derived_features_of_the_plugin(data: sr.RankingDataset, model: sr.RankingModel, to: str) -> None:
    X = data.X[:200].astype(np.float32).astype(np.float64)
    files = model.export(to, features=templates(model), offset=2.0)
    assert_same(in_plugin(files, rows_of(model, X)), model.predict(X), shift=2.0)


def test_one_split_trees_of_lightgbm(data: sr.RankingDataset, model: sr.RankingModel) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    trees = lightgbm.Booster(model_str=model.export("lightgbm", offset=2.0)["model.txt"])
    assert trees.num_trees() == sum(len(c.edges) for c in model.curves.values())
    at_edges = np.zeros((40, N_FEATURES))
    for j, curve in model.curves.items():
        at_edges[:, j] = np.resize(curve.edges, 40)
    for X in (data.X, at_edges):
        np.testing.assert_allclose(trees.predict(X), model.predict(X) + 2.0, rtol=1e-12, atol=1e-12)


def test_dumped_trees_and_those_of_solr_by_the_rules_of_their_readers(model: sr.RankingModel) -> None:
    """In single precision, 0 for missing values included."""
    wild = np.random.default_rng(0).normal(size=(1000, N_FEATURES)).astype(np.float32) * np.float32(3)
    wild[:40, :] = np.float32(0)
    dumped = json.loads(model.export("xgboost-dump")["model.json"])
    solr = json.loads(model.export("solr-trees", name="own")["model.json"])["params"]["trees"]
    for row, expected in zip(wild, model.predict(wild.astype(float)), strict=True):
        of = dict(zip(model.feature_names, row, strict=True))
        by_dump = sum(
            t["children"][0 if of[t["split"]] < np.float32(t["split_condition"]) else 1]["leaf"] for t in dumped
        )
        by_solr = 0.0
        for root in (t["root"] for t in solr):
            left = of[root["feature"]] <= np.float32(root["threshold"]) + np.float32(1e-6)
            by_solr += float(root["left" if left else "right"]["value"])
        np.testing.assert_allclose([by_dump, by_solr], expected, atol=1e-9)
    assert all(t["missing"] == (1 if t["split_condition"] > 0 else 2) for t in dumped)


def test_neighbours_of_single_precision_are_on_different_sides_in_solr_or_refused(model: sr.RankingModel) -> None:
    below = np.random.default_rng(1).normal(size=200).astype(np.float32)
    above = np.nextafter(below, np.float32(np.inf))
    below, above = below[np.abs(below) > 0.1], above[np.abs(below) > 0.1]
    refused, one = 0, next(iter(model.curves))
    for low, high in zip(below, above, strict=True):
        curve = StepCurve(edges_of(np.array([low, high], dtype=float)), np.array([0.0, 1.0]))
        edge = replace(model, curves={one: curve}, coef=np.eye(N_FEATURES)[one])
        try:
            (tree,) = json.loads(edge.export("solr-trees")["model.json"])["params"]["trees"]
        except DataError:
            refused += 1
            continue
        assert low <= np.float32(tree["root"]["threshold"]) + np.float32(1e-6) < high
    assert refused < len(below) / 4
    tiny = replace(model, curves={j: StepCurve(np.array([1e-9]), np.array([0.0, 1.0])) for j in model.curves})
    with pytest.raises(DataError, match="Solr adds 1e-06 to every threshold"):
        tiny.export("solr-trees")


def test_what_a_format_cannot_express_is_refused(data: sr.RankingDataset, model: sr.RankingModel) -> None:
    with pytest.raises(DataError, match="cannot express steps"):
        model.export("ranklib")
    with pytest.raises(DataError, match="cannot be the name of a feature"):
        replace(model, feature_names=("f 1", "f 2", "f 3", "f 4", "f 5")).export("lightgbm")
    linear = sr.SparseRanker(k=2).fit(data.X, data.relevance, qid=QID).to_model()
    with pytest.raises(DataError, match="takes steps only, and cannot express"):
        linear.export("xgboost")
