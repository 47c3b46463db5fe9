"""Trees as rivals of `select`: trained on its folds, compared, never chosen; settings from a user's own files."""

import importlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval import tree_rivals, trees
from sparserank.crossval.tree_files import read_tree_file
from sparserank.crossval.tree_rivals_on_folds import TreesOnFolds
from sparserank.crossval.trees import TreeData, TreeSettings, fit_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.datasets import make_ranking
from sparserank.errors import DataFormatError, ParameterError
from sparserank.evaluation.rival_intervals import rival_intervals
from tests.conftest import during
from tests.support import shortcuts

QUICK: dict[str, Any] = {"penalties": "l1", "n_alphas": 5, "cv": 3, "half_samples": 0, "feature_transform": "none"}
SETTINGS = {"objective": "lambdarank", "num_leaves": 4, "learning_rate": 0.05, "bagging_fraction": 0.8}
SETTINGS |= {"bagging_freq": 1, "feature_fraction": 0.8}
QUIET = {"verbosity": -1, "num_threads": 1}
FEW = TreeSettings(12, tuple(SETTINGS.items()))


small_ensembles = during(partial(shortcuts.trees, FEW), autouse=True, scope="module")


@pytest.fixture(scope="module")
def data() -> RankingDataset:
    return make_ranking(60, (8, 14), 8, n_informative=3, n_redundant=2, noise=0.6, random_state=4).data


@pytest.fixture(scope="module")
def selected(data: RankingDataset, small_ensembles: None) -> sr.SelectionResult:
    """The selection that several tests look at."""
    return sr.select(data, **QUICK)


