"""Missing values: learned on the training rows alone, remembered by the model,
alike from every container and in every export."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.filling import fill_matrix
from sparserank.data.missing import MissingPolicy
from sparserank.data.reading import Reading
from sparserank.data.rewrite import rewrite
from sparserank.data.sources import as_datasets
from sparserank.data.store.convert import convert
from sparserank.data.synthetic import make_ranking
from sparserank.errors import DataError, DataFormatError, ModelFormatError
from sparserank.model.ranking_model import RankingModel
from tests.oracles import exported
from tests.oracles import filling as oracle
from tests.support.command_line import Cli
from tests.support.databases import sqlite

RULES = ("zero", "min", "median", "2.5")
NAMES = tuple(f"c{j}" for j in range(6))


def holed(seed: int = 0, n_queries: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(X with holes, relevance, qid)."""
    data = make_ranking(n_queries, (6, 10), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=seed).data
    rng = np.random.default_rng(seed)
    X = np.array(data.X) + 3.0
    X[rng.random(X.shape) < 0.15] = np.nan
    X[0, 0], X[1, 1] = np.inf, -np.inf
    return X, np.array(data.relevance), np.array(data.qid)


def frame_of(X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=list(NAMES)).assign(label=y, qid=qid)


def text_of(path: Path, X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> Path:
    rows = (
        f"{label:g} qid:{q} "
        + " ".join(f"{j + 1}:{'NULL' if np.isnan(v) else repr(float(v))}" for j, v in enumerate(x))
        for x, label, q in zip(X, y, qid, strict=True)
    )
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("rule", RULES)
def test_values_are_learned_on_the_training_rows_alone_whatever_holds_them(rule: str, tmp_path: Path) -> None:
    X, y, qid = holed()
    expected = oracle.learned(X.tolist(), rule)
    whole = oracle.filled(X.tolist(), expected)
    frame = frame_of(X, y, qid)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    text_of(tmp_path / "t.txt", X, y, qid)
    sources = (
        tmp_path / "t.parquet",
        tmp_path / "t.csv",
        tmp_path / "t.txt",
        frame,
        pl.from_pandas(frame),
    )
    for source in sources:
        data = sr.read_data(source, missing=rule)
        np.testing.assert_array_equal(data.fill_values, expected)
        np.testing.assert_array_equal(data.X, whole)
    for form in (X, sp.csr_matrix(X), frame[list(NAMES)]):
        ranker = sr.SparseRanker(missing=rule).fit(form, y, qid=qid)
        np.testing.assert_array_equal(ranker.fill_values_, expected)
        plain = sr.SparseRanker().fit(np.array(whole), y, qid=qid)
        np.testing.assert_allclose(ranker.scaled_coef_, plain.scaled_coef_, rtol=1e-9)
        other, _, _ = holed(seed=5)
        filled = np.array(oracle.filled(other.tolist(), expected))
        again = pd.DataFrame(other, columns=list(NAMES)) if hasattr(form, "columns") else other
        np.testing.assert_allclose(ranker.predict(again), plain.predict(filled), rtol=1e-9)
        np.testing.assert_allclose(ranker.to_model().predict(again), plain.predict(filled), rtol=1e-9)
    own = np.array(oracle.learned(other.tolist(), rule))
    if rule in ("min", "median"):  # the variant that learns from what it scores would be seen
        assert np.abs(own - expected).max() > 1e-3


def test_a_store_learns_what_the_rows_in_memory_teach(tmp_path: Path) -> None:
    X, y, qid = holed(n_queries=60)
    frame_of(X, y, qid).to_parquet(tmp_path / "t.parquet")
    for rule in ("min", "median"):
        reading = Reading(missing=rule, dtype="float64")
        convert([tmp_path / "t.parquet"], tmp_path / rule, reading, shard_bytes=2000)
        stored = sr.open_store(tmp_path / rule)
        np.testing.assert_array_equal(stored.fill_values, oracle.learned(X.tolist(), rule))
        np.testing.assert_array_equal(stored.X[:], oracle.filled(X.tolist(), stored.fill_values.tolist()))
        model = sr.SparseRanker().fit_dataset(stored).to_model()
        np.testing.assert_array_equal(model.fill_values, stored.fill_values)
        rewrite([tmp_path / "t.parquet"], tmp_path / f"{rule}.parquet", reading)
        np.testing.assert_array_equal(sr.read_data(tmp_path / f"{rule}.parquet").X, stored.X[:])
    manifest = json.loads((tmp_path / "min/manifest.json").read_text())
    manifest["fill_values"][0] = 7.0
    (tmp_path / "min/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataFormatError, match="damaged"):
        sr.open_store(tmp_path / "min")


def test_medians_of_more_rows_than_are_kept_come_from_evenly_spread_ones() -> None:
    from sparserank.data.filling import learn_filling

    rows = np.arange(10_000, dtype=np.float64)[:, None] * [1.0, -2.0]
    policy = MissingPolicy.parse("median")
    assert policy is not None
    blocks = np.array_split(rows, 37)
    exact = learn_filling(policy, iter(blocks), 2, np.dtype(np.float64)).values
    assert exact.tolist() == [4999.5, -9999.0]
    near = learn_filling(policy, iter(blocks), 2, np.dtype(np.float64), sample_values=400).values
    assert np.abs(near / exact - 1.0).max() < 0.01
    sparse = learn_filling(policy, iter([sp.csr_matrix(b) for b in blocks]), 2, np.dtype(np.float64)).values
    assert sparse.tolist() == exact.tolist()


def test_select_fills_validation_and_test_with_what_train_teaches(cli_here: Cli, tmp_path: Path) -> None:
    train, test = holed(), holed(seed=5)
    options = {"missing": {"c1": "min", "*": "median"}}
    medians, smallest = (oracle.learned(train[0].tolist(), rule) for rule in ("median", "min"))
    expected = np.array([smallest[j] if name == "c1" else medians[j] for j, name in enumerate(NAMES)])
    quick = {
        "penalties": "l1",
        "n_alphas": 8,
        "half_samples": 0,
        "relaxed": False,
        "feature_transform": "none",
        "cv": 3,
    }
    result = sr.select(frame_of(*train), test=frame_of(*test).assign(qid=lambda f: f.qid + 1000), **options, **quick)
    model = result.model
    support = model.support
    np.testing.assert_array_equal(model.fill_values[support], expected[support])
    frame_of(*train).to_parquet(tmp_path / "train.parquet")
    frame_of(*test).to_parquet(tmp_path / "test.parquet")
    command = [
        "select",
        "train.parquet",
        "--missing",
        "c1=min;*=median",
        "--out",
        "run",
    ]
    command += [
        "--penalty",
        "l1",
        "--n-alphas",
        "8",
        "--half-samples",
        "0",
        "--no-relaxed",
        "--transform",
        "none",
        "--folds",
        "3",
    ]
    done = cli_here(*command)
    assert done.code == 0, done.err
    loaded = sr.load_model(tmp_path / "run/model.json")
    assert json.loads((tmp_path / "run/model.json").read_text())["version"] == 4
    np.testing.assert_array_equal(loaded.coef, model.coef)
    command = ["predict", "run/model.json", "test.parquet"]
    done = cli_here(*command)
    assert done.code == 0, done.err
    scores = np.array([float(line) for line in done.out.split()])
    np.testing.assert_allclose(scores, model.predict(frame_of(*test)), rtol=1e-12)
    whole = np.array(oracle.filled(test[0].tolist(), expected.tolist()))
    np.testing.assert_allclose(scores, model.predict(whole), rtol=1e-12)


def test_what_refuses_missing_values_goes_on_refusing() -> None:
    X, y, qid = holed()
    with pytest.raises(DataError, match=r"row 0, feature f1 is inf.*missing='median'"):
        sr.RankingDataset(X, y, qid)
    with pytest.raises(ValueError, match="NaN"):
        sr.SparseRanker().fit(X, y, qid=qid)
    with pytest.raises(DataError, match=r"feature 'c0' has a missing or infinite value"):
        sr.SparseRanker(missing={"c0": "error", "*": "zero"}).fit(frame_of(X, y, qid)[list(NAMES)], y, qid=qid)
    with pytest.raises(DataError, match="query-min' needs the query of every row"):
        sr.SparseRanker(missing="query-min").fit(X, y, qid=qid)
    with pytest.raises(
        DataError, match="missing policy must be 'error', 'zero', 'min', 'median', 'query-min' or a number"
    ):
        sr.SparseRanker(missing="mean").fit(X, y, qid=qid)
    with pytest.raises(DataError, match="missing policy contains feature 'c9'"):
        sr.read_data(frame_of(X, y, qid), missing={"c9": "zero"})
    clean = np.nan_to_num(X, nan=0.0, posinf=0.0, neginf=0.0)
    model = sr.SparseRanker().fit(clean, y, qid=qid).to_model()
    with pytest.raises(DataError, match=r"train with missing='median'"):
        model.predict(X)
    with pytest.raises(DataError, match="'median' is learned from the training rows"):
        sr.select(sr.RankingDataset(clean, y, qid), test=(X, y, qid + 1000), missing="median")


@pytest.fixture(scope="module")
def filling_model() -> RankingModel:
    X, y, qid = holed()
    ranker = sr.SparseRanker(missing={"c0": "zero", "*": "median"}, feature_transform="log", k=4)
    return ranker.fit(frame_of(X, y, qid).drop(columns="label"), y).to_model()


def test_the_file_holds_them(filling_model: RankingModel, tmp_path: Path) -> None:
    filling_model.save(tmp_path / "m.json")
    support = filling_model.support
    np.testing.assert_array_equal(
        sr.load_model(tmp_path / "m.json").fill_values[support], filling_model.fill_values[support]
    )
    content = json.loads((tmp_path / "m.json").read_text())
    for change in ({"missing": None}, {"missing": "median"}, {"missing": True}):
        broken = content | {"features": [content["features"][0] | change, *content["features"][1:]]}
        (tmp_path / "b.json").write_text(json.dumps(broken))
        with pytest.raises(ModelFormatError, match="missing must be a number"):
            sr.load_model(tmp_path / "b.json")
    (tmp_path / "b.json").write_text(json.dumps(content | {"version": 3}))
    with pytest.raises(ModelFormatError, match="has 'missing', which version 3 does not support"):
        sr.load_model(tmp_path / "b.json")


def test_exports_say_them(filling_model: RankingModel) -> None:
    X, _, _ = holed(seed=5)
    expected = filling_model.predict(X)
    space: dict = {}
    exec(filling_model.export("python")["model.py"], space)
    rows = [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]
    np.testing.assert_allclose([space["score"](r) for r in rows], expected, rtol=1e-12)
    absent = [{n: v for n, v in r.items() if np.isfinite(v)} for r in rows]
    np.testing.assert_allclose([space["score"](r) for r in absent], expected, rtol=1e-12)
    session = onnxruntime.InferenceSession(
        filling_model.export("onnx")["model.onnx"], providers=["CPUExecutionProvider"]
    )
    feed = {n: X[:, [j]] for j, n in enumerate(NAMES) if j in filling_model.support}
    np.testing.assert_allclose(session.run(None, feed)[0][:, 0], expected, rtol=1e-9)
    nulls = [[v if np.isfinite(v) else None for v in row] for row in X.tolist()]
    for base in (sqlite(), duckdb.connect()):
        base.execute(f"create table docs ({', '.join(f'{n} double' for n in NAMES)})")
        base.executemany("insert into docs values (?, ?, ?, ?, ?, ?)", nulls)
        found = [s for (s,) in base.execute(f"select {filling_model.export('sql')['score.sql']} from docs").fetchall()]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    profile = filling_model.export("vespa", features={n: f"attribute({n})" for n in NAMES})["sparserank.profile"]
    expression = profile[profile.index("expression {") + 12 : profile.rindex("}\n    }\n}")]
    np.testing.assert_allclose(exported.evaluated(expression, rows), expected, rtol=1e-9)
    with pytest.raises(
        DataError, match=r"but Lucene replaces it with 0\. Let the engine's feature return .* filled=True"
    ):
        filling_model.export("lucene")
    whole = oracle.filled(X.tolist(), np.nan_to_num(filling_model.fill_values).tolist())
    text = filling_model.export("lucene", filled=True)["model.expression"]
    found = exported.evaluated(text, [dict(zip(NAMES, row, strict=True)) for row in whole])
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("to", ["solr", "elasticsearch", "opensearch", "ranklib"])
def test_engines_that_take_0_are_refused_another_value(to: str) -> None:
    X, y, qid = holed()
    zero, median = (sr.SparseRanker(missing=rule).fit(X, y, qid=qid).to_model() for rule in ("zero", "median"))
    assert zero.export(to)
    with pytest.raises(DataError, match=r"replaces it with 0\. Let the engine's feature return"):
        median.export(to)
    assert median.export(to, filled=True)


def test_models_fill_in_their_own_values_side_by_side(cli_here: Cli, tmp_path: Path) -> None:
    X, y, qid = holed()
    frame = frame_of(X, y, qid)
    frame.to_parquet(tmp_path / "t.parquet")
    models = {r: sr.SparseRanker(missing=r).fit(frame[list(NAMES)], y, qid=qid).to_model() for r in ("min", "median")}
    for rule, model in models.items():
        model.save(tmp_path / f"{rule}.json")
    done = cli_here("evaluate", "t.parquet", "--system", "min.json", "--system", "median.json", "--format", "json")
    assert done.code == 0, done.err
    found = {(r["system"], r["metric"]): r["mean"] for r in json.loads(done.out)}
    for rule, model in models.items():
        for source in (frame, (X, y, qid)):
            assert sr.evaluate(model, source)["ndcg@10"] == found[f"{rule}.json", "ndcg@10"]
    assert found["min.json", "ndcg@10"] != found["median.json", "ndcg@10"]
    for rule in ("min", "median"):  # learned from what is scored it would be another model
        done = cli_here("predict", "min.json", "t.parquet", "--missing", rule)
        assert done.code == 2
        assert "stored in the model" in " ".join(done.err.replace("│", " ").split())
    by_hand = np.where(np.isfinite(X), X, 7.0)
    done = cli_here("predict", "min.json", "t.parquet", "--missing", "7")
    np.testing.assert_allclose([float(s) for s in done.out.split()], models["min"].predict(by_hand), rtol=1e-12)
    clean = sr.SparseRanker().fit(by_hand, y, qid=qid).to_model()
    with pytest.raises(DataError, match="row 0: feature 'f1' is nan"):
        sr.evaluate(clean, (X, y, qid))
    assert np.isfinite(sr.evaluate(np.arange(len(y)), (X, y, qid))["map"])  # scores need no features


def test_rankers_with_validation_keep_what_they_learned() -> None:
    X, y, qid = holed()
    for ranker in (sr.SparseRankerCV(n_alphas=8, cv=3, missing="median"), sr.SparseRanker(missing="median")):
        ranker.fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid])
        expected = oracle.learned(X.tolist(), "median")
        np.testing.assert_array_equal(ranker.fill_values_, expected)
        whole = np.array(oracle.filled(X.tolist(), expected))
        np.testing.assert_allclose(ranker.predict(X), whole @ ranker.coef_, rtol=1e-9)
        np.testing.assert_array_equal(ranker.to_model().fill_values, expected)
    on_data = sr.SparseRankerCV(n_alphas=8, cv=3).fit_dataset(sr.RankingDataset(whole, y, qid))
    np.testing.assert_array_equal(
        on_data.coef_, sr.SparseRankerCV(n_alphas=8, cv=3, missing="median").fit(X, y, qid=qid).coef_
    )


