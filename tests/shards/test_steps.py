"""Boosted steps: bins, sums of a round by bin, the step of largest gain, against loops; models of every size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.bins import StepFunction, edges_of, fit_bins
from sparserank.crossval.feature_groups import groups_of_one
from sparserank.data.reading import Reading
from sparserank.errors import DataError
from sparserank.metrics import parse_metric
from sparserank.objective import PairwiseObjective, objectives_of
from sparserank.paths import BoostedSteps, PathPlan, fit_path_on
from sparserank.paths import boosting as boosting_module
from sparserank.paths.boosting import NEARLY, OTHERS, RIDGE, StepsOn, _Boosting, best_steps, drawn
from sparserank.selection import menu
from sparserank.selection.menu import steps_tried
from sparserank.selection.plan import make_plan
from sparserank.shards import local
from sparserank.shards._step_kernels import BINS, ranking
from sparserank.solvers.lockstep import run, run_all
from sparserank.weighting import Weighting
from tests.oracles.boosted_steps import best_steps as best_of_loops
from tests.oracles.boosted_steps import gradients_of_query

N_FEATURES = 5


@pytest.fixture(scope="module")
def data() -> sr.RankingDataset:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 60, 30)
    n = int(sizes.sum())
    X = np.column_stack(
        [rng.integers(0, 5, n), rng.normal(size=(n, 3)), np.where(rng.random(n) < 0.7, 0, rng.random(n))]
    )
    y = np.clip(np.round(X[:, 1] + (X[:, 2] > 0.5) + rng.normal(0, 0.5, n)), 0, 4)
    return sr.RankingDataset(X, y, np.repeat(np.arange(30), sizes), doc_weight=rng.choice([0.5, 1.0, 2.0], n))


def qid_of(data: sr.RankingDataset) -> np.ndarray:
    return np.repeat(np.arange(data.n_queries), np.diff(data.query_ptr))


def as_ranked(scores: np.ndarray, seed: int) -> np.ndarray:
    """(n,) ranks from 0."""
    order = np.empty(len(scores), dtype=np.int64)
    ranking(scores, np.uint64(seed), order)
    return np.argsort(order)


def gradients_of_round(
    data: sr.RankingDataset, scores: np.ndarray, seeds: np.ndarray, weights: np.ndarray, cutoff: int, in_file: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n,) gradients, curvatures and whether a document counts, by loops; `in_file`: ranked by the order of the file
    instead of the scores, which is wrong."""
    g, h, counted = np.zeros(data.n_docs), np.zeros(data.n_docs), np.zeros(data.n_docs, dtype=bool)
    for q in np.flatnonzero(seeds):
        own = slice(*data.query_ptr[q : q + 2])
        y = data.relevance[own]
        if weights[q] == 0 or y.max() == y.min():
            continue
        rank = np.arange(len(y)) if in_file else as_ranked(scores[own], int(seeds[q]))
        of_query = gradients_of_query(scores[own], y, rank, cutoff, data.doc_weight[own])
        g[own], h[own], counted[own] = weights[q] * of_query[0], weights[q] * of_query[1], True
    return g, h, counted