@pytest.fixture(scope="module")
def bent() -> RankingDataset:
    """Relevance that no linear model sees: large where the first feature is near 0."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60 * 12, 4))
    y = (np.abs(X[:, 0]) < 0.6).astype(float) + (np.abs(X[:, 0]) < 0.2)
    return RankingDataset(X, y, np.repeat(np.arange(60), 12))


def by_hand(data: RankingDataset, settings: dict[str, Any], n_trees: int, columns: Any = None, **more: Any) -> Any:
    """(n_queries,) ndcg@10 of LightGBM itself, fold by fold, on the bins of all documents."""
    fold = query_folds(data.n_queries, 3, 0)
    X = data.X if columns is None else data.X[:, columns]
    scores = np.full(data.n_docs, np.nan)
    of_row = np.repeat(fold, np.diff(data.query_ptr))
    always = {"deterministic": True, "force_row_wise": True, **QUIET, "data_random_seed": 0}
    sizes = np.diff(data.query_ptr)
    for f in range(3):
        held = lightgbm.Dataset(X, data.relevance, group=sizes, params={**settings, **always}, **more)
        seen = held.subset(np.flatnonzero(of_row != f).tolist())
        booster = lightgbm.train({**settings, **always, "seed": f}, seen, n_trees)
        scores[of_row == f] = booster.predict(X[of_row == f])
    return sr.evaluate(data.to_input_order(scores), data, "ndcg@10").per_query["ndcg@10"]


def test_trees_are_those_of_lightgbm_itself_on_the_folds_of_the_selection(data, selected):
    (r,) = selected.rivals.compared
    assert r.name == "LightGBM"
    assert r.mean == pytest.approx(by_hand(data, SETTINGS, 12).mean(), abs=1e-12)
    assert abs(r.mean - by_hand(data, {**SETTINGS, "learning_rate": 0.5}, 12).mean()) > 1e-6
    assert r.n_features == 8


def test_folds_share_bins_that_labels_do_not_move(data):
    """Every fold has the bins of all documents, whatever their labels; trees on the queries of a fold alone differ."""
    whole = TreeData(data, np.arange(8), FEW)
    seen = np.arange(60) % 3 != 0
    rows = np.repeat(seen, np.diff(data.query_ptr))
    y = np.where(rows, data.relevance, data.relevance[::-1])
    other = TreeData(RankingDataset(data.X, y, data.qid), np.arange(8), FEW)
    scores = whole.fit(seen).scores(data.X)
    np.testing.assert_array_equal(other.fit(seen).scores(data.X), scores)
    own = fit_trees(data.take_queries(np.flatnonzero(seen)), np.arange(8), FEW, 0)
    assert (own.scores(data.X) != scores).any()


def test_every_call_of_lightgbm_names_the_number_of_threads(data, monkeypatch):
    """LightGBM keeps one number for the process: scoring with another, while a second thread begins to train, was a
    segmentation fault."""
    numbers = []
    score = lightgbm.Booster.predict

    def spy(self: Any, X: Any, **options: Any) -> Any:
        numbers.append(options.get("num_threads"))
        return score(self, X, **options)

    monkeypatch.setattr(lightgbm.Booster, "predict", spy)
    held = TreeData(data, np.arange(8), FEW, 0, n_threads=1)
    held.fit(np.arange(60) < 40).scores(data.X)
    TreeData(data, np.arange(8), FEW, 0, n_threads=2).fit().scores(data.X)
    assert numbers == [1, 2]
    assert held._dataset.params["num_threads"] == 1


def test_threads_that_share_bins_change_nothing(data):
    def scores(held: TreeData) -> Any:
        return lambda f: held.fit(np.arange(60) % 3 != f, f).scores(data.X)

    one = list(map(scores(TreeData(data, np.arange(8), FEW)), range(3)))
    for _ in range(5):
        with ThreadPoolExecutor(3) as pool:
            together = list(pool.map(scores(TreeData(data, np.arange(8), FEW)), range(3)))
        np.testing.assert_array_equal(together, one)


def test_rivals_move_nothing(data):
    current = sr.SparseRanker(penalty="ridge", alpha=0.1).fit_dataset(data).to_model()
    results = [sr.select(data, rival=rival, current=current, **QUICK) for rival in ("none", "lightgbm")]
    a, b = (r.to_json() for r in results)
    assert a["rivals"] == []
    assert len(b["rivals"]) == 1
    assert list(b["corrected"]["leads"]) == [*a["corrected"]["leads"], "LightGBM"]
    del b["corrected"]["leads"]["LightGBM"]
    for q in (*b["queries"]["lost"], *b["queries"]["won"]):
        q["lists"] = [own for own in q["lists"] if "LightGBM" not in own["ranker"]]
    for name in a:
        if name not in ("rivals", "sentence", "sentences", "penalties", "origin"):  # which hold seconds and dates
            assert a[name] == b[name], name
    assert json.dumps(results[0].model.to_json()) == json.dumps(results[1].model.to_json())
    assert np.array_equal(results[0].choice.bounds.upper, results[1].choice.bounds.upper)


def ndcg_of(grades, all_grades):
    """NDCG@10 of a list by its grades: the oracle of what a page's lists are worth."""

    def dcg(own):
        return sum((2.0**y - 1.0) / np.log2(i + 2) for i, y in enumerate(own[:10]))

    ideal = dcg(sorted(all_grades, reverse=True))
    return dcg(grades) / ideal if ideal > 0 else 0.0


@pytest.mark.parametrize("where", ["out of fold", "test"])
def test_the_lists_of_a_query_are_those_that_the_rankers_are_judged_by(data, where):
    current = sr.SparseRanker(penalty="ridge", alpha=0.1).fit_dataset(data).to_model()
    train, test = data.take_queries(np.arange(40)), data.take_queries(np.arange(40, 60))
    parts = (train, None, test) if where == "test" else (data,)
    result = sr.select(*parts, current=current, **QUICK)
    judged = test if where == "test" else data
    ids = [str(q) for q in judged.query_ids]
    assert result.queries.on == where
    strongest = result.rivals.strongest.name
    assert [r.name for r in result.references] == ["all features", strongest, "model in use"]
    rankers = ["chosen model", "all features", strongest, "model in use"]
    seen = set()
    for q in (*result.queries.lost, *result.queries.won):
        at = ids.index(q.query)
        grades = judged.relevance[judged.query_ptr[at] : judged.query_ptr[at + 1]].tolist()
        assert [own.ranker for own in q.lists] == rankers
        if where == "out of fold":
            expected = [q.chosen, *(r.values[at] for r in result.references)]
        else:
            systems = list(result.test.values)  # chosen, dense, best single feature, and others by name
            named = [systems[0], systems[1], strongest, "model in use"]
            expected = [result.test.values[name]["ndcg@10"][at] for name in named]
        found = [ndcg_of([grade for _, grade in own.documents], grades) for own in q.lists]
        assert found == pytest.approx(expected)
        seen |= set(zip(rankers, found, strict=True))
    assert len({worth for _, worth in seen}) > 10  # they do differ
    assert ndcg_of([1, 0, 2], [0, 1, 2]) < ndcg_of([2, 1, 0], [0, 1, 2]) == 1.0


