"""A model file of LightGBM as a system of `evaluate`, and as a rival without some of its features."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.saved_trees import read_saved_trees
from sparserank.crossval.tree_rivals import tree_rivals
from sparserank.data.reading import Reading
from sparserank.errors import DataError, DataFormatError
from tests.support.command_line import Cli

lightgbm = pytest.importorskip("lightgbm")
pd = pytest.importorskip("pandas")
PARAMETERS = {"objective": "lambdarank", "verbosity": -1, "min_data_in_leaf": 3, "num_threads": 1}
N = 400
QUICK = {"penalties": "l1", "n_alphas": 8, "cv": 3, "half_samples": 0, "feature_transform": "none"}


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
    result = sr.select(data, rival=trained[0], **QUICK)
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
