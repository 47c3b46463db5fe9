"""Refits for the metric against explicit lists and pairs; what they may not do; what they are worth on noise."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.crossval import metric_refits as of_sizes
from sparserank.crossval.settings import PathSettings
from sparserank.data.letor.writer import write_letor
from sparserank.jobs.selection_job import SelectionJob
from sparserank.metrics import parse_metric
from sparserank.paths import MetricRefitPath, PathPlan, PathStarts, fit_path_on, refit_on_support
from sparserank.paths._metric_kernels import weighted_hinge, weighted_hinge_curvature
from sparserank.paths.delta_weights import refit_by_delta
from sparserank.paths.follow import refit_problem
from sparserank.paths.metric_refits import METRIC_KINDS
from sparserank.paths.metric_sample import MetricSample, metric_sample
from sparserank.paths.polishing import Blocks, polish
from sparserank.penalties import L1, MCP, parse_penalty
from sparserank.selection.plan import make_plan
from sparserank.solvers.lockstep import run
from tests.oracles import metric_refits as oracle
from tests.oracles.metrics import RULES

DATA = sr.datasets.make_ranking(60, (4, 14), 8, n_informative=4, n_redundant=2, noise=1.5, random_state=3).data
LISTS = {"default": replace(RULES["default"]), "letor4": RULES["letor4"]}


def sample_of(
    metric: str = "ndcg@5", columns: tuple[int, ...] = (0, 1, 2, 3, 4), data: sr.RankingDataset = DATA, seed: int = 0
) -> tuple[sr.solvers.PairwiseObjective, MetricSample]:
    objective = sr.solvers.PairwiseObjective(data)
    found = metric_sample(objective, parse_metric(metric), np.array(columns), (seed, 0))
    assert found is not None
    return objective, found


def pair_weights(sample: MetricSample, scores: np.ndarray) -> list[np.ndarray]:
    """Per query (n, n) weights of its pairs: of scores that are all equal every pair is active, and the curvature is
    the Laplacian of their weights."""
    ones = np.ones(len(sample.weight))
    out = []
    for a, b in zip(sample.query_ptr[:-1], sample.query_ptr[1:], strict=True):
        Z, product = np.zeros((len(scores), b - a)), np.zeros((len(scores), b - a))
        Z[a:b] = np.eye(b - a)
        weighted_hinge_curvature(
            np.zeros(len(scores)),
            sample.order(scores),
            sample.gains,
            sample.query_ptr,
            sample.discounts,
            ones * sample.per_dcg,
            Z,
            product,
        )
        laplacian = product[a:b] / 2.0
        np.testing.assert_allclose(laplacian.sum(axis=0), 0.0, atol=1e-12)
        out.append(np.diag(np.diag(laplacian)) - laplacian)
    return out


@pytest.mark.parametrize("cutoff", [1, 3, 5])
@pytest.mark.parametrize("name", LISTS)
def test_weights_are_what_an_exchange_of_two_documents_changes(name: str, cutoff: int) -> None:
    """By the metric itself, by explicit lists; tied scores and lists shorter than the cutoff among them."""
    metric = parse_metric(f"ndcg@{cutoff}", name)
    _, sample = sample_of(repr(metric))
    scores = np.round(np.random.default_rng(0).standard_normal(len(sample.relevance)), 1)  # with ties
    wrong = {"letor4": RULES["default"], "default": replace(RULES["default"], gain=lambda rel: rel)}[name]
    rejected = 0
    lists = list(zip(sample.query_ptr[:-1].tolist(), sample.query_ptr[1:].tolist(), strict=True))
    for own, (a, b) in zip(pair_weights(sample, scores), lists, strict=True):
        s, y = scores[a:b].tolist(), sample.relevance[a:b].tolist()
        np.testing.assert_allclose(own, oracle.exchange(s, y, cutoff, LISTS[name]), atol=1e-12)
        rejected += not np.allclose(own, oracle.exchange(s, y, cutoff, wrong), atol=1e-12)
        ptr, order = np.array([0, b - a]), oracle.order_of(s, y, LISTS[name])
        ranks = np.empty(b - a)
        ranks[order] = -np.arange(b - a, dtype=np.float64)
        before = metric(ranks, np.array(y), ptr)[0]
        for i, j in [(order[0], order[-1]), (order[0], order[1]), (order[-2], order[-1])]:
            moved = ranks.copy()
            moved[[i, j]] = ranks[[j, i]]
            assert own[i, j] == pytest.approx(abs(metric(moved, np.array(y), ptr)[0] - before), abs=1e-12)
    assert rejected > 0 or cutoff == 1


def test_only_queries_that_can_vary_are_looked_at() -> None:
    sizes = np.diff(DATA.query_ptr)
    assert (sizes < 10).any()
    _, sample = sample_of("letor4:ndcg@10")
    assert len(sample.weight) < DATA.n_queries
    assert (np.diff(sample.query_ptr) >= 10).all()
    assert abs(np.bincount(sample.half)[0] - np.bincount(sample.half)[1]) <= 1


@pytest.mark.parametrize("name", LISTS)
def test_the_value_of_a_sample_is_the_mean_metric_of_its_queries(name: str) -> None:
    metric = parse_metric("ndcg@5", name)
    _, sample = sample_of(repr(metric))
    scores = np.round(np.random.default_rng(1).standard_normal(len(sample.relevance)), 1)
    values = metric(scores, sample.relevance, sample.query_ptr)
    assert sample.value(scores) == pytest.approx(values.mean(), abs=1e-12)
    halves = sample.in_halves(scores, scores, np.array([0.0, 1.0]))
    for h in (0, 1):
        rules = replace(LISTS[name], tie_key=RULES["default"].tie_key)  # the least relevant first, always
        expected = oracle.mean_of_half(scores, sample.relevance, sample.query_ptr, 5, rules, sample.half, h)
        assert halves[:, h] == pytest.approx(expected, abs=1e-12)


def test_the_hinge_and_its_curvature_are_those_of_explicit_pairs() -> None:
    objective, sample = sample_of()
    w = refit_on_support(objective, np.arange(5)).w[:5]
    scores, n = sample.Z @ w, len(sample.relevance)
    lists = sample.order(scores), sample.gains, sample.query_ptr, sample.discounts
    share, gradient = sample.weight * sample.per_dcg, np.empty(n)
    total, value = weighted_hinge(scores, *lists, share, gradient)
    args = sample.Z, w, sample.relevance, sample.query_ptr
    expected, slope = oracle.hinge(*args, pair_weights(sample, scores), sample.weight, 0.0)
    assert value / total == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(sample.Z.T @ gradient / total, slope, atol=1e-12)
    unweighted, _ = oracle.hinge(*args, [np.ones_like(v) for v in pair_weights(sample, scores)], sample.weight, 0.0)
    assert abs(unweighted - expected) > 1e-3  # the wrong variant
    product, step = np.empty(sample.Z.shape), 1e-6
    weighted_hinge_curvature(scores, *lists, share, sample.Z, product)
    for k in range(5):
        ahead, behind = np.empty(n), np.empty(n)
        weighted_hinge(scores + step * sample.Z[:, k], *lists, share, ahead)
        weighted_hinge(scores - step * sample.Z[:, k], *lists, share, behind)
        found = sample.Z.T @ (ahead - behind) / (2 * step)
        np.testing.assert_allclose(sample.Z.T @ product[:, k], found, rtol=1e-3, atol=1e-6 * total)


def test_a_round_ends_where_its_objective_is_least_and_the_best_round_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    objective, sample = sample_of()
    columns = np.arange(5)
    w = refit_on_support(objective, columns).w[:5]
    ridge, _ = refit_problem(objective, columns, None, 1e-8, None)
    weights = pair_weights(sample, sample.Z @ w)
    args = sample.relevance, sample.query_ptr, weights, sample.weight, ridge.alpha
    best = sample.value(sample.Z @ w)
    monkeypatch.setattr("sparserank.paths.delta_weights.ROUNDS", 1)
    calls = iter([0.0, 1.0])
    monkeypatch.setattr(MetricSample, "value", lambda self, scores: next(calls))  # the one round is taken
    found = refit_by_delta(sample, w, ridge, columns, 8)
    before, at_start = oracle.hinge(sample.Z, w, *args)
    after, slope = oracle.hinge(sample.Z, found, *args)
    assert after < before
    assert np.abs(slope).max() < 1e-3 * np.abs(at_start).max()  # it ends 1e-9 of the objective above its minimum
    monkeypatch.undo()
    assert sample.value(sample.Z @ refit_by_delta(sample, w, ridge, columns, 8)) >= best


@pytest.mark.parametrize("seed", range(3))
def test_polishing_is_that_of_explicit_loops_and_lowers_neither_half(seed: int) -> None:
    data = sr.datasets.make_ranking(24, (4, 9), 5, n_informative=3, n_redundant=0, noise=1.5, random_state=seed).data
    objective, sample = sample_of("ndcg@3", (0, 1, 2, 3), data, seed)
    w = refit_on_support(objective, np.arange(4)).w[:4]
    nothing = np.zeros(4, dtype=bool)
    factor = polish(sample, w, Blocks(np.arange(4), nothing, nothing))
    args = sample.Z, w, sample.relevance, sample.query_ptr, 3, RULES["default"], sample.half
    expected, begin = oracle.polished(*args)
    np.testing.assert_allclose(factor, expected / begin, atol=1e-9)
    assert not np.allclose(factor, 1.0)
    assert not np.allclose(factor, oracle.polished(*args, both=False)[0] / begin)  # the wrong variant
    before = sample.in_halves(sample.Z @ w, np.zeros(len(sample.Z)), np.zeros(1))[0]
    after = sample.in_halves(sample.Z @ (w * factor), np.zeros(len(sample.Z)), np.zeros(1))[0]
    assert (after >= before - 1e-12).all()
    assert (after > before).any()


def test_a_step_stops_at_zero_and_keeps_what_is_kept() -> None:
    """A feature of noise with a weight of its own goes to 0 where it may, and never beyond where its sign is given."""
    went_to_zero = 0
    for seed in range(6):
        data = sr.datasets.make_ranking(
            40, (5, 12), 4, n_informative=2, n_redundant=0, noise=0.3, random_state=seed
        ).data
        objective, sample = sample_of("ndcg@5", (0, 1, 2, 3), data)
        w = refit_on_support(objective, np.arange(4)).w[:4]
        w[np.argmin(np.abs(w))] = -0.25 * np.abs(w).max() * np.sign(w[np.argmin(np.abs(w))])
        yes, no = np.ones(4, dtype=bool), np.zeros(4, dtype=bool)
        free = polish(sample, w, Blocks(np.arange(4), no, no))
        held = polish(sample, w, Blocks(np.arange(4), no, yes))
        kept = polish(sample, w, Blocks(np.arange(4), yes, yes))
        went_to_zero += int((free <= 0).any())
        assert (held >= 0).all()
        assert (kept > 0).all()
    assert went_to_zero > 0


def test_groups_are_scaled_as_a_whole() -> None:
    objective, sample = sample_of()
    w = refit_on_support(objective, np.arange(5)).w[:5]
    no = np.zeros(3, dtype=bool)
    factor = polish(sample, w, Blocks(np.array([0, 0, 1, 2, 2]), no, ~no))
    assert factor.shape == (3,)
    maker = MetricRefitPath(
        parse_metric("ndcg@5"), (5.0,), 0, L1(feature_groups=(0, 0, 1, 2, 2, 3, 4, 5), keep=(3,)), 8
    )
    blocks = maker._blocks(np.array([0, 1, 3, 4, 5]), 1)
    assert blocks.of_column.tolist() == [0, 0, 1, 1, 2]
    assert blocks.keep.tolist() == [False, True, False]
    assert blocks.one_sided.tolist() == [True, True, False]
    signed = replace(maker, rules=L1(), monotone=(0, 1, 0, 0, 0, -1, 0, 0))
    assert signed._blocks(np.array([0, 1, 5]), 1).one_sided.tolist() == [False, True, True]
    curved = signed._blocks(np.array([0, 1, 3, 4]), 3)  # coefficients of two curves
    assert curved.of_column.tolist() == [0, 0, 1, 1]
    assert curved.one_sided.all()


# -- as a path, and in a selection -----------------------------------------------------------------------------------

MAKER = MetricRefitPath(parse_metric("ndcg@5"), (2.0, 4.0, 6.0), 1, MCP(), 8)


def starts_of(objective: sr.solvers.PairwiseObjective, **rules: Any) -> PathStarts:
    path = fit_path_on(objective, replace(parse_penalty("mcp"), **rules), n_alphas=12, alpha_min_ratio=0.01)
    return PathStarts(path.alphas, path.sparse_coefs, path.losses)


def test_every_size_has_its_three_refits_without_a_certificate() -> None:
    objective = sr.solvers.PairwiseObjective(DATA)
    path = run(MAKER.path(objective, PathPlan(starts=starts_of(objective))))
    assert len(path.alphas) % len(METRIC_KINDS) == 0
    assert len(path.alphas) >= 6
    assert set(path.statuses) == {"not certified"}
    assert path.ridge is not None
    assert np.isnan(path.ridge).all()
    for i in range(0, len(path.alphas), 3):
        weighted, polished, half = path.scaled_coefs[i : i + 3]
        full = 2.0 * half - polished
        assert set(np.flatnonzero(weighted)) <= set(np.flatnonzero(full))
        expected = refit_on_support(objective, np.flatnonzero(full), tol=1e-6).w
        np.testing.assert_allclose(full, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("n_known", [0, 1, 3, 4, 5])
def test_refits_killed_at_any_point_go_on_to_the_same_bits(n_known: int) -> None:
    objective = sr.solvers.PairwiseObjective(DATA)
    plan = PathPlan(starts=starts_of(objective))
    kept: list[Any] = []
    whole = run(MAKER.path(objective, replace(plan, keep=lambda p, n: kept.append(p))))
    resumed = run(MAKER.path(sr.solvers.PairwiseObjective(DATA, n_threads=2), replace(plan, done=kept[:n_known])))
    np.testing.assert_array_equal(resumed.scaled_coefs, whole.scaled_coefs)
    np.testing.assert_array_equal(resumed.alphas, whole.alphas)


def test_halves_depend_on_seed_and_fold_and_on_nothing_else() -> None:
    objective = sr.solvers.PairwiseObjective(DATA)

    def half(seed: int, fold: int) -> list[int]:
        found = metric_sample(objective, parse_metric("ndcg@5"), np.zeros(0, np.int64), (seed, fold + 1))
        assert found is not None
        return found.half.tolist()

    assert half(0, -1) == half(0, -1)
    assert half(0, -1) != half(0, 0) != half(1, 0)


def test_rules_hold() -> None:
    objective = sr.solvers.PairwiseObjective(DATA)
    monotone = (1, -1, 1, 0, 0, 0, 0, 0)
    maker = replace(MAKER, rules=MCP(monotone=monotone, keep=(6,), drop=(3,)), monotone=monotone)
    starts = starts_of(objective, monotone=monotone, keep=(6,), drop=(3,))
    path = run(maker.path(objective, PathPlan(starts=starts)))
    coefs = path.scaled_coefs
    assert len(coefs) > 0
    assert (coefs[:, [0, 2]] >= 0).all()
    assert (coefs[:, 1] <= 0).all()
    assert (coefs[:, 3] == 0).all()
    assert (coefs[:, 6] != 0).all()


def test_no_query_whose_metric_varies_gives_no_point() -> None:
    metric = parse_metric("letor4:ndcg@20")  # longer than every list
    objective = sr.solvers.PairwiseObjective(DATA)
    path = run(replace(MAKER, metric=metric).path(objective, PathPlan(starts=starts_of(objective))))
    assert len(path.alphas) == 0


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_sizes, "MIN_QUERIES", 10)


OPTIONS: dict[str, Any] = {
    "penalties": ["mcp"],
    "metric": "ndcg@5",
    "metric_refits": True,
    "n_alphas": 10,
    "alpha_min_ratio": 0.02,
    "cv": 3,
    "half_samples": 0,
    "feature_transform": "none",
}


def pool_of(data: Any, **options: Any) -> list[Any]:
    names = {k: v for k, v in (OPTIONS | options).items() if k not in ("penalties", "n_alphas", "alpha_min_ratio")}
    settings = PathSettings(n_alphas=10, alpha_min_ratio=0.02)
    plan = make_plan(
        relaxed=False, penalties=["mcp"], report_metrics=(), convention="default", settings=settings, **names
    )
    candidate_set = SelectionJob(plan, data, None, None, n_threads=1).candidates()
    return [c for c in candidate_set.sparse if c.for_metric]


@pytest.mark.slow
@pytest.mark.usefixtures("any_size")
def test_containers_threads_and_a_run_directory_give_the_same_bits(tmp_path: Any) -> None:
    whole = sr.select(DATA, **OPTIONS, n_threads=1)
    own = [c for c in whole.choice.candidates if c.for_metric]
    assert {c.for_metric for c in own} == set(METRIC_KINDS)
    assert own[0].label == "mcp refitted for the metric"
    again = sr.select(DATA, **OPTIONS, n_threads=2, out=tmp_path / "run")
    resumed = sr.select(DATA, **OPTIONS, out=tmp_path / "run")
    fewer = sr.select(DATA, **(OPTIONS | {"k": 3}), out=tmp_path / "run")  # other sizes, in the same directory
    for other in (again, resumed):
        for a, b in zip(whole.choice.candidates, other.choice.candidates, strict=True):
            np.testing.assert_array_equal(a.values, b.values)
    fresh = sr.select(DATA, **(OPTIONS | {"k": 3}))
    for a, b in zip(fresh.choice.candidates, fewer.choice.candidates, strict=True):
        assert a.label == b.label
        np.testing.assert_array_equal(a.values, b.values)
    write_letor(DATA, tmp_path / "data.txt")
    sr.convert([tmp_path / "data.txt"], tmp_path / "store")
    for data in (sr.open_store(tmp_path / "store"), replace(DATA, X=sp.csr_matrix(DATA.X))):
        stored = [c for c in sr.select(data, **OPTIONS).choice.candidates if c.for_metric]
        for a, b in zip(own, stored, strict=True):
            np.testing.assert_allclose(a.values, b.values, atol=1e-9)


@pytest.mark.usefixtures("any_size")
def test_the_saved_model_says_that_it_has_no_certificate() -> None:
    found = sr.select(DATA, **OPTIONS)
    plan, job = found.plan, SelectionJob(found.plan, DATA, None, None)
    candidate_set = job.candidates()
    own = [c for c in candidate_set.sparse if c.for_metric]
    assert plan.metric_refits
    assert len(own) <= 20
    for c in own:
        said = candidate_set.certificate(c)
        assert (said.problem, said.status, said.kkt_violation, said.gap) == (None, "not certified", None, None)
        model = job.model(candidate_set, c)
        assert model.parameters["for_metric"] == c.for_metric
        assert model.metadata["status"] == "not certified"
        assert len(model.support) == c.n_features <= c.k  # features at 0 are counted again


def test_a_metric_without_support_and_few_queries_are_said() -> None:
    few = sr.select(DATA, **OPTIONS)
    assert any("100 training queries; there are 60" in note for note in few.notes)
    assert not any(c.for_metric for c in few.choice.candidates)
    unknown = sr.select(DATA, **(OPTIONS | {"metric": "map"}))
    assert any("only ndcg is supported" in note for note in unknown.notes)
    off = sr.select(DATA, **(OPTIONS | {"metric_refits": False}))
    assert not any("refitted for" in note for note in off.notes)


@pytest.mark.usefixtures("any_size")
def test_groups_are_paid_for_and_go_as_a_whole() -> None:
    of = {name: f"g{j // 2}" for j, name in enumerate(DATA.feature_names or ())}
    found = sr.select(DATA, **OPTIONS, feature_groups=of, costs={"g0": 2.0})
    candidate_set = SelectionJob(found.plan, DATA, None, None).candidates()
    own = [c for c in candidate_set.sparse if c.for_metric]
    assert own
    for c in own:
        assert c.cost <= c.k
        used = set(np.flatnonzero(candidate_set.coefficients(c).toarray()[0]).tolist())
        assert c.cost == sum(2.0 if g == 0 else 1.0 for g in {j // 2 for j in used})
        if c.for_metric == "polished":
            full = next(o for o in own if (o.k, o.for_metric) == (c.k, "half polished"))
            a, b = candidate_set.coefficients(c).toarray()[0], candidate_set.coefficients(full).toarray()[0]
            for g in range(4):
                own_columns = np.flatnonzero(b[2 * g : 2 * g + 2]) + 2 * g
                if len(own_columns) == 2:
                    ratio = a[own_columns] / b[own_columns]
                    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


@pytest.mark.usefixtures("any_size")
def test_under_holdout_only_train_is_looked_at() -> None:
    train, valid = DATA.take_queries(np.arange(40)), DATA.take_queries(np.arange(40, 60))
    flipped = replace(valid, relevance=valid.relevance.max() - valid.relevance)
    models = []
    for judged in (valid, flipped):
        found = sr.select(train, judged, protocol="holdout", **{k: v for k, v in OPTIONS.items() if k != "folds"})
        candidate_set = SelectionJob(found.plan, train, judged, None).candidates()
        models.append(
            {(c.k, c.for_metric): candidate_set.coefficients(c).toarray() for c in candidate_set.sparse if c.for_metric}
        )
    assert models[0]
    assert models[0].keys() == models[1].keys()
    for key, coefs in models[0].items():
        np.testing.assert_array_equal(coefs, models[1][key])


@pytest.mark.usefixtures("any_size")
def test_no_cutoff_is_said() -> None:
    found = sr.select(DATA, **(OPTIONS | {"metric": "ndcg"}))
    assert any("the first 100 documents" in note for note in found.notes)


@pytest.mark.slow
@pytest.mark.usefixtures("any_size")
def test_curves_are_scaled_as_a_whole() -> None:
    plan_options = {"feature_transform": "curves"}
    found = sr.select(DATA, **(OPTIONS | plan_options))
    candidate_set = SelectionJob(found.plan, DATA, None, None).candidates()
    curved = [c for c in candidate_set.sparse if c.for_metric == "polished" and candidate_set.transform(c).knots.curved]
    assert curved
    checked = 0
    for c in curved:
        half = next(
            o for o in candidate_set.sparse if (o.penalty, o.k, o.for_metric) == (c.penalty, c.k, "half polished")
        )
        a, b = candidate_set.coefficients(c).toarray()[0], candidate_set.coefficients(half).toarray()[0]
        width = len(a) // DATA.n_features
        for feature in np.unique(np.flatnonzero(b) // width):
            own = slice(feature * width, (feature + 1) * width)
            used = b[own] != 0
            ratio = a[own][used] / b[own][used]
            np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)
            checked += used.sum() > 1
    assert checked > 0


@pytest.mark.usefixtures("any_size")
def test_a_feature_that_only_names_the_query_changes_nothing() -> None:
    own = np.repeat(np.random.default_rng(0).standard_normal(DATA.n_queries), np.diff(DATA.query_ptr))
    planted = sr.RankingDataset(np.column_stack([DATA.X, own, own * DATA.n_queries]), DATA.relevance, DATA.qid)
    plain = sr.RankingDataset(np.asarray(DATA.X), DATA.relevance, DATA.qid)
    for a, b in zip(pool_of(plain), pool_of(planted), strict=True):
        assert (a.k, a.for_metric, a.n_features) == (b.k, b.for_metric, b.n_features)
        np.testing.assert_allclose(a.values, b.values, atol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("any_size")
def test_on_permuted_labels_each_kind_is_worth_a_random_order() -> None:
    """50 permutations within queries: what a model learned from other queries is worth is the exact expectation."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30 * 8, 6))
    y = rng.integers(0, 3, 30 * 8)
    qid, ptr = np.repeat(np.arange(30), 8), np.arange(0, 241, 8)
    discounts = 1.0 / np.log2(np.arange(2, 7))
    gains = (2.0**y - 1.0).reshape(30, 8)
    ideal = np.sort(gains, axis=1)[:, ::-1][:, :5] @ discounts
    expected = np.divide(gains.mean(axis=1) * discounts.sum(), ideal, out=np.zeros(30), where=ideal > 0).mean()
    found: dict[str, list[float]] = {kind: [] for kind in METRIC_KINDS}
    for _ in range(50):
        mixed = np.concatenate([rng.permutation(y[a:b]) for a, b in pairwise(ptr.tolist())])
        own = pool_of(sr.RankingDataset(X, mixed, qid), k=6)
        for kind in METRIC_KINDS:  # of at most all six features
            found[kind].append([c for c in own if c.for_metric == kind][-1].mean)
    for kind, means in found.items():
        error = np.std(means, ddof=1) / np.sqrt(len(means))
        assert 0 < error < 0.01, kind
        assert abs(np.mean(means) - expected) < 3.5 * error, kind
