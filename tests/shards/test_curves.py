"""Curves against explicit columns and pairs: ramps, coordinates, nested penalties, certified paths."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import sparserank as sr
from sparserank.crossval.feature_groups import each_alone
from sparserank.curves import CURVE_FREEDOM, curvatures_of, curve_blocks, fit_knots
from sparserank.data.letor.writer import write_letor
from sparserank.data.reading import Reading
from sparserank.data.store.convert import convert
from sparserank.datasets import make_curved_ranking
from sparserank.errors import DataError, ModelFormatError
from sparserank.losses import LOSSES
from sparserank.metrics import parse_metric
from sparserank.model.size_models import load_model
from sparserank.objective import PairwiseObjective
from sparserank.paths import CurvePath, PathPlan, PathStarts, PenaltyPath, RefitPath, fit_path_on, on_coefficients
from sparserank.penalties import L1, MCP, SCAD, Log
from sparserank.penalties.nested import nested
from sparserank.selection import menu
from sparserank.selection.plan import SelectionPlan
from sparserank.solvers import ProxNewton, solve
from sparserank.solvers.certificates import gap_safe_screen
from sparserank.solvers.lockstep import run
from sparserank.solvers.solution import Stop
from tests.oracles import curves as oracle
from tests.oracles import pairs as pair_oracle
from tests.support import shortcuts
from tests.support.problems import iterate_at, long_real_problem, small_problem

FLOAT32 = 3e-7  # fractions are kept in single precision


def awkward(seed: int, n_queries: int = 8):
    """Features that are continuous, heavy-tailed, of few values, of two values, constant."""
    data = small_problem(seed, n_queries=n_queries, d=5)
    X = data.X.copy()
    X[:, 1] = np.exp(2.0 * X[:, 1])
    X[:, 2] = np.round(X[:, 2])
    X[:, 3] = X[:, 3] > 0
    X[:, 4] = 7.0
    return data.replace_features(X)


def with_directions(knots, directions):
    return type(knots)(knots.at, knots.n_segments, np.array(directions))


@pytest.fixture(params=[0, 1, 2])
def problem(request):
    data = awkward(request.param)
    return data, fit_knots(data, 5)


def explicit(data, knots, objective):
    """(ramps times the blocks, pairs)"""
    ramps = oracle.ramps(data.X, knots.at, knots.n_segments, knots.m)
    pairs = pair_oracle.pairs_of(data.relevance, data.query_ptr)
    return ramps @ scipy.linalg.block_diag(*objective.curve_blocks()), pairs


@pytest.mark.slow_but("squared_hinge")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("directions", [[0, 0, 0, 0, 0], [1, 0, -1, 0, 0]])
def test_value_gradient_and_curvature_are_those_of_explicit_columns(problem, loss, directions):
    data, knots = problem
    knots = with_directions(knots, directions)
    objective = PairwiseObjective(data, knots=knots, loss=LOSSES[loss]())
    Z, pairs = explicit(data, knots, objective)
    u = 0.3 * np.random.default_rng(0).standard_normal(objective.n_features)
    scores, phi = Z @ u, pair_oracle.PHI[loss]
    value, gradient = objective.value_and_gradient(u)
    assert value == pytest.approx(pair_oracle.loss(scores, pairs, phi), abs=FLOAT32)
    np.testing.assert_allclose(gradient, Z.T @ pair_oracle.score_gradient(scores, pairs, phi), atol=FLOAT32)
    columns = np.array([0, 1, 2, 3, 5, 9])
    H = pair_oracle.score_hessian(scores, pairs, phi)
    np.testing.assert_allclose(objective.hessian(u, columns), Z[:, columns].T @ H @ Z[:, columns], atol=10 * FLOAT32)
    v = np.random.default_rng(1).standard_normal(objective.n_features)
    np.testing.assert_allclose(objective.hessian_matvec(u, v), Z.T @ H @ Z @ v, atol=30 * FLOAT32)
    K = pair_oracle.pair_matrix(Z, pairs)
    np.testing.assert_allclose(objective.pair_norms, (K**2).sum(axis=0), atol=10 * FLOAT32)
    wrong = oracle.ramps_that_go_on(data.X + 0.5, knots.at, knots.n_segments, knots.m)
    right = knots.rows(data.X + 0.5).query_block(0, data.n_docs)
    assert np.abs(right - wrong).max() > 0.01  # what leaves the knots is flat
    np.testing.assert_allclose(right, oracle.ramps(data.X + 0.5, knots.at, knots.n_segments, knots.m), atol=FLOAT32)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("real", [False, True])
def test_grams_are_sums_over_pairs(weighted, real):
    data = long_real_problem(0) if real else small_problem(4, n_queries=8, d=4)
    rng = np.random.default_rng(2)
    weight, doc_weight = rng.random(data.n_queries), (rng.random(data.n_docs) if weighted else None)
    knots = fit_knots(data, 6)
    objective = PairwiseObjective(data, knots=knots, query_weight=weight, doc_weight=doc_weight)
    ramps = oracle.ramps(data.X, knots.at, knots.n_segments, knots.m)
    pairs = pair_oracle.pairs_of(data.relevance, data.query_ptr, query_weight=weight, doc_weight=doc_weight)
    K = pair_oracle.pair_matrix(ramps, pairs)
    whole = K.T @ K
    (grams,) = objective.shards.call("pair_grams", per_query=objective.weighting.query_scale)
    for j in range(data.n_features):
        own = slice(j * knots.m, (j + 1) * knots.m)
        np.testing.assert_allclose(grams[0, j], whole[own, own], atol=FLOAT32)
    wrong = pair_oracle.pair_matrix(ramps, pair_oracle.pairs_of(data.relevance, data.query_ptr))
    assert np.abs(wrong.T @ wrong - whole).max() > 1e-4  # without the weights


def test_coordinates_are_a_unit_line_and_orthogonal_bends_the_rougher_the_dearer(problem):
    data, knots = problem
    objective = PairwiseObjective(data, knots=knots)
    grams = 2.0 * sum(objective.shards.call("pair_grams", per_query=objective.weighting.query_scale))
    blocks = curve_blocks(knots, grams)
    curvatures = curvatures_of(blocks, grams)
    of_feature = curvatures.reshape(data.n_features, -1)
    for j in range(data.n_features):
        T, M, L = blocks[0, j], grams[0, j], knots.n_segments[j]
        if L == 0:
            assert not T.any()
            continue
        delta = knots.widths[j]
        np.testing.assert_allclose(T[:, 0] * delta[0], delta * T[0, 0], atol=1e-12)  # a multiple of the line
        assert T[0, 0] > 0
        mixed = T.T @ M @ T
        np.testing.assert_allclose(mixed, np.diag(of_feature[j]), atol=1e-8)
        assert of_feature[j, 0] == pytest.approx(1.0)
        bends = of_feature[j, 1:]
        assert bends.sum() <= CURVE_FREEDOM + 1e-6
        assert (bends <= 1.0 + 1e-9).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_prox_of_nested_norms_is_the_minimum(seed):
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(8)
    penalty = on_curves_of(L1(0.6, weights=(1.0, 0.7)), width=4, kappa=[1.5, 0.4])
    found = penalty.prox(v, 0.5).reshape(2, 4)
    for u, own, weight, kappa in zip(found, v.reshape(2, 4), (1.0, 0.7), (1.5, 0.4), strict=True):
        expected = oracle.nested_prox(own, 0.3 * weight, 0.3 * weight * kappa)
        np.testing.assert_allclose(u, expected, atol=2e-4)
        np.testing.assert_allclose(u, oracle.shrunk(own, 0.3 * weight, 0.3 * weight * kappa), atol=1e-12)
    wrong = oracle.prox_in_the_wrong_order(v[:4], 0.3, 0.45)
    assert np.abs(wrong - oracle.nested_prox(v[:4], 0.3, 0.45)).max() > 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_the_prox_of_a_monotone_curve_is_the_minimum_over_what_may_not_fall(seed):
    v = np.random.default_rng(seed).standard_normal(4)
    penalty = on_curves_of(L1(0.6), width=4, kappa=[1.5], monotone=[1])
    np.testing.assert_allclose(penalty.prox(v, 0.5), oracle.nested_prox(v, 0.3, 0.45, nonnegative=True), atol=2e-4)


def on_curves_of(of, width, kappa, monotone=None):
    return nested(of, width, np.array(kappa), np.array(monotone or [0] * len(kappa)))


@pytest.mark.parametrize("directions", [[0, 0, 0, 0, 0], [1, 0, -1, 0, 0]])
def test_convex_paths_reach_the_minimum_of_explicit_columns_and_certify_it(problem, directions):
    data, knots = problem
    knots = with_directions(knots, directions)
    objective = PairwiseObjective(data, knots=knots)
    penalty = on_coefficients(L1(), objective)
    path = fit_path_on(objective, penalty, n_alphas=6, alpha_min_ratio=0.05, tol=1e-8)
    assert set(path.statuses) == {"optimal"}
    assert path.nnz[0] == 0
    assert path.gaps.max() < 1e-6
    Z, pairs = explicit(data, knots, objective)
    K = pair_oracle.pair_matrix(np.column_stack([Z]), pairs)
    K = np.column_stack([K, [np.sqrt(v) for _, _, v in pairs]])
    for i in (2, 5):
        rules = (path.alphas[i], np.ones(5), penalty.kappa, objective.width)
        best, _ = oracle.minimum(K, np.eye(Z.shape[1]), *rules, 4000)
        if not any(directions):
            assert path.objectives[i] == pytest.approx(best, abs=5e-7)
        else:
            assert path.objectives[i] >= best - 5e-7  # over less
            c = objective.curve_blocks() @ path.scaled_coef(i).reshape(5, -1, 1)
            assert (np.array(directions)[:, None] * c[:, :, 0] >= -1e-12).all()
        assert path.objectives[i] - path.gaps[i] <= best + 5e-7 or any(directions)


def test_screening_discards_nothing_that_is_used(problem):
    data, knots = problem
    for directions in ([0] * 5, [1, 0, -1, 0, 0]):
        objective = PairwiseObjective(data, knots=with_directions(knots, directions))
        penalty = on_coefficients(L1(), objective)
        top = penalty.alpha_max(objective.gradient_at_zero)
        discarded = 0
        for share in (0.7, 0.4, 0.1):
            own = penalty.with_alpha(share * top)
            solution = solve_at(objective, own)
            for step in (0.0, 0.3, 0.9, 1.0):
                out = gap_safe_screen(objective, own, iterate_at(objective, own, step * solution))
                assert not (out & (np.abs(solution) > 1e-9)).any()
                discarded += out.sum()
        assert discarded > 0


def solve_at(objective, penalty):
    return solve(ProxNewton(), objective, penalty, stop=Stop(tol=1e-10, scale=1.0)).w


@pytest.mark.parametrize("of", [MCP(), SCAD(), Log()], ids=lambda p: p.name)
def test_concave_paths_are_stationary(problem, of):
    data, knots = problem
    objective = PairwiseObjective(data, knots=knots)
    path = fit_path_on(objective, on_coefficients(of, objective), n_alphas=8, alpha_min_ratio=0.05)
    assert set(path.statuses) <= {"optimal", "stationary"}
    penalty = path.penalty.with_alpha(path.alphas[4])
    w = path.scaled_coef(4)
    here = iterate_at(objective, penalty, w)
    rng = np.random.default_rng(0)
    for _ in range(50):  # no small step along the features in use descends
        step = np.where(w != 0, w + 1e-4 * rng.standard_normal(len(w)), 0.0)
        assert iterate_at(objective, penalty, step).value >= here.value - 1e-7


def test_a_straight_feature_pays_its_price_under_the_scalar_penalty():
    """With two knots for every feature there is nothing to bend: curves are the linear model on scaled features."""
    data = small_problem(1, n_queries=10, d=4)
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    knots = fit_knots(data, 3)
    straight = type(knots)(np.column_stack([low, high, high]), np.ones(4, dtype=int), np.zeros(4, dtype=int))
    curved = PairwiseObjective(data, knots=straight)
    plain = PairwiseObjective(data)
    linear = PairwiseObjective(data, scale=1.0 / np.sqrt(2.0 * plain.pair_norms) ** -1)
    for of in (L1(), MCP()):
        options = {"n_alphas": 5, "alpha_min_ratio": 0.1, "tol": 1e-9}
        on_line = fit_path_on(linear, of, **options)
        # the ridge of concave curves is left out of the comparison
        on_curve = fit_path_on(curved, on_coefficients(of, curved), **options)
        np.testing.assert_allclose(on_curve.losses, on_line.losses, atol=5e-4 if of.name == "mcp" else 1e-6)
        assert on_curve.nnz.tolist() == on_line.nnz.tolist()


def test_a_path_and_its_refits_go_through_makers_and_end_where_curves_are_many():
    made = make_curved_ranking(n_queries=40, docs_per_query=10, n_features=12, n_curved=4, random_state=1)
    knots = fit_knots(made.data, 6)
    objective = PairwiseObjective(made.data, knots=knots)
    path = run(CurvePath(PenaltyPath(MCP())).path(objective, PathPlan(10, 0.05, 1e-4, k=6)))
    assert path.width == objective.width == 5
    assert path.penalty.name == "mcp"
    assert (path.nnz[:-1] <= 6).all()
    starts = PathStarts(path.alphas, path.sparse_coefs, path.losses)
    relaxed = run(RefitPath().path(objective, PathPlan(tol=1e-6, starts=starts)))
    assert relaxed.losses[-1] < path.losses.min()
    assert relaxed.nnz.max() <= path.nnz.max()
    assert path.support(len(path.alphas) - 1).max() < 12
    with pytest.raises(DataError, match="cannot be truncated"):
        path.truncate(2)


def test_knots_are_quantiles_and_of_the_different_values_where_many_are_equal():
    X = np.zeros((100, 4))
    X[:, 0] = np.arange(100)
    X[80:, 1] = np.arange(1, 21)  # 80 zeros
    X[:, 2] = np.arange(100) % 2
    X[:, 3] = 5.0
    data = sr.RankingDataset(X, np.arange(100) % 3, np.repeat(np.arange(10), 10))
    knots = fit_knots(data, 5)
    np.testing.assert_allclose(knots.at[0], [0.0, 24.75, 49.5, 74.25, 99.0])
    np.testing.assert_allclose(knots.at[1], [0.0, 5.0, 10.0, 15.0, 20.0])
    assert knots.n_segments.tolist() == [4, 4, 1, 0]
    sparse = fit_knots(data.replace_features(sp.csr_matrix(X)), 5)
    np.testing.assert_array_equal(sparse.at, knots.at)
    for of_sparse, of_dense in zip(sparse.rows(sp.csr_matrix(X)).arrays, knots.rows(X).arrays, strict=True):
        np.testing.assert_array_equal(of_sparse, of_dense)
    assert knots.rows(X).nbytes / X.size == 5  # bytes a value
    with pytest.raises(DataError, match="must be from 3 to 256"):
        fit_knots(data, 2)
    with np.errstate(all="ignore"), pytest.raises(DataError, match="Take its logarithm"):
        fit_knots(data.replace_features(np.where(X > 0, 1.7e308, -1.7e308)), 3)


def test_threads_and_several_right_hand_sides_change_no_bit():
    made = make_curved_ranking(n_queries=60, docs_per_query=12, n_features=10, n_curved=4, random_state=2)
    knots = fit_knots(made.data, 6)
    rng = np.random.default_rng(0)
    one, many = (PairwiseObjective(made.data, knots=knots, n_threads=n) for n in (1, 8))
    W = rng.standard_normal((3, one.n_features))
    for w in W:
        a, b = one.value_and_gradient(w), many.value_and_gradient(w)
        assert a[0] == b[0]
        np.testing.assert_array_equal(a[1], b[1])
    together = one.weighting.evaluate([0, 0, 0], W)
    for w, here in zip(W, together, strict=True):
        np.testing.assert_array_equal(here.gradient, one.value_and_gradient(w)[1])


# -- models, the main job, the estimator ------------------------------------------------------------------------------


FEW = {"feature_transform": ("none", "log", "curves(log)"), "n_alphas": 10, "alpha_min_ratio": 0.03, "cv": 2}


@pytest.fixture(scope="module")
def selection():
    full = make_curved_ranking(n_queries=120, docs_per_query=15, n_features=20, n_curved=4, noise=0.3, random_state=3)
    train = full.data.take_queries(np.arange(80))
    test = full.data.take_queries(np.arange(80, 120))
    return full, train, test, sr.select(train, None, test, penalties=["l1", "mcp"], half_samples=4, **FEW)


def test_select_finds_curves_that_are_there(selection):
    full, _train, _test, result = selection
    assert "curves" in result.choice.chosen.penalty
    assert set(full.support) <= set(result.model.support)
    best = max(c.mean for c in result.choice.candidates if "curves" not in c.penalty)
    assert result.choice.chosen.mean > best + 0.05
    assert {result.model.transform_of(j) for j in full.support} == {"curve(log)"}


def test_a_model_of_curves_survives_the_file_and_predicts_alike(selection, tmp_path):
    _full, _train, test, result = selection
    result.model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    scores = result.model.predict(test.X)
    np.testing.assert_array_equal(again.predict(test.X), scores)
    assert np.ptp(scores) > 0
    # by hand: interpolation of the logarithm, flat outside
    by_hand = np.zeros(test.n_docs)
    for j in result.model.support:
        curve, t = result.model.curves[j], np.log1p(test.X[:, j])
        by_hand += result.model.coef[j] * np.interp(t, curve.knots, curve.values)
    np.testing.assert_allclose(scores, by_hand, atol=1e-9)
    far = test.X.copy()
    far[:, result.model.support] = 1e30
    assert len(set(result.model.predict(far))) == 1


def test_monotone_curves_do_not_fall(selection):
    _full, train, _test, _ = selection
    names = list(train.feature_names)
    rising = [n for n in names if n.startswith("rise")]
    humped = [n for n in names if n.startswith("hump")]
    directions = {rising[0]: "+", humped[0]: "-"}
    result = sr.select(train, penalties="mcp", monotone=directions, half_samples=0, relaxed=False, k=8, **FEW)
    for name, sign in ((rising[0], 1), (humped[0], -1)):
        j = names.index(name)
        if j in result.model.curves:
            values = sign * result.model.coef[j] * result.model.curves[j].values
            assert (np.diff(values) >= -1e-9).all()
    assert names.index(rising[0]) in result.model.support


def test_sparse_ranker_draws_curves(selection):
    full, train, test, _result = selection
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = sr.SparseRanker(feature_transform="curves(log)", k=6)
        ranker.fit(train.X, train.relevance, qid=train.qid)
    assert set(full.support) <= set(ranker.support_)
    assert len(ranker.support_) <= 6
    with pytest.raises(AttributeError, match="curves_"):
        _ = ranker.coef_
    np.testing.assert_allclose(ranker.predict(test.X), ranker.to_model().predict(test.X), rtol=1e-9)
    assert ranker.feature_importances_[full.support].min() > 0
    assert sr.evaluate(ranker.predict(test.X), test, ["ndcg@10"])["ndcg@10"] > 0.7
    linear = sr.SparseRanker().fit(train.X, train.relevance, qid=train.qid)
    assert linear.coef_.shape == (20,)
    ranker.set_params(feature_transform="none").fit(train.X, train.relevance, qid=train.qid)
    assert ranker.coef_.shape == (20,)  # nothing is left of the curves


def test_curves_of_a_store_are_refused(selection, tmp_path):
    _full, train, _test, _ = selection
    write_letor(train, tmp_path / "train.txt")
    convert([tmp_path / "train.txt"], tmp_path / "store", Reading(), shard_bytes=1 << 20)
    with pytest.raises(DataError, match="in memory"):
        sr.select(tmp_path / "store", feature_transform="curves")
    with pytest.raises(DataError, match="in memory"):
        sr.SparseRanker(feature_transform="curves").fit_dataset(sr.read(tmp_path / "store"))


def test_knots_a_rounding_apart_are_one_and_wild_widths_leave_three_degrees_of_freedom():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (300, 3)).astype(float)
    twins = bits @ np.array([0.1, 0.2, 0.3])
    twins[::2] = (0.3 * bits[::2, 2] + 0.2 * bits[::2, 1]) + 0.1 * bits[::2, 0]
    wild = np.exp(8.0 * rng.standard_normal(300)), 10.0 ** rng.uniform(-100, 100, 300), 1e-300 * rng.random(300)
    X = np.column_stack([twins, *wild])
    y = np.clip(np.round(bits.sum(axis=1) + 0.5 * rng.standard_normal(300)), 0, 3)
    data = sr.RankingDataset(X, y, np.repeat(np.arange(30), 10))
    knots = fit_knots(data, 30)
    objective = PairwiseObjective(data, knots=knots)
    assert np.isfinite(objective.curve_blocks()).all()
    bends = objective.curvature.reshape(4, -1)[:, 1:].sum(axis=1)
    assert (bends <= CURVE_FREEDOM + 1e-6).all()
    assert not objective.varying.reshape(4, -1)[3].any()
    path = fit_path_on(objective, on_coefficients(L1(), objective), n_alphas=5, alpha_min_ratio=0.1)
    assert set(path.statuses) == {"optimal"}


def test_rules_of_a_penalty_that_curves_do_not_know_hold_for_those_in_its_place(selection):
    _, train, _, _ = selection
    forbidden = tuple(range(1, 20, 2))
    result = sr.select(train, penalties=Log(drop=forbidden), half_samples=0, **FEW)
    for label, path in result.paths.items():
        if "ridge" not in label:
            assert not set(path.support(len(path.alphas) - 1)) & set(forbidden)
    with pytest.raises(DataError, match="same monotone rule"):
        sr.select(train, penalties=[L1(monotone=(1,) * 20), MCP()], feature_transform="curves")


def test_what_is_written_with_curves_is_not_read_as_less(selection, tmp_path):
    *_, result = selection
    content = replace(result.model, medians=None).to_json()
    assert content["version"] == 3
    (tmp_path / "old.json").write_text(json.dumps(content | {"version": 2}))
    with pytest.raises(ModelFormatError, match="has 'curve', which version 2 does not support"):
        load_model(tmp_path / "old.json")
    bad = json.loads(json.dumps(content))
    bad["features"][0]["curve"]["knots"] = [2**60, 2**60 + 1]
    bad["features"][0]["curve"]["values"] = [0, 1]
    (tmp_path / "bad.json").write_text(json.dumps(bad))
    with pytest.raises(ModelFormatError, match="must increase"):
        load_model(tmp_path / "bad.json")


def test_a_refused_penalty_leaves_the_fitted_ranker_as_it_was(selection):
    _, train, test, _ = selection
    train, test = (sr.RankingDataset(d.X, d.relevance, d.qid) for d in (train, test))
    ranker = sr.SparseRanker(feature_transform="curves").fit_dataset(train)
    before = ranker.predict(test.X)
    with pytest.raises(
        DataError, match="SparseRanker: feature_transform cannot be curves with ridge; curves support l1, mcp"
    ):
        ranker.set_params(penalty="ridge").fit_dataset(train)
    np.testing.assert_array_equal(ranker.predict(test.X), before)
    objective = PairwiseObjective(train, knots=fit_knots(train, ranker.n_knots))
    assert ranker.alpha_max_ == pytest.approx(on_coefficients(L1(), objective).alpha_max(objective.gradient_at_zero))


SMALL = make_curved_ranking(12, random_state=1).data
NOT_TRIED, REMEDY = "curves were not tried", "feature_transform='curves(log)' tries them"
UNASKED = {
    "small data": ({}, True, []),
    "as they are": ({"feature_transform": "none"}, False, []),
    "linear": ({"feature_transform": ("none", "log")}, False, []),
    "a scaling that is not linear": ({"path_plan": PathPlan(scaling="query-min-max")}, False, []),
    "other signs under each penalty": ({"penalties": (L1(monotone=(1,) * 100), MCP())}, False, []),
    "a penalty that curves do not know": ({"penalties": (Log(),)}, False, []),
    "one that they know and one that they do not": ({"penalties": (Log(), MCP())}, True, []),
    "an engine without them": ({"engine": "ranklib"}, False, []),
    "large, and an engine without them": ({"most": 1000, "engine": "ranklib"}, False, []),
    "large, not linear": ({"most": 1000, "path_plan": PathPlan(scaling="log-standard")}, False, []),
    "large": ({"most": 1000}, False, [f"{NOT_TRIED}, because the data have 0.024 million values; {REMEDY}."]),
    "large, but asked for": ({"most": 1000, "feature_transform": "curves"}, True, []),
    "stored": ({"stored": True}, False, [f"{NOT_TRIED}: they need features in memory."]),
}


@pytest.mark.parametrize("case", UNASKED)
def test_curves_are_tried_unasked_where_they_cost_little(case, tmp_path, monkeypatch):
    given, tried, notes = UNASKED[case]
    fields = {"penalties": (L1(), MCP()), "metric": parse_metric("ndcg@10"), **given}
    data = SMALL
    monkeypatch.setattr(menu, "MAX_VALUES_OF_CURVES", fields.pop("most", 1e9))
    if fields.pop("stored", False):
        write_letor(SMALL, tmp_path / "data.txt")
        convert([tmp_path / "data.txt"], tmp_path / "store")
        data = sr.read([tmp_path / "store"])
    plan = SelectionPlan(**fields)
    with shortcuts.curves():
        found = menu.tasks_of(plan, data, each_alone(data.feature_names))
    assert any(t.transform.knots.curved for t in found) == tried
    assert list(menu.notes_of_curves(plan, data, None)) == notes


def test_a_binary_feature_pays_the_same_whether_monotone_or_not():
    data = awkward(0)
    knots = fit_knots(data, 5)
    free, rising = (PairwiseObjective(data, knots=with_directions(knots, [0, 0, 0, s, 0])) for s in (0, 1))
    own = [on_coefficients(L1(), o)._limits(o.gradient_at_zero)[3] for o in (free, rising)]
    up = free.gradient_at_zero.reshape(5, -1)[3, 0] < 0
    assert own[1] == pytest.approx(own[0] if up else 0.0)