@pytest.mark.parametrize(("cutoff", "lower"), [(1, 0.0), (10, 0.0), (10, 2.5)])
@pytest.mark.parametrize("n_used", [0, 2])
@pytest.mark.parametrize("pair_weights", ["pair", "query"])
def test_the_sums_and_the_step_of_a_round_are_those_of_loops(data, pair_weights, n_used, cutoff, lower) -> None:
    data = sr.RankingDataset(data.X, data.relevance - lower, qid_of(data), doc_weight=data.doc_weight)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 3.0], data.n_queries)
    bins = fit_bins(data)
    objective = PairwiseObjective(data, shape=bins, query_weight=weights, pair_weights=pair_weights, n_threads=2)
    w = np.zeros((N_FEATURES, BINS - 1))
    for j in range(n_used):
        w[j + 1, [3, 20]] = 0.7, -0.2
    seeds = drawn(5, 0, data.n_queries, 0.8)
    features = np.array([0, 1, 4])
    (sums,) = objective.weighting.bin_sums([(w.ravel(), features, 0, cutoff)], seeds[None])
    binned = bins.rows(data.X).bins
    scores = np.array([sum(w[j, : binned[i, j]].sum() for j in range(N_FEATURES)) for i in range(data.n_docs)])
    g, h, counted = gradients_of_round(data, scores, seeds, weights, cutoff, in_file=False)
    wrong, _, _ = gradients_of_round(data, scores, seeds, weights, cutoff, in_file=True)
    factor = sums[0, :, 1].sum() / h.sum()  # gains and steps do not depend on the scale of all weights
    for u, j in enumerate(features):
        for b in range(BINS):
            here = counted & (binned[:, j] == b)
            expected = factor * g[here].sum(), factor * h[here].sum(), here.sum()
            np.testing.assert_allclose(sums[u, b], expected, rtol=1e-9, atol=1e-12 * np.abs(sums[..., 0]).sum())
    of_wrong = [factor * wrong[counted & (binned[:, 0] == b)].sum() for b in range(BINS)]
    assert not np.allclose(sums[0, :, 0], of_wrong, rtol=1e-3, atol=1e-3 * np.abs(sums[0, :, 0]).max())  # file order
    expected = best_of_loops(binned[:, features], BINS, g, h, counted, RIDGE, 20, 3, NEARLY)
    for most in (1, 3):
        steps = best_steps(sums, np.ones(3), np.zeros(3), most)
        assert [(step.feature, step.bin) for step in steps] == [(j, b) for _, j, b, _, _ in expected[:most]]
        found, by_loops = [], []
        for step, (gain, _, _, left, right) in zip(steps, expected, strict=False):
            found.append((step.jump, step.gain))
            by_loops.append((right - left, factor * gain))
        np.testing.assert_allclose(found, by_loops, rtol=1e-9)
    # Costs divide gains, and signs allow only some steps.
    assert best_steps(sums, np.array([1.0, 1.0, 1e-6]), np.zeros(3), 3)[0].feature == 2
    allowed = best_steps(sums, np.ones(3), -np.sign(steps[0].jump) * np.ones(3), 3)
    assert all(step.jump * steps[0].jump < 0 for step in allowed)


def test_a_round_adds_the_best_step_of_each_of_a_few_features() -> None:
    """Two steps of the first feature gain more than any of another; the wrong variant takes the best of all steps."""
    gradients = np.zeros((4, 4, 3))
    gradients[..., 1:] = 1.0, 100.0
    for own, size in zip(gradients, (1.0, 0.8, 0.75, 0.1), strict=True):
        own[:, 0] = size * np.array([-3.0, -1.0, 1.0, 3.0])

    def taken(most: int, costs: np.ndarray | None = None) -> list[int]:
        return [s.feature for s in best_steps(gradients, np.ones(4) if costs is None else costs, np.zeros(4), most)]

    of_all_steps = sorted(
        [(_gain(gradients[j], last), j) for j in range(2) for last in range(3)], key=lambda step: -step[0]
    )
    assert taken(2) == [0, 1]
    assert [j for _, j in of_all_steps[:2]] == [0, 0]
    # The third has 0.56 of the largest gain, the last one 0.01; costs divide gains before they are compared.
    assert taken(4) == [0, 1, 2]
    assert taken(4, np.array([1.0, 2.0, 1.0, 0.01])) == [0, 3, 2]


def _gain(sums: np.ndarray, last: int) -> float:
    """The gain of the step beyond bin `last` of one feature."""
    merged = np.stack([sums[: last + 1].sum(axis=0), sums[last + 1 :].sum(axis=0)])
    (step,) = best_steps(merged[None], np.ones(1), np.zeros(1), 1)
    return step.gain


