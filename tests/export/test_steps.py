"""Models of steps in files: the model file, code, derived features, and one tree for each step."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from integrations.matrix import ran

import sparserank as sr
from sparserank.bins import StepFunction, edges_of
from sparserank.data.categories import Derived
from sparserank.errors import DataError, DataWarning, ModelFormatError, ParameterError
from sparserank.options.selection import TREES
from sparserank.paths import BoostedSteps
from sparserank.shards.scaling import FeatureScaling
from tests.export.test_export_engines import PLUGIN, assert_same, in_plugin, templates
from tests.support.command_line import Cli
from tests.support.exported_scores import python_score, rows_of
from tests.support.models import rebuilt, steps_of

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
    assert trees.num_trees() == sum(len(steps.edges) for steps in steps_of(model).values())
    at_edges = np.zeros((40, N_FEATURES))
    for j, steps in steps_of(model).items():
        at_edges[:, j] = np.resize(steps.edges, 40)
    for X in (data.X, at_edges):
        np.testing.assert_allclose(trees.predict(X), model.predict(X) + 2.0, rtol=1e-12, atol=1e-12)
    filled = rebuilt(model, fill_values=np.full(N_FEATURES, 0.485))
    trees = lightgbm.Booster(model_str=filled.export("lightgbm")["model.txt"])
    holes = np.where(np.random.default_rng(0).random(data.X.shape) < 0.3, np.nan, data.X)
    np.testing.assert_allclose(trees.predict(holes), filled.predict(holes), rtol=1e-12, atol=1e-12)
    for kind in ("steps", "offset", "missing"):
        ran("lightgbm", f"LightGBM {lightgbm.__version__}", kind)


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
    refused, one = 0, next(iter(steps_of(model)))
    for low, high in zip(below, above, strict=True):
        steps = StepFunction(edges_of(np.array([low, high], dtype=float)), np.array([0.0, 1.0]))
        edge = rebuilt(model, steps={one: steps}, coef=np.eye(N_FEATURES)[one])
        try:
            (tree,) = json.loads(edge.export("solr-trees")["model.json"])["params"]["trees"]
        except DataError:
            refused += 1
            continue
        assert low <= np.float32(tree["root"]["threshold"]) + np.float32(1e-6) < high
    assert refused < len(below) / 4
    tiny = rebuilt(model, steps={j: StepFunction(np.array([1e-9]), np.array([0.0, 1.0])) for j in steps_of(model)})
    with pytest.raises(DataError, match="Solr adds 1e-06 to every threshold"):
        tiny.export("solr-trees")


def test_what_a_format_cannot_express_is_refused(data: sr.RankingDataset, model: sr.RankingModel) -> None:
    with pytest.raises(DataError, match="cannot express steps"):
        model.export("ranklib")
    linear = sr.SparseRanker(k=2).fit(data.X, data.relevance, qid=QID).to_model()
    with pytest.raises(DataError, match="takes steps only, and cannot express"):
        linear.export("xgboost")


def test_names_that_a_format_does_not_allow_are_mapped(data: sr.RankingDataset, model: sr.RankingModel) -> None:
    used = set(model.support.tolist())
    first, second, *_ = sorted(used)
    names = [f"f{j}" for j in range(N_FEATURES)]
    for j in set(range(N_FEATURES)) - used:
        names[j] = f"un[used {j}"  # an unused feature has no say
    assert set(rebuilt(model, feature_names=tuple(names)).export("lightgbm")) == {"model.txt"}
    names[first], names[second] = "price [usd]", "price__usd_"  # the second is what the first could become
    given = rebuilt(model, feature_names=tuple(names))
    for to, file, name in (("lightgbm", "model.txt", "price__usd__"), ("xgboost", "model.json", "price _usd_")):
        files = given.export(to)
        assert set(files) == {file, "columns.json"}
        columns = json.loads(files["columns.json"])
        assert columns[name] == {"column": "price [usd]"}
        assert columns["price__usd_"] == {"column": "price__usd_"}
        assert len(columns) == len(used)
        assert "price__usd_" in files[file]
    lightgbm = pytest.importorskip("lightgbm")
    trees = lightgbm.Booster(model_str=given.export("lightgbm")["model.txt"])
    np.testing.assert_allclose(trees.predict(data.X), model.predict(data.X), rtol=1e-12, atol=1e-12)


def test_made_names_are_mapped_to_columns_levels_and_missing_values() -> None:
    names = ("brand=New Balance", "brand is missing", "rating", "rating is missing")
    derived = {
        names[0]: Derived("brand", "New Balance"),
        names[1]: Derived("brand", ""),
        names[3]: Derived("rating", None),
    }
    steps = {j: StepFunction(np.array([0.5]), np.array([0.0, 1.0])) for j in range(4)}
    none = FeatureScaling("none", np.zeros(4), np.ones(4))
    made = sr.RankingModel.from_arrays(np.ones(4), names, none, steps=steps, derived=derived)
    assert json.loads(made.export("lightgbm")["columns.json"]) == {
        "brand=New_Balance": {"column": "brand", "level": "New Balance"},
        "brand_is_missing": {"column": "brand", "missing": True},
        "rating": {"column": "rating"},
        "rating_is_missing": {"column": "rating", "missing": True},
    }
    assert set(made.export("xgboost")) == {"model.json"}  # which allows blanks


def test_the_map_is_written_beside_the_model(model: sr.RankingModel, cli_here: Cli, tmp_path: Path) -> None:
    rebuilt(model, feature_names=tuple(f"f {j}" for j in range(N_FEATURES))).save(tmp_path / "m.json")
    done = cli_here("export", "m.json", "--to", "lightgbm", "--out", "trees.txt")
    assert done.code == 0
    assert "an infinite value" in done.done.err
    assert (tmp_path / "trees.txt").read_text().startswith("tree\n")
    assert set(json.loads((tmp_path / "trees.columns.json").read_text())) <= {f"f_{j}" for j in range(N_FEATURES)}


@pytest.mark.parametrize("to", ["solr-trees", "elasticsearch"])
def test_a_declared_missing_value_must_be_that_of_the_model(model: sr.RankingModel, to: str) -> None:
    filled = rebuilt(model, fill_values=np.full(N_FEATURES, 0.485))
    name = model.feature_names[int(model.support[0])]

    def definitions(value: object, **more: object) -> dict[str, object]:
        params = {"field": "x", "defaultValue": value}
        template = {"function_score": {"field_value_factor": {"field": "x", "missing": value, **more}}}
        one = {"class": "c", "params": params} if to == "solr-trees" else {"template": template}
        return {**{other: {"class": "c", "template": {}} for other in model.feature_names}, name: one}

    for right in (0.485, 0.485 + 1e-10):
        assert filled.export(to, features=definitions(right), filled=True)
    for wrong in (0, -1, 5e3):
        with pytest.raises(DataError, match=r"a missing value, but the model takes 0[.]485; write 0[.]485 there"):
            filled.export(to, features=definitions(wrong), filled=True)
    if to == "elasticsearch":
        as_text = definitions(json.dumps({"missing": 0.5}))
        with pytest.raises(DataError, match=r"gives 0[.]5 for a missing value"):
            filled.export(to, features=as_text, filled=True)
        assert filled.export(to, features=definitions(3, modifier="log1p"), filled=True)  # log1p(3) may be the value


@pytest.mark.parametrize("engine", TREES)
def test_engines_of_trees_name_steps_and_say_what_they_cannot_hold(engine: str, data: sr.RankingDataset) -> None:
    options = {"engine": engine, "n_alphas": 8, "half_samples": 0, "rival": "none", "cv": 2, "k": 2}
    for penalties in (None, "l1", ["steps", "mcp"]):
        with pytest.raises(ParameterError, match="takes steps only; add penalties='steps'"):
            sr.select(data, penalties=penalties, **options)
    named = data.rename_features(["price [usd]", *(data.feature_names or ())[1:]])
    if engine in ("lightgbm", "xgboost"):
        with pytest.warns(DataWarning, match="does not allow the name of 'price .usd.'. The export writes _"):
            found = sr.select(named, penalties=BoostedSteps(rounds=5, draws=1), **options)
    else:
        found = sr.select(named, penalties=BoostedSteps(rounds=5, draws=1), **options)
    assert found.model.export(engine)
