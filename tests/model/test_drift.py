"""Drift: the values of a model's features in new documents, beside those of training."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.categories import Derived
from sparserank.errors import DataError
from sparserank.model.drift import FALSE_ALARMS, drift
from sparserank.model.training_record import RISES, VALUES, _Sample, with_training_record
from tests.oracles import drift as oracle
from tests.support.command_line import Cli, assert_refused
from tests.support.models import rebuilt


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
        made(0), penalties="l1", feature_transform="none", n_alphas=12, half_samples=0, rival="none", k=3, margin=0
    ).model


def test_each_number_is_that_of_plain_python(model: sr.RankingModel) -> None:
    train, new = made(0), made(1, shift=0.4)
    rows = drift(model, new)
    assert [r["feature"] for r in rows] == list(model.weights)
    X, before = np.asarray(new.X), np.asarray(train.X)
    scores = model.score_dataset(new)
    for r in rows:
        j = model.feature_names.index(r["feature"])
        x, old, known = X[:, j].tolist(), before[:, j].tolist(), model.metadata[VALUES][r["feature"]]
        assert known["distance"]["shares"] == pytest.approx([oracle.share_up_to(old, p) for p in known["points"]])
        alike = oracle.correlation([[v <= p + 1e-9 for v in old] for p in known["points"]], list(train.qid))
        assert known["distance"]["correlation"] == pytest.approx(alike)
        of_each = [1 / oracle.independent(np.diff(data.query_ptr).tolist(), alike) for data in (train, new)]
        noise = math.sqrt(math.log(2 * 3 * len(rows) / FALSE_ALARMS) / 2 * sum(of_each))
        assert r["distance_limit"] == pytest.approx(max(RISES["distance"], noise))
        quantiles = np.quantile(old, np.linspace(0, 1, 21), method="inverted_cdf")
        assert known["points"] == pytest.approx(np.unique(quantiles).tolist())
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


def world(rng: np.random.Generator, n_queries: int, effect: float, *, uneven: bool = False) -> sr.RankingDataset:
    """Three numbers, of which one is often missing, and a category with a flag and seldom another level; all differ
    between queries with this effect."""
    lengths = rng.geometric(0.1, n_queries) if uneven else np.full(n_queries, 12)
    qid = np.repeat(np.arange(n_queries), lengths)
    X = rng.standard_normal((len(qid), 5)) + effect * rng.standard_normal((n_queries, 5))[qid]
    own, missing = X[:, :3].copy(), X[:, 3] < -0.8 * np.hypot(1, effect)
    own[missing, 0] = np.nan
    code = np.digitize(X[:, 4] / np.hypot(1, effect), [-0.5, 0.2, 0.9, 2.2])  # 3: missing, 4: without a feature
    levels = np.column_stack([code == level for level in range(4)])
    made = {f"brand={level}": Derived("brand", level) for level in "xyz"} | {"brand is missing": Derived("brand", "")}
    return sr.RankingDataset(
        np.column_stack([own, levels]),
        np.zeros(len(qid)),
        qid,
        feature_names=["a", "b", "c", *made],
        fill_values=np.zeros(7),
        derived=made,
    )


def of_world(data: sr.RankingDataset) -> sr.RankingModel:
    """A model that uses each column of a world, but not each level, with its record."""
    weights, names = np.array([4.0, 3.0, 2.0, 0.0, 1.0, 0.0, 0.0]), tuple(data.feature_names or ())
    scaling = sr.FeatureScaling("none", np.zeros(7), np.ones(7))
    plain = sr.RankingModel.from_arrays(weights, names, scaling, medians=np.zeros(7), derived=data.derived or {})
    (model,) = with_training_record([plain], data)
    return model


FEW_AND_MANY = [
    (40, 40, 1.0, False),
    (60, 60, 3.0, False),
    (60, 600, 3.0, False),
    (200, 5, 3.0, False),
    (200, 1, 1.0, False),
    (60, 60, 30.0, False),
    (60, 60, 1.0, True),
]


@pytest.mark.parametrize(("n_before", "n_new", "effect", "uneven"), FEW_AND_MANY)
@pytest.mark.parametrize("n_worlds", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_new_queries_alone_are_drift_in_5_of_100_comparisons_at_most(
    n_worlds: int, n_before: int, n_new: int, effect: float, uneven: bool
) -> None:
    """Of all columns and rules together; with limits that ignore queries, nearly all of these worlds drift."""
    found, wrong = 0, 0
    for seed in range(n_worlds):
        rng = np.random.default_rng([seed, n_before, n_new])
        model = of_world(world(rng, n_before, effect, uneven=uneven))
        rows = drift(model, world(rng, n_new, effect, uneven=uneven))
        assert [r["feature"] for r in rows] == ["a", "b", "c", "brand"]
        found += any(r["drift"] for r in rows)
        wrong += any(r[rule] - r[f"training_{rule}"] > rise for r in rows for rule, rise in RISES.items())
    assert found / n_worlds <= FALSE_ALARMS + 2 * math.sqrt(FALSE_ALARMS / n_worlds)
    assert wrong / n_worlds > 0.2


@pytest.mark.parametrize("effect", [0.0, 1.0, 3.0])
def test_impossible_values_are_found(effect: float) -> None:
    """10% of values far outside of those of training, on a side; whole queries alone are drift only where too many of
    them are beyond those of training."""
    for seed in range(25):
        rng = np.random.default_rng([seed, 1])
        model, new = of_world(world(rng, 60, effect)), world(rng, 60, effect)
        X = np.where(rng.random((new.n_docs, 7)) < [0.0, 0.1, 0, 0, 0, 0, 0], 50.0, np.asarray(new.X))
        rows = {r["feature"]: r for r in drift(model, replace(new, X=X, filled=new.filled))}
        assert "outside" in rows["b"]["drift"]
        assert rows["b"]["outside"] > 0.05
        assert "outside" not in rows["c"]["drift"]


@pytest.mark.parametrize(("n_before", "n_new"), [(60, 60), (60, 8), (600, 3), (30, 300)])
def test_values_that_training_never_had_count_by_query(n_before: int, n_new: int) -> None:
    none = _Sample([0.0], n_before, 0, 12.0 * n_before, 1 / n_before, 1.0)
    for k in range(n_new + 1):
        share, before, noise = none.rise(_Sample([0.3], n_new, k, 12.0 * n_new, 1 / n_new, 1.0), 0.01, apart=False)
        assert (share, before) == (0.3, 0.0)
        assert noise == (0.0 if (k + 1) * oracle.all_new(k, n_before, n_new) <= 0.01 else math.inf)


def test_a_share_is_compared_by_the_inequality_of_bernstein() -> None:
    """Below the limit, the bound on the chance is larger than the chance asked for; above, smaller."""
    old, new = (_Sample([0.2], n, n // 2, 10.0 * n, 1 / n, 0.3) for n in (40, 25))
    of_each = [1 / oracle.independent([10] * n, 0.3) for n in (40, 25)]
    _, _, noise = old.rise(new, 0.004, apart=False)
    for rise, less in ((0.99 * noise, False), (1.01 * noise, True)):
        bound = math.exp(-(rise**2) / (2 * sum(of_each) * (0.2 * 0.8 + rise / 3)))
        assert (bound < 0.004) == less


def test_missing_values_and_values_beyond_those_of_training(cli_here: Cli) -> None:
    train, rng = made(0), np.random.default_rng(2)
    frame = pd.DataFrame(np.asarray(train.X), columns=["a", "b", "c"]).assign(label=train.relevance, qid=train.qid)
    frame.loc[rng.random(len(frame)) < 0.03, "a"] = np.nan
    frame.to_parquet("train.parquet")
    options = [
        "--penalty",
        "l1",
        "--transform",
        "none",
        "--n-alphas",
        "12",
        "--half-samples",
        "0",
        "--rival",
        "none",
        "--k",
        "3",
    ]
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
    assert "5% more values missing; 5% more outside of those of training" in shown.out
    assert "in at most 5 of 100 comparisons with such queries, any column drifts" in shown.out
    assert_refused(cli_here("inspect", "new.parquet", "--fail-if-drift"), 2, "needs a model, then data")


def test_a_table_is_compared_by_its_columns(cli_here: Cli) -> None:
    """A category and a number with a flag are one row each; levels that training never had count, and small pieces of
    the training data are never drift."""
    rng, n = np.random.default_rng(3), 600
    brand, bm25 = rng.choice(["acme", "bolt", "zeta"], n), rng.gamma(2.0, 1.0, n)
    rating = np.where(rng.random(n) < 0.2, np.nan, rng.random(n))
    gain = bm25 + (brand == "acme") + np.nan_to_num(rating, nan=-0.5) + rng.normal(0, 0.3, n)
    frame = pd.DataFrame({"qid": np.arange(n) // 10, "bm25": bm25, "brand": brand, "rating": rating})
    frame.assign(label=np.digitize(gain, [2.0, 3.0])).to_parquet("train.parquet")
    options = ["--fast", "--rival", "none", "--transform", "none", "--half-samples", "0", "--margin", "0", "-q"]
    assert cli_here("select", "train.parquet", "--out", "run", *options).code == 0

    def compared(new: pd.DataFrame) -> tuple[int, dict[str, list[str]]]:
        new.to_parquet("new.parquet")
        told = cli_here("inspect", "run", "new.parquet", "--fail-if-drift", "--format", "json")
        return told.code, {r["feature"]: r["drift"] for r in json.loads(told.out)}

    no = {"bm25": [], "brand": [], "rating": []}  # type: ignore[var-annotated]
    assert compared(frame) == (0, no)
    for rows in (1, 8, 20, 50):
        assert [compared(frame.iloc[lo : lo + rows]) for lo in range(0, 560, 140)] == [(0, no)] * 4
    third = np.arange(n) % 3 == 0
    unknown = frame.assign(brand=np.where(third, "new", brand))
    assert compared(unknown) == (3, {**no, "brand": ["outside", "distance"]})
    assert "33.3% of 5%" in cli_here("inspect", "run", "new.parquet").out
    assert compared(frame.assign(brand=np.where(third, None, brand))) == (3, {**no, "brand": ["outside", "distance"]})
    turned = frame.assign(brand=frame.brand.map({"acme": "bolt", "bolt": "zeta", "zeta": "zeta"}))
    assert compared(turned) == (3, {**no, "brand": ["distance"]})
    assert compared(frame.assign(rating=np.nan)) == (3, {**no, "rating": ["missing"]})
    assert compared(frame.assign(rating=frame.rating.fillna(-1))) == (3, {**no, "rating": ["outside", "distance"]})


def test_python_has_the_rows_of_the_command(cli_here: Cli) -> None:
    """Of a table with a category and missing values, as a file, as a frame and without labels; and of text."""
    train, rng = made(0), np.random.default_rng(5)
    frame = pd.DataFrame(np.asarray(train.X), columns=["a", "b", "c"]).assign(label=train.relevance, query=train.qid)
    frame["brand"] = np.where(frame.a + rng.normal(size=len(frame)) > 0, "acme", "bolt")
    frame.loc[rng.random(len(frame)) < 0.1, "b"] = np.nan
    frame.to_parquet("train.parquet")
    assert cli_here("fit", "train.parquet", "--qid-column", "query", "--out", "fitted.json").code == 0
    fitted = sr.load_model("fitted.json")
    model = rebuilt(fitted, coef=np.where(np.array(fitted.feature_names) == "brand=bolt", 0.0, fitted.coef))
    assert len(model.support) < len(fitted.support)  # a level without a weight is still a known one
    model.save("table.json")
    unknown = np.where(np.arange(len(frame)) % 2 == 0, "new", frame.brand)
    new = frame.drop(columns="label").assign(brand=unknown, b=frame.b + 5.0)
    new.to_parquet("new.parquet")
    told = cli_here(
        "inspect", "table.json", "new.parquet", "--qid-column", "query", "--fail-if-drift", "--format", "json"
    )
    rows = sr.drift(model, "new.parquet", qid="query")
    assert json.loads(told.out) == rows == sr.drift(model, new, qid="query")
    assert (told.code, {r["feature"] for r in rows if r["drift"]}) == (3, {"b", "brand"})
    sr.write_letor(train, "train.txt")
    sr.write_letor(made(1, shift=1.0), "new.txt")
    assert cli_here("fit", "train.txt", "--k", "2", "--out", "text.json").code == 0
    told = cli_here("inspect", "text.json", "new.txt", "--format", "json")
    assert json.loads(told.out) == sr.drift(sr.load_model("text.json"), "new.txt")


def test_values_in_single_precision_are_the_same(model: sr.RankingModel) -> None:
    train = made(0)
    single = sr.RankingDataset(np.asarray(train.X, dtype=np.float32), train.relevance, train.qid)
    assert [(r["outside"], r["distance"]) for r in drift(model, single)] == [(0.0, 0.0)] * len(model.support)


def test_a_model_without_a_record_says_what_to_do(model: sr.RankingModel, cli_here: Cli) -> None:
    content = model.to_json()
    del content["metadata"][VALUES]
    Path("old.json").write_text(json.dumps(content))
    with pytest.raises(
        DataError, match="no usable record of its training values, which select and fit of this version"
    ):
        drift(sr.load_model("old.json"), made(1))
    sr.write_letor(made(1), "new.txt")
    assert_refused(cli_here("inspect", "old.json", "new.txt"), 1, "no usable record of its training values")
    whole = model.metadata[VALUES]
    sample = whole["a"]["distance"]
    # The names that files have: one that is renamed takes the record from every model that was saved before.
    assert list(sample) == ["shares", "queries", "found_in", "n", "clumps", "correlation"]
    parts = [{"points": ["x"]}, {"points": [1.0]}, {"distance": {**sample, "shares": []}}, {"missing": {"shares": [0]}}]
    parts += [{"distance": {**sample, **wrong}} for wrong in ({"n": "x"}, {"correlation": 2}, {"clumps": -1}, {"x": 1})]
    broken = [{**whole, "a": {**whole["a"], **part}} for part in parts]
    earlier = {"queries": 40, "features": {name: {"points": [0], "shares": [1], "halves": 0.1} for name in "abc"}}
    for damaged in ({"queries": 1}, earlier, {"a": 3}, 7, {**whole, "a": {}}, *broken):
        content["metadata"][VALUES] = damaged
        Path("damaged.json").write_text(json.dumps(content))
        assert_refused(cli_here("inspect", "damaged.json", "new.txt"), 1, "no usable record of its training values")


def test_models_of_every_size_and_of_fit_have_a_record(cli_here: Cli) -> None:
    sr.write_letor(made(0), "train.txt")
    options = ["--penalty", "l1", "--transform", "none", "--n-alphas", "12", "--half-samples", "0", "--rival", "none"]
    assert cli_here("select", "train.txt", "--out", "run", *options).code == 0
    assert cli_here("fit", "train.txt", "--k", "2", "--out", "fitted.json").code == 0
    fitted = cli_here("fit", "train.txt", "--k", "2", "--out", "again.json", "--format", "json")
    assert VALUES not in json.loads(fitted.out)
    for file in (sr.load_model("run", k=2), sr.load_model("fitted.json")):
        assert set(file.metadata[VALUES]) == set(file.weights)
    assert VALUES not in cli_here("inspect", "fitted.json").out
    assert cli_here("inspect", "fitted.json", "train.txt", "--fail-if-drift").code == 0


def test_a_sample_of_the_queries_keeps_the_extremes_of_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every fourth query is recorded, in memory, as sparse rows and from a store of several parts alike."""
    data = made(0)
    scaling = sr.FeatureScaling("none", np.zeros(3), np.ones(3))
    plain = sr.RankingModel.from_arrays(np.array([1.0, 0.0, 1.0]), ("a", "b", "c"), scaling, medians=np.zeros(3))
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
        assert record["a"]["distance"]["queries"] == 10
        for j, name in ((0, "a"), (2, "c")):
            known = record[name]
            assert (known["points"][0], known["points"][-1]) == pytest.approx((X[:, j].min(), X[:, j].max()))
            assert known["median"] == pytest.approx(oracle.quantile(X[rows, j].tolist(), 0.5))
            shares = [oracle.share_up_to(X[rows, j].tolist(), p + 1e-6 * abs(p)) for p in known["points"]]
            assert known["distance"]["shares"] == pytest.approx(shares)