def test_a_sequence_is_that_of_loops_and_counts_steps(data: sr.RankingDataset, monkeypatch) -> None:
    """The wrong variants count rounds instead of steps, and the gains of all steps of a round alike."""
    bins, rounds, most = fit_bins(data), 7, 2  # at most half as many steps a round as the features
    objective, maker = PairwiseObjective(data, shape=bins), BoostedSteps(draws=1)
    boosting, features = _Boosting(maker, objective), np.arange(N_FEATURES)
    asked: list[int] = []
    monkeypatch.setattr(boosting_module, "drawn", lambda seed, t, *of: asked.append(t) or drawn(seed, t, *of))
    w, gains = run(boosting.learned(features, rounds))
    binned, heights = bins.rows(data.X).bins, np.zeros((N_FEATURES, BINS))
    of_all, of_best, n_steps, n_rounds = np.zeros(N_FEATURES), np.zeros(N_FEATURES), 0, 0
    while n_steps < rounds:
        seeds = drawn(maker.seed, n_rounds, data.n_queries, boosting._share)
        scores = heights[features, binned].sum(axis=1)
        round_ = gradients_of_round(data, scores, seeds, np.ones(data.n_queries), maker.cutoff, in_file=False)
        steps = best_of_loops(binned, BINS, *round_, RIDGE, 20, min(most, rounds - n_steps), NEARLY)
        for i, (gain, j, b, left, right) in enumerate(steps):
            heights[j, b + 1 :] += maker.rate * (right - left)
            of_all[j] += gain
            of_best[j] += gain if i == 0 else OTHERS * gain
        n_steps, n_rounds = n_steps + len(steps), n_rounds + 1
    np.testing.assert_allclose(np.cumsum(w.reshape(N_FEATURES, -1), axis=1), heights[:, 1:], rtol=1e-9, atol=1e-12)
    assert asked == list(range(n_rounds))
    assert n_rounds < rounds
    np.testing.assert_allclose(gains / gains.max(), of_best / of_best.max(), rtol=1e-9)
    assert not np.allclose(gains / gains.max(), of_all / of_all.max(), rtol=0.01)


def test_tied_scores_have_no_order_of_the_file() -> None:
    first = [int(np.argmin(as_ranked(np.zeros(4), seed))) for seed in range(1, 4001)]
    assert np.abs(np.bincount(first, minlength=4) - 1000).max() < 150  # 5.5 standard deviations of 27
    assert as_ranked(np.array([1.0, 3.0, 2.0]), 1).tolist() == [2, 0, 1]


def test_queries_are_drawn_by_seed_and_round() -> None:
    one, other = drawn(0, 0, 10_000, 0.7), drawn(0, 1, 10_000, 0.7)
    assert abs((one > 0).mean() - 0.7) < 0.03
    assert abs(((one > 0) & (other > 0)).mean() - 0.49) < 0.03
    assert np.array_equal(one[:50], drawn(0, 0, 50, 0.7))


def test_frequent_values_have_bins_of_their_own() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([np.zeros(9_000), rng.lognormal(size=1_000)])
    edges = edges_of(values)
    assert len(edges) < BINS
    in_bins = np.bincount(np.searchsorted(edges, values))
    assert in_bins[0] == 9_000
    assert in_bins[1:].max() <= 3 * in_bins[1:].min()
    assert edges_of(np.array([1.0, 2.0, 2.0, 5.0])).tolist() == [1.5, 3.5]
    assert len(edges_of(np.full(10, 3.0))) == 0
    # An edge is between the same values in single precision: engines that compute in it take the same side.
    for values in (1.7e9 + rng.integers(0, 86_400, 3_000), rng.choice([1e6, 1e6 + 0.01], 50), rng.normal(size=3_000)):
        edges, single = edges_of(values), values.astype(np.float32)
        assert np.array_equal(np.searchsorted(edges, values), np.searchsorted(edges, single.astype(float)))
    assert len(edges_of(np.array([1e200, 2e200]))) == 1


