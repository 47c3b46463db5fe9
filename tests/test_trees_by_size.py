"""The benchmark against trees: the same folds, features chosen inside them, joint intervals, resumed runs.
A model file of LightGBM is a system of `evaluate`, and a rival without some of its features.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import trees_by_size
from benchmarks.trees_by_size import ALL, CHOICE, ComparisonPlan, compare, comparison_section, simultaneous_intervals

import sparserank as sr
from sparserank.crossval.saved_trees import read_saved_trees
from sparserank.crossval.tree_rivals import tree_rivals
from sparserank.crossval.trees import TreeSettings, fit_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.data.reading import Reading
from sparserank.datasets import make_ranking
from sparserank.errors import DataError, DataFormatError
from sparserank.evaluation import per_query_values
from sparserank.paths import PathPlan
from sparserank.selection.plan import make_plan
from tests.support.command_line import Cli
from tests.support.shortcuts import no_processes

QUICK = TreeSettings(20, (("num_leaves", 4), ("bagging_fraction", 0.8), ("bagging_freq", 1)))


def plan_of(**more):
    judged = {"metric": "ndcg@10", "report_metrics": (), "convention": "default"}
    plan = make_plan(penalties="mcp", **judged, path_plan=PathPlan(n_alphas=15), cv=3, feature_transform="none")
    return ComparisonPlan(plan, QUICK, **{"sizes": (2, 4), "repeats": 2, "n_seeds": 2, **more})


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return make_ranking(60, (8, 12), 12, n_informative=3, n_redundant=2, random_state=5).data


@pytest.fixture(scope="module")
def result(data):
    with no_processes():
        return compare(data, plan_of())


def test_every_system_has_every_size_and_a_value_of_every_query(data, result):
    assert result.sizes == [2, 4]
    orders = ("own gain", "SHAP", "recursive gain", "random", "ours")
    assert result.names == ["mcp", *(f"trees on {order}" for order in orders)]
    for s in result.systems:
        assert s.values.shape == (data.n_queries,)
        assert np.isfinite(s.values).all()
    assert len(result.n_chosen) == 2
    assert result.all_features.k is None
    rows = result.rows()
    assert {r["system"] for r in rows} == {*result.names, CHOICE, ALL}
    for r in rows:
        if r["system"] != ALL:
            assert r["low"] <= r["difference"] <= r["high"]
    assert all(result.of("mcp")[k].mean > result.of("trees on random")[k].mean for k in (2, 4))


@pytest.mark.usefixtures("no_processes")
def test_trees_are_judged_on_queries_that_they_have_not_seen(data):
    """The trees on all features, by hand."""
    plan = plan_of(repeats=1, n_seeds=1, sizes=(2,))
    found = compare(data, plan).all_features.values
    fold = query_folds(data.n_queries, 3, plan.plan.random_state)
    by_hand, seen = np.zeros(data.n_queries), np.zeros(data.n_queries)
    for f in range(3):
        out = np.flatnonzero(fold == f)
        train, test = data.take_queries(np.flatnonzero(fold != f)), data.take_queries(out)
        varying = np.flatnonzero(~train.constant_features())
        trees = fit_trees(train, varying, QUICK, seed=f)
        by_hand[out] = per_query_values(trees.scores(test.X), test, [plan.plan.metric])[0]
        whole = fit_trees(data, varying, QUICK, seed=f)
        seen[out] = per_query_values(whole.scores(test.X), test, [plan.plan.metric])[0]
    np.testing.assert_allclose(found, by_hand)
    assert seen.mean() > by_hand.mean() + 0.01  # what has seen the queries would be flattered


def test_intervals_hold_for_all_sizes_at_once():
    rng = np.random.default_rng(0)
    together = alone = 0
    for _ in range(200):
        d = rng.standard_normal((10, 40))
        low, high = simultaneous_intervals(d, 0.9)
        together += bool(((low <= 0) & (high >= 0)).all())
        half = 1.69 * d.std(axis=1, ddof=1) / np.sqrt(40)  # each alone
        alone += bool((np.abs(d.mean(axis=1)) <= half).all())
    assert together / 200 == pytest.approx(0.9, abs=0.07)
    assert alone / 200 < 0.6
    low, high = simultaneous_intervals(np.zeros((2, 10)), 0.9)
    assert (low == 0).all()
    assert (high == 0).all()


@pytest.mark.usefixtures("no_processes")
def test_finished_pieces_are_kept_and_change_nothing(data, tmp_path, monkeypatch):
    plan, made = plan_of(repeats=1, sizes=(2,)), []
    whole = trees_by_size._trees

    def stop(*given):
        made.append(given[2])
        if len(made) == 2:
            raise KeyboardInterrupt
        return whole(*given)

    monkeypatch.setattr(trees_by_size, "_trees", stop)
    with pytest.raises(KeyboardInterrupt):
        compare(data, plan, tmp_path / "run")
    again = compare(data, plan, tmp_path / "run")
    assert made == [0, 1, 1, 2]
    fresh = compare(data, plan)
    for a, b in zip(again.systems, fresh.systems, strict=True):
        assert (a.name, a.k) == (b.name, b.k)
        np.testing.assert_array_equal(a.values, b.values)


@pytest.mark.usefixtures("pictures")
def test_the_section_shows_every_system(result):
    section = comparison_section(result, "Made", "made")
    assert [row[0] for row in section.tables[0].rows] == result.names
    assert "<svg" in section.pictures[0].svg
    assert "Our choice of" in section.text


def test_what_cannot_be_compared_is_refused(data):
    halves = RankingDataset(data.X, data.relevance + 0.5, data.qid)
    with pytest.raises(DataError, match="whole grades from 0 to 30; row 0 has"):
        compare(halves, plan_of())
    with pytest.raises(DataError, match="a single query cannot be split"):
        compare(data.take_queries(np.arange(1)), plan_of())
    rng = np.random.default_rng(0)
    long = RankingDataset(rng.random((10_101, 2)), rng.integers(0, 2, 10_101), np.repeat([1, 2], [10_001, 100]))
    with pytest.raises(DataError, match="query 1 has 10001 documents"):
        compare(long, plan_of())


lightgbm = pytest.importorskip("lightgbm")
pd = pytest.importorskip("pandas")
PARAMETERS = {"objective": "lambdarank", "verbosity": -1, "min_data_in_leaf": 3, "num_threads": 1}
N = 400
FEW = {"penalties": "l1", "n_alphas": 8, "cv": 3, "half_samples": 0, "feature_transform": "none"}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Rows in no order of queries, with text, numbered categories, blanks in names and missing values."""
    rng = np.random.default_rng(3)
    columns = {"qid": np.repeat(np.arange(20), 20), "price": rng.normal(size=N)}
    columns |= {"brand": rng.choice(["anna", "béa, x", "carl"], N), "shop": rng.choice([3, 7, 9], N)}
    made = pd.DataFrame({**columns, "click rate": rng.normal(size=N), "same": 1.0})
    made.loc[5, "brand"], made.loc[7, "price"] = None, np.nan
    grade = (made["price"] > 0).astype(int) + (made["brand"] == "anna") + (made["shop"] == 7)
    made.insert(0, "label", grade)
    return made.iloc[rng.permutation(N)].reset_index(drop=True)