def test_a_column_of_which_only_the_flag_is_used_has_missing_values_alone() -> None:
    rng, qid = np.random.default_rng(1), np.repeat(np.arange(40), 10)
    derived = {"a is missing": Derived("a", None)}

    def made(share: float) -> sr.RankingDataset:
        X = np.column_stack([rng.standard_normal(400), rng.random(400) < share])
        return sr.RankingDataset(X, np.zeros(400), qid, feature_names=["a", *derived], derived=derived)

    none = sr.FeatureScaling("none", np.zeros(2), np.ones(2))
    plain = sr.RankingModel.from_arrays(
        np.array([0.0, 1.0]), ("a", *derived), none, medians=np.zeros(2), derived=derived
    )
    (model,) = with_training_record([plain], made(0.1))
    (same,), (more,) = drift(model, made(0.1)), drift(model, made(0.5))
    assert (same["feature"], same["drift"], same["distance"], "median" in same) == ("a", [], 0.0, False)
    assert (more["drift"], more["distance"]) == (["missing"], 0.0)
    assert drift(replace(plain, features=(), metadata={VALUES: {}}), made(0.1)) == []


def test_a_store_that_does_not_know_what_was_missing_is_compared_by_its_values(cli_here: Cli) -> None:
    """The fills of training are values: new missing values are filled alike, and their share is only shown."""
    rng, qid = np.random.default_rng(4), np.repeat(np.arange(60), 10)
    a, b = rng.standard_normal((2, 600))
    frame = pd.DataFrame({"qid": qid, "label": np.digitize(a + b, [0.5, 1.5]), "a": a, "b": b})
    frame.loc[rng.random(600) < 0.2, "b"] = np.nan
    frame.to_parquet("train.parquet")
    assert cli_here("convert", "train.parquet", "store", "--missing", "median").code == 0
    assert cli_here("fit", "store", "--k", "2", "--out", "model.json").code == 0
    for new, code, missing in ((frame, 0, frame.b.isna().mean()), (frame.assign(b=np.nan), 3, 1.0)):
        new.to_parquet("new.parquet")
        told = cli_here("inspect", "model.json", "new.parquet", "--fail-if-drift", "--format", "json")
        row = next(r for r in json.loads(told.out) if r["feature"] == "b")
        assert (told.code, "training_missing" in row, row["drift"]) == (code, False, ["distance"] if code else [])
        assert row["missing"] == pytest.approx(missing)
        assert f"{missing:.1%}" in cli_here("inspect", "model.json", "new.parquet").out