def test_models_have_every_size_and_rank_well() -> None:
    data = sr.datasets.make_curved_ranking(150, random_state=1).data
    path = sr.fit_path(data, "steps(rounds=60)")
    assert np.all(np.diff(path.nnz) >= 0)
    assert path.nnz[0] == 1
    assert set(path.statuses) == {"not certified"}
    ranker = sr.SparseRanker(penalty="steps", k=3).fit(data.X, data.relevance, qid=qid_of(data))
    assert ranker.get_support().sum() == 3
    assert all(isinstance(f, StepFunction) for f in ranker.steps_.values())
    with pytest.raises(AttributeError, match="fits steps"):
        _ = ranker.coef_
    linear = sr.SparseRanker(penalty="mcp", k=3).fit(data.X, data.relevance, qid=qid_of(data))
    mean = {
        r: float(np.mean(sr.evaluate(r.to_model(), data, ["ndcg@10"]).per_query["ndcg@10"])) for r in (ranker, linear)
    }
    assert mean[ranker] > mean[linear]


def test_rules_hold_in_every_model(data: sr.RankingDataset) -> None:
    rules = {"keep": (0,), "drop": (3,), "monotone": (0, -1, -1, 0, 1)}
    path = sr.fit_path(data, BoostedSteps(rounds=20, **rules))
    jumps = path.scaled_coefs.reshape(len(path.alphas), N_FEATURES, -1)
    assert (np.abs(jumps[:, 0]).sum(axis=1) > 0).all()
    assert not jumps[:, 3].any()
    assert (jumps[:, [1, 2]] <= 0).all()
    assert (jumps[:, 4] >= 0).all()
    free = sr.fit_path(data, BoostedSteps(rounds=20)).scaled_coefs.reshape(-1, N_FEATURES, BINS - 1)
    assert (free[:, [1, 2]] > 0).any()  # without the rule
    grouped = sr.fit_path(data, BoostedSteps(rounds=20, feature_groups=(0, 0, 1, 1, 2)))
    used = grouped.scaled_coefs.reshape(len(grouped.alphas), N_FEATURES, -1).any(axis=2)
    assert len(used) == 3
    assert not (used[0, :2].any() and used[0, 2:].any())


def test_bits_depend_on_no_thread_and_no_other_path(data: sr.RankingDataset) -> None:
    bins, maker = fit_bins(data), BoostedSteps(rounds=10, draws=2)
    alone = [fit_path_on(PairwiseObjective(data, shape=bins, n_threads=n), maker).scaled_coefs for n in (1, 3)]
    assert np.array_equal(*alone)
    objective = PairwiseObjective(data, shape=bins)
    left_out = np.ones((2, data.n_queries))
    left_out[1, ::3] = 0.0
    weighting = Weighting(objective.shards, left_out, shape=bins)
    paths = run_all([maker.path(o, sr.paths.PathPlan()) for o in objectives_of(weighting)])
    assert np.array_equal(paths[0].scaled_coefs, alone[0])
    assert not np.array_equal(paths[1].scaled_coefs, alone[0])


@pytest.mark.parametrize("sparse", [False, True])
def test_a_store_changes_no_bit(data: sr.RankingDataset, sparse: bool, tmp_path, monkeypatch) -> None:
    sr.write_letor(data, tmp_path / "train.txt")
    sr.convert([tmp_path / "train.txt"], tmp_path / "store", Reading(dtype="float64", sparse=sparse), shard_bytes=9_000)
    stored, here = sr.read(tmp_path / "store"), sr.read(tmp_path / "train.txt", dtype="float64", sparse=sparse)
    assert stored.is_stored
    monkeypatch.setattr(local, "SHARD_BYTES", 9_000)
    maker = BoostedSteps(rounds=10, draws=1)
    paths = []
    for own in (stored, here):
        objective = PairwiseObjective(own, shape=fit_bins(own))
        assert len(objective.shards.shards) > 2
        paths.append(fit_path_on(objective, maker))
    assert np.array_equal(paths[0].scaled_coefs, paths[1].scaled_coefs)
    assert np.array_equal(sr.fit_path(stored, maker).scaled_coefs, paths[0].scaled_coefs)
    assert np.array_equal(paths[0].losses, paths[1].losses)


