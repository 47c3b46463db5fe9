"""Features for a tree ranker: lists made without the queries they are evaluated on, the rule, files, the command."""

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval import trees
from sparserank.crossval.trees import TreeData, TreeSettings, fit_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.data.letor.writer import write_letor
from sparserank.datasets import make_ranking
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation import per_query_values
from tests.conftest import during
from tests.support import shortcuts
from tests.support.command_line import Cli

QUICK = {"for_model": "lightgbm", "sizes": (1, 2, 3, 5), "cv": 3, "n_threads": 1}
# where it does not matter how good lists and trees are
RULED = {**QUICK, "sizes": (1, 2, 3)}
SETTINGS = TreeSettings(20, (("num_leaves", 4), ("bagging_fraction", 0.8), ("bagging_freq", 1)))


few_trees = partial(shortcuts.changed, (trees, "LIGHTGBM_SETTINGS", SETTINGS))
small_ensembles = during(few_trees, autouse=True, scope="module")


@pytest.fixture(scope="module")
def data() -> tuple[RankingDataset, RankingDataset]:
    made = make_ranking(150, (8, 12), 12, n_informative=3, n_redundant=0, noise=0.3, random_state=5).data
    return made.take_queries(np.arange(100)), made.take_queries(np.arange(100, 150))


@pytest.fixture(scope="module")
def result(data):
    return sr.select(*data[:1], None, data[1], **QUICK)


def test_it_keeps_the_signals_and_reports_their_worth(data, result):
    train, _ = data
    signals = {n for n in train.feature_names if n.startswith("signal")}
    assert set(result.features) >= signals or result.chosen.k < 3
    assert len(result.features) == result.chosen.n_features < 12
    assert result.gains.sum() == pytest.approx(1.0)
    assert (np.diff(result.gains) <= 0).all()
    assert result.choice.within_margin(result.chosen)
    smaller = [c for c in result.choice.candidates if c.n_features < result.chosen.n_features]
    assert not any(result.choice.within_margin(c) for c in smaller)
    assert result.sentences[0].startswith(f"Keep {result.chosen.n_features} of 12 features.  100 queries")
    everything = result.dense
    assert (everything.n_features, everything.mean) == (12, result.all_features.mean)
    assert f"{everything.mean:.4f} with all 12 features" in result.sentence
    rows = {(r["n_features"], r["mean"]) for r in result.to_json()["lists"]}
    assert (12, everything.mean) not in rows
    assert {(c.n_features, c.mean) for c in result.by_size if c is not everything} <= rows
    assert result.to_json()["corrected"]["chosen"] == result.choice.corrected_chosen
    lists = {(c.penalty, c.k) for c in result.choice.candidates}
    assert {("trees on 1 feature", 1), ("trees on 2 features", 2), ("trees on 3 features", 3)} <= lists
    assert ("trees on all features", 12) in lists
    assert result.test.baseline == f"trees on the {result.chosen.n_features} chosen"


def test_lists_are_made_without_the_queries_that_they_are_evaluated_on(data, result):
    train, _ = data
    metric = result.plan.metric
    fold = query_folds(train.n_queries, 3, result.plan.random_state)
    by_hand, flattered = np.zeros(train.n_queries), np.zeros(train.n_queries)
    whole = TreeData(train, np.arange(12), SETTINGS)
    for f in range(3):
        out, seen = train.take_queries(np.flatnonzero(fold == f)), fold != f
        for learned, values in ((seen, by_hand), (None, flattered)):
            top = np.sort(whole.fit(learned, f).by_gain()[:2])
            scores = TreeData(train, top, SETTINGS).fit(learned, f).scores(out.X)
            values[fold == f] = per_query_values(scores, out, [metric])[0]
    (found,) = (c for c in result.choice.candidates if c.penalty == "trees on 2 features")
    np.testing.assert_allclose(found.values, by_hand)
    assert np.abs(flattered - by_hand).max() > 0.01  # the wrong variant
    top = fit_trees(train, np.arange(12), SETTINGS, result.plan.random_state).by_gain()
    for c in result.choice.candidates:  # the lists that are kept are made of all queries
        assert set(result.lists[c]) == {train.feature_names[j] for j in top[: c.k]}
    assert set(result.features) == set(result.lists[result.chosen])
    again = fit_trees(train, result.trees.columns, SETTINGS, result.plan.random_state)
    np.testing.assert_array_equal(result.trees.scores(train.X), again.scores(train.X))