def test_every_size_is_compared_with_the_trees(selected):
    for rival in selected.rivals.compared:
        assert len(rival.sizes) == len(selected.by_size)
        for c, own in zip(selected.by_size, rival.sizes, strict=True):
            assert own.difference == pytest.approx(c.mean - rival.mean)
            assert own.low < c.mean - rival.mean < own.high
        at = selected.by_size.index(selected.chosen)
        assert (rival.sizes[at].low, rival.sizes[at].high) == (rival.low, rival.high)


def test_missing_values_of_training_and_validation_queries(data):
    """Both are learned from; trees see what is missing in either."""
    X = np.array(data.X)
    X[::5, 0] = np.nan
    first = np.isin(data.qid, data.query_ids[:40])
    parts = [(X[own], data.relevance[own], data.qid[own]) for own in (first, ~first)]
    whole = sr.select((X, data.relevance, data.qid), missing="median", **QUICK)
    split = sr.select(*parts, missing="median", **QUICK)
    assert len(split.rivals.compared) == 1
    names = list(whole.rivals.compared)
    assert [r.mean for r in split.rivals.compared] == pytest.approx([r.mean for r in names], abs=0.03)
    held = sr.select(*parts, missing="median", protocol="holdout", **QUICK)
    assert len(held.rivals.compared) == 1


def test_trees_are_not_trained_again_unless_settings_or_queries_are_others(data, tmp_path, monkeypatch):
    train, tests = data.take_queries(np.arange(40)), [data.take_queries(np.arange(a, a + 10)) for a in (40, 50)]
    first = sr.select(train, None, tests[0], out=tmp_path / "run", **QUICK)

    def never(*args: Any, **named: Any) -> None:
        raise AssertionError("trained again")

    with monkeypatch.context() as patch:
        patch.setattr(TreeData, "fit", never)
        assert sr.select(train, None, tests[0], out=tmp_path / "run", **QUICK).rivals == first.rivals
    stored, fresh = (sr.select(train, None, tests[1], **QUICK, **more) for more in ({"out": tmp_path / "run"}, {}))
    np.testing.assert_array_equal(*(r.test.values["LightGBM"]["ndcg@10"] for r in (stored, fresh)))
    monkeypatch.setattr(trees, "LIGHTGBM_SETTINGS", TreeSettings(3, (("num_leaves", 3),)))
    again = sr.select(train, None, tests[0], out=tmp_path / "run", **QUICK).rivals.compared
    assert again[0].mean != first.rivals.compared[0].mean


def test_on_test_and_holdout_queries_they_learn_from_all_training_queries(data):
    train, test = data.take_queries(np.arange(40)), data.take_queries(np.arange(40, 60))
    result = sr.select(train, None, test, **QUICK)
    held = sr.select(train, test, protocol="holdout", **QUICK)
    whole = lightgbm.Dataset(train.X, train.relevance, group=np.diff(train.query_ptr))
    settings = {**SETTINGS, **QUIET, "deterministic": True, "force_row_wise": True, "seed": 0}
    booster = lightgbm.train(settings, whole, 12)
    expected = sr.evaluate(booster.predict(test.X), test, "ndcg@10").per_query["ndcg@10"]
    np.testing.assert_allclose(result.test.values["LightGBM"]["ndcg@10"], expected, atol=1e-12)
    assert held.rivals.compared[0].mean == pytest.approx(expected.mean(), abs=1e-12)


def test_weights_of_queries_hold_for_trees_too(data, selected):
    weight = dict(zip(data.query_ids.tolist(), np.linspace(0.1, 3, data.n_queries).tolist(), strict=True))
    weighted = sr.select(data, query_weight=weight, **QUICK)
    of_row = np.repeat(np.linspace(0.1, 3, data.n_queries), np.diff(data.query_ptr))
    expected = by_hand(data, SETTINGS, 12, weight=of_row).mean()
    assert weighted.rivals.compared[0].mean == pytest.approx(expected, abs=1e-12)
    assert weighted.rivals.compared[0].mean != selected.rivals.compared[0].mean