def test_rows_of_queries_that_do_not_count_teach_nothing() -> None:
    X, y, qid = holed()
    first = np.unique(qid)[:15]
    counts = np.isin(qid, first)
    X[~counts] += 100.0
    weight = np.isin(np.unique(qid), first).astype(float)
    ranker = sr.SparseRanker(missing="median").fit(X, y, qid=qid, query_weight=weight)
    np.testing.assert_array_equal(ranker.fill_values_, oracle.learned(X[counts].tolist(), "median"))
    assert np.abs(ranker.fill_values_ - oracle.learned(X.tolist(), "median")).max() > 10.0


def test_what_is_missing_still_is_no_score() -> None:
    X, y, qid = holed()
    frame = frame_of(X, y, qid)[list(NAMES)]
    frame["c0"] = frame["c0"].where(np.isfinite(frame["c0"]), 0.0)
    ranker = sr.SparseRanker(missing={"c0": "error", "*": "zero"}).fit(frame, y, qid=qid)
    frame.loc[3, "c0"] = np.nan
    with pytest.raises(DataError, match="SparseRanker: row 3, feature 'c0' is missing"):
        ranker.predict(frame)
    with pytest.raises(DataError, match="row 3: feature 'c0' is nan"):
        ranker.to_model().predict(frame)


