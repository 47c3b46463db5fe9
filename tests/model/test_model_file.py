"""The model file: saved and loaded exactly, refused with a sentence when it is not one of ours."""

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank import RankingDataset, papers
from sparserank.errors import DataError, ModelFormatError
from sparserank.model.feature import Feature
from sparserank.model.file_format import FIELDS
from sparserank.model.ranking_model import RankingModel
from sparserank.model.size_models import load_model
from sparserank.options.paths import SCALINGS
from sparserank.penalties import L1
from sparserank.shards.scaling import FeatureScaling, fit_scaling
from tests.support.models import array_of, rebuilt, scaling_of, unscaled
from tests.support.problems import small_problem


def entry(**changes: Any) -> dict[str, Any]:
    """One selected feature as the file has it, with changes."""
    return {"index": 0, "name": "a", "coef": 1.0, "mean": 0.0, "scale": 1.0} | changes


STEPS = {"edges": [0.5], "values": [0.0, 1.0]}
CURVE = (
    r"json: the transform curves was removed; sparserank 0\.3\.0 is the last version that has it; "
    r"train again with the penalty steps\.$"
)


def nested(depth: int) -> list:
    out: list = []
    for _ in range(depth):
        out = [out]
    return out


@contextmanager
def peak_memory(most_mb: float) -> Iterator[None]:
    """Fails when the block holds more than `most_mb` of new memory at any time."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most_mb * 2**20


@pytest.fixture
def model() -> RankingModel:
    data = small_problem(1)
    coef = np.array([0.1 + 0.2, 0.0, -1e-17, 0.0, 12345.678901234567])
    return RankingModel.from_arrays(
        coef, tuple("abcde"), fit_scaling(data), {"penalty": "L1(alpha=0.1)"}, {"note": "x"}
    )


def test_saved_and_loaded_exactly(model: RankingModel, tmp_path: Path) -> None:
    values = np.array([0.1, 0.0, np.nan, 0.0, -1e300])
    rebuilt(model, fill_values=values).save(tmp_path / "m.json")
    np.testing.assert_array_equal(
        array_of(load_model(tmp_path / "m.json"), "missing")[model.support], values[model.support]
    )
    model.save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert np.array_equal(loaded.coef, model.coef)
    assert [f.scale for f in loaded.features] == [f.scale for f in model.features]
    assert loaded.feature_names == model.feature_names
    assert loaded.parameters == model.parameters
    X = small_problem(1).X
    assert np.array_equal(loaded.predict(X), model.predict(X))
    content = json.loads((tmp_path / "m.json").read_text())
    assert [f["name"] for f in content["features"]] == ["a", "c", "e"]
    assert set(content["features"][0]) == {"index", "name", "coef", "mean", "scale"}


def test_every_field_of_a_feature_is_in_the_file_or_made_from_it() -> None:
    assert [*FIELDS, "derived"] == [*Feature._fields]


def test_fields_of_one_version_come_together(model: RankingModel, tmp_path: Path) -> None:
    """Without its constant, an asinh would be another function."""
    path = tmp_path / "m.json"
    path.write_text(json.dumps(model.to_json() | {"features": [entry(transform="asinh")], "version": 2}))
    with pytest.raises(ModelFormatError, match="constant is missing"):
        load_model(path)
    path.write_text(json.dumps(model.to_json() | {"features": [entry(coef=0.0), entry(index=1, name="b")]}))
    assert [f.name for f in load_model(path).features] == ["b"]  # a weight of 0 selects nothing


@pytest.mark.parametrize("method", SCALINGS)
def test_prediction_equals_scaling_then_weights(method: str) -> None:
    data = small_problem(2)
    scaling = fit_scaling(data, method)
    coef = np.array([1.0, 0.0, -2.0, 0.5, 0.0])
    model = RankingModel.from_arrays(coef, tuple("abcde"), scaling)
    expected = scaling.apply(data).X @ coef
    np.testing.assert_allclose(model.predict(data.X, data.qid), expected, rtol=1e-12)
    order = np.random.default_rng(0).permutation(data.n_docs)
    np.testing.assert_allclose(model.predict(data.X[order], np.asarray(data.qid)[order]), expected[order], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        *[({"version": version}, "upgrade sparserank") for version in (10, "new")],
        ({"format": "other"}, "not a sparserank-model file"),
        *[({"features": [one]}, "damaged model file") for one in (entry(index=99, name="x"), {"index": 0})],
        *[(change, "damaged model file") for change in ({"scaling": "magic"}, {"n_features_in": None})],
        *[({"version": v}, f"version must be an integer from 1 to 9; got {v}") for v in (-3, True, 1.0)],
        *[({"features": [entry(index=v)]}, f"index must be an integer; got {v}") for v in (3.9, True)],
        ({"features": [entry(index=-1, name="e")]}, r"index -1 is outside 0\.\.4"),
        ({"features": [entry(coef=1.0), entry(coef=2.0)]}, "feature 'a' is listed twice"),
        ({"features": [entry(name="b")]}, "index 0 belongs to feature 'a', not to 'b'"),
        *[({"features": [entry(coef=v)]}, f"coef must be a number; got {v!r}") for v in ("1.5", True)],
        ({"features": [entry(mean=None)]}, "mean must be a number; got None"),
        *[({"features": [entry(scale=v)]}, f"scale must be a finite number > 0; got {v}") for v in (0.0, -1.0)],
        ({"features": [entry(coef=1e10, scale=1e-300)]}, "too large for its scale"),
        ({"features": [entry(coef=10**400)]}, "301 digits or more"),
        ({"features": [3]}, "must be an object; got 3"),
        ({"features": {"index": 0}}, "features must be a list"),
        ({"n_features_in": 5.0}, r"n_features_in must be an integer; got 5\.0"),
        *[({"n_features_in": n}, f"n_features_in is {n}, but there are 5 names") for n in (300_000_000, -1)],
        ({"feature_names_in": "abcde"}, "feature_names_in must be a list"),
        ({"feature_names_in": ["a", "b", "c", "d", 5]}, "feature_names_in must be strings; got 5"),
        ({"feature_names_in": ["a", "b", "c", "d", "a"]}, "feature_names_in must differ; two are 'a'"),
        ({"feature_names_in": ["a", "b", "c", "d", "\ud800"]}, "lone surrogate"),
        ({"metadata": {"x": "\udcff"}}, "lone surrogate"),
        ({"parameters": []}, r"parameters must be an object; got \[\]"),
        ({"metadata": "x"}, "metadata must be an object; got 'x'"),
        ({"metadata": {"x": nested(30)}}, "nested deeper"),
        ({"metadata": {"x": float("nan")}}, "NaN"),
        ({"scaling": ["none"]}, "scaling must be a string"),
        ({"intercept": 2.5}, r"intercept must be 0; got 2\.5"),
        ({"scaling": "x" * 10**6}, "damaged model file"),
        ({"features": [entry(missing=1.0)], "version": 3}, "has 'missing', which version 3 does not support"),
        ({"features": [entry(median=1.0)], "version": 4}, "has 'median', which version 4 does not support"),
        *[({"features": [entry(missing=v)], "version": 5}, "missing must be a number") for v in (None, "median", True)],
        *[({"features": [entry(median=v)], "version": 5}, "median must be a number") for v in (None, "1", True)],
        ({"derived": {}, "version": 8}, "has 'derived', which version 8 does not support"),
        *[({"derived": v, "version": 9}, "derived must be an object") for v in (None, [])],
        *[({"derived": {"nothing": v}, "version": 9}, "an object for names of features") for v in ({}, 3)],
        ({"index_base": 0, "version": 6}, "has 'index_base', which version 6 does not support"),
        ({"features": [entry(curve={"knots": [0.0, 1.0], "values": [0.0, 1.0]})]}, CURVE),
        ({"features": [entry(transform="log", constant=1.0, steps=STEPS)], "version": 8}, "a transform and steps"),
        ({"index_base": 2, "version": 7}, "index_base must be 0 or 1; got 2"),
        ({"index_base": False, "version": 7}, "index_base must be an integer; got False"),
    ],
    ids=lambda v: str(v)[:60] if isinstance(v, dict) else "",
)
def test_foreign_newer_and_damaged_files_are_refused(model, tmp_path, change, words):
    path = tmp_path / "m.json"
    path.write_text(json.dumps(model.to_json() | change))
    with peak_memory(40 if len(str(change)) > 10**5 else 2), pytest.raises(ModelFormatError, match=words) as error:
        load_model(path)
    assert str(path) in str(error.value)
    assert len(str(error.value)) < 400 + len(str(path))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"coef": 0.3', '"coef": 1e400, "x": 0.3', "1e400 is too large"),
        ('"version": 1', '"version": 1, "version": 1', "'version' appears twice"),
        ('"note": "x"', f'"note": {"[" * 100_000}{"]" * 100_000}', "nested deeper"),
        ('"note": "x"', f'"note": {"7" * 5000}', "301 digits or more"),
        ('"note": "x"', '"note": Infinity', "Infinity is not a number"),
        *[
            (f'"{key}":', '"other":', f"damaged model file: {key} is missing")
            for key in ("n_features_in", "features", "feature_names_in", "scaling", "parameters", "metadata")
        ],
    ],
)
def test_parts_that_are_absent_and_numbers_keys_and_depths_beyond_reason_are_refused(model, tmp_path, old, new, words):
    path, text = tmp_path / "m.json", json.dumps(model.to_json())
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(ModelFormatError, match=words) as error:
        load_model(path)
    assert len(str(error.value)) < 400 + len(str(path))


def test_a_file_of_absurd_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    with open(path, "wb") as out:
        out.truncate(300 * 2**20)
    with peak_memory(2), pytest.raises(ModelFormatError, match="256 MB"):
        load_model(path)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"format": "sparserank-model", "version": NaN}', "\x00\x01"])
def test_what_is_no_json_model_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(ModelFormatError):
        load_model(path)
    with pytest.raises(ModelFormatError):
        load_model(tmp_path / "absent.json")


ONES, ODD = np.ones(5), (np.inf, -np.inf, np.nan)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *[
            ({"coef": v * ONES}, "cannot be saved: feature 'a'.*must be a finite number")
            for v in (np.inf, -np.inf, np.nan)
        ],
        *[
            ({"scaling": FeatureScaling("standard", *numbers)}, "cannot be saved: feature 'a'.*must be a finite number")
            for v in ODD
            for numbers in ((v * ONES, ONES), (ONES, v * ONES))
        ],
        ({"scaling": FeatureScaling("magic", ONES, ONES)}, "cannot be saved: scaling must be one of"),
        ({"feature_names": ("a", "b", "c", "d", "a")}, "feature_names_in must differ; two are 'a'"),
        ({"feature_names": ("a", "b", "c", "d", "\ud800")}, "lone surrogate"),
        ({"feature_names": ("a", "b", "c", "d", 5)}, "names must be strings; got 5"),
    ],
    ids=str,
)
def test_what_could_not_be_read_again_is_never_written(model, tmp_path, changes, message):
    with pytest.raises(DataError, match=message):
        rebuilt(model, **changes).save(tmp_path / "m.json")
    assert list(tmp_path.iterdir()) == []


def test_every_kind_of_parameter_and_metadata_is_written_and_read_again(model: RankingModel, tmp_path: Path) -> None:
    cyclic: dict[str, object] = {}
    cyclic["self"] = cyclic
    given = {"ratio": np.float64("nan"), "inf": [np.inf, {"x": -np.inf}], "whole": np.int64(3)}
    given |= {"small": np.float32(0.5), "flag": np.bool_(True), "array": np.array([1.0, np.nan]), "path": Path("a/b")}
    given |= {"pair": (1, 2), "huge": 10**5000, "text": "\udcff", "object": L1(alpha=0.5), 3: {"deep": nested(100)}}
    given |= {"cyclic": cyclic, "none": None, "date": np.datetime64("2020-01-01")}
    saved = RankingModel.from_arrays(model.coef, model.feature_names, scaling_of(model), given, given)
    saved.save(tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    plain = dict(loaded.parameters)
    for key in ("3", "cyclic", "huge"):
        assert plain.pop(key)
    read = {"ratio": None, "inf": [None, {"x": None}], "whole": 3, "small": 0.5, "flag": True, "array": [1.0, None]}
    read |= {"path": "a/b", "pair": [1, 2], "text": "\\udcff", "object": "L1(alpha=0.5)", "none": None}
    assert plain == read | {"date": "2020-01-01"}
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_a_score_that_is_not_finite_is_refused_by_row_and_feature(model: RankingModel) -> None:
    X = np.zeros((4, 5))
    X[2, 4] = np.nan
    with pytest.raises(DataError, match="row 2: feature 'e' is nan"):
        model.predict(X)
    with pytest.raises(DataError, match="row 2: feature 'e' is nan"):
        model.predict(sp.csr_matrix(X))
    X[2, 4] = 0.0
    X[3, [1, 3]] = np.nan  # not selected: never read
    assert np.isfinite(model.predict(X)).all()
    plain = unscaled(model.coef, model.feature_names)
    X[1, 4] = 1e308
    with pytest.raises(DataError, match=r"row 1: the score is not finite because feature 'e' is 1e\+308"):
        plain.predict(X)
    two = unscaled([1.0, 0, 0, 0, 1.0], model.feature_names)
    with pytest.raises(DataError, match="row 0: the score is not finite because the values are too large"):
        two.predict(np.full((1, 5), 1.7e308))
    each = RankingModel.from_arrays(
        model.coef, model.feature_names, FeatureScaling("query-min-max", np.zeros(5), np.ones(5))
    )
    with pytest.raises(DataError, match="row 2: feature 'a' is inf"):
        each.predict(np.array([[1.0] * 5, [2.0] * 5, [np.inf] * 5]), np.array([1, 2, 1]))


def test_a_score_that_is_not_finite_is_refused_by_the_row_that_the_user_gave(model: RankingModel) -> None:
    X = np.zeros((4, 5))
    X[1, 4], X[3, 4] = 1.7e308, -1.7e308
    data = RankingDataset(X, np.zeros(4), np.array([1, 2, 1, 2]))
    assert data.qid is not None
    for method in ("none", "query-min-max"):
        extreme = RankingModel.from_arrays(
            model.coef, model.feature_names, FeatureScaling(method, np.zeros(5), np.ones(5))
        )
        with pytest.raises(DataError, match="row 1: the score is not finite because feature 'e'"):
            extreme.score_dataset(data)
        with pytest.raises(DataError, match="row 1: the score is not finite because feature 'e'"):
            extreme.predict(X, np.array([1, 2, 1, 2]))


@pytest.mark.parametrize(
    "X", [np.zeros(5), np.zeros((1, 1, 5)), [["a"] * 5], [[1.0], [1.0, 2.0]], "abcde", None, 3, [[10**400] * 5]]
)
def test_what_is_no_matrix_of_numbers_is_refused(model: RankingModel, X: object) -> None:
    with pytest.raises(DataError, match="numbers"):
        model.predict(X)


def test_scaling_within_queries_needs_one_query_per_row(model: RankingModel) -> None:
    each = RankingModel.from_arrays(
        model.coef, model.feature_names, FeatureScaling("query-min-max", np.zeros(5), np.ones(5))
    )
    with pytest.raises(DataError, match="pass qid"):
        each.predict(np.ones((3, 5)))
    for qid in (np.array([1, 2]), 1, np.ones((3, 1))):
        with pytest.raises(DataError, match="one value per row of X"):
            each.predict(np.ones((3, 5)), qid)
    with pytest.raises(DataError, match="row 1 has"):
        each.predict(np.ones((3, 5)), np.array([1.0, np.nan, np.nan]))
    assert each.predict(np.ones((0, 5)), np.zeros(0)).shape == (0,)


RANKERS = [r() for r in (sr.SparseRanker, papers.RankSVM, papers.RankRLS, papers.FSMRank, papers.TGRank)]
RANKERS += [ranker(k=2) for ranker in (papers.GreedyRankRLS, papers.FSRank, papers.GasRanker)]
RANKERS += [papers.FenchelRank(radius=1.0), papers.RSRank(max_iter=20), papers.FSMSVM(k=2, lambda2=1e-3)]
RANKERS += [papers.RandomRanker(random_state=0), papers.Laporte2014()]


@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: type(r).__name__)
def test_every_ranker_saves_to_the_model_file(ranker: sr.SparseRanker, tmp_path: Path) -> None:
    data = sr.datasets.make_ranking(20, (6, 9), 8, n_informative=3, n_redundant=1, random_state=2).data
    X = (data.X - data.X.min(axis=0)) / np.ptp(data.X, axis=0)
    ranker.fit(X, data.relevance, qid=data.qid).save(tmp_path / "model.json")
    model = sr.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(model.support, ranker.support_)
    np.testing.assert_allclose(model.predict(X), ranker.predict(X), rtol=1e-13, atol=1e-15)
    assert model.metadata["estimator"] == type(ranker).__name__
