"""A LightGBM file as rival, list maker and system: it reads the columns of the table that it names, as they are."""

import importlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import scipy.stats

import sparserank as sr
from sparserank.crossval import tree_rivals
from sparserank.crossval.tree_rivals import scores_of_saved
from sparserank.data.folds import query_folds
from sparserank.errors import DataError, ModelFormatError
from tests.oracles.table_trees import out_of_fold
from tests.support.command_line import Cli

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pytestmark = pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")

QUICK: dict[str, Any] = {"penalties": "l1", "n_alphas": 6, "cv": 3, "half_samples": 0, "feature_transform": "none"}
SETTINGS = {"objective": "lambdarank", "num_leaves": 6, "min_data_in_leaf": 5, "cat_smooth": 2.0}
N_QUERIES, SIZE, TREES = 60, 10, 15
SIZES = [SIZE] * N_QUERIES
N = N_QUERIES * SIZE
COLUMNS = ["bm25", "brand", "shop", "click rate", "device"]
LEVELS = [f"brand {i:02d}" for i in range(45)]  # more than a model of ours has features for


def made_frame() -> Any:
    """Text of many levels, whole numbers, text that is the same within a query, missing values."""
    rng = np.random.default_rng(7)
    brand, shop, bm25, rate = rng.integers(0, 45, N), rng.integers(0, 9, N), rng.gamma(2, 1, N), rng.random(N)
    device = np.repeat(rng.integers(0, 2, N_QUERIES), SIZE)
    z = bm25 * np.where(device == 1, 0.9, 0.3) + np.sin(brand * 2.4) + (shop % 3) * 0.7 + rate
    names = np.array(LEVELS, dtype=object)[brand]
    names[rng.random(N) < 0.05] = None
    label = np.digitize(z + rng.normal(0, 0.3, N), np.quantile(z, [0.6, 0.85]))
    columns = {"qid": np.repeat(np.arange(N_QUERIES), SIZE), "label": label, "bm25": bm25, "brand": names, "shop": shop}
    rate[rng.random(N) < 0.2] = np.nan
    return pd.DataFrame({**columns, "click rate": rate, "device": np.array(["phone", "desktop"])[device]})


@pytest.fixture(scope="module")
def frame() -> Any:
    return made_frame()


def mean_ndcg(scores: np.ndarray, frame: Any) -> float:
    return sr.evaluate(scores, frame["label"].to_numpy(), "ndcg@10", qid=frame["qid"].to_numpy())["ndcg@10"]


def for_lightgbm(frame: Any) -> Any:
    return frame[COLUMNS].astype({"brand": "category", "device": "category"})


