"""Categories and missing values of tables become features: which ones, their values, in every kind of table."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn

import sparserank as sr
from sparserank.data.read import read_weighted_sources
from sparserank.data.read_files import read_files
from sparserank.data.reading import Reading
from sparserank.errors import DataError, DataWarning
from sparserank.evaluation import per_query_values
from sparserank.metrics import parse_metric
from sparserank.model.table_columns import with_columns_of
from sparserank.options import values_of
from sparserank.options.selection import SELECT
from tests.oracles import categories as oracle
from tests.support.command_line import Cli, assert_refused

RNG = np.random.default_rng(3)
N = 1200
QUERY = np.repeat(np.arange(N // 10), 10)
BRANDS = [f"b{i}" for i in range(60)]
FRAME = pd.DataFrame(
    {
        "qid": [f"q{q}" for q in QUERY],
        "label": RNG.integers(0, 3, N),
        "brand": RNG.choice(BRANDS, N, p=np.arange(60, 0, -1) / 1830),
        "shelf": RNG.choice(["top", "low", "naïve 'x' \"y\"", None], N, p=[0.5, 0.3, 0.1, 0.1]),
        "bm25": RNG.gamma(2.0, size=N),
        "rating": np.where(RNG.random(N) < 0.1, np.nan, RNG.random(N)),
        "age": np.where(RNG.random(N) < 0.004, np.nan, RNG.random(N)),
        "stock": RNG.random(N) < 0.5,
        "title": [f"title {i}" for i in range(N)],
    }
)
FRAME["one"] = "the same"
NOISE = np.random.default_rng(5).normal(0, 0.5, N)
AS = {
    "pandas": lambda frame, _: frame,
    "categorical": lambda frame, _: frame.assign(brand=frame.brand.astype("category")),
    "polars": lambda frame, _: pl.from_pandas(frame),
    "arrow": lambda frame, _: pa.Table.from_pandas(frame, preserve_index=False),
    "parquet": lambda frame, folder: _written(frame.to_parquet, folder / "t.parquet", index=False, row_group_size=100),
    "csv": lambda frame, folder: _written(frame.to_csv, folder / "t.csv", index=False),
}


def _written(write, path, **options):
    write(path, **options)
    return str(path)


def read(source, **options):
    """Training data as `select` reads them."""
    chosen = {o.name: o.default for o in SELECT.values()} | options
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        (data,) = read_weighted_sources({"train": source}, {**values_of(SELECT, chosen)})[0].values()
    return data, [str(w.message) for w in told]


def column(data, name):
    return np.asarray(data.X[:, data.feature_names.index(name)], dtype=float)


@pytest.mark.parametrize("kind", AS)
def test_every_kind_of_table_gives_the_same_features(kind, tmp_path):
    data, told = read(AS[kind](FRAME, tmp_path))
    expected = {}
    for name in ("brand", "shelf"):
        values = [None if v is None or v != v else v for v in FRAME[name]]
        for level, own in oracle.indicators(values, oracle.levels(values, QUERY)).items():
            expected[f"{name}={level}" if level else f"{name} is missing"] = own
    assert oracle.is_flagged(FRAME["rating"])
    assert not oracle.is_flagged(FRAME["age"])
    expected["rating is missing"] = [float(oracle.missing(v)) for v in FRAME["rating"]]
    numbers = ["bm25", "rating", "age", "stock"]
    assert sorted(data.feature_names) == sorted([*expected, *numbers])
    for name, own in expected.items():
        assert column(data, name).tolist() == own, name
    known = FRAME["rating"].to_numpy()
    assert column(data, "rating") == pytest.approx(np.where(np.isnan(known), np.nanmedian(known), known))
    assert np.isnan(data.fill_values[data.feature_names.index("bm25")])  # never missing in training
    assert any("title" in text and "more than half" in text for text in told)
    assert any("differs within a query: one" in text for text in told)
    assert any("rating, age become medians" in text and "where rating is missing" in text for text in told)


def test_levels_are_counted_by_rows_and_by_queries():
    values = ["a"] * 1100 + ["b"] * 60 + ["c"] * 19 + [None] * 21  # 1% are 12 rows
    rare = list(values)
    rare[3:403:20] = ["d"] * 20
    frame = FRAME[["qid", "label", "bm25"]].assign(kind=rare)
    data, _ = read(frame)
    found = [name for name in data.feature_names if name.startswith("kind")]
    texts = oracle.levels(rare, QUERY)
    assert found == [f"kind={t}" if t else "kind is missing" for t in texts]
    assert "d" in texts
    assert texts != oracle.levels(rare, QUERY, in_queries=21, share=0.017)  # a wrong variant that rows alone decide
    assert len(oracle.levels(FRAME["brand"].tolist(), QUERY)) == 30  # of 60


def test_later_tables_have_the_columns_of_the_training_data(tmp_path):
    train, test = FRAME.iloc[:800], FRAME.iloc[800:].copy()
    test.iloc[0, test.columns.get_loc("brand")] = "never seen"
    test.iloc[1, test.columns.get_loc("brand")] = None
    test = test.drop(columns="title")
    sources = {"train": train, "test": _written(test.to_csv, tmp_path / "test.csv", index=False)}
    chosen = {o.name: o.default for o in SELECT.values()}
    with pytest.warns(DataWarning):
        parts, _ = read_weighted_sources(sources, chosen)
    data, later = parts["train"], parts["test"]
    assert later.feature_names == data.feature_names
    brand = [j for j, name in enumerate(data.feature_names) if name.startswith("brand")]
    assert later.X[:2, brand].sum() == 0.0  # an unseen level, and a missing value, which training has not seen
    assert later.X[2:, brand].sum() == test["brand"][2:].isin([n[6:] for n in data.feature_names]).sum()
    median = np.nanmedian(train["rating"])
    assert column(later, "rating")[np.isnan(test["rating"].to_numpy())] == pytest.approx(median)


def test_missing_overrides_the_default():
    with pytest.raises(DataError, match="missing or infinite feature value"):
        read(FRAME, missing="error")
    data, _ = read(FRAME, missing="zero")
    assert "rating is missing" not in data.feature_names
    assert (column(data, "rating")[FRAME["rating"].isna()] == 0.0).all()
    with pytest.raises(DataError):  # as ever
        sr.read(FRAME.drop(columns=["title", "one"]))
    plain = FRAME[["qid", "label", "bm25", "stock"]]
    data, told = read(plain)
    assert data.fill_values is None
    assert data.derived is None
    assert not told
    assert (data.X == sr.read(plain).X).all()


def test_whole_numbers_are_categories_only_if_named(tmp_path):
    frame = FRAME[["qid", "label", "bm25"]].assign(
        shop=RNG.integers(1, 4, N), floor=np.where(RNG.random(N) < 0.2, np.nan, 2.0)
    )
    assert read(frame[["qid", "label", "bm25", "shop"]])[0].feature_names == ("bm25", "shop")
    for source in (frame, _written(frame.to_csv, tmp_path / "t.csv", index=False), pl.from_pandas(frame)):
        data, _ = read(source, categories=["shop", "floor"])
        texts = oracle.levels(frame["shop"].tolist(), QUERY)
        assert sorted(data.feature_names) == sorted(
            ["bm25", *(f"shop={t}" for t in texts), "floor=2", "floor is missing"]
        )
        assert column(data, "shop=2").tolist() == [float(v == 2) for v in frame["shop"]]


def test_a_numbered_category_is_the_same_in_every_form_of_later_data():
    """Whole numbers as floats, as text, as decimals and as categories of these; a level without a value is another."""
    frame = FRAME[["qid", "bm25"]].assign(shop=np.array([7, 12, 103, 5])[np.random.default_rng(8).integers(0, 4, N)])
    label = (frame["bm25"] + 2.0 * (frame["shop"] == 12) > 2).astype(int)
    options: dict[str, Any] = {"penalties": "l1", "n_alphas": 6, "cv": 3, "half_samples": 0, "rival": "none", "k": 2}
    model = sr.select(frame.assign(label=label), categories=["shop"], feature_transform="none", **options).model
    expected = model.predict(frame)
    own = frame["shop"]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    decimals = pa.array(own).cast(pa.decimal128(21, 2))
    forms: list[Any] = [
        *(frame.assign(shop=own.astype(form)) for form in (float, str, "Int64", "category")),
        frame.assign(shop=own.astype(float).astype("category")),
        table.set_column(table.column_names.index("shop"), "shop", decimals),
        pl.from_pandas(frame.assign(shop=own.astype(str))).with_columns(pl.col("shop").cast(pl.Categorical)),
    ]
    for form in forms:
        assert np.array_equal(model.predict(form), expected)
    unknown = model.predict(frame.assign(shop=own.astype("Int64").mask(own == 12)))
    assert not np.array_equal(unknown, expected)
    assert np.array_equal(unknown, model.predict(frame.assign(shop=own.astype(float).mask(own == 12))))


def test_what_cannot_be_a_category_is_refused_by_name(tmp_path, cli: Cli):
    frame = FRAME[["qid", "label", "bm25"]].assign(price=[str(i % 7) for i in range(N)], x=RNG.random(N))
    frame.loc[5, "price"] = "n/a !"
    with pytest.raises(
        DataError, match=r"'price' is not numeric, but half or more of its values are numbers.*categories"
    ):
        read(frame)
    assert "price=3" in read(frame, categories=["price"])[0].feature_names
    with pytest.raises(DataError, match="'x'"):
        read(frame.drop(columns="price"), categories=["x"])
    with pytest.raises(DataError, match="'nothing'"):
        read(FRAME, categories=["nothing"])
    path = _written(FRAME.to_parquet, tmp_path / "t.parquet", index=False)
    assert_refused(cli("convert", path, tmp_path / "store"), 1, "'brand'")
    with pytest.raises(DataError, match="no feature column"):
        read(FRAME[["qid", "label", "title"]])


def test_a_category_is_one_feature_of_a_selection(tmp_path):
    frame = FRAME.drop(columns=["title", "one"])
    effect = frame["shelf"].map({"top": 2.0, "low": 0.0}).fillna(-1.0) + 0.5 * frame["bm25"]
    frame = frame.assign(label=(effect > effect.median()).astype(int))
    with pytest.warns(DataWarning):
        result = sr.select(
            frame, penalties="mcp", n_alphas=10, half_samples=2, rival="none", k=2, feature_transform="none"
        )
    used = {result.model.feature_names[j] for j in result.model.support}
    assert {name.partition("=")[0].removesuffix(" is missing") for name in used} == {"shelf", "bm25"}
    assert len(used) > 2
    assert result.chosen.n_features == 2
    assert result.headline.startswith("Keep 2 of 6 features")
    assert {row["feature"] for row in result.facts.features} == set(model_columns := result.model.columns)
    assert sorted(model_columns) == ["bm25", "shelf"]
    assert {row["feature"] for row in result.facts.stability} <= {"bm25", "rating", "age", "stock", "shelf", "brand"}
    assert [set(used) for used in result.used][-1] == {"bm25", "shelf"}
    assert "naïve" in result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    model = result.model
    result.save(tmp_path / "run")
    loaded = sr.load_model(tmp_path / "run" / "model.json")
    assert loaded.derived == model.derived
    scores = model.predict(frame)
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert (loaded.predict(other) == scores).all()
    with pytest.warns(DataWarning):
        dropped = sr.select(frame, penalties="mcp", drop=["shelf"], fast=True)
    assert not any(dropped.model.feature_names[j].startswith("shelf") for j in dropped.model.support)


def test_levels_do_not_depend_on_later_rows_or_labels():
    data, _ = read(FRAME)
    other, _ = read(FRAME.assign(label=FRAME["label"].to_numpy()[::-1]))
    assert data.feature_names == other.feature_names
    assert (np.asarray(data.X) == np.asarray(other.X)).all()


def test_a_model_in_use_has_its_levels_and_flags_in_newer_data(tmp_path):
    options: dict[str, Any] = {
        "penalties": "mcp",
        "feature_transform": "none",
        "n_alphas": 10,
        "half_samples": 0,
        "rival": "none",
        "k": 3,
    }
    first = FRAME.drop(columns=["title", "one", "brand", "age"])
    score = (first["shelf"] == "low").astype(float) + first["rating"].isna() + first["stock"] + RNG.normal(0, 0.5, N)
    first = first.assign(label=(score > 1).astype(int))
    with pytest.warns(DataWarning):
        old = sr.select(first, **options).model
    assert sorted(old.columns) == ["rating", "shelf", "stock"]
    newer = first.assign(shelf=first["shelf"].replace({"low": "new"}), rating=first["rating"].fillna(0.5))
    newer.loc[7, "shelf"] = "low"  # a level of one row, and no rating is missing
    old.save(tmp_path / "old.json")
    for current in (old, str(tmp_path / "old.json")):
        change = sr.select(newer, current=current, **options).change
        assert change is not None
        assert change.n_features == 3
        values = per_query_values(old.predict(newer), sr.read(newer), [parse_metric("ndcg@10")])[0]
        assert change.mean == pytest.approx(np.nanmean(values))


@pytest.mark.parametrize("ranker", [sr.SparseRanker(k=2, penalty="mcp"), sr.SparseRankerCV(k=2, penalty="mcp")])
def test_rankers_count_the_columns_of_a_category_as_one_feature(ranker):
    frame = FRAME.drop(columns=["title", "one"])
    frame = frame.assign(
        label=((frame["shelf"] == "low") + 1.0 * frame["stock"] + RNG.normal(0, 0.5, N) > 1).astype(int)
    )
    model = sklearn.clone(ranker).fit_dataset(read(frame)[0]).to_model()
    assert set(model.columns) == {"shelf", "stock"}
    assert len(model.support) > 2


def test_commands_read_only_what_a_model_uses(tmp_path, cli: Cli):
    """A category that the model leaves out need not be in the table; --k counts features; Python does the same."""
    frame = FRAME.drop(columns=["title", "one", "rating", "age"])
    frame = frame.assign(label=(frame["bm25"] + (frame["shelf"] == "low") + NOISE > 2).astype(int))
    path = _written(frame.to_parquet, tmp_path / "t.parquet", index=False)
    run = str(tmp_path / "run")
    quick = ("--penalty", "mcp", "--transform", "none", "--n-alphas", "10", "--half-samples", "0", "--rival", "none")
    assert cli("select", path, *quick, "--k", "2", "--out", run).code == 0
    model = sr.load_model(run)
    assert set(model.columns) == {"bm25", "shelf"}
    without = _written(frame.drop(columns=["brand", "label"]).to_parquet, tmp_path / "u.parquet", index=False)
    for table in (path, without):
        scores = [float(x) for x in cli("predict", run, table).done.out.split()]
        assert scores == model.predict(frame).tolist()
    assert sr.load_model(run, k=2).columns == model.columns
    assert set(sr.load_model(run, k=1).columns) == {"bm25"}
    assert "no model has" not in cli("predict", run, without, "--k", "2").done.err
    by_file = sr.evaluate(model, path)
    assert by_file == sr.evaluate(model, frame)
    assert sr.diff(sr.load_model(run, k=1), model, path).features[0]["feature"] == "shelf"
    assert sr.diff(sr.load_model(run, k=1), model, frame).sentences[0].startswith("The old model uses 1 of 4 features")
    data, _ = read(frame)
    some = data.take_features([0, 1, 2])
    fitted = sr.SparseRanker().fit_dataset(some).to_model()
    fitted.save(tmp_path / "some.json")
    assert sr.load_model(tmp_path / "some.json").n_features == 3


def test_names_and_types_that_do_not_fit_are_refused_by_name(tmp_path):
    frame = FRAME[["qid", "label", "bm25", "shelf", "rating"]]
    for name, made_of in (("shelf=top", "shelf"), ("rating is missing", "rating")):
        with pytest.raises(DataError, match=f"a column is called '{name}', like the feature that '{made_of}' gets"):
            read(frame.assign(**{name: 1.0}))
    one = _written(frame.to_parquet, tmp_path / "one.parquet", index=False)
    other = _written(frame.assign(qid="2 " + frame["qid"], shelf=1.0).to_parquet, tmp_path / "two.parquet", index=False)
    with pytest.raises(DataError, match="'shelf' is text here or in"):
        read([one, other])
    with pytest.raises(DataError, match="no data rows"):
        read(frame.iloc[:0])
    numbers = frame[["qid", "label", "bm25"]].assign(shop=pd.array(RNG.integers(1, 4, N)).astype("Int64"))
    numbers.loc[::9, "shop"] = pd.NA
    categorical = numbers.assign(shop=numbers["shop"].astype("category"))
    data, _ = read(categorical)
    assert {d.level for d in data.derived.values()} == {"1", "2", "3", None}  # numbers: no empty text in exports
    model = sr.SparseRanker().fit_dataset(data).to_model()
    with pytest.raises(DataError, match="'shop' contains values that are no category"):
        model.predict(numbers.assign(shop=1.5))
    assert (model.predict(categorical) == model.predict(numbers)).all()


def test_csv_keeps_levels_as_they_are_written(tmp_path):
    codes = pd.Series(RNG.choice(["01", "02", "10"], N))
    frame = FRAME[["qid", "label", "bm25"]].assign(code=codes, flag=RNG.choice(["True", "False"], N))
    parquet = _written(frame.to_parquet, tmp_path / "t.parquet", index=False)
    csv = _written(frame.to_csv, tmp_path / "t.csv", index=False)
    data, _ = read(parquet, categories=["code"])
    assert {"code=01", "code=10", "flag=True"} <= set(data.feature_names)
    model = sr.SparseRanker(alpha_ratio=0.001).fit_dataset(data).to_model()
    reading = with_columns_of(Reading(), [model], csv)
    assert (model.score_dataset(read_files(csv, reading)) == model.predict(frame)).all()
    assert set(read(csv, categories=["code"])[0].feature_names) >= {"code=01", "flag"}  # here, a boolean
    with pytest.raises(DataError, match="'date' is not"):
        read(frame.assign(date=pd.Timestamp("2026-01-01")), categories=["date", "code"])


def test_a_model_in_use_keeps_its_own_replacements():
    frame = FRAME[["qid", "label", "bm25", "rating"]]
    frame = frame.assign(label=(frame["rating"].fillna(0.9) + 0.2 * NOISE > 0.6).astype(int))
    options: dict[str, Any] = {
        "penalties": "mcp",
        "feature_transform": "none",
        "n_alphas": 10,
        "half_samples": 0,
        "rival": "none",
    }
    with pytest.warns(DataWarning, match="become medians"):
        old = sr.select(frame, **options, k=1, tol=1e-4).model
    with pytest.warns(DataWarning, match="become 0"):
        change = sr.select(frame, **options, tol=1e-4, engine="elasticsearch", current=old).change
    values = per_query_values(old.predict(frame), sr.read(frame, missing="zero"), [parse_metric("ndcg@10")])[0]
    assert change is not None
    assert change.mean == pytest.approx(np.nanmean(values))


def test_a_category_without_a_known_level_is_said(tmp_path, cli: Cli):
    """At predict in Python and on the command line, and in validation data; not where one row has a known level."""
    frame = FRAME[["qid", "label", "bm25"]].assign(brand=RNG.choice(["acme", "zeta"], N))
    frame["label"] = ((frame["brand"] == "acme") + 0.2 * NOISE > 0.5).astype(int)
    data, _ = read(frame)
    model = sr.SparseRanker(alpha_ratio=0.01).fit_dataset(data).to_model()
    model.save(tmp_path / "m.json")
    said = r"no row of column 'brand' has a level that is known from training \('acme', 'zeta'\); the first has 'ACME '"
    odd = frame.assign(brand=frame["brand"].replace({"acme": "ACME ", "zeta": "ACME "}))
    mixed = odd.copy()
    mixed.loc[7, "brand"] = "acme"
    for form in (odd, pl.from_pandas(odd), pa.Table.from_pandas(odd)):
        with pytest.warns(DataWarning, match=said):
            model.predict(form)
    with pytest.warns(DataWarning, match="the first has 'NULL'"):
        model.predict(frame.assign(brand=None))
    path = _written(odd.to_parquet, tmp_path / "odd.parquet", index=False, row_group_size=100)
    assert "no row of column 'brand'" in cli("predict", tmp_path / "m.json", path).done.err
    with pytest.warns(DataWarning, match=said):
        read_weighted_sources({"train": frame, "valid": odd}, {o.name: o.default for o in SELECT.values()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(model.predict(mixed)) == N
        model.predict(frame)
    path = _written(mixed.to_parquet, tmp_path / "mixed.parquet", index=False, row_group_size=100)
    assert "no row" not in cli("predict", tmp_path / "m.json", path).done.err


def test_what_correlates_and_what_is_kept_in_vain_are_columns_of_the_table():
    """Flags of two numbers that are missing together correlate, which says nothing about the numbers."""
    frame = FRAME[["qid", "label", "bm25", "rating"]].assign(shelf=RNG.choice(["top", "low"], N))
    frame["votes"] = np.where(frame["rating"].isna(), np.nan, RNG.random(N))
    frame["copy"] = frame["bm25"] + 0.01 * NOISE
    frame["label"] = ((frame["bm25"] + 5.0 * frame["rating"].isna() + NOISE) > 2).astype(int)
    options: dict[str, Any] = {
        "penalties": "l1",
        "n_alphas": 8,
        "half_samples": 0,
        "rival": "none",
        "feature_transform": "none",
    }
    with pytest.warns(DataWarning, match="become medians"):
        result = sr.select(frame, keep=["shelf"], k=3, **options)
    redundant = result.to_json()["redundant"]["left"]
    assert {name for row in redundant for name in (row["feature"], row["selected"])} <= {*frame.columns}
    assert "copy" in {row["feature"] for row in redundant} | {*result.model.columns}
    same = frame.assign(shelf=np.where(QUERY % 2, "top", "low"), one=1.0)
    same.loc[0, "shelf"] = None
    with pytest.warns(DataWarning) as told:
        sr.select(same, keep=["shelf", "one"], penalties="l1", fast=True)
    said = [str(w.message) for w in told if "is to be kept" in str(w.message) or "are to be kept" in str(w.message)]
    assert [s.partition(" is to be kept")[0] for s in said] == ["'one'"]