def test_features_that_no_model_may_use_are_not_used_by_trees(data):
    result = sr.select(data, drop=[data.feature_names[0]], **QUICK)
    expected = by_hand(data, SETTINGS, 12, np.arange(1, 8)).mean()
    assert result.rivals.compared[0].mean == pytest.approx(expected, abs=1e-12)


def test_trees_take_missing_values_as_they_are():
    """A value is missing where a document is relevant: a median hides it, trees see it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80 * 10, 3))
    y = rng.integers(0, 2, 800).astype(float)
    X[:, 1] = np.where(y == 1, np.nan, X[:, 1])
    qid = np.repeat(np.arange(80), 10)
    result = sr.select((X, y, qid), missing="median", **QUICK)
    assert result.rivals.compared[0].mean > 0.95
    assert result.choice.best.mean < 0.85


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"rival_time": 1e-9}, "took longer than 1e-09 s"),
        ("objective = lambdarank\nnum_leaves = 1\n", "LightGBM cannot be trained with these settings"),
        ("num_trees = 3\nlearning_rate = inf\n", "infinite or NaN"),
        ("half grades", "whole grades"),
        ("broken library", "LightGBM is installed, but cannot be loaded (libgomp.so.1: "),
    ],
)
def test_trees_that_cannot_be_trained_are_left_out_and_named(data, given, reason, tmp_path, monkeypatch):
    """No selection ends for a rival that is too slow, refused by LightGBM, or for a broken installation of it."""

    def broken(name: str) -> Any:
        if name.startswith("sparserank."):
            return whole(name)
        raise ImportError("libgomp.so.1: cannot open shared object file")

    options, whole = given if isinstance(given, dict) else {}, importlib.import_module
    if given == "half grades":
        data = RankingDataset(data.X, data.relevance / 2, data.qid)
    elif given == "broken library":
        monkeypatch.setattr("sparserank.crossval.trees.importlib.import_module", broken)
    elif isinstance(given, str):
        (tmp_path / "train.conf").write_text(given)
        options = {"rival": tmp_path / "train.conf"}
    result = sr.select(data, **options, **QUICK)
    assert result.rivals.compared == ()
    (left,) = result.rivals.left_out
    assert left.name.startswith("LightGBM")
    assert reason in left.reason
    assert any(reason in sentence for sentence in result.sentences)
    assert result.to_json()["left_out_rivals"][0]["name"] == left.name


def test_an_interrupt_does_not_wait_for_trees(data, monkeypatch):
    """Trees that would take an hour end after one tree once the loop around them is left."""
    monkeypatch.setattr(trees, "LIGHTGBM_SETTINGS", TreeSettings(50_000, (("num_leaves", 4),)))

    def interrupted(done: int, n: int, what: str, left: float | None) -> None:
        if what.startswith("LightGBM"):
            raise KeyboardInterrupt

    def first_is_quick(self: Any, *given: Any) -> Any:
        return {"scores": np.zeros(1), "by_gain": np.arange(8)} if given[-1] == 0 else whole(self, *given)

    whole = TreesOnFolds._trained
    monkeypatch.setattr(TreesOnFolds, "_trained", first_is_quick)
    before, began = threading.active_count(), time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sr.select(data, progress=interrupted, n_threads=2, **QUICK)
    while threading.active_count() > before and time.monotonic() - began < 60:
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_where_trees_are_shown_better_there_is_a_remedy(bent, monkeypatch):
    monkeypatch.setattr(trees, "LIGHTGBM_SETTINGS", TreeSettings(60, (("num_leaves", 8), ("learning_rate", 0.1))))
    result = sr.select(bent, **QUICK)
    best = result.rivals.better
    assert best is not None
    assert best.high < 0
    remedy = "penalties='steps' may close the gap; to choose features for it, use "
    assert "chosen against LightGBM on 4 features" in result.headline
    assert f"the rival is shown to be better; {remedy}" in result.sentence
    stepped = sr.select(bent, **{**QUICK, "penalties": "steps"})
    assert "penalties='steps'" not in stepped.sentence
    assert stepped.best.mean > result.best.mean + 0.1
    assert "for_model='lightgbm'" in result.sentence
    assert best.on_chosen is not None
    assert best.chosen_mean == result.chosen.mean


def test_intervals_are_those_of_all_candidates_and_rivals(data, selected):
    own = np.array([c.values for c in selected.choice.candidates])
    trees = by_hand(data, SETTINGS, 12)[None]
    found = rival_intervals(own, trees, 0.95, seed=0, out_of_fold=True)
    i = selected.choice.candidates.index(selected.chosen)
    for r, compared in enumerate(selected.rivals.compared):
        assert (compared.low, compared.high) == pytest.approx(found.interval(i, r), abs=1e-9)


# -- files ----------------------------------------------------------------------------------------------------


def with_categories(data: RankingDataset) -> np.ndarray:
    """X with small whole numbers in its third column."""
    X = np.array(data.X)
    X[:, 2] = np.abs(np.round(X[:, 2]))
    return X


@pytest.fixture(scope="module")
def model_text(data) -> str:
    """Trees with settings of their own, a categorical feature, and predictions that nobody may use."""
    X = with_categories(data)
    named = {"feature_name": list(data.feature_names), "categorical_feature": [2]}
    held = lightgbm.Dataset(X, data.relevance, group=np.diff(data.query_ptr), **named)
    parameters = {"objective": "lambdarank", "num_leaves": 5, "learning_rate": 0.2, "min_data_in_leaf": 7, "seed": 9}
    return lightgbm.train({**parameters, **QUIET}, held, 11).model_to_string()


@pytest.fixture
def model_file(model_text, tmp_path) -> Path:
    (tmp_path / "today.txt").write_text(model_text)
    return tmp_path / "today.txt"


def test_settings_of_a_model_file(data, model_file):
    found = read_tree_file(model_file)
    own = dict(found.settings.others)
    assert found.settings.n_trees == 11
    assert (own["num_leaves"], own["learning_rate"], own["min_data_in_leaf"]) == ("5", "0.2", "7")
    assert not any("seed" in name or name in ("metric", "num_threads", "data") for name in own)
    assert found.settings.categorical == (data.feature_names[2],)
    assert found.features == data.feature_names


def test_a_model_file_with_the_line_ends_of_windows_is_read(model_file):
    expected = read_tree_file(model_file)
    model_file.write_bytes(model_file.read_bytes().replace(b"\n", b"\r\n"))
    assert read_tree_file(model_file) == expected  # LightGBM itself would end the process


def test_settings_are_read_by_versions_that_take_none_from_a_text(model_file, monkeypatch):
    """As LightGBM 4.3, the lowest version: the parameters of a model that is passed as a text are lost."""
    booster = lightgbm.Booster

    def as_before(**given: Any) -> Any:
        made = booster(**given)
        made.params = {} if "model_str" in given else made.params
        return made

    expected = read_tree_file(model_file)
    monkeypatch.setattr(lightgbm, "Booster", as_before)
    assert read_tree_file(model_file) == expected
    assert dict(expected.settings.others)["num_leaves"] == "5"


def test_aliases_of_a_parameter_that_is_not_used_may_stand_together(tmp_path):
    file = tmp_path / "train.conf"
    file.write_text("num_leaves = 4\nseed = 1\nrandom_state = 1\nverbose = -1\nverbosity = -1\n")
    assert read_tree_file(file).settings.others == (("num_leaves", "4"),)


def test_a_model_file_that_is_cut_off_is_refused(model_file):
    whole = model_file.read_text()
    for cut in (900, len(whole) // 2, len(whole) - 1500, len(whole) - 60):
        model_file.write_text(whole[:cut])
        with pytest.raises(DataFormatError, match="is cut off"):
            read_tree_file(model_file)


def test_a_model_file_of_another_version_is_read_without_a_word(model_file: Path, capfd: pytest.CaptureFixture) -> None:
    """LightGBM remarks on standard output that it does not know a parameter, where a command writes its JSON."""
    whole = read_tree_file(model_file)
    text = model_file.read_text()
    model_file.write_text(text.replace("[learning_rate: 0.2]", "[learning_rate: 0.2]\n[of_the_future: 3]"))
    lightgbm.Dataset(np.zeros((2, 1)), params={"verbosity": 1}).construct()  # it is silent after our trainings
    capfd.readouterr()
    lightgbm.Booster(model_file=model_file)
    assert "of_the_future" in capfd.readouterr().out
    assert read_tree_file(model_file) == whole
    assert capfd.readouterr() == ("", "")


def test_damaged_categories_of_a_model_file_are_one_sentence(model_file: Path) -> None:
    text = model_file.read_text()
    model_file.write_text(text.replace("pandas_categorical:null", 'pandas_categorical:[["a", "b'))
    with pytest.raises(DataFormatError, match=r"today\.txt: LightGBM cannot read it .*; save it again\.$"):
        read_tree_file(model_file)


def test_a_model_file_is_trained_anew_on_the_folds(data, model_file):
    X = with_categories(data)
    rounded = data.replace_features(X)
    (compared,) = sr.select(rounded, rival=model_file, **QUICK).rivals.compared
    assert compared.name == "LightGBM as in today.txt"
    settings = {"objective": "lambdarank", "num_leaves": 5, "learning_rate": 0.2, "min_data_in_leaf": 7}
    expected = by_hand(rounded, settings, 11, categorical_feature=[2]).mean()
    assert compared.mean == pytest.approx(expected, abs=1e-12)
    plain = by_hand(rounded, settings, 11).mean()
    assert abs(compared.mean - plain) > 1e-6  # with the categories as numbers
    own = lightgbm.Booster(model_file=model_file).predict(X)  # which has seen every query
    assert compared.mean < sr.evaluate(own, rounded, "ndcg@10")["ndcg@10"]


def test_categories_are_found_by_names_with_blanks_and_by_number(data, tmp_path):
    X = with_categories(data)
    names = [f"a {j}" for j in range(8)]
    named = RankingDataset(X, data.relevance, np.array(data.qid), feature_names=names)
    for own in ([n.replace(" ", "_") for n in names], "auto"):
        given = {"feature_name": own, "categorical_feature": [2]}
        held = lightgbm.Dataset(X, data.relevance, group=np.diff(data.query_ptr), **given)
        lightgbm.train({"objective": "lambdarank", **QUIET}, held, 4).save_model(tmp_path / "m.txt")
        rival = tree_rivals.tree_rivals(tmp_path / "m.txt", named).rival
        assert rival.settings.categorical == ("a 2",)
        assert rival.columns.tolist() == list(range(8))


def test_a_model_of_other_features_gets_those_that_there_are_with_a_note(data, model_file):
    unnamed = tree_rivals.tree_rivals(model_file, data.rename_features([f"x{j}" for j in range(8)]))
    assert unnamed.rival.columns.tolist() == list(range(8))
    assert any("the table has none of these columns, so it uses all of them" in note for note in unnamed.notes)
    names = [*data.feature_names[:3], "price", "age", *data.feature_names[5:]]
    some = tree_rivals.tree_rivals(model_file, data.rename_features(names))
    assert some.rival.columns.tolist() == [0, 1, 2, 5, 6, 7]
    assert some.rival.lacks == data.feature_names[3:5]


PARAMETERS = """# of our nightly job
objective = lambdarank
num_trees = 9            # few
"""
PARAMETERS += "eta = 0.3\nmax_leaf = 6\nearly_stopping_round = 10\nmetric = ndcg\nvalid = vali.txt\n"
PARAMETERS += "output_model = somewhere.txt\nmonotone_constraints = 1,0\n"


@pytest.mark.parametrize("as_json", [False, True])
def test_settings_of_a_file_of_parameters(tmp_path, as_json, data):
    file = tmp_path / "train.conf"
    text = PARAMETERS
    if as_json:
        pairs = [line.partition("#")[0].split("=") for line in text.splitlines() if "=" in line]
        text = json.dumps({a.strip(): b.strip() for a, b in pairs} | {"label_gain": [0, 1, 3], "extra_trees": False})
    file.write_text(text)
    found = read_tree_file(file)
    assert found.settings.n_trees == 9
    own = dict(found.settings.others)
    assert (own["learning_rate"], own["num_leaves"]) == ("0.3", "6")
    more = {"label_gain", "extra_trees"} if as_json else set()
    assert set(own) == {"objective", "learning_rate", "num_leaves", "monotone_constraints"} | more
    fixed = "early stopping, metrics, validation data: the number of trees is fixed"
    assert found.unused == (fixed,)
    notes = sr.select(data, rival=file, **QUICK).notes
    assert any("monotone_constraints, which does not have a value for each of 8 columns" in n for n in notes)
    assert any(n.startswith("LightGBM as in train.conf does not use early stopping") for n in notes)
    assert any(n.startswith("LightGBM as in train.conf has 9 trees. If its settings") for n in notes)
    assert not (tmp_path / "somewhere.txt").exists()
    for categories, expected in ('["a", "b"]', ("a", "b")), ('"auto"', ()):
        file.write_text(f'{{"num_leaves": 4, "categorical_feature": {categories}}}')
        settings = read_tree_file(file).settings
        assert (settings.categorical, settings.n_trees) == (expected, 100)
    # A name that is misspelt, and no objective.
    file.write_text('{"num_leafs": 7, "subsample": 0.9}')
    misspelt = tree_rivals.tree_rivals(file, data).notes
    assert "LightGBM as in train.conf does not use 'num_leafs'." in misspelt
    assert "LightGBM as in train.conf names no objective, so its trees are trained with lambdarank." in misspelt


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_leaves", "train.conf:1: expected 'name = value'; got 'num_leaves'."),
        ("colour = blue", "is neither a model that LightGBM saved nor a file of its parameters"),
        ("num_trees = many", "the number of trees must be an integer; got 'many'"),
        ("num_trees = 0\nnum_leaves = 3", "the number of trees must be an integer >= 1; got 0"),
        ("num_leaves = 4\ncategorical_feature = 0,3", "must be given by name"),
        ("objective = custom", "trees of the objective 'custom' cannot be trained here"),
        ("{", "is not a JSON object of parameters"),
        ("", "is neither a model"),
        ('{"objective": "lambdarank", "tree_info": []}', "is a model that was dumped as JSON"),
        ("objective = multiclass", "trees of the objective 'multiclass' cannot be trained here"),
        ('{"objective": "rank:ndcg", "eta": 0.1}', "trees of the objective 'rank:ndcg' cannot be trained here"),
        ("num_leaves = 30\nnum_leaf = 3", "num_leaves and num_leaf are aliases of one parameter; give only one."),
        ("num_leaves = 30\nnum_leaves = 3", "train.conf:2: 'num_leaves' appears twice."),
        ("num_trees = 4.5\nnum_leaves = 3", "the number of trees must be an integer; got '4.5'"),
        ('{"num_leaves": 5, "categorical_feature": {"a": 1}}', "'categorical_feature' must be a number, a string or a"),
        ("tree\nversion=v4\nfeature_names=a b\n", "is cut off"),
        (b"\xff\xfe\x00", "cannot be read (is not text)"),
    ],
)
def test_a_file_without_settings_is_refused(tmp_path, data, text, message):
    file = tmp_path / "train.conf"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataFormatError) as error:
        sr.select(data, rival=file, **QUICK)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_every_fold_has_its_share_of_the_time(data, monkeypatch):
    """However many are trained at once, a rival takes no longer than it may."""
    seen: list[float] = []

    def noted(self: Any, each: Any, unseen: Any, seconds: float, *given: Any) -> Any:
        seen.append(seconds)
        return whole(self, each, unseen, seconds, *given)

    whole = TreesOnFolds._trained
    monkeypatch.setattr(TreesOnFolds, "_trained", noted)
    for n_threads, share in ((1, 30.0), (2, 45.0), (8, 90.0)):
        seen.clear()
        sr.select(data, n_threads=n_threads, rival_time=90.0, **QUICK)
        assert set(seen) == {share}


def test_what_is_neither_a_word_nor_a_file(data, tmp_path):
    for given in ("xgboost", tmp_path / "absent", 3, "x" * 5000, "", tmp_path):
        with pytest.raises(ParameterError, match="must be auto, none, lightgbm, or an existing LightGBM file"):
            sr.select(data, rival=given, **QUICK)