@pytest.mark.parametrize("names", [("1", "2", "0", "4", "3", "5"), ("f2", "f1", "f3", "f4", "f5", "f6"), NAMES])
def test_values_go_to_the_features_whose_names_they_have(names: tuple[str, ...], cli_here: Cli, tmp_path: Path) -> None:
    """Names that look like numbers, in orders that are not theirs."""
    train, test = holed(), holed(seed=5)
    frames = [pd.DataFrame(X, columns=list(names)).assign(label=y, qid=q) for X, y, q in (train, test)]
    frames[1]["qid"] += 1000
    frames[1] = frames[1][[*reversed(names), "label", "qid"]].assign(more=np.nan)
    medians = oracle.learned(train[0].tolist(), "median")
    parts = as_datasets({"train": frames[0], "test": frames[1]}, reading={"missing": "median"})
    expected = oracle.filled(test[0].tolist(), medians)
    np.testing.assert_array_equal(parts["test"].X, expected)
    model = sr.SparseRanker().fit_dataset(parts["train"]).to_model()
    model.save(tmp_path / "m.json")
    for name, frame in zip(("train.csv", "test.csv"), frames, strict=True):
        frame.to_csv(tmp_path / name, index=False)
    done = cli_here("predict", "m.json", "test.csv")
    assert done.code == 0, done.err
    np.testing.assert_allclose([float(s) for s in done.out.split()], model.predict(frames[1]), rtol=1e-12)
    np.testing.assert_allclose(
        model.predict(frames[1]), np.array(expected) @ (model.coef / model.scaling.scale), rtol=1e-9
    )