@pytest.mark.usefixtures("no_processes")
def test_rules_hold_for_every_list(data):
    train = data[0].take_queries(np.arange(40))
    signals = [n for n in train.feature_names if n.startswith("signal")]
    noise = next(n for n in train.feature_names if not n.startswith("signal"))
    ruled = sr.select(train, drop=[signals[0]], keep=[noise], **RULED)
    assert signals[0] not in ruled.features
    assert noise in ruled.features
    two = [n for n in train.feature_names if not n.startswith("signal")][:2]
    kept = sr.select(train, keep=two, margin=0.9, **RULED)
    assert set(kept.features) >= set(two)
    assert min(c.k for c in kept.choice.candidates) == 2
    with pytest.raises(DataError, match=r"nothing to choose: .* used is 12, and keep names 2 with k=1"):
        sr.select(train, keep=two, k=1, **RULED)
    assert ruled.dense.n_features == 11
    cheap = sr.select(train, costs=[1.0] * 11 + [5.0], budget=2.0, **RULED)
    assert cheap.chosen.cost <= 2.0
    assert sr.select(train, k=2, **RULED).chosen.n_features <= 2
    of = dict.fromkeys(train.feature_names[:6], "together")
    grouped = sr.select(train, feature_groups=of, costs={"together": 2.0}, budget=3.0, **RULED)
    assert grouped.chosen.cost <= 3.0
    for c in grouped.choice.candidates:
        assert c.cost <= c.n_features  # the six together cost 2, and come together
    if set(grouped.features) & set(of):
        assert set(grouped.features) >= set(of)
    whole = sr.select(train, k=2, drop=list(train.feature_names[:10]), **RULED)
    assert whole.chosen.mean == max(c.mean for c in whole.choice.candidates)  # all of them may be kept too


def test_json_and_frame_pick_their_columns_from_the_facts(result):
    facts, found = result.facts, result.to_json()
    assert [row["feature"] for row in facts.features] == list(result.features)
    assert found["features"] == facts.features
    assert result.sizes().to_dict("records") == facts.lists
    assert [row for row in facts.lists if row["chosen"]] == [found["chosen"]]
    assert [row["n_features"] for row in facts.sizes] == [c.n_features for c in result.by_size]
    assert [*facts.sizes[0]["enter"]] == [n for n in result.feature_names if n in result.lists[result.by_size[0]]]


def test_the_screen_compares_the_list_with_all_features_by_the_interval_of_every_selection(result):
    of_all, chosen = (
        next(line for line in str(result).splitlines() if line.startswith(n)) for n in ("all ", "chosen ")
    )
    assert of_all.split()[2:4] == ["12", f"{result.dense.mean:.4f}"]
    assert of_all.endswith(result.all_features.against())
    assert chosen.split()[1:3] == [str(result.chosen.n_features), f"{result.chosen.mean:.4f}"]
    assert result.all_features.low < result.all_features.difference < result.all_features.high
    assert result.all_features.difference == result.chosen.mean - result.dense.mean


@pytest.mark.usefixtures("pictures", "no_processes")
def test_all_features_may_be_the_answer():
    data = make_ranking(40, 10, 5, n_informative=5, n_redundant=0, noise=0.0, random_state=3).data
    found = sr.select(data, margin=0.0, **{**QUICK, "sizes": (1,)})
    assert found.chosen is found.dense
    assert found.headline.startswith("Keep 5 of 5 features")
    assert str(found).splitlines()[-1].endswith("0.0%")
    assert "All 5 features" in found.render_page()
    assert found.to_json()["chosen"] == found.to_json()["all_features"]


