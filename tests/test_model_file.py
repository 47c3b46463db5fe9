"""The model file: saved and loaded exactly, refused with a sentence when it is not one of ours."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.scaling import SCALINGS, fit_scaling
from sparserank.errors import DataError, ModelFormatError, RunDirectoryError
from sparserank.model import RankingModel, load_model
from tests.problems import small_problem


@pytest.fixture
def model() -> RankingModel:
    data = small_problem(1)
    coef = np.array([0.1 + 0.2, 0.0, -1e-17, 0.0, 12345.678901234567])
    return RankingModel(coef, tuple("abcde"), fit_scaling(data), {"penalty": "L1(alpha=0.1)"}, {"note": "x"})


def test_saved_and_loaded_exactly(model: RankingModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert np.array_equal(loaded.coef, model.coef)
    assert np.array_equal(loaded.scaling.scale[model.support], model.scaling.scale[model.support])
    assert loaded.feature_names == model.feature_names
    assert loaded.parameters == model.parameters
    X = small_problem(1).X
    assert np.array_equal(loaded.predict(X), model.predict(X))
    content = json.loads((tmp_path / "m.json").read_text())
    assert [f["name"] for f in content["features"]] == ["a", "c", "e"]
    assert set(content["features"][0]) == {"index", "name", "coef", "mean", "scale"}


@pytest.mark.parametrize("method", SCALINGS)
def test_prediction_equals_scaling_then_weights(method: str) -> None:
    data = small_problem(2)
    scaling = fit_scaling(data, method)
    coef = np.array([1.0, 0.0, -2.0, 0.5, 0.0])
    model = RankingModel(coef, tuple("abcde"), scaling)
    expected = scaling.apply(data).X @ coef
    np.testing.assert_allclose(model.predict(data.X, data.qid), expected, rtol=1e-12)
    order = np.random.default_rng(0).permutation(data.n_docs)
    np.testing.assert_allclose(model.predict(data.X[order], np.asarray(data.qid)[order]), expected[order], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "upgrade sparserank"),
        ({"version": "new"}, "upgrade sparserank"),
        ({"format": "other"}, "not a sparserank-model file"),
        ({"features": [{"index": 99, "name": "x", "coef": 1.0, "mean": 0.0, "scale": 1.0}]}, "damaged model file"),
        ({"features": [{"index": 0}]}, "damaged model file"),
        ({"scaling": "magic"}, "damaged model file"),
        ({"n_features_in": None}, "damaged model file"),
    ],
)
def test_foreign_newer_and_damaged_files_are_refused(
    model: RankingModel, tmp_path: Path, change: dict, words: str
) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(model.to_json() | change))
    with pytest.raises(ModelFormatError, match=words) as error:
        load_model(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"format": "sparserank-model", "version": NaN}', "\x00\x01"])
def test_what_is_no_json_model_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(ModelFormatError):
        load_model(path)
    with pytest.raises(ModelFormatError):
        load_model(tmp_path / "absent.json")


def test_infinite_weights_are_never_written(model: RankingModel, tmp_path: Path) -> None:
    bad = RankingModel(np.array([np.inf, 0, 0, 0, 0]), model.feature_names, model.scaling)
    with pytest.raises(ValueError, match="JSON"):
        bad.save(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


def test_unwritable_place_is_one_sentence(model: RankingModel, tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="cannot be written"):
        model.save(tmp_path / "absent" / "m.json")


def test_wrong_width_names_both_numbers(model: RankingModel) -> None:
    with pytest.raises(DataError, match=r"5 features.*6"):
        model.predict(np.ones((1, 6)))


@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "ranker",
    [
        sr.SparseRanker(), sr.RankSVM(), sr.RankRLS(), sr.GreedyRankRLS(2), sr.FenchelRank(1.0), sr.FSMRank(), sr.TGRank(),
        sr.RSRank(max_iter=20), sr.FSRank(2), sr.GasRanker(2), sr.FSMSVM(2, lambda2=1e-3), sr.RandomRanker(0), sr.Laporte2014(),
    ],
    ids=lambda r: type(r).__name__,
)  # fmt: skip
def test_every_ranker_saves_to_the_model_file(ranker: sr.SparseRanker, tmp_path: Path) -> None:
    data = sr.make_ranking(20, (6, 9), 8, n_informative=3, n_redundant=1, seed=2).data
    X = (data.X - data.X.min(axis=0)) / np.ptp(data.X, axis=0)
    ranker.fit(X, data.relevance, qid=data.qid).save(tmp_path / "model.json")
    model = sr.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(model.support, ranker.support_)
    np.testing.assert_allclose(model.predict(X), ranker.predict(X), rtol=1e-13, atol=1e-15)
    assert model.metadata["estimator"] == type(ranker).__name__
