"""The benchmark against trees: the same folds, features chosen inside them, joint intervals, resumed runs.
A model file of LightGBM is a rival without some of its features.
"""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import trees_by_size
from benchmarks.trees_by_size import ALL, CHOICE, ComparisonPlan, compare, comparison_section, simultaneous_intervals

import sparserank as sr
from sparserank.crossval.tree_rivals import tree_rivals
from sparserank.crossval.trees import TreeSettings, fit_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.datasets import make_ranking
from sparserank.errors import DataError
from sparserank.evaluation import per_query_values
from sparserank.paths import PathPlan
from sparserank.report.page import lead
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
def trained(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file of LightGBM."""
    by_query = frame.sort_values("qid", kind="stable")
    columns = ["price", "brand", "shop", "click rate", "same"]
    own = by_query[columns].astype({"brand": "category", "shop": "category"})
    booster = lightgbm.train(PARAMETERS, lightgbm.Dataset(own, by_query["label"], group=[20] * 20), 5)
    path = tmp_path_factory.mktemp("trees") / "mine.txt"
    booster.save_model(path)
    return path


def test_a_model_of_lightgbm_does_not_rank_judgments_without_documents(trained, tmp_path, cli_here: Cli):
    (tmp_path / "judged.qrels").write_text("1 0 a 1\n1 0 b 0\n")
    refused = cli_here("evaluate", "--qrels", str(tmp_path / "judged.qrels"), "--system", str(trained))
    assert refused.code == 2
    assert "must be runs or models of fuse with --qrels" in " ".join(refused.err.split())


def test_the_row_of_a_rival_names_the_features_that_are_missing(frame, trained, tmp_path):
    numeric = frame.drop(columns=["brand", "qid", "label"]).fillna(0.0)
    data = sr.RankingDataset(numeric, frame["label"], frame["qid"])
    result = sr.select(data, rival=trained, **FEW)
    (row,) = result.rivals.compared
    assert row.name == "LightGBM as in mine.txt, without brand"
    assert row.title == "LightGBM as in mine.txt, without brand, on 4 features"
    assert "mine.txt, without brand  " in str(result)
    assert any(row.name in sentence for sentence in result.sentences)
    assert row.lacks == ("brand",)
    handicap = "LightGBM as in mine.txt is handicapped: it is trained without brand, which the table does not have."
    assert handicap in str(result).partition("ndcg@10  against")[0]  # above the table
    assert handicap in result.sentences
    assert handicap in lead(result.claims)
    assert result.to_json()["rivals"][0]["lacks"] == ["brand"]
    whole = sr.RankingDataset(numeric.assign(brand=1.0), frame["label"], frame["qid"])
    names = [tree_rivals(trained, whole).rival.name]
    assert names == ["LightGBM as in mine.txt"]
    dropped = tree_rivals(trained, whole, [0, 3])  # columns that our models may not use
    assert dropped.rival.name == "LightGBM as in mine.txt"
    assert dropped.rival.table.names == ("price", "brand", "shop", "click rate", "same")
    assert len(dropped.rival.columns) == 5
    (tmp_path / "train.conf").write_text("num_trees = 5\ncategorical_feature = name:brand,date\n")
    assert tree_rivals(tmp_path / "train.conf", data).rival.name == "LightGBM as in train.conf, without brand, date"
    other = data.rename_features(list("wxyz"))
    assert tree_rivals(trained, other).rival.name == "LightGBM as in mine.txt, without its own features"
