"""Transformed features: explicit columns, learned without labels, stored in the model, tried out of fold."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.transformed import changes_features, fit_transform
from sparserank.errors import DataError, ModelFormatError, ParameterError
from sparserank.metrics import parse_metric
from sparserank.paths import PathPlan
from sparserank.penalties import L1
from sparserank.selection.menu import transforms_tried
from sparserank.selection.plan import SelectionPlan
from sparserank.transforms import Transform
from tests.support.command_line import Cli
from tests.support.models import array_of, rebuilt

PLAIN = sr.datasets.make_ranking(80, (8, 20), 10, n_informative=4, n_redundant=0, noise=0.4, random_state=5).data
# What the ranking is linear in is the logarithm of these: heavy tails, both signs.
HEAVY = PLAIN.replace_features(np.sign(PLAIN.X) * np.expm1(2.5 * np.abs(PLAIN.X)))
SOME_HEAVY = PLAIN.replace_features(np.where(np.arange(10) % 2 == 0, HEAVY.X, PLAIN.X))
QUICK: dict[str, Any] = {"penalties": ["l1"], "n_alphas": 8, "cv": 2, "half_samples": 2}


def signed_log(X: np.ndarray) -> np.ndarray:
    return np.array([[np.sign(x) * np.log(1 + abs(x)) for x in row] for row in X])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_those_of_the_formulas(dtype: type) -> None:
    X = np.array(HEAVY.X[:50], dtype=dtype)
    tolerance = 1e-12 if dtype is np.float64 else 1e-5
    logs = fit_transform(HEAVY, "log")(X)
    assert logs.dtype == dtype
    np.testing.assert_allclose(logs, signed_log(X), rtol=tolerance)
    t = fit_transform(HEAVY, "asinh")
    medians = [np.median(np.abs(c[c != 0])) for c in np.asarray(HEAVY.X).T]
    np.testing.assert_allclose(t.constants, medians)
    few = np.column_stack([np.zeros(40), np.where(np.arange(40) < 10, 5.0, 0.0), np.full(40, -2.0)])
    for kind in (np.asarray, sp.csr_matrix):
        data = sr.RankingDataset(kind(few), np.arange(40) % 3, np.arange(40) // 10)
        assert fit_transform(data, "asinh").constants.tolist() == [1.0, 5.0, 2.0]  # of values other than 0
    np.testing.assert_allclose(t(X), np.arcsinh(X / medians), rtol=tolerance)
    assert fit_transform(HEAVY, "none")(X) is X


def test_mixed_kinds_and_sparse_rows_are_the_same_numbers() -> None:
    X = np.where(np.abs(HEAVY.X) > 1, HEAVY.X, 0.0)
    t = Transform(("none", "log", "asinh", "log", "none") * 2, np.arange(1.0, 11.0))
    expected = X.copy()
    expected[:, [1, 3, 6, 8]] = signed_log(X[:, [1, 3, 6, 8]])
    expected[:, [2, 7]] = np.arcsinh(X[:, [2, 7]] / [3.0, 8.0])
    np.testing.assert_allclose(t(X), expected, rtol=1e-12)
    sparse = t(sp.csr_matrix(X))
    np.testing.assert_allclose(sparse.toarray(), expected, rtol=1e-12)
    assert sparse.nnz == np.count_nonzero(X)
    np.testing.assert_allclose(t.take(np.array([2, 3]))(X[:, [2, 3]]), expected[:, [2, 3]], rtol=1e-12)


# The informative feature 0 and three others as booleans; feature 4 is a boolean but for one value.
BOOLEAN = np.where(np.arange(10) % 3 == 0, HEAVY.X > 0.3, HEAVY.X)
BOOLEAN[:, 4] = BOOLEAN[:, 3]
BOOLEAN[7, 4] = 2.0


@pytest.mark.parametrize("matrix", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("kind", ["log", "asinh"])
def test_booleans_are_never_transformed(kind: str, matrix: Any) -> None:
    data = HEAVY.replace_features(matrix(BOOLEAN))
    t = fit_transform(data, kind)
    assert t.kinds == tuple("none" if j % 3 == 0 else kind for j in range(10))
    assert t.constants[[0, 3, 6, 9]].tolist() == [1.0] * 4


@pytest.mark.parametrize("transform", ["log", "asinh"])
def test_booleans_enter_every_model_unchanged(transform: str, tmp_path: Path) -> None:
    data = HEAVY.replace_features(BOOLEAN)
    result = sr.select(data, feature_transform=(transform,), keep=[data.feature_names[0]], **QUICK)
    of = {row["feature"]: row for row in result.worth.features}
    booleans = [data.feature_names[j] for j in (0, 3, 6, 9) if data.feature_names[j] in of]
    assert data.feature_names[0] in booleans
    assert {of[name]["transform"] for name in booleans} == {"none"}
    assert all(of[name]["steps"] is None for name in booleans)
    assert any(row["transform"] != "none" for row in of.values())
    # The score grows by the weight, divided by the scale, where the value goes from 0 to 1.
    model, rows = result.model, np.array(BOOLEAN[:20])
    off, on = (np.where(np.arange(10) == 0, value, rows) for value in (0.0, 1.0))
    rise = model.features[0].slope
    np.testing.assert_allclose(model.predict(on) - model.predict(off), rise, rtol=1e-9)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(sr.load_model(tmp_path / "model.json").predict(rows), model.predict(rows))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_asinh_of_values_far_above_the_median_is_finite(dtype: type) -> None:
    big, small = (1e300, 1e-200) if dtype is np.float64 else (1e30, 1e-30)
    t = Transform(("asinh",) * 2, np.array([small, 1.0]))
    with np.errstate(all="raise", under="ignore"):
        found = t(np.array([[big, -big], [-big, 0.0], [small, 1.0]], dtype=dtype))
    expected = np.log(big) - np.log(small) + np.log(2.0)
    np.testing.assert_allclose(found[:2, 0], [expected, -expected], rtol=1e-6)
    np.testing.assert_allclose(found[2], np.arcsinh([1.0, 1.0]), rtol=1e-6)


def test_logs_are_left_out_where_they_change_nothing_whatever_the_labels() -> None:
    assert not changes_features(PLAIN, fit_transform(PLAIN, "log"))
    assert changes_features(SOME_HEAVY, fit_transform(SOME_HEAVY, "log"))
    auto = SelectionPlan((L1(),), parse_metric("ndcg@10"))
    assert transforms_tried(auto, PLAIN) == ["none"]
    assert transforms_tried(auto, HEAVY) == ["none", "log"]
    other = sr.RankingDataset(HEAVY.X, HEAVY.relevance[::-1], HEAVY.qid)
    assert len(transforms_tried(auto, other)) == 2
    assert transforms_tried(replace(auto, path_plan=PathPlan(scaling="query-min-max")), HEAVY) == ["none"]
    sparse = HEAVY.replace_features(sp.csr_matrix(HEAVY.X))
    assert len(transforms_tried(auto, sparse)) == 2


@pytest.mark.parametrize(
    ("asked", "tried"),
    [
        ("distilled", ["none", "distilled"]),
        ("distilled(log)", ["log", "distilled(log)"]),
        (("distilled(log)", "none"), ["none", "distilled(log)"]),
        (("log", "log", "asinh"), ["log", "asinh"]),
    ],
)
def test_what_is_asked_for_is_tried_and_distilled_models_bring_their_transform(asked: Any, tried: list[str]) -> None:
    plan = SelectionPlan((L1(),), parse_metric("ndcg@10"), feature_transform=asked)
    assert transforms_tried(plan, HEAVY) == tried


def test_the_default_selection_finds_the_shape() -> None:
    raw, found = (sr.select(HEAVY, feature_transform=t, **QUICK) for t in ("none", "auto"))
    assert found.best.mean > raw.best.mean + 0.02
    assert found.chosen.penalty.startswith("l1 on log")
    assert {f.transform for f in found.model.features} == {"log"}
    assert set(found.model.support.tolist()) <= set(range(10))
    some = sr.select(SOME_HEAVY, **QUICK)
    assert len({p.rpartition(" on ")[2] for p in some.by_penalty}) == 2
    assert found.plan.feature_transform == ("auto",)


@pytest.mark.parametrize("transform", ["log", "asinh"])
def test_a_model_scores_as_its_fold_was_scored_and_comes_back_from_its_file(transform: str, tmp_path: Path) -> None:
    result = sr.select(HEAVY, feature_transform=transform, test=HEAVY, allow_overlap=True, **QUICK)
    model = result.model
    columns = signed_log(HEAVY.X) if transform == "log" else fit_transform(HEAVY, "asinh")(HEAVY.X)
    expected = (columns - array_of(model, "mean", 0.0)) / array_of(model, "scale", 1.0) @ model.coef
    np.testing.assert_allclose(model.predict(np.asarray(HEAVY.X)), expected, rtol=1e-9, atol=1e-12)
    rebuilt(model, medians=None).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    assert content["version"] == 2
    assert {f["transform"] for f in content["features"]} == {transform}
    again = sr.load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(np.asarray(HEAVY.X)), model.predict(np.asarray(HEAVY.X)))
    assert f"{transform}(" in result.report(tmp_path / "r.html").read_text()
    for damage in ('"transform": "exp"', '"transform": 3'):
        bad = (tmp_path / "m.json").read_text().replace(f'"transform": "{transform}"', damage, 1)
        (tmp_path / "bad.json").write_text(bad)
        with pytest.raises(ModelFormatError, match="transform must be"):
            sr.load_model(tmp_path / "bad.json")
    content["features"][0]["constant"] = 0.0
    (tmp_path / "bad.json").write_text(json.dumps(content))
    with pytest.raises(ModelFormatError, match="constant must be a finite number > 0"):
        sr.load_model(tmp_path / "bad.json")


def test_a_model_without_transforms_is_a_file_of_version_1(tmp_path: Path) -> None:
    rebuilt(sr.select(PLAIN, **QUICK).model, medians=None).save(tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text())["version"] == 1


@pytest.mark.slow
def test_stores_threads_and_processes_give_the_same_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sparserank.crossval.fitting as fitting

    sr.write_letor(HEAVY, tmp_path / "a.txt")
    sr.convert([tmp_path / "a.txt"], tmp_path / "store", {"dtype": "float64"})
    few = {**QUICK, "relaxed": False}
    memory = sr.select(HEAVY, **few)
    stored = sr.select(tmp_path / "store", **few)
    monkeypatch.setattr(fitting, "MIN_PROCESS_WORK", 0)
    processes = sr.select(HEAVY, n_threads=2, **few)
    for other in (stored, processes):
        assert other.sentence == memory.sentence
        np.testing.assert_array_equal(other.model.coef, memory.model.coef)


def test_holdout_validation_and_costs_for_every_transform() -> None:
    valid = HEAVY.take_queries(np.arange(60, 80))
    train = HEAVY.take_queries(np.arange(60))
    result = sr.select(train, valid, protocol="holdout", costs=[1.0] * 9 + [5.0], **QUICK)
    assert result.best.mean > 0.5
    costs = np.array([1.0] * 9 + [5.0])
    assert {p.rpartition(" on ")[2] for p in result.by_penalty} == {"l1", "log"}
    for c in result.choice.candidates:
        if c.relax == 0 and c.penalty != "ridge" and not c.penalty.startswith("ridge"):
            used = result.paths[c.penalty].support(c.index)
            assert c.cost == costs[used].sum()


def test_estimators_take_a_transform_and_name_the_attribute_of_its_weights() -> None:
    X, y, qid = np.asarray(HEAVY.X), HEAVY.relevance, HEAVY.qid
    ranker = sr.SparseRanker(alpha_ratio=0.1, feature_transform="log").fit(X, y, qid=qid)
    plain = sr.SparseRanker(alpha_ratio=0.1).fit(signed_log(X), y, qid=qid)
    np.testing.assert_allclose(ranker.predict(X), plain.predict(signed_log(X)), atol=1e-9)
    np.testing.assert_allclose(ranker.shaped_coef_, plain.coef_, atol=1e-9)
    with pytest.raises(AttributeError, match="shaped_coef_ for the weights"):
        _ = ranker.coef_
    assert not hasattr(ranker, "coef_")
    np.testing.assert_allclose(ranker.to_model().predict(X), ranker.predict(X), atol=1e-9)
    ranker.set_params(feature_transform="none").fit(X, y, qid=qid)
    assert ranker.coef_.shape == (10,)
    assert not hasattr(ranker, "shaped_coef_")
    with pytest.raises(DataError, match="feature_transform must be one of"):
        sr.SparseRanker(feature_transform="exp").fit(X, y, qid=qid)


def test_a_size_is_fitted_by_mcp_unless_a_penalty_is_named() -> None:
    for k in (1, 3):
        default, l1 = (
            sr.SparseRanker(penalty=p, k=k).fit(PLAIN.X, PLAIN.relevance, qid=PLAIN.qid) for p in (None, "l1")
        )
        assert default.penalty_.name == "mcp"
        assert 1 <= len(default.support_) <= k
        assert default.loss_ < l1.loss_
    assert sr.SparseRanker().fit(PLAIN.X, PLAIN.relevance, qid=PLAIN.qid).penalty_.name == "l1"


def test_queries_of_weight_0_teach_no_constants() -> None:
    X = np.array(HEAVY.X)
    rows = np.isin(HEAVY.qid, HEAVY.query_ids[:10])
    X[rows] *= 1000.0
    weight = np.where(np.arange(80) < 10, 0.0, 1.0)
    held = sr.SparseRanker(alpha_ratio=0.1, feature_transform="asinh").fit(
        X, HEAVY.relevance, qid=HEAVY.qid, query_weight=weight
    )
    left = sr.SparseRanker(alpha_ratio=0.1, feature_transform="asinh")
    left.fit(X[~rows], HEAVY.relevance[~rows], qid=HEAVY.qid[~rows])
    np.testing.assert_allclose(held.shaped_coef_, left.shaped_coef_, rtol=1e-6, atol=1e-9)


def test_transforms_of_wide_sparse_data_are_quick() -> None:
    rng = np.random.default_rng(0)
    n = 200_000  # values; sp.random would make a permutation of all places
    places = (rng.integers(0, 5000, n), rng.integers(0, 20_000, n))
    X = sp.csr_matrix((rng.lognormal(0, 2, n), places), shape=(5000, 20_000))
    data = sr.RankingDataset(X, np.arange(5000) % 3, np.arange(5000) // 20)
    began = time.process_time()
    assert changes_features(data, fit_transform(data, "log"))
    fit_transform(data, "asinh")
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_transform": "exp"}, "^feature_transform must be one of auto, none, log"),
        ({"feature_transform": "log", "scaling": "query-min-max"}, "cannot be combined with scaling='query-min-max'"),
        ({"monotone": {"no such": "+"}}, "is not a feature"),
        ({"monotone": {PLAIN.feature_names[0]: "up"}}, r"must give '\+' or '-'"),
    ],
)
def test_misuse_is_refused_by_name(options: dict[str, Any], message: str, cli_here: Cli) -> None:
    with pytest.raises(ParameterError, match=message):
        sr.select(HEAVY, **options, **QUICK)
    if options.get("scaling") and options["feature_transform"] == "log":
        sr.write_letor(HEAVY, "a.txt")
        refused = cli_here("fit", "a.txt", "--transform", "log", "--scaling", "query-min-max", "--out", "m")
        assert refused.code == 2
        assert "must be none with --scaling query-min-max" in " ".join(refused.err.replace("│", " ").split())
        assert not Path("m").exists()


@pytest.mark.parametrize(("name", "of"), [("query-log", "log"), ("curves(log)", "the penalty steps")])
def test_a_transform_that_was_removed_is_named_with_what_replaces_it(name: str, of: str, tmp_path: Path) -> None:
    removed = re.escape(f"{name} was removed; sparserank 0.3.0 is the last version that has it; use {of}.") + "$"
    with pytest.raises(ParameterError, match=f"^feature_transform {removed}"):
        sr.select(HEAVY, feature_transform=name, **QUICK)
    for ranker in (sr.SparseRanker, sr.SparseRankerCV):
        with pytest.raises(ParameterError, match=f"^{ranker.__name__}: feature_transform {removed}"):
            ranker(feature_transform=name).fit_dataset(HEAVY)
    model = sr.SparseRanker(feature_transform="log", k=2).fit_dataset(HEAVY).to_model()
    text = json.dumps(model.to_json()).replace('"transform": "log"', '"transform": "query-log"')
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(
        ModelFormatError, match=r"json: the transform query-log was removed; .*; train again with log\.$"
    ):
        sr.load_model(tmp_path / "model.json")