@pytest.mark.usefixtures("pictures")
def test_files_have_the_content_of_the_result(result, tmp_path: Path):
    import lightgbm

    written = result.save(tmp_path / "run")
    assert [p.name for p in written] == ["features.txt", "trees.txt", "report.html", "result.json"]
    assert (tmp_path / "run/features.txt").read_text().split() == list(result.features)
    content = json.loads((tmp_path / "run/result.json").read_text())
    assert content == result.to_json()
    assert [f["feature"] for f in content["features"]] == list(result.features)
    booster = lightgbm.Booster(model_file=str(tmp_path / "run/trees.txt"))
    assert booster.feature_name() == content["trees"]["columns"]
    page = (tmp_path / "run/report.html").read_text()
    assert "<svg" in page
    documented = set(re.findall(r"`(\w+)`", Path("docs/result-json.md").read_text()))
    assert set(content) <= documented
    assert set(content["chosen"]) <= documented
    assert len(result.sizes()) == len(result.choice.candidates)


@pytest.mark.usefixtures("no_processes")
def test_missing_values_go_into_trees_as_they_are_and_lists_hold_what_trees_alone_can_use(data):
    """A feature that is missing where a document is relevant: a median hides it. One that is missing or 1, and one that
    is constant within every query, can be used by trees alone."""
    train, _ = data
    X = np.array(train.X)
    X[:, 3] = np.where(train.relevance > 0, np.nan, X[:, 3])
    found = sr.select((X, train.relevance, train.qid), missing="median", k=1, **QUICK)
    assert found.features == ("f4",)
    assert found.to_json()["trees"]["missing"] == [None] * len(found.trees.columns)
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    as_they_are, hidden = (
        sr.evaluate(found.trees.scores(x), train.relevance, "ndcg@10", qid=train.qid)["ndcg@10"] for x in (X, filled)
    )
    assert as_they_are > hidden + 0.1
    X[:, 3] = train.X[:, 3]
    X[:, 9] = np.repeat(np.arange(train.n_queries) % 2, np.diff(train.query_ptr))
    X[:, 10] = np.where(train.relevance > 0, np.nan, 1.0)
    X[:, 11] = 5.0
    found = sr.select((X, train.relevance, train.qid), missing="median", k=1, **QUICK)
    assert found.features == ("f11",)
    assert found.dense.n_features == 11


@pytest.mark.usefixtures("no_processes")
def test_progress_begins_with_the_number_of_trainings(data, monkeypatch: pytest.MonkeyPatch):
    """Before the first one, and no more follow: by default five folds. Equal lists share their trees."""
    train, _ = data
    fits: list[int] = []
    known = TreeData.fit
    monkeypatch.setattr(TreeData, "fit", lambda *given, **more: fits.append(1) or known(*given, **more))
    seen: list[tuple] = []
    sr.select(train, for_model="lightgbm", n_threads=1, progress=lambda *now: seen.append(now))
    n = 5 * (1 + 6) + 1  # of lengths 1, 2, 3, 5, 6 and 9, of 12 features; those on all queries have all features
    assert seen[0] == (0, n, f"at most {n + 1} trainings of LightGBM: 7 in each of 5 folds", None)
    assert len(fits) in range(n - 5, n + 2)
    assert [done for done, *_ in seen] == sorted(done for done, *_ in seen)
    assert {total for _, total, *_ in seen} == {n}
    assert seen[-1] == (n, n, "done", 0.0)
    assert {done for done, *_ in seen} >= set(range(n - 5))
    assert all(left is not None for done, *_, left in seen if done)


