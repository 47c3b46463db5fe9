"""Drift: the values of a model's features in new documents, beside those of training."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.errors import DataError
from sparserank.model.training_record import DISTANCE, VALUES, drift, with_training_record
from tests.oracles import drift as oracle
from tests.support.command_line import Cli, assert_refused


def made(seed: int, n_queries: int = 40, *, shift: float = 0.0, by_query: bool = False) -> sr.RankingDataset:
    """Three features, the first of which may be the same within each query, or shifted."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), 12)
    X = rng.standard_normal((len(qid), 3)).round(2)
    X[:, 1] = np.where(rng.random(len(qid)) < 0.4, 0.0, X[:, 1])  # ties
    if by_query:
        X[:, 0] = 0.3 * X[:, 0] + rng.standard_normal(n_queries)[qid]
    y = (X @ [1.0, 0.6, -0.4] + rng.standard_normal(len(qid)) > 1).astype(float)
    X[:, 0] += shift
    return sr.RankingDataset(X, y, qid, feature_names=["a", "b", "c"])


@pytest.fixture(scope="module")
def model() -> sr.RankingModel:
    return sr.select(
        made(0), penalties="l1", feature_transform="none", half_samples=0, rival="none", k=3, margin=0
    ).model


def test_each_number_is_that_of_plain_python(model: sr.RankingModel) -> None:
    train, new = made(0), made(1, shift=0.4)
    rows = drift(model, new)
    assert [r["feature"] for r in rows] == list(model.weights)
    X, before = np.asarray(new.X), np.asarray(train.X)
    scores = model.score_dataset(new)
    for r in rows:
        j = model.feature_names.index(r["feature"])
        x, old, known = X[:, j].tolist(), before[:, j].tolist(), model.metadata[VALUES]["features"][r["feature"]]
        assert known["shares"] == pytest.approx([oracle.share_up_to(old, p) for p in known["points"]])
        assert known["points"] == pytest.approx(np.unique(np.quantile(old, np.linspace(0, 1, 21))).tolist())
        assert r["distance"] == pytest.approx(oracle.distance(old, x, known["points"]))
        assert r["outside"] == pytest.approx(oracle.outside(old, x))
        for name, share in (("low", 0.05), ("median", 0.5), ("high", 0.95)):
            assert r[name] == pytest.approx(oracle.quantile(x, share))
            assert r[f"training_{name}"] == pytest.approx(oracle.quantile(old, share))
        held = X.copy()
        held[:, j] = r["training_median"]
        other = model.predict(held, qid=new.qid)
        assert r["changed"] == pytest.approx(oracle.changed(scores.tolist(), other.tolist(), list(new.qid)))
        assert (r["missing"], r["training_missing"]) == (0.0, 0.0)
    shifted = next(r for r in rows if r["feature"] == "a")
    assert shifted["drift"] == ["distance"]
    assert all(not r["drift"] for r in drift(model, train))
    assert max(r["distance"] for r in drift(model, train)) == 0.0


def test_new_queries_alone_are_no_drift() -> None:
    """A feature that is nearly the same within a query differs by chance in few queries: the wrong variant, a limit
    that ignores what halves show, finds drift in most of these sets."""
    scaling = sr.FeatureScaling("none", np.zeros(3), np.ones(3))
    plain = sr.RankingModel(np.array([1.0, 0.0, 0.0]), ("a", "b", "c"), scaling, medians=np.zeros(3))
    found, wrong = 0, 0
    for seed in range(4):
        (model,) = with_training_record([plain], made(seed, 30, by_query=True))
        for other in range(15):
            (row,) = drift(model, made(100 + 15 * seed + other, 15, by_query=True))
            found += "distance" in row["drift"]
            wrong += row["distance"] > DISTANCE
    assert found <= 5
    assert wrong > 30


def test_missing_values_and_values_beyond_those_of_training(tmp_path: Path, cli_here: Cli) -> None:
    train, rng = made(0), np.random.default_rng(2)
    frame = pd.DataFrame(np.asarray(train.X), columns=["a", "b", "c"]).assign(label=train.relevance, qid=train.qid)
    frame.loc[rng.random(len(frame)) < 0.03, "a"] = np.nan
    frame.to_parquet("train.parquet")
    options = ["--penalty", "l1", "--transform", "none", "--half-samples", "0", "--rival", "none", "--k", "3"]
    assert cli_here("select", "train.parquet", "--out", "run", *options).code == 0
    assert cli_here("inspect", "run", "train.parquet", "--fail-if-drift").code == 0
    worse = frame.drop(columns="label")
    worse.loc[rng.random(len(frame)) < 0.2, "a"] = np.nan
    worse.loc[rng.random(len(frame)) < 0.1, "b"] = 1000.0
    worse.to_parquet("new.parquet")
    told = cli_here("inspect", "run/model.json", "new.parquet", "--fail-if-drift", "--format", "json")
    rows = {r["feature"]: r for r in json.loads(told.out)}
    assert told.code == 3
    assert "missing" in rows["a"]["drift"]
    assert rows["a"]["training_missing"] == pytest.approx(frame["a"].isna().mean())
    assert rows["a"]["missing"] == pytest.approx(worse["a"].isna().mean())
    assert rows["b"]["drift"] == ["outside"]
    assert rows["b"]["outside"] == pytest.approx((worse["b"] == 1000.0).mean())
    shown = cli_here("inspect", "run", "new.parquet")
    assert shown.code == 0
    assert "5% more values missing; 5% outside" in shown.out
    assert_refused(cli_here("inspect", "new.parquet", "--fail-if-drift"), 2, "needs a model, then data")