def test_feature_logs_are_filled_by_name_and_others_left_out(cli_here: Cli, tmp_path: Path) -> None:
    rows = [
        {"qid": q, "label": label, "id": f"d{q}{label}", "[features]": f"bm25={3 * label + q},tf={label},pad=1"}
        for q in range(8)
        for label in (0, 1, 2)
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    gaps = [row | {"[features]": f"zz=7,tf=nan,bm25={3 * row['label'] + row['qid']}"} for row in rows]
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, gaps)) + "\n")
    model = sr.SparseRanker().fit_dataset(sr.read_data(tmp_path / "train.jsonl", missing="median")).to_model()
    model.save(tmp_path / "m.json")
    done = cli_here("predict", "m.json", "test.jsonl")
    assert done.code == 0, done.err
    values = pd.DataFrame({"bm25": [3 * r["label"] + r["qid"] for r in rows], "tf": np.nan, "pad": 1.0})
    np.testing.assert_allclose([float(s) for s in done.out.split()], model.predict(values), rtol=1e-12)
    parts = as_datasets(
        {"train": str(tmp_path / "train.jsonl"), "test": str(tmp_path / "test.jsonl")}, reading={"missing": "median"}
    )
    assert parts["test"].feature_names == ("bm25", "tf", "pad")
    assert set(np.unique(parts["test"].X[:, 1])) == {1.0}