@pytest.mark.usefixtures("no_processes")
def test_trees_of_a_file_are_trained_with_its_settings_on_the_features_that_they_know(data, tmp_path):
    import lightgbm

    train, _ = data
    names = [train.feature_names[j] for j in range(9)]
    held = lightgbm.Dataset(train.X[:, :9], train.relevance, group=np.diff(train.query_ptr), feature_name=names)
    own = {"objective": "lambdarank", "num_leaves": 5, "min_data_in_leaf": 7, "verbosity": -1}
    lightgbm.train(own, held, 13).save_model(tmp_path / "today.txt")
    given = {**QUICK, "for_model": tmp_path / "today.txt"}
    found = sr.select(train, **given)
    assert found.settings.n_trees == 13
    assert found.to_json()["trees"]["parameters"]["min_data_in_leaf"] == "7"
    assert set(found.features) <= set(names)
    assert found.dense.n_features == 9
    text = found.trees.booster.model_to_string()
    assert "[min_data_in_leaf: 7]" in text
    assert "[num_leaves: 5]" in text
    with pytest.raises(ParameterError, match=r"keep names 'noise_.*', which is not a feature of the trees"):
        sr.select(train, keep=[train.feature_names[11]], **given)
    with pytest.raises(ParameterError, match="for_model must be lightgbm, or an existing LightGBM file"):
        sr.select(train, **{**QUICK, "for_model": "xgboost"})


@pytest.mark.usefixtures("no_processes")
def test_the_result_lists_how_trees_take_missing_values(data, result):
    """Of a feature that never was missing in training, trees.txt alone would take NaN for 0."""
    assert result.to_json()["trees"]["missing"] == [None] * len(result.trees.columns)
    train, _ = data
    X, fill = np.array(train.X), np.arange(1.0, train.n_features + 1)
    X[::7, 3], fill[4] = np.nan, np.nan
    holed = RankingDataset(X, train.relevance, train.qid, feature_names=train.feature_names, fill_values=fill)
    trees = sr.select(holed, drop=[train.feature_names[0]], **QUICK).to_json()["trees"]
    place = {name: j for j, name in enumerate(train.feature_names)}
    as_they_are = (3, 4)
    assert trees["missing"] == [None if place[n] in as_they_are else fill[place[n]] for n in trees["columns"]]
    assert any(v is not None for v in trees["missing"])


OF_SELECT_ALONE = {"protocol": "holdout", "current": "f1", "doc_weight": np.ones(3), "penalties": "l1"}
OF_SELECT_ALONE |= {"feature_transform": "log", "monotone": {"f1": "+"}}
REFUSED = [
    *[({"sizes": sizes}, "sizes") for sizes in ((), (0,), (1.5,), (True,), 5, "12")],
    ({"budget": 1.0}, "needs costs or feature_groups"),
    *[
        ({name: 1}, f"{name} was removed; sparserank 0.3.0 is the last")
        for name in ("n_knots", "n_seeds", "n_trees", "n_leaves")
    ],
    *[({name: value}, f"{name} cannot be combined with for_model") for name, value in OF_SELECT_ALONE.items()],
    ({"for_model": None, "sizes": [1]}, "sizes needs for_model='lightgbm'"),
    ({"drop": 11}, "nothing to choose: the number of features that vary and may be used is 1, and keep names 0"),
    ({"keep": 12}, "nothing to choose: the number of features that vary and may be used is 12, and keep names 12"),
    ({"sizes": (20,)}, "contain no length from 1 to 11"),
    (
        {"costs": [3.0] * 12, "budget": 0.5},
        r"a cost of 0.5; the smallest has 3. .* try shorter lists \(sizes\)",
    ),
]


@pytest.mark.usefixtures("no_processes")
@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_cannot_be_evaluated_is_refused(data, options, message):
    train = data[0].take_queries(np.arange(40))
    named = {rule: list(train.feature_names[-options[rule] :]) for rule in ("keep", "drop") if rule in options}
    with pytest.raises(DataError, match=message):
        sr.select(train, **{**RULED, **options, **named})


def test_trees_need_whole_grades(data):
    train, _ = data
    halves = RankingDataset(train.X, train.relevance + 0.5, train.qid)
    with pytest.raises(DataError, match="whole grades"):
        sr.select(halves, **QUICK)


