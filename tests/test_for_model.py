"""What a tree ranker should keep: lists made without the queries that judge them, the rule of `select`, files,
the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval import trees
from sparserank.crossval.trees import TreeSettings, fit_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.data.letor.writer import write_letor
from sparserank.data.synthetic import make_ranking
from sparserank.errors import DataError, ParameterError, RunDirectoryError
from sparserank.evaluation import per_query_values
from sparserank.jobs.trees import list_job
from sparserank.jobs.trees.select_for_trees import select_for_trees
from tests.command_line import Cli

QUICK = {
    "n_trees": 20,
    "n_leaves": 4,
    "sizes": (1, 2, 3, 5),
    "n_seeds": 2,
    "feature_transform": "none",
    "cv": 3,
    "n_threads": 1,
}
# where it does not matter how good lists and trees are
RULED = {**QUICK, "n_trees": 4, "sizes": (1, 2, 3), "n_seeds": 1, "penalty": "l1"}


@pytest.fixture(scope="module")
def data() -> tuple[RankingDataset, RankingDataset]:
    made = make_ranking(150, (8, 12), 12, n_informative=3, n_redundant=0, noise=0.3, random_state=5).data
    return made.take_queries(np.arange(100)), made.take_queries(np.arange(100, 150))


@pytest.fixture(scope="module")
def result(data):
    """By worker processes; everything else here is computed in threads, to the same values."""
    return select_for_trees(*data[:1], None, data[1], **QUICK)


def test_it_keeps_the_signals_and_says_what_that_is_worth(data, result):
    train, _ = data
    signals = {n for n in train.feature_names if n.startswith("signal")}
    assert set(result.features) >= signals or result.chosen.k < 3
    assert len(result.features) == result.chosen.n_features < 12
    assert result.gains.sum() == pytest.approx(1.0)
    assert (np.diff(result.gains) <= 0).all()
    assert result.choice.within_margin(result.chosen)
    smaller = [c for c in result.choice.candidates if c.n_features < result.chosen.n_features]
    assert not any(result.choice.within_margin(c) for c in smaller)
    assert result.sentences[0].startswith(f"Keep {result.chosen.n_features} of 12 features (trees on")
    everything = result.all_features
    said = f"on all {everything.n_features} features that vary and may be used have {everything.mean:.4f} ("
    assert said in result.sentence
    rows = {(r["n_features"], r["mean"]) for r in result.to_json()["lists"] if r["list"] != "trees on all features"}
    assert {(c.n_features, c.mean) for c in result.by_size} <= rows
    assert result.to_json()["corrected"]["chosen"] == result.choice.corrected_chosen
    lists = {(c.penalty, c.k) for c in result.choice.candidates}
    assert {(f"trees on {n}", k) for n in ("own gain", "ours") for k in (1, 2, 3)} <= lists
    assert ("trees on all features", 12) in lists
    assert result.test.baseline == f"trees on the {result.chosen.n_features} chosen"


def test_lists_are_made_without_the_queries_that_judge_them(data, result):
    train, _ = data
    metric, settings = result.plan.metric, TreeSettings(20, 4)
    fold = query_folds(train.n_queries, 3, result.plan.random_state)
    by_hand, flattered = np.zeros(train.n_queries), np.zeros(train.n_queries)
    for f in range(3):
        where = np.flatnonzero(fold == f)
        rest, out = train.take_queries(np.flatnonzero(fold != f)), train.take_queries(where)
        every = np.arange(12)
        for seen, values in ((rest, by_hand), (train, flattered)):
            top = np.sort(fit_trees(seen, every, settings, f).by_gain()[:2])
            fits = [fit_trees(seen, top, settings, f + 100_000 * s) for s in range(2)]
            values[where] = np.mean([per_query_values(t.scores(out.X), out, [metric])[0] for t in fits], axis=0)
    (found,) = (c for c in result.choice.candidates if (c.penalty, c.k) == ("trees on own gain", 2))
    np.testing.assert_allclose(found.values, by_hand)
    assert np.abs(flattered - by_hand).max() > 0.01  # the wrong variant
    top = fit_trees(train, np.arange(12), settings, result.plan.random_state).by_gain()
    for c in result.choice.candidates:  # the list that is kept is made of all queries
        if c.penalty == "trees on own gain" and c is result.chosen:
            assert set(result.features) == {train.feature_names[j] for j in top[: c.k]}
    assert (
        np.abs(
            result.trees.scores(train.X)
            - fit_trees(train, result.trees.columns, settings, result.plan.random_state).scores(train.X)
        ).max()
        == 0.0
    )


@pytest.mark.usefixtures("no_processes")
def test_rules_hold_for_every_list(data):
    train = data[0].take_queries(np.arange(40))
    signals = [n for n in train.feature_names if n.startswith("signal")]
    noise = next(n for n in train.feature_names if not n.startswith("signal"))
    ruled = select_for_trees(train, drop=[signals[0]], keep=[noise], **RULED)
    assert signals[0] not in ruled.features
    assert noise in ruled.features
    two = [n for n in train.feature_names if not n.startswith("signal")][:2]
    kept = select_for_trees(train, keep=two, margin=0.9, **RULED)
    assert set(kept.features) >= set(two)
    assert min(c.k for c in kept.choice.candidates) == 2
    with pytest.raises(ParameterError, match="k is 1, but keep names 2 features"):
        select_for_trees(train, keep=two, k=1, **RULED)
    assert ruled.all_features.n_features == 11
    cheap = select_for_trees(train, costs=[1.0] * 11 + [5.0], budget=2.0, **RULED)
    assert cheap.chosen.cost <= 2.0
    assert select_for_trees(train, k=2, **RULED).chosen.n_features <= 2
    of = dict.fromkeys(train.feature_names[:6], "together")
    grouped = select_for_trees(train, feature_groups=of, costs={"together": 2.0}, budget=3.0, **RULED)
    assert grouped.chosen.cost <= 3.0
    for c in grouped.choice.candidates:
        assert c.cost <= c.n_features  # the six together cost 2, and come together
    if set(grouped.features) & set(of):
        assert set(grouped.features) >= set(of)
    whole = select_for_trees(train, k=2, drop=list(train.feature_names[:10]), **RULED)
    assert whole.chosen.mean == max(c.mean for c in whole.choice.candidates)  # all of them may be kept too


@pytest.mark.usefixtures("pictures")
def test_files_say_what_the_result_says(result, tmp_path: Path):
    import lightgbm

    written = result.save(tmp_path / "run")
    assert [p.name for p in written] == ["features.txt", "trees.txt", "result.json", "report.html"]
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
def test_missing_values_go_into_trees_as_they_are(data):
    """Whether a value is missing says all; the median that our lists see says nothing."""
    train, _ = data
    X = np.array(train.X)
    X[:, 3] = np.where(train.relevance > 0, np.nan, X[:, 3])
    ids = np.repeat(train.query_ids, np.diff(train.query_ptr))
    found = select_for_trees((X, train.relevance, ids), missing="median", k=1, **QUICK)
    assert found.features == ("f4",)
    assert found.ours.mean < found.chosen.mean - 0.1
    assert found.ours.high < 0
    assert found.to_json()["trees"]["missing"] == [None] * len(found.trees.columns)
    scores = found.trees.booster.predict(X[:, found.trees.columns])
    assert sr.evaluate(scores, train.relevance, "ndcg@10", qid=ids)["ndcg@10"] > found.ours.mean + 0.1


@pytest.mark.usefixtures("no_processes")
def test_lists_hold_what_trees_alone_can_use(data):
    """A feature that is constant within every query, and one that is missing or 1, tell trees something."""
    train, _ = data
    X = np.array(train.X)
    ids = np.repeat(train.query_ids, np.diff(train.query_ptr))
    X[:, 9] = np.repeat(np.arange(train.n_queries) % 2, np.diff(train.query_ptr))
    X[:, 10] = np.where(train.relevance > 0, np.nan, 1.0)
    X[:, 11] = 5.0
    found = select_for_trees((X, train.relevance, ids), missing="median", k=1, **QUICK)
    assert found.features == ("f11",)
    assert found.ours is None
    assert found.all_features.n_features == 11


@pytest.mark.usefixtures("no_processes")
def test_it_says_how_many_trainings_it_will_do(data, monkeypatch: pytest.MonkeyPatch):
    """Before the first one, and no more follow: by default one seed, five folds, and lists by gain and by our path."""
    train, _ = data
    fits: list[int] = []
    for module in (list_job, trees):
        known = module.fit_trees
        monkeypatch.setattr(module, "fit_trees", lambda *a, known=known, **more: fits.append(1) or known(*a, **more))
    said: list[tuple] = []
    select_for_trees(
        train, n_trees=3, penalty="l1", feature_transform="none", n_threads=1, progress=lambda *now: said.append(now)
    )
    n = 5 * (1 + 2 * 2) + 2  # of lengths 1 and 4, of 12 features
    assert said[0] == (0, 6, f"at most {n} trainings of LightGBM: 5 in each of 5 folds", None)
    assert len(fits) in range(n - 5, n + 1)  # a fold's path may have no model of one feature
    assert [done for done, *_ in said] == sorted(done for done, *_ in said)
    assert {done for done, *_ in said} == set(range(7))


@pytest.mark.usefixtures("no_processes")
def test_trees_of_a_file_are_trained_with_its_settings_on_the_features_that_they_know(data, tmp_path):
    import lightgbm

    train, _ = data
    names = [train.feature_names[j] for j in range(9)]
    held = lightgbm.Dataset(train.X[:, :9], train.relevance, group=np.diff(train.query_ptr), feature_name=names)
    own = {"objective": "lambdarank", "num_leaves": 5, "min_data_in_leaf": 7, "verbosity": -1}
    lightgbm.train(own, held, 13).save_model(tmp_path / "today.txt")
    given = {name: value for name, value in QUICK.items() if name not in ("n_trees", "n_leaves")}
    found = select_for_trees(train, for_model=tmp_path / "today.txt", **given)
    assert found.settings.n_trees == 13
    assert found.to_json()["trees"]["parameters"]["min_data_in_leaf"] == "7"
    assert set(found.features) <= set(names)
    assert found.all_features.n_features == 9
    text = found.trees.booster.model_to_string()
    assert "[min_data_in_leaf: 7]" in text
    assert "[num_leaves: 5]" in text
    with pytest.raises(ParameterError, match="n_trees is set by the file"):
        select_for_trees(train, for_model=tmp_path / "today.txt", **QUICK)
    with pytest.raises(ParameterError, match=r"keep names 'noise_.*', which is not a feature of the trees"):
        select_for_trees(train, for_model=tmp_path / "today.txt", keep=[train.feature_names[11]], **given)
    with pytest.raises(ParameterError, match="for_model must be lightgbm, or an existing LightGBM file"):
        select_for_trees(train, for_model="xgboost", **QUICK)


@pytest.mark.usefixtures("no_processes")
def test_our_models_on_a_list_are_refitted_without_the_queries_that_judge_them(data, result):
    """By hand: the list of each fold, a weak ridge on it, the queries of the fold."""
    train, _ = data
    fold = query_folds(train.n_queries, 3, 0)
    lists = {0: np.array([0, 1, 5]), 1: np.array([0, 2, 7]), 2: np.array([1, 2, 8])}
    values, leaked = np.zeros(train.n_queries), np.zeros(train.n_queries)
    for f, features in lists.items():
        seen = train.take_queries(np.flatnonzero(fold != f))
        unseen = train.take_queries(np.flatnonzero(fold == f))
        for on, out in ((seen, values), (train, leaked)):
            model = sr.SparseRanker(penalty="ridge", alpha=1e-6).fit_dataset(on.take_features(features)).to_model()
            scores = unseen.from_input_order(model.score_dataset(unseen.take_features(features)))
            out[fold == f] = per_query_values(scores, unseen, [result.plan.metric])[0]
    trees = np.linspace(0.2, 0.9, train.n_queries)
    ours = list_job._ours_on(train, fold, result.plan, lists, trees, 1)
    assert ours.mean == pytest.approx(values.mean(), abs=2e-4)
    assert abs(ours.mean - leaked.mean()) > 4e-4
    assert ours.difference == pytest.approx((values - trees).mean(), abs=2e-4)
    assert ours.low < ours.difference < ours.high


@pytest.mark.usefixtures("no_processes")
def test_the_result_says_what_missing_values_are_to_trees(data, result):
    """Of a feature that never was missing in training, trees.txt alone would take NaN for 0."""
    assert result.to_json()["trees"]["missing"] == [None] * len(result.trees.columns)
    train, _ = data
    X, fill = np.array(train.X), np.arange(1.0, train.n_features + 1)
    X[::7, 3], fill[4] = np.nan, np.nan
    ids = np.repeat(train.query_ids, np.diff(train.query_ptr))
    holed = RankingDataset(X, train.relevance, ids, feature_names=train.feature_names, fill_values=fill)
    trees = select_for_trees(holed, drop=[train.feature_names[0]], **QUICK).to_json()["trees"]
    place = {name: j for j, name in enumerate(train.feature_names)}
    as_they_are = (3, 4)
    assert trees["missing"] == [None if place[n] in as_they_are else fill[place[n]] for n in trees["columns"]]
    assert any(v is not None for v in trees["missing"])


@pytest.mark.usefixtures("no_processes")
def test_what_cannot_be_judged_is_refused(data):
    train, _ = data
    halves = RankingDataset(train.X, train.relevance + 0.5, np.repeat(train.query_ids, np.diff(train.query_ptr)))
    with pytest.raises(DataError, match="whole grades"):
        select_for_trees(halves, **QUICK)
    for sizes in ((), (0,), (1.5,), (True,), 5, "12"):
        with pytest.raises(ParameterError, match="sizes"):
            select_for_trees(train, **{**QUICK, "sizes": sizes})
    with pytest.raises(ParameterError, match="needs costs or feature_groups"):
        select_for_trees(train, budget=1.0, **QUICK)
    for name, bad in (("n_seeds", 0), ("n_seeds", 1.5), ("n_trees", 0), ("n_leaves", 1), ("learning_rate", -1.0)):
        with pytest.raises(ParameterError, match=name):
            select_for_trees(train, **{**QUICK, name: bad})
    with pytest.raises(DataError, match="one feature varies and may be used"):
        select_for_trees(train, drop=list(train.feature_names[1:]), **QUICK)
    with pytest.raises(ParameterError, match="contain no length from 1 to 11"):
        select_for_trees(train, **{**QUICK, "sizes": (20,)})
    with pytest.raises(ParameterError, match="penalty must be a name"):
        select_for_trees(train, penalty=["l1", "mcp"], **QUICK)
    assert {c.k for c in select_for_trees(train, **{**QUICK, "sizes": np.array([1, 2])}).choice.candidates} == {
        1,
        2,
        12,
    }


@pytest.mark.slow
@pytest.mark.usefixtures("no_processes")
def test_a_killed_run_goes_on_and_other_options_are_refused(data, result, tmp_path: Path):
    train, test = data
    done = []

    def stop(n_done, n, what, left):
        done.append(n_done)
        if n_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        select_for_trees(train, None, test, out=tmp_path / "run", progress=stop, **QUICK)
    seen = []
    again = select_for_trees(train, None, test, out=tmp_path / "run", progress=lambda *a: seen.append(a), **QUICK)
    assert seen[0][:3] == (2, 4, "resumed")
    assert again.to_json() == result.to_json()
    for other in ({"learning_rate": 0.2}, {"keep": [train.feature_names[0]]}, {"n_seeds": 1}, {"penalty": "l1"}):
        with pytest.raises(RunDirectoryError, match="other data or options"):
            select_for_trees(train, None, test, out=tmp_path / "run", **{**QUICK, **other})


@pytest.mark.usefixtures("no_processes")
def test_the_command_says_the_same_and_goes_on(data, cli_here: Cli, tmp_path: Path):
    write_letor(data[0].take_queries(np.arange(60)), tmp_path / "train.txt")
    call = [
        "select",
        "train.txt",
        "--for-model",
        "lightgbm",
        "--penalty",
        "l1",
        "--transform",
        "none",
        "--folds",
        "3",
        "--n-trees",
        "5",
        "--k",
        "3",
        "--out",
        "run",
    ]
    first = cli_here(*call)
    assert first.code == 0, first.err
    assert "Keep 3 of 12 features" in first.out
    same = sr.trees.select_for_trees(
        tmp_path / "train.txt", penalty="l1", feature_transform="none", cv=3, n_trees=5, k=3
    )
    assert json.loads((tmp_path / "run/result.json").read_text()) == same.to_json()
    again = cli_here(*call)
    assert again.out == first.out
    alone = cli_here("select", "train.txt", "--n-trees", "7", "--out", "x")
    assert alone.code == 2
    assert "applies only to trees; add" in alone.err
    for more in (["--current", "f1"], ["--n-knots", "4"], ["--protocol", "holdout"]):
        refused = cli_here(*call, *more)
        assert refused.code == 2
        assert f"cannot be combined with {more[0]}" in " ".join(refused.err.split())
    assert cli_here(*call[:2], "--for-model", "forest", "--out", "x").code == 2
    assert not (tmp_path / "x").exists()