@pytest.fixture(scope="module")
def trained(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """(model file, LightGBM's own scores of the rows)"""
    by_query = frame.sort_values("qid", kind="stable")
    columns = ["price", "brand", "shop", "click rate", "same"]
    own = by_query[columns].astype({"brand": "category", "shop": "category"})
    booster = lightgbm.train(PARAMETERS, lightgbm.Dataset(own, by_query["label"], group=[20] * 20), 5)
    path = tmp_path_factory.mktemp("trees") / "mine.txt"
    booster.save_model(path)
    given = frame[columns].astype({"brand": own["brand"].dtype, "shop": own["shop"].dtype})
    return path, booster.predict(given)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_scores_are_those_of_lightgbm_itself_with_categories_and_missing_values(frame, trained, form, tmp_path):
    pytest.importorskip("pyarrow")
    path, expected = trained
    with_new = frame.assign(date="2024-01-01")  # a column that the trees do not know
    table = tmp_path / f"t.{form}"
    with_new.to_parquet(table, index=False) if form == "parquet" else with_new.to_csv(table, index=False)
    trees = read_saved_trees(path)
    assert len(trees.categories) == 2
    assert "same" not in [trees.features[j] for j in trees.used]
    np.testing.assert_array_equal(trees.scores([table], Reading()), expected)
    unjudged = with_new.assign(label=np.where(np.arange(N) % 7 == 0, -1, with_new["label"]))
    unjudged.to_parquet(table, index=False) if form == "parquet" else unjudged.to_csv(table, index=False)
    np.testing.assert_array_equal(
        trees.scores([table], Reading(unjudged="drop")), expected[unjudged["label"].to_numpy() >= 0]
    )


def test_a_category_that_the_trees_have_not_seen_is_missing_and_other_categories_are_refused(frame, trained, tmp_path):
    pytest.importorskip("pyarrow")
    path, expected = trained
    new = frame["brand"].where(frame["brand"] != "carl", "eve")
    frame.assign(brand=new).to_parquet(tmp_path / "new.parquet", index=False)
    frame.assign(brand="eve").to_parquet(tmp_path / "all.parquet", index=False)
    trees = read_saved_trees(path)
    found = trees.scores([tmp_path / "new.parquet"], Reading())
    others = (frame["brand"] != "carl").to_numpy()
    np.testing.assert_array_equal(found[others], expected[others])
    assert np.isfinite(found).all()
    with pytest.raises(DataError, match=r"'brand' has none of the categories that .*'eve'"):
        trees.scores([tmp_path / "all.parquet"], Reading())


def test_what_the_data_lack_is_named(frame, trained, tmp_path):
    pytest.importorskip("pyarrow")
    trees = read_saved_trees(trained[0])
    for table, message in (
        (frame.drop(columns="brand"), "has no feature 'brand', which .*mine.txt uses"),
        (frame.drop(columns="price"), "has no feature 'price', which .*mine.txt uses"),
        (frame.assign(price="much"), "column 'price' is not numeric, as .*mine.txt needs it"),
    ):
        table.to_parquet(tmp_path / "t.parquet", index=False)
        with pytest.raises(DataError, match=message):
            trees.scores([tmp_path / "t.parquet"], Reading())
    (tmp_path / "t.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    with pytest.raises(DataError, match=r"contains no text, but brand of .* is a category in text; give a table"):
        trees.scores([tmp_path / "t.txt"], Reading())


def test_trees_without_names_find_the_features_of_text_by_their_number(cli_here: Cli, tmp_path):
    made = sr.datasets.make_ranking(20, 10, 6, n_informative=4, n_redundant=1, random_state=1).data
    sr.write_letor(made, "made.txt")
    held = lightgbm.Dataset(made.X, made.relevance, group=np.diff(made.query_ptr))
    booster = lightgbm.train(PARAMETERS, held, 5)
    booster.save_model("mine.txt")
    np.savetxt("scores.txt", booster.predict(made.X), fmt="%.17g")
    done = cli_here("evaluate", "made.txt", "--system", "mine.txt", "--system", "scores.txt", "--format", "json").done
    mine, scores = ([r["mean"] for r in json.loads(done.out) if r["system"] == s] for s in ("mine.txt", "scores.txt"))
    assert mine == scores
    # LightGBM's own reader counts from 0: column 0 is then empty, and every feature would be another one.
    shifted = np.hstack([np.zeros((made.n_docs, 1)), made.X])
    held = lightgbm.Dataset(shifted, made.relevance, group=np.diff(made.query_ptr))
    lightgbm.train(PARAMETERS, held, 5).save_model("mine.txt")
    refused = cli_here("evaluate", "made.txt", "--system", "mine.txt")
    assert refused.code == 1
    assert "has 6 features, but mine.txt has 7" in " ".join(refused.err.split())
    again = cli_here("evaluate", "made.txt", "--system", "mine.txt", "--index-base", "0", "--format", "json").done
    assert json.loads(again.out)[0]["mean"] == pytest.approx(mine[0], abs=1e-12)


def test_a_damaged_file_is_refused_before_lightgbm_sees_it(trained, tmp_path):
    """LightGBM ends the process, or never returns, on trees that it cannot walk through."""
    text = trained[0].read_text()
    behind = {"leaf_value=": "1 ", "threshold=": "q", "left_child=": "9", "split_feature=": "9", "tree_sizes=": "1"}
    instead = {"cat_boundaries=0": "cat_boundaries=7", "decision_type": "decision_tipe"}
    for old, new in (
        *((old, old + more) for old, more in {**behind, "pandas_categorical:": "["}.items()),
        *(("num_leaves=31", new) for new in ("num_leaves=3x", "num_leaves=30")),
        *instead.items(),
        ('pandas_categorical:[["anna"', 'pandas_categorical:[[null, "anna"'),
    ):
        damaged = text.replace(old, new, 1)
        assert damaged != text
        first = damaged.index("Tree=0\n")
        size = len(damaged[first : damaged.index("Tree=1\n")].encode())
        lines = damaged.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("tree_sizes="))
        if not old.startswith("tree_sizes"):
            lines[at] = " ".join([f"tree_sizes={size}", *lines[at].split()[1:]])
        (tmp_path / "m.txt").write_text("\n".join(lines) + "\n")
        with pytest.raises(DataFormatError, match="is a LightGBM model that is damaged"):
            read_saved_trees(tmp_path / "m.txt")


def test_what_can_score_no_documents_is_refused(trained, tmp_path, cli_here: Cli, monkeypatch):
    X, y = np.arange(60.0).reshape(-1, 1), np.arange(60) % 3
    several = {"objective": "multiclass", "num_class": 3, "verbosity": -1, "num_threads": 1}
    lightgbm.train(several, lightgbm.Dataset(X, y), 2).save_model(tmp_path / "m.txt")
    with pytest.raises(DataError, match="scores classes, not documents"):
        read_saved_trees(tmp_path / "m.txt")
    (tmp_path / "judged.qrels").write_text("1 0 a 1\n1 0 b 0\n")
    refused = cli_here("evaluate", "--qrels", str(tmp_path / "judged.qrels"), "--system", str(trained[0]))
    assert refused.code == 2
    assert "must be runs or models of fuse" in " ".join(refused.err.replace("│", " ").split())
    monkeypatch.setitem(sys.modules, "lightgbm", None)  # as where it is not installed
    with pytest.raises(DataError, match=r"LightGBM is not installed; install it with: pip install .*, or score the"):
        read_saved_trees(trained[0])


@pytest.mark.parametrize(
    "more", [{"boosting": "dart"}, {"linear_tree": True, "objective": "regression"}, {"min_data_in_leaf": 999}]
)
def test_trees_of_other_kinds_are_not_taken_for_damaged(more, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    given = {**PARAMETERS, **more}
    held = lightgbm.Dataset(X, (X[:, 0] > 0).astype(int), group=[20] * 6, params=given)
    booster = lightgbm.train(given, held, 3)
    booster.save_model(tmp_path / "m.txt")
    np.testing.assert_array_equal(read_saved_trees(tmp_path / "m.txt").booster.predict(X), booster.predict(X))


def test_the_row_of_a_rival_names_the_features_that_are_missing(frame, trained, tmp_path):
    numeric = frame.drop(columns=["brand", "qid", "label"]).fillna(0.0)
    data = sr.RankingDataset(numeric, frame["label"], frame["qid"])
    result = sr.select(data, rival=trained[0], **FEW)
    (row,) = result.rivals.compared
    assert row.name == "LightGBM as in mine.txt, without brand"
    assert row.title == "LightGBM as in mine.txt, without brand, on 4 features"
    assert "mine.txt, without brand  " in str(result)
    assert any(row.name in sentence for sentence in result.rivals.sentences("ndcg@10", "95%"))
    whole = sr.RankingDataset(numeric.assign(brand=1.0), frame["label"], frame["qid"])
    names = [r.name for r in tree_rivals(trained[0], whole).trees]
    assert names == ["LightGBM as in mine.txt"]
    dropped = tree_rivals(trained[0], whole, [0, 3])  # `same`, number 3, had one value in training
    assert dropped.trees[0].name == "LightGBM as in mine.txt, without price"
    (tmp_path / "train.conf").write_text("num_trees = 5\ncategorical_feature = name:brand,date\n")
    assert tree_rivals(tmp_path / "train.conf", data).trees[0].name == "LightGBM as in train.conf, without brand, date"
    other = data.rename_features(list("wxyz"))
    assert tree_rivals(trained[0], other).trees[0].name == "LightGBM as in mine.txt, without its own features"