def test_a_path_does_not_depend_on_units(data: sr.RankingDataset, monkeypatch) -> None:
    objective = PairwiseObjective(data, shape=fit_bins(data))
    maker, told = BoostedSteps(rounds=5), []
    whole = run_all([maker.path(objective, sr.paths.PathPlan(tell=told.append))])[0]
    assert told == len(whole.alphas) * [len(whole.alphas)]
    costs = (1.0, 2.0, 3.0, 1.0, 5.0)
    paths = [sr.fit_path(data, BoostedSteps(rounds=5, weights=tuple(f * c for c in costs))) for f in (1.0, 1024.0)]
    assert np.array_equal(paths[0].scaled_coefs, paths[1].scaled_coefs)
    weighted = sr.RankingDataset(data.X, data.relevance, qid_of(data), doc_weight=data.doc_weight * 1024.0)
    assert np.array_equal(sr.fit_path(weighted, maker).scaled_coefs, whole.scaled_coefs)
    few = data.take_queries(np.arange(2))  # rounds without a query are no end
    assert sr.fit_path(few, BoostedSteps(rounds=40)).scaled_coefs[-1].any()
    kept = sr.fit_path(data, BoostedSteps(rounds=5, keep=(0, 1)))
    assert kept.nnz.min() == 2
    monkeypatch.setattr(boosting_module, "LARGEST", 1)  # no bound for what is kept
    assert sr.fit_path(data, BoostedSteps(rounds=5, keep=(0, 1))).nnz.tolist() == [2]
    with pytest.raises(DataError, match="exclude every feature that varies"):
        sr.fit_path(data, BoostedSteps(drop=(0, 1, 2, 3, 4)))


def test_select_takes_steps_and_what_cannot_be_is_refused(data: sr.RankingDataset, tmp_path) -> None:
    result = sr.select(
        data, penalties=["mcp", "steps(rounds=30)"], k=3, rival="none", half_samples=0, out=tmp_path / "run"
    )
    assert any(label.startswith("steps") for label in result.paths)
    again = sr.select(
        data, penalties=["mcp", "steps(rounds=30)"], k=3, rival="none", half_samples=0, out=tmp_path / "run"
    )
    assert again.chosen.label == result.chosen.label
    assert np.array_equal(again.model.predict(data.X), result.model.predict(data.X))
    for wrong in ("steps(rounds=0)", "steps(rate=0)", "steps(cutoff=0)", "steps(seed=-1)"):
        with pytest.raises(DataError, match=wrong[6:].partition("=")[0]):
            sr.fit_path(data, wrong)
    with pytest.raises(DataError, match="cannot run steps"):
        sr.select(data, penalties=["steps"], engine="ranklib")
    with pytest.raises(DataError, match="must be none with steps"):
        sr.SparseRanker(penalty="steps", k=3, feature_transform="log").fit(data.X, data.relevance, qid=qid_of(data))


def test_steps_are_tried_by_default_where_there_is_enough_to_learn(monkeypatch) -> None:
    few, many = (sr.datasets.make_ranking(n, 45, 8, n_informative=3, random_state=0).data for n in (49, 51))
    plan = make_plan(penalties=None, metric="ndcg@5", report_metrics=(), convention="default")
    assert steps_tried(plan, few) == ()
    assert [m.label for m in steps_tried(plan, many)] == ["steps(cutoff=5)"]
    monkeypatch.setattr(menu, "MANY_QUERIES", 51)
    plan = replace(plan, metric=parse_metric("map"))
    assert [m.label for m in steps_tried(plan, many)] == ["steps(rounds=300, rate=0.3, draws=1)"]
    for other in (
        {"feature_transform": "none"},
        {"with_steps": False},
        {"path_plan": PathPlan(scaling="log-standard")},
    ):
        assert steps_tried(replace(plan, **other), many) == ()
    monkeypatch.setattr(menu, "MAX_FEATURES_OF_STEPS", 7)
    assert steps_tried(plan, many) == ()
    (note,) = menu.notes_of_steps(plan, many)
    assert "2295 documents x 8 features; penalties='steps' and feature_transform='distilled' try them" in note
    monkeypatch.undo()
    # What a budget cannot pay is left out of a path of its own.
    costs = groups_of_one(many.feature_names, [5.0] + 7 * [1.0])
    labels = {t.label for t in menu.tasks_of(replace(plan, budget=3.0), many, costs)}
    assert {"steps", "steps within a cost of 3", "l1"} <= labels
    assert "l1 within a cost of 3" not in labels
    # Steps take the place of no penalty on another transform.
    curved = sr.datasets.make_curved_ranking(210, random_state=0).data
    tried = [t.label for t in menu.tasks_of(plan, curved, groups_of_one(curved.feature_names))]
    assert tried == ["l1", "ridge", "l1 on log", "mcp on log", "ridge on log", "distilled mcp on log", "steps"]
    # An engine that cannot run logarithms gets MCP on unchanged features.
    for_raw = replace(plan, engine="ranklib")
    tried = [t.label for t in menu.tasks_of(for_raw, curved, groups_of_one(curved.feature_names))]
    assert tried[:4] == ["l1", "mcp", "ridge", "l1 on log"]
    assert "mcp on log" in tried  # which an earlier run without the engine may have left, for the cost of the engine