def test_values_in_single_precision_are_the_same(model: sr.RankingModel) -> None:
    train = made(0)
    single = sr.RankingDataset(np.asarray(train.X, dtype=np.float32), train.relevance, train.qid)
    assert [(r["outside"], r["distance"]) for r in drift(model, single)] == [(0.0, 0.0)] * len(model.support)


def test_a_model_without_a_record_says_what_to_do(tmp_path: Path, model: sr.RankingModel, cli_here: Cli) -> None:
    content = model.to_json()
    del content["metadata"][VALUES]
    Path("old.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="no usable record of its training values, which select and fit save"):
        drift(sr.load_model("old.json"), made(1))
    sr.write_letor(made(1), "new.txt")
    assert_refused(cli_here("inspect", "old.json", "new.txt"), 1, "no usable record of its training values")
    whole = model.metadata[VALUES]["features"]
    broken = [{**whole, "a": {**whole["a"], **part}} for part in ({"points": ["x"]}, {"shares": []}, {"halves": None})]
    few = {"queries": 1}, {"queries": 1, "features": {"a": 3}}, 7, {"queries": "x", "features": {}}
    for damaged in (*few, *({"queries": 40, "features": features} for features in broken)):
        content["metadata"][VALUES] = damaged
        Path("damaged.json").write_text(json.dumps(content))
        assert_refused(cli_here("inspect", "damaged.json", "new.txt"), 1, "no usable record of its training values")


def test_models_of_every_size_and_of_fit_have_a_record(tmp_path: Path, cli_here: Cli) -> None:
    sr.write_letor(made(0), "train.txt")
    options = ["--penalty", "l1", "--transform", "none", "--half-samples", "0", "--rival", "none"]
    assert cli_here("select", "train.txt", "--out", "run", *options).code == 0
    assert cli_here("fit", "train.txt", "--k", "2", "--out", "fitted.json").code == 0
    fitted = cli_here("fit", "train.txt", "--k", "2", "--out", "again.json", "--format", "json")
    assert VALUES not in json.loads(fitted.out)
    for file in (sr.load_model("run", k=2), sr.load_model("fitted.json")):
        assert set(file.metadata[VALUES]["features"]) == set(file.weights)
    assert VALUES not in cli_here("inspect", "fitted.json").out
    assert cli_here("inspect", "fitted.json", "train.txt", "--fail-if-drift").code == 0


def test_a_sample_of_the_queries_keeps_the_extremes_of_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every fourth query is recorded, in memory, as sparse rows and from a store of several parts alike."""
    data = made(0)
    scaling = sr.FeatureScaling("none", np.zeros(3), np.ones(3))
    plain = sr.RankingModel(np.array([1.0, 0.0, 1.0]), ("a", "b", "c"), scaling, medians=np.zeros(3))
    monkeypatch.setattr("sparserank.model.training_record.SAMPLE_QUERIES", 10)
    monkeypatch.setattr("sparserank.model.training_record.ROWS_AT_ONCE", 100)
    sr.write_letor(data, tmp_path / "d.txt")
    sr.convert([tmp_path / "d.txt"], tmp_path / "store")
    sparse = sr.RankingDataset(sp.csr_matrix(np.asarray(data.X)), data.relevance, data.qid)
    found = [
        with_training_record([plain], held)[0].metadata[VALUES] for held in (data, sparse, sr.read(tmp_path / "store"))
    ]
    X, rows = np.asarray(data.X), np.repeat(np.arange(40) % 4 == 0, 12)
    for record in found:
        assert record["queries"] == 10
        for j, name in ((0, "a"), (2, "c")):
            known = record["features"][name]
            assert (known["points"][0], known["points"][-1]) == pytest.approx((X[:, j].min(), X[:, j].max()))
            assert known["median"] == pytest.approx(oracle.quantile(X[rows, j].tolist(), 0.5))
            shares = [oracle.share_up_to(X[rows, j].tolist(), p + 1e-6 * abs(p)) for p in known["points"]]
            assert known["shares"] == pytest.approx(shares)