def test_stores_that_learned_for_themselves_are_not_used_together(tmp_path: Path) -> None:
    train, test = holed(), holed(seed=5)
    for name, (X, y, q) in (("train", train), ("test", test)):
        frame_of(X, y, q + 1000 * (name == "test")).to_parquet(tmp_path / f"{name}.parquet")
        convert([tmp_path / f"{name}.parquet"], tmp_path / f"{name}-store", Reading(missing="median", dtype="float64"))
    parts = {"train": tmp_path / "train-store", "test": tmp_path / "test-store"}
    with pytest.raises(DataError, match=r"missing values of 'c0' were replaced by .* like the first store \(like\)"):
        as_datasets(parts)
    with pytest.raises(DataError, match="missing values of 'c0' were replaced by"):
        sr.read_data([str(p) for p in parts.values()])
    convert([tmp_path / "test.parquet"], tmp_path / "like", Reading(dtype="float64"), like=tmp_path / "train-store")
    expected = oracle.filled(test[0].tolist(), oracle.learned(train[0].tolist(), "median"))
    for source in (tmp_path / "like", tmp_path / "test.parquet"):  # a file beside a store learns nothing either
        np.testing.assert_array_equal(as_datasets({**parts, "test": source})["test"].X[:], expected)


def test_nullable_and_text_like_columns_are_numbers_with_holes() -> None:
    X, y, qid = holed()
    holes = np.where(np.isfinite(X), X, np.nan)
    expected = sr.SparseRanker(missing="median").fit(holes, y, qid=qid)
    nullable = pd.DataFrame(holes, columns=list(NAMES)).astype("Float64")
    nullable = nullable.mask(nullable.isna(), pd.NA)
    for form in (
        nullable,
        nullable.astype(object).where(nullable.notna(), None),
        pl.DataFrame(holes, schema=list(NAMES)).fill_nan(None),
    ):
        ranker = sr.SparseRanker(missing="median").fit(form, y, qid=qid, eval_set=[(form, y)], eval_qid=[qid])
        np.testing.assert_array_equal(ranker.fill_values_, expected.fill_values_)
        np.testing.assert_allclose(ranker.predict(form), expected.predict(holes), rtol=1e-12)
        np.testing.assert_allclose(ranker.to_model().predict(form), expected.predict(holes), rtol=1e-12)
        (data,) = as_datasets({"data": (form, y, qid)}, reading={"missing": "median"}).values()
        np.testing.assert_array_equal(data.fill_values, expected.fill_values_)
    with pytest.raises(DataError, match="X must be a matrix of numbers"):
        as_datasets({"data": ([[1.0], [1.0, 2.0]], [0, 1], [1, 1])}, reading={"missing": "zero"})
    with pytest.raises(DataError, match="is too large for float32"):
        sr.SparseRanker(missing=1e39).fit(holes.astype(np.float32), y, qid=qid)


