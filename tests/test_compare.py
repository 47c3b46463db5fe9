"""Ours and trees side by side: the same folds, features chosen inside them, intervals that hold together,
killed runs that go on."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.settings import PathSettings
from sparserank.crossval.trees import HeldOutTrees, TreeSettings, fit_trees
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.data.letor.writer import write_letor
from sparserank.data.synthetic import make_ranking
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation import per_query_values
from sparserank.jobs.trees.comparison_job import ComparisonPlan, compare
from sparserank.runs.work_store import WorkStore
from sparserank.selection.comparison import ALL, CHOICE, simultaneous_intervals
from sparserank.selection.plan import make_plan
from tests.command_line import Cli
from tests.shortcuts import no_processes

QUICK = TreeSettings(n_trees=20, n_leaves=4)


def plan_of(**more):
    plan = make_plan(
        penalties="mcp",
        metric="ndcg@10",
        report_metrics=(),
        convention="default",
        settings=PathSettings(n_alphas=15),
        cv=3,
        feature_transform="none",
    )
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
    assert result.names == [
        "mcp",
        "trees on own gain",
        "trees on SHAP",
        "trees on recursive gain",
        "trees on random",
        "trees on ours",
    ]
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
        trees = fit_trees(train, varying, TreeSettings(20, 4), seed=f)
        by_hand[out] = per_query_values(trees.scores(test.X), test, [plan.plan.metric])[0]
        whole = fit_trees(data, varying, TreeSettings(20, 4), seed=f)
        seen[out] = per_query_values(whole.scores(test.X), test, [plan.plan.metric])[0]
    np.testing.assert_allclose(found, by_hand)
    assert seen.mean() > by_hand.mean() + 0.01  # what has seen the queries would be flattered


def test_trees_without_a_fold_score_it_and_learn_from_queries_of_no_fold(data):
    fold = query_folds(data.n_queries, 3, 0)
    fold[fold == 2] = -1
    held = HeldOutTrees(data, fold, 1, QUICK, seed=7)
    assert held.where.tolist() == np.flatnonzero(fold == 1).tolist()
    assert held.train.query_ids.tolist() == data.query_ids[fold != 1].tolist()
    usable = held.usable(never=[3])
    assert 3 not in usable
    trees = [held.fit(usable, draw) for draw in range(2)]
    by_hand = [fit_trees(held.train, usable, QUICK, 8 + 100_000 * draw) for draw in range(2)]
    values = []
    for t, own in zip(trees, by_hand, strict=True):
        scores = own.scores(data.take_queries(held.where).X)
        np.testing.assert_array_equal(held.scores(t), scores)
        values.append(per_query_values(scores, held.unseen, [plan_of().plan.metric])[0])
    np.testing.assert_array_equal(held.values(trees, plan_of().plan.metric), np.mean(values, axis=0))
    assert (values[0] != values[1]).any()


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


@pytest.mark.slow
@pytest.mark.usefixtures("no_processes")
def test_finished_pieces_are_kept_and_change_nothing(data, result, tmp_path):
    plan = plan_of()
    with WorkStore(tmp_path / "run", plan.identity(data), kind="compare") as store:
        stopped = []

        def stop(done, n, what, left):
            stopped.append(what)
            if done == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            compare(data, plan, stop, store)
        again = compare(data, plan, None, store)
    for a, b in zip(again.systems, result.systems, strict=True):
        assert (a.name, a.k) == (b.name, b.k)
        np.testing.assert_array_equal(a.values, b.values)


def test_what_cannot_be_compared_is_refused(data):
    halves = RankingDataset(data.X, data.relevance + 0.5, np.repeat(data.query_ids, np.diff(data.query_ptr)))
    with pytest.raises(DataError, match="whole grades from 0 to 30; row 0 has"):
        compare(halves, plan_of())
    with pytest.raises(DataError, match="a single query cannot be split"):
        compare(data.take_queries(np.arange(1)), plan_of())
    rng = np.random.default_rng(0)
    long = RankingDataset(rng.random((10_101, 2)), rng.integers(0, 2, 10_101), np.repeat([1, 2], [10_001, 100]))
    with pytest.raises(DataError, match="query 1 has 10001 documents"):
        compare(long, plan_of())
    with pytest.raises(ParameterError, match="integer >= 1"):
        plan_of(repeats=0)


@pytest.mark.usefixtures("no_processes", "pictures")
def test_the_command_writes_table_page_and_csv_and_goes_on(data, cli_here: Cli, tmp_path: Path):
    write_letor(data.take_queries(np.arange(30)), tmp_path / "train.txt")
    call = [
        "compare",
        "train.txt",
        "--with",
        "lightgbm",
        "--penalty",
        "mcp",
        "--transform",
        "none",
        "--folds",
        "2",
        "--size",
        "2",
        "--size",
        "4",
        "--seeds",
        "1",
        "--n-trees",
        "20",
        "--threads",
        "1",
        "--out",
        "run",
    ]
    first = cli_here(*call)
    assert first.code == 0, first.err
    assert "Our choice of" in first.out
    assert "trees on own gain" in first.out
    content = json.loads((tmp_path / "run/comparison.json").read_text())
    assert content["format"] == "sparserank-comparison"
    rows = list(csv.DictReader((tmp_path / "run/comparison.csv").read_text().splitlines()))
    assert {r["system"] for r in rows} >= {"mcp", "our choice", "trees on all features"}
    same = sr.trees.compare_with_trees(
        tmp_path / "train.txt", penalties="mcp", feature_transform="none", cv=2, sizes=(2, 4), n_seeds=1, n_trees=20
    )
    assert [r["mean"] for r in same.rows()] == [float(r["mean"]) for r in rows]
    page = (tmp_path / "run/report.html").read_text()
    assert "<svg" in page
    again = cli_here(*call)
    assert again.out == first.out
    other = cli_here(*call[:-4], "--n-trees", "21", "--out", "run")
    assert other.code == 1
    assert "other data or options" in other.err
    wrong = cli_here("compare", "train.txt", "--with", "forest", "--out", "other")
    assert wrong.code == 2
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_worker_processes_change_nothing(data, result):
    again = compare(data, plan_of())
    for a, b in zip(again.systems, result.systems, strict=True):
        assert (a.name, a.k) == (b.name, b.k)
        np.testing.assert_array_equal(a.values, b.values)