@pytest.mark.usefixtures("no_processes")
def test_the_command_gives_the_same_result_and_goes_on(data, cli_here: Cli, tmp_path: Path):
    write_letor(data[0].take_queries(np.arange(60)), tmp_path / "train.txt")
    options = ["--folds", "3", "--k", "3", "--out", "run"]
    call = ["select", "train.txt", "--for-model", "lightgbm", *options]
    first = cli_here(*call).done
    assert "Keep 3 of 12 features" in first.out
    same = sr.select(tmp_path / "train.txt", for_model="lightgbm", cv=3, k=3)
    assert json.loads((tmp_path / "run/result.json").read_text()) == same.to_json()
    again = cli_here(*call)
    assert again.out == first.out
    other = cli_here(*call[:3], "lightgbm", "--folds", "3", "--k", "2", "--out", "run")
    assert "run contained the choice of 3 features; it now contains the one of 2 features." in other.err
    removed = cli_here("select", "train.txt", "--n-trees", "7", "--out", "x")
    assert removed.code == 2
    assert "--n-trees was removed" in removed.err
    refused = cli_here(*call, "--protocol", "holdout")
    assert refused.code == 2
    assert "--protocol: cannot be combined with --for-model" in " ".join(refused.err.split())
    assert cli_here(*call[:2], "--for-model", "forest", "--out", "x").code == 2
    assert not (tmp_path / "x").exists()


@pytest.mark.usefixtures("no_processes")
def test_few_queries_are_too_few_for_a_bound_on_the_screen(cli_here: Cli, tmp_path: Path):
    made = make_ranking(12, (8, 12), 6, n_informative=3, n_redundant=0, random_state=1).data
    write_letor(made.take_queries(np.arange(9)), tmp_path / "nine.txt")
    write_letor(made.take_queries(np.arange(9, 12)), tmp_path / "test.txt")
    done = cli_here(
        "select", "nine.txt", "--test", "test.txt", "--for-model", "lightgbm", "--folds", "3", "--out", "run"
    )
    assert done.code == 0, done.err
    text = " ".join(done.out.split())
    assert "9 queries are too few to bound the loss of a model; at least 10 are needed" in text
    assert "Your 3 test queries: chosen 0." in text


@pytest.mark.usefixtures("no_processes")
def test_lengths_follow_k_and_the_features_that_are_kept(data):
    train = data[0].take_queries(np.arange(40))
    given = {"for_model": "lightgbm", "cv": 2, "n_threads": 1}
    lengths = {c.k for c in sr.select(train, k=400, **given).choice.candidates}
    assert lengths == {1, 2, 3, 5, 6, 9, 12}  # as without k: all twelve may be chosen
    kept = list(train.feature_names[:5])
    assert {c.k for c in sr.select(train, keep=kept, **given).choice.candidates} == {5, 6, 9, 12}
    assert {c.k for c in sr.select(train, sizes=np.array([1, 2]), **given).choice.candidates} == {1, 2, 12}


@pytest.mark.usefixtures("no_processes")
def test_lists_hold_no_feature_that_no_split_uses(data, monkeypatch: pytest.MonkeyPatch):
    train = data[0].take_queries(np.arange(40))
    given = {"for_model": "lightgbm", "cv": 2, "n_threads": 1}
    monkeypatch.setattr(trees, "LIGHTGBM_SETTINGS", TreeSettings(1, (("num_leaves", 3),)))
    found = sr.select(train, sizes=[6], **given)
    by_gain = next(c for c in found.choice.candidates if c.penalty == "trees on 6 features")
    assert by_gain.n_features <= 2
    monkeypatch.setattr(trees, "LIGHTGBM_SETTINGS", TreeSettings(2, (("min_data_in_leaf", 10_000),)))
    with pytest.raises(DataError, match="never split on these data; allow smaller leaves"):
        sr.select(train, **given)