def test_features_that_are_not_named_are_refused_and_numbers_have_names() -> None:
    X, y, qid = holed()
    one = np.where(np.isfinite(X) | (np.arange(6) == 2), X, 0.0)
    with pytest.raises(DataError, match="feature 'f1' has a missing"):
        sr.SparseRanker(missing={"f3": "median"}).fit(X, y, qid=qid)
    by_name, by_number = (sr.SparseRanker(missing={key: "median"}).fit(one, y, qid=qid) for key in ("f3", 3))
    np.testing.assert_array_equal(by_name.coef_, by_number.coef_)
    with pytest.raises(DataError, match="'a' is named twice"):
        sr.SparseRanker(missing="a=zero;a=min").fit(X, y, qid=qid)


def test_aligned_data_name_the_rows_that_were_given() -> None:
    X, y, _ = holed(n_queries=4)
    X = np.nan_to_num(X, posinf=0.0, neginf=0.0)
    q = np.arange(len(y)) % 3
    train = pd.DataFrame(X, columns=list(NAMES)).assign(label=y, qid=q)
    turned = train[[*reversed(NAMES), "label", "qid"]]
    (_, data) = as_datasets({"train": train, "test": turned}).values()
    assert data is not None
    np.testing.assert_array_equal(data.to_input_order(np.array(data.X)), X)
    assert (data.row_index != np.arange(len(y))).any()


def test_digits_that_are_a_name_and_rules_said_twice() -> None:
    X, y, qid = holed()
    frame = pd.DataFrame(X, columns=["02", "01", "c", "d", "e", "f"])
    ranker = sr.SparseRanker(missing={"01": 7.0, "*": 0}).fit(frame, y, qid=qid)
    assert ranker.fill_values_.tolist() == [0, 7, 0, 0, 0, 0]
    with pytest.raises(DataError, match="contains feature 1 twice, by its name and by its number"):
        sr.SparseRanker(missing={"02": 7.0, 1: 8.0, "*": 0}).fit(frame, y, qid=qid)
    with pytest.raises(DataError, match="feature '02' has a missing"):
        sr.SparseRanker(missing={"c": "median"}).fit(frame, y, qid=qid)
    assert MissingPolicy.parse({}) is None
    assert MissingPolicy.parse("*=error") is None