@pytest.fixture(scope="module")
def models(frame: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with model files: shop is a category in one and a number in the other."""
    folder = tmp_path_factory.mktemp("models")
    for name, categorical in (("category", ["brand", "device", "shop"]), ("number", "auto")):
        X = for_lightgbm(frame)
        held = lightgbm.Dataset(X, frame["label"], group=SIZES, categorical_feature=categorical)
        lightgbm.train({**SETTINGS, "verbosity": -1, "seed": 3}, held, TREES).save_model(folder / f"{name}.txt")
    return folder


def by_hand(frame: Any, categorical: Any, without: Sequence[str] = (), settings: Any = SETTINGS) -> float:
    fold = np.repeat(query_folds(N_QUERIES, 3, 0), SIZE)
    X = for_lightgbm(frame).drop(columns=list(without))
    scores = out_of_fold(X, frame["label"].to_numpy(), SIZES, fold, settings, TREES, categorical)
    return mean_ndcg(scores, frame)


@pytest.mark.parametrize("own", ["category", "number"])
@pytest.mark.parametrize("form", ["frame", "polars", "parquet", "csv", "read"])
def test_the_rival_is_the_trees_of_the_file_on_the_columns_of_the_table(frame, models, own, form, tmp_path):
    """Out of fold, to rounding, whatever our models may use, and whatever `categories` says."""
    categorical = ["brand", "device", "shop"] if own == "category" else "auto"
    expected = by_hand(frame, categorical)
    if form == "parquet":
        frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    given = {
        "frame": frame,
        "polars": pl.from_pandas(frame),
        "parquet": tmp_path / "t.parquet",
        "csv": tmp_path / "t.csv",
    }
    source = sr.read(frame, missing="median") if form == "read" else given[form]
    options: list[dict[str, Any]] = [{}]
    if form in ("frame", "csv"):
        options += [{"categories": ["shop"]}, {"drop": ["brand", "bm25"]}, {"ignore_columns": ["brand", "click rate"]}]
    if form == "read":  # a data set that was read before keeps categories only
        source = sr.read(frame.drop(columns="device"), missing="median")
        expected = by_hand(
            frame, [c for c in categorical if c != "device"] if own == "category" else "auto", ["device"]
        )
    for more in options:
        (rival,) = sr.select(source, rival=models / f"{own}.txt", **more, **QUICK).rivals.compared
        assert rival.mean == pytest.approx(expected, abs=1e-9), more
        assert rival.lacks == (("device",) if form == "read" else ())
        assert rival.n_features == (4 if form == "read" else 5)


def test_trees_without_the_column_or_with_other_categories_are_worse(frame):
    """The wrong variants that the test above refuses: columns left out, or numbers in place of categories."""
    right = by_hand(frame, ["brand", "device", "shop"])
    assert right > by_hand(frame, "auto") + 0.003
    assert right > by_hand(frame, ["device", "shop"], ["brand"]) + 0.01
    hot = pd.get_dummies(frame[COLUMNS], columns=["brand", "device"], dtype=float)
    fold = np.repeat(query_folds(N_QUERIES, 3, 0), SIZE)
    hot.columns = [f"c{j}" for j in range(hot.shape[1])]
    scores = out_of_fold(hot, frame["label"].to_numpy(), SIZES, fold, SETTINGS, TREES, "auto")
    assert abs(right - mean_ndcg(scores, frame)) > 0.003


def test_test_queries_are_scored_by_trees_on_all_training_queries(frame, models):
    """Categories that only the test has are unknown to the trees, as to pandas."""
    train, test = frame[frame["qid"] < 40], frame[frame["qid"] >= 40].copy()
    test.loc[test.index[::7], "brand"] = "never seen"
    result = sr.select(train, None, test, rival=models / "category.txt", **QUICK)
    X, Z = for_lightgbm(train), for_lightgbm(test)
    for c in ("brand", "device"):
        levels = [v for v in (LEVELS if c == "brand" else ["desktop", "phone"]) if v in set(frame[c])]
        X[c], Z[c] = (pd.Categorical(part[c].where(part[c].isin(levels)), levels) for part in (train, test))
    held = lightgbm.Dataset(X, train["label"], group=[SIZE] * 40, categorical_feature=["brand", "device", "shop"])
    always = {"deterministic": True, "force_row_wise": True, "verbosity": -1, "num_threads": 1, "seed": 0}
    scores = lightgbm.train({**SETTINGS, **always, "data_random_seed": 0}, held, TREES).predict(Z)
    found = result.test.values["LightGBM as in category.txt"]["ndcg@10"].mean()
    assert found == pytest.approx(mean_ndcg(scores, test), abs=1e-9)
    # The line on the test queries also has the rival, with the interval of the paired difference.
    said = next(claim.text for claim in result.claims if claim.key == "test")
    figures = r"against {} \(([\d.]+)\) ([-+\d.]+)% \(([-+\d.]+) to ([-+\d.]+)%\)"
    others = [re.search(figures.format(name), said) for name in ("all features", "LightGBM as in category.txt")]
    values = [values["ndcg@10"] for values in result.test.values.values()]
    for other, theirs in zip(others, (values[1], values[-1]), strict=True):
        assert other is not None, said
        paired = scipy.stats.ttest_rel(values[0], theirs).confidence_interval(0.95)
        expected = [values[0].mean() - theirs.mean(), paired.low, paired.high]
        assert float(other[1]) == pytest.approx(theirs.mean(), abs=5e-5)
        assert [float(other[i]) for i in (2, 3, 4)] == pytest.approx(
            [100 * value / theirs.mean() for value in expected], abs=0.101
        )


def test_parameters_take_text_as_categories_and_numbers_as_they_say(frame, tmp_path):
    file, used = tmp_path / "p.json", frame.drop(columns="device")
    settings = {**SETTINGS, "num_iterations": TREES}
    for categorical, expected in ((None, "auto"), ("name:brand,shop", ["brand", "shop"])):
        file.write_text(json.dumps({**settings, "categorical_feature": categorical}))
        (rival,) = sr.select(used, rival=file, categories=["shop"], **QUICK).rivals.compared
        assert rival.mean == pytest.approx(by_hand(frame, expected, ["device"]), abs=1e-9)


def test_what_a_file_of_parameters_does_not_name_is_what_our_models_may_use(frame, tmp_path):
    file = tmp_path / "p.json"
    groups = [[0, 1], [2, 9]]  # there are four columns
    file.write_text(json.dumps({**SETTINGS, "num_iterations": TREES, "interaction_constraints": groups}))
    result = sr.select(frame.drop(columns="device"), rival=file, drop=["bm25"], **QUICK)
    (rival,) = result.rivals.compared
    assert rival.mean == pytest.approx(by_hand(frame, "auto", ["device", "bm25"]), abs=1e-9)
    assert any("does not use interaction_constraints, which are not groups of its columns" in n for n in result.notes)


def test_lists_for_trees_say_what_the_trees_lack(frame, models):
    result = sr.select(frame.drop(columns="brand"), for_model=models / "number.txt", sizes=[2], cv=2)
    assert result.notes[0].startswith("the trees are handicapped: they are trained without brand, which the table")


def test_a_comparison_that_some_data_do_not_allow_is_left_out(frame, models):
    train, test = frame[frame["qid"] < 40], frame[frame["qid"] >= 40].drop(columns="device")
    result = sr.select(train, None, test, rival=models / "number.txt", ignore_columns=["device"], **QUICK)
    (left,) = result.rivals.left_out
    assert left.reason == "trees need the column 'device', which some of the data do not have; add it"


def test_without_a_file_categories_are_whole_too(frame, monkeypatch):
    few = tree_rivals.trees.TreeSettings(TREES, tuple(SETTINGS.items()))
    monkeypatch.setattr(tree_rivals.trees, "LIGHTGBM_SETTINGS", few)
    used = frame.drop(columns="device")
    (rival,) = sr.select(used, rival="lightgbm", categories=["shop"], **QUICK).rivals.compared
    assert rival.mean == pytest.approx(by_hand(frame, ["brand", "shop"], ["device"]), abs=1e-9)
    (rival,) = sr.select(used, rival="lightgbm", drop=["brand"], **QUICK).rivals.compared
    assert rival.mean == pytest.approx(by_hand(frame, "auto", ["device", "brand"]), abs=1e-9)


BY_FEATURE = {
    "monotone_constraints": [1, 0, 0, -1, 0],
    "interaction_constraints": [[0, 1], [2, 3, 4]],
    "feature_contri": [0.2, 1.0, 1.0, 0.5, 1.0],
    "max_bin_by_feature": [9, 255, 255, 15, 255],
}


@pytest.mark.parametrize("name", BY_FEATURE)
def test_values_by_feature_belong_to_the_features_of_the_file(frame, name, tmp_path):
    """Whatever the order of the table, and also where the table lacks a feature of the file."""
    own = {**SETTINGS, name: BY_FEATURE[name]}
    text = {
        n: ",".join(str(v).replace(" ", "") for v in value) if isinstance(value, list) else value
        for n, value in own.items()
    }
    held = lightgbm.Dataset(for_lightgbm(frame), frame["label"], group=SIZES)
    lightgbm.train({**text, "verbosity": -1}, held, TREES).save_model(tmp_path / "m.txt")
    other = frame[["device", "click rate", "label", "qid", "shop", "brand", "bm25"]]
    expected = by_hand(frame, "auto", settings=text)
    assert expected != by_hand(frame, "auto")
    (rival,) = sr.select(other, rival=tmp_path / "m.txt", **QUICK).rivals.compared
    assert rival.mean == pytest.approx(expected, abs=1e-9)
    # without the first feature, whose value goes with it
    rest = BY_FEATURE[name][1:] if name != "interaction_constraints" else [[0], [1, 2, 3]]
    less = {**SETTINGS, name: ",".join(str(v).replace(" ", "") for v in rest)}
    result = sr.select(other.drop(columns="bm25"), rival=tmp_path / "m.txt", **QUICK)
    (rival,) = result.rivals.compared
    assert rival.mean == pytest.approx(by_hand(frame, "auto", ["bm25"], settings=less), abs=1e-9)
    assert (
        "LightGBM as in m.txt is handicapped: it is trained without bm25, which the table does not have."
        in result.sentences
    )
    assert not any("does not use" in note for note in result.notes)
    # a file of parameters has the order of the table
    (tmp_path / "p.json").write_text(json.dumps({**own, "num_iterations": TREES}))
    used = frame.drop(columns="device")
    if name == "interaction_constraints":
        of_four = {**SETTINGS, name: [[0, 1], [2, 3]], "num_iterations": TREES}
        (tmp_path / "p.json").write_text(json.dumps(of_four))
        (rival,) = sr.select(used, rival=tmp_path / "p.json", **QUICK).rivals.compared
        of_four = {**SETTINGS, name: "[0,1],[2,3]"}
        assert rival.mean == pytest.approx(by_hand(frame, "auto", ["device"], settings=of_four), abs=1e-9)
    else:
        notes = sr.select(used, rival=tmp_path / "p.json", **QUICK).notes
        assert any(f"{name}, which does not have a value for each of 4 columns" in note for note in notes)


# -- lists for the trees of a file ------------------------------------------------------------------------------


def test_lists_for_trees_hold_columns_of_the_table(frame, models, cli_here: Cli):
    frame.to_parquet("t.parquet")
    done = cli_here("select", "t.parquet", "--for-model", models / "category.txt", "--folds", 3, "--out", "run").done
    content = json.loads(Path("run/result.json").read_text())
    assert content["n_features"] == 5
    assert "of 5 features" in done.out
    names = Path("run/features.txt").read_text().splitlines()
    assert set(names) <= set(COLUMNS)
    assert {row["k"] for row in content["lists"]} == {1, 2, 3, 4}
    assert content["all_features"]["mean"] == pytest.approx(by_hand(frame, ["brand", "device", "shop"]), abs=1e-9)
    # The file is one that pandas' categories fit, and a system of evaluate.
    booster = lightgbm.Booster(model_file="run/trees.txt")
    X = for_lightgbm(frame).rename(columns={"click rate": "click_rate"})[booster.feature_name()]
    assert set(names) == {name.replace("_", " ") for name in X}
    evaluated = cli_here("evaluate", "t.parquet", "--system", "run/trees.txt", "--format", "json").done
    expected = mean_ndcg(booster.predict(X), frame)
    assert json.loads(evaluated.out)[0]["mean"] == pytest.approx(expected, abs=1e-9)
    refused = cli_here("predict", "run", "t.parquet")
    assert refused.code == 1
    assert "load its trees with lightgbm.Booster(model_file='run/trees.txt')" in " ".join(refused.err.split())
    with pytest.raises(ModelFormatError, match=r"lightgbm\.Booster"):
        sr.load_model("run")


# -- a model file as a system -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("own", ["category", "number"])
def test_a_model_file_is_a_system_of_evaluate(frame, models, own, form, cli_here: Cli):
    """By the prediction of LightGBM itself on the frame; rows in another order, columns too, unknown categories."""
    mixed = frame[frame.columns[::-1]].sample(frac=1.0, random_state=5)
    mixed.loc[mixed.index[::9], "brand"] = "never seen"
    getattr(mixed, f"to_{form}")(f"t.{form}", index=False)
    booster = lightgbm.Booster(model_file=models / f"{own}.txt")
    again = mixed.sort_values("qid", kind="stable")
    expected = mean_ndcg(booster.predict(for_lightgbm(again)), again)
    done = cli_here(
        "evaluate", f"t.{form}", "--system", models / f"{own}.txt", "--metric", "ndcg@10", "--format", "json"
    )
    assert json.loads(done.done.out)[0]["mean"] == pytest.approx(expected, abs=1e-9)


def test_what_a_system_lacks_is_one_sentence(frame, models, cli_here: Cli, monkeypatch):
    frame.drop(columns="brand").to_parquet("less.parquet")
    frame.rename(columns=dict(zip(COLUMNS, "vwxyz", strict=True))).to_parquet("other.parquet")
    frame.assign(brand=frame["brand"].str.upper()).to_parquet("upper.parquet")
    frame.assign(brand=np.arange(N) % 5).to_parquet("coded.parquet")
    model = models / "category.txt"
    for data, message in (
        ("less.parquet", "category.txt: needs 'brand', which the data do not have; add the columns."),
        ("other.parquet", "category.txt: needs 'bm25, brand, shop, click_rate, device', which the data do not have"),
        ("upper.parquet", "category.txt: has 'brand 00' for 'brand' where the data have 'BRAND"),
        ("coded.parquet", "category.txt: does not say to which columns its categories belong"),
    ):
        refused = cli_here("evaluate", data, "--system", model)
        assert refused.code == 1
        assert message in " ".join(refused.err.split())
    held = lightgbm.Dataset(
        for_lightgbm(frame).assign(brand=frame["brand"].astype("category").cat.codes), frame["label"], group=SIZES
    )
    lightgbm.train({**SETTINGS, "verbosity": -1}, held, 3).save_model("own.txt")
    frame.to_parquet("t.parquet")
    refused = cli_here("evaluate", "t.parquet", "--system", "own.txt")
    assert "own.txt: has a number for 'brand' where the data have 'brand" in " ".join(refused.err.split())
    notes = sr.select(frame, rival="own.txt", **QUICK).notes
    assert "LightGBM as in own.txt takes brand as categories: text in the table, numbers in the file." in notes

    held = lightgbm.Dataset(frame[["bm25", "shop"]], frame["label"], group=SIZES)
    lightgbm.train({**SETTINGS, "verbosity": -1}, held, 3).save_model("plain.txt")

    def absent(name: str, *more: Any) -> Any:
        if name == "lightgbm":
            raise ModuleNotFoundError("No module named 'lightgbm'", name="lightgbm")
        return known(name, *more)

    known = importlib.import_module
    monkeypatch.setattr(tree_rivals.trees.importlib, "import_module", absent)
    data = sr.read(frame, missing="median")
    with pytest.raises(DataError, match="trees need LightGBM; install it with"):
        scores_of_saved("plain.txt", data)


def test_what_our_models_may_not_read_is_said_and_is_in_no_list(frame: Any, tmp_path: Path) -> None:
    """A leak in the user's own file: left out by the user, it leads no list, and the rival that reads it is named."""
    leaky = frame[["qid", "label", "bm25", "shop"]].assign(clicked=frame["label"] + 0.5)
    X = leaky[["bm25", "shop", "clicked"]]
    held = lightgbm.Dataset(X, leaky["label"], group=SIZES)
    lightgbm.train({**SETTINGS, "verbosity": -1}, held, TREES).save_model(tmp_path / "leak.txt")
    for options in ({"ignore_columns": ["clicked"]}, {"drop": ["clicked"]}):
        lists = sr.select(leaky, for_model=tmp_path / "leak.txt", sizes=[1], cv=2, **options)
        assert {row["feature"] for row in lists.facts.features} <= {"bm25", "shop"}
        result = sr.select(leaky, rival=tmp_path / "leak.txt", **QUICK, **options)
        said = "LightGBM as in leak.txt reads clicked, which our models do not"
        assert sum(note.startswith(said) for note in result.notes) == 1
        assert said in " ".join(" ".join(str(result).split()).split())
    assert not any("which our models do not" in n for n in sr.select(leaky, rival=tmp_path / "leak.txt", **QUICK).notes)