def test_an_engine_that_cannot_run_steps_leaves_them_out_and_knows_their_cost(tmp_path) -> None:
    data = sr.datasets.make_ranking(210, 10, 6, n_informative=2, n_redundant=2, random_state=0).data
    quick = {"half_samples": 0, "rival": "none", "cv": 2, "n_alphas": 5, "out": tmp_path / "run"}
    free = sr.select(data, **quick)
    assert "steps" in free.paths
    for engine in ("solr", "ranklib"):
        result = sr.select(data, engine=engine, **quick)  # the same directory
        assert "steps" not in result.paths
        assert "steps" in result.engine.left_out
        assert result.engine.cost is not None
    assert "steps" in sr.select(data, engine="sql", **quick).paths


def test_the_ablation_learns_again(data: sr.RankingDataset) -> None:
    objective, maker = PairwiseObjective(data, shape=fit_bins(data)), BoostedSteps(rounds=20, draws=2)
    rows = np.zeros((3, N_FEATURES, BINS - 1))
    rows[0, [0, 1, 4], 3], rows[1, [0, 4], 5] = 1.0, 1.0
    rows = sp.csr_array(rows.reshape(3, -1))
    (path,) = run_all([StepsOn(maker, rows).path(objective, PathPlan())])
    found = path.scaled_coefs.reshape(3, N_FEATURES, -1)
    for own, kept in zip(found, ([0, 1, 4], [0, 4]), strict=False):
        dropped = tuple(np.setdiff1d(np.arange(N_FEATURES), kept).tolist())
        alone = sr.fit_path(data, replace(maker, drop=dropped)).scaled_coefs[-1]
        assert np.array_equal(own.ravel(), alone)
    assert not np.array_equal(found[0][[0, 4]], found[1][[0, 4]])  # not the same steps without a feature's
    assert not found[2].any()


def test_the_picture_of_steps_is_cut_off_where_a_tail_would_hide_them() -> None:
    steps = StepFunction(np.array([1.0, 3.0, 5.0]), np.array([0.0, 1.0, 4.0, 2.0]))
    for low, high, ends in ((0.5, 5.5, (0.5, 5.5)), (-1e6, 1e6, (0.0, 6.0)), (2.0, 4.0, (1.0, 5.0))):
        x, y = steps.outline(low, high)
        assert (x[0], x[-1]) == ends
        np.testing.assert_array_equal(x[1:-1], [1, 1, 3, 3, 5, 5])
        np.testing.assert_array_equal(y, [0, 0, 1, 1, 4, 4, 2, 2])
    for edge, high, last in ((0.5, 1e6, 1.0), (0.0, 8.0, 8.0)):  # one step
        x, _ = StepFunction(np.array([edge]), np.array([0.0, 1.0])).outline(0.0, high)
        assert (x[0], x[-1]) == (0.0, last)