@pytest.mark.parametrize("values", ['["1"]', "[true]", "[1e400]", "[1" + "0" * 400 + "]", '{"a": 1}', "[NaN]"])
def test_a_manifest_with_other_fill_values_is_damaged(values: str, tmp_path: Path) -> None:
    from sparserank.data.store.manifest import identity_of_shards

    text_of(tmp_path / "t.txt", *holed())
    convert([tmp_path / "t.txt"], tmp_path / "s", Reading(missing="zero"))
    manifest = json.loads((tmp_path / "s/manifest.json").read_text())
    manifest["fill_values"] = json.loads(values)
    manifest["identity"] = identity_of_shards(manifest)
    (tmp_path / "s/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DataFormatError, match="is damaged"):
        sr.open_store(tmp_path / "s")


def differ(found: Any, wrong: Any) -> bool:
    """Whether two tables differ by more than any rounding."""
    return not np.allclose(np.array(found, dtype=float), np.array(wrong, dtype=float), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("wrong", oracle.WRONG_LEARNED, ids=lambda f: f.__name__)
def test_wrong_values_for_missing_ones_are_rejected(wrong: Callable) -> None:
    """Each is what a reader or an estimator could have learned, and differs for one rule at least."""
    X, y, qid = holed()
    seen = []
    for rule in ("min", "median"):
        expected = oracle.learned(X.tolist(), rule)
        found = [sr.read_data(frame_of(X, y, qid), missing=rule).fill_values]
        found += [sr.SparseRanker(missing=rule).fit(form, y, qid=qid).fill_values_ for form in (X, sp.csr_matrix(X))]
        for values in found:
            np.testing.assert_array_equal(values, expected)
        other = wrong(X.tolist(), rule)
        seen.append(all(differ(values, other) for values in found))
    assert any(seen)


def with_queries_without_a_value(seed: int, share_of_zeros: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`holed`, with zeros, and two queries that know nothing of a feature."""
    X, y, qid = holed(seed)
    X[np.random.default_rng(seed + 1).random(X.shape) < share_of_zeros] = 0.0
    X[qid == qid[0], 2] = np.nan
    X[qid == qid[-1], 4] = np.inf
    return X, y, qid


@pytest.mark.parametrize("seed", [0, 1])
def test_a_querys_minimum_is_that_of_its_rows_whatever_holds_them(seed: int, tmp_path: Path) -> None:
    X, y, qid = with_queries_without_a_value(seed, 0.0)
    expected = oracle.query_minimum(X.tolist(), qid.tolist())
    frame = frame_of(X, y, qid)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    text_of(tmp_path / "t.txt", X, y, qid)
    sources = (tmp_path / "t.parquet", tmp_path / "t.csv", tmp_path / "t.txt", frame, pl.from_pandas(frame))
    found = [sr.read_data(source, missing="query-min").X for source in sources]
    for values in found:
        np.testing.assert_array_equal(values, expected)
    for wrong in oracle.WRONG_QUERY_MINIMUM:
        assert all(differ(values, wrong(X.tolist(), qid.tolist())) for values in found), wrong.__name__


@pytest.mark.parametrize("share_of_zeros", [0.0, 0.1])
def test_a_querys_minimum_of_a_matrix_is_that_of_its_rows(share_of_zeros: float) -> None:
    """What a sparse matrix does not store is 0, and is known."""
    X, _, qid = with_queries_without_a_value(2, share_of_zeros)
    X = np.where(np.arange(X.shape[1]) == 5, -X, X)  # 0 is not the smallest of a feature whose values are negative
    expected = oracle.query_minimum(X.tolist(), qid.tolist())
    policy = MissingPolicy.parse("query-min")
    assert policy is not None
    query = np.unique(qid, return_inverse=True)[1]
    for matrix in (X, sp.csr_matrix(X)):
        filled, filling = fill_matrix(policy, matrix, query, NAMES)
        values = filled.toarray() if sp.issparse(filled) else filled
        np.testing.assert_array_equal(values, expected)
        assert np.isnan(filling.values).all()
        for wrong in oracle.WRONG_QUERY_MINIMUM:
            assert differ(values, wrong(X.tolist(), qid.tolist())), wrong.__name__
