"""The seam: shards, weightings and lockstep change no bit that they should not, and no value beyond rounding."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.losses import LOSSES
from sparserank.metrics import parse_metric
from sparserank.objective import PairwiseObjective, objectives_of
from sparserank.options.paths import SCALINGS
from sparserank.paths import PathPlan, PathStarts, PenaltyPath, following
from sparserank.penalties import L1, MCP, Log
from sparserank.shards import LocalShards, as_rows, local, make_shards
from sparserank.shards.scaling import fit_scaling, fit_scalings, prepared
from sparserank.solvers import ProxNewton, Stop
from sparserank.solvers.lockstep import Evaluate, Steps, run, run_all
from sparserank.solvers.loop import solving
from sparserank.solvers.solution import Iterate
from sparserank.weighting import LossEvaluation, Weighting

DATA = sr.datasets.make_ranking(40, (10, 40), 9, n_informative=4, noise=0.5, random_state=3).data
FOLD = np.arange(DATA.n_queries) % 4
NOWHERE = Iterate(np.zeros(0), LossEvaluation(0.0, np.zeros(0), 0.0), 0.0)
SETTINGS = PathPlan(n_alphas=8, alpha_min_ratio=0.02)
KINDS = ["dense", "float32", "csr"]


def of_kind(kind: str, data: RankingDataset = DATA) -> RankingDataset:
    if kind == "csr":
        return data.replace_features(sp.csr_matrix(np.where(np.abs(data.X) > 0.5, data.X, 0.0)))
    return data.replace_features(data.X.astype(np.float32)) if kind == "float32" else data


def shards_of(data: RankingDataset, loss: str = "squared_hinge", n_threads: int = 1) -> LocalShards:
    return make_shards(
        as_rows(data.X), data.relevance, data.query_ptr, LOSSES[loss](), data.doc_weight, n_threads, data.docid
    )


def fold_weights(n: int = 4) -> np.ndarray:
    return np.array([f != FOLD for f in range(n)], dtype=float)


# -- a fold is a weight ---------------------------------------------------------------------------------------------


@pytest.mark.slow_but("squared_hinge")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_weighting_of_zeros_and_ones_is_the_data_without_a_fold(kind: str, loss: str) -> None:
    data = of_kind(kind)
    rng = np.random.default_rng(0)
    scale = rng.uniform(0.5, 2.0, size=(4, 9))
    together = objectives_of(Weighting(shards_of(data, loss), fold_weights(), scale=scale))
    for f, objective in enumerate(together):
        copied = data.take_queries(f != FOLD)
        X = copied.X.toarray() if kind == "csr" else copied.X.astype(np.float64)
        alone = PairwiseObjective(X / scale[f], copied.relevance, copied.query_ptr, loss=LOSSES[loss]())
        assert (objective.n_pairs, objective.total_weight) == (alone.n_pairs, alone.total_weight)
        np.testing.assert_allclose(objective.pair_norms, alone.pair_norms, rtol=1e-9)
        for _ in range(3):
            w, v = rng.standard_normal(9), rng.standard_normal(9)
            for found, expected in zip(objective.value_and_gradient(w), alone.value_and_gradient(w), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
            H = alone.hessian(w, np.arange(9))
            tolerance = 2e-6 if kind == "float32" else 1e-9  # models of the curvature are made in the dtype of X
            np.testing.assert_allclose(objective.hessian(w, np.arange(9)), H, atol=tolerance * np.abs(H).max())
            np.testing.assert_allclose(objective.hessian_matvec(w, v), H @ v, rtol=1e-8, atol=1e-11)
            np.testing.assert_allclose(objective.along(w, v)(0.3), alone.along(w, v)(0.3), rtol=1e-8, atol=1e-11)
            assert objective.pair_square(v) == pytest.approx(alone.pair_square(v), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_several_right_hand_sides_get_the_bits_of_each_alone(kind: str) -> None:
    data = of_kind(kind)
    rng = np.random.default_rng(1)
    W, scale = rng.standard_normal((4, 9)), rng.uniform(0.5, 2.0, size=(4, 9))
    together = Weighting(shards_of(data, n_threads=3), fold_weights(), scale=scale)
    for ks in ([0, 1, 2, 3], [3, 1], [2]):
        for k, found in zip(ks, together.evaluate(ks, W[ks]), strict=True):
            (own,) = objectives_of(Weighting(shards_of(data), fold_weights()[k : k + 1], scale=scale[k : k + 1]))
            value, gradient, square = own.evaluate(W[k])
            assert (found.value, found.square) == (value, square)
            np.testing.assert_array_equal(found.gradient, gradient)
            np.testing.assert_array_equal(together.pair_norms[k], own.pair_norms)


def test_many_blocks_and_many_shards_give_the_sums_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    import sparserank.execution as blocks

    one = PairwiseObjective(DATA)
    w = np.random.default_rng(2).standard_normal(9)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 4000)
    monkeypatch.setattr(local, "SHARD_BYTES", 20_000)
    objectives = [PairwiseObjective(DATA, n_threads=n) for n in (1, 2, 5)]
    assert len(objectives[0].shards.shards) > 2
    assert len(objectives[0].shards.shards[0]._blocks) > 3
    for found, expected in zip(objectives[0].value_and_gradient(w), one.value_and_gradient(w), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(objectives[0].hessian(w, np.arange(9)), one.hessian(w, np.arange(9)), rtol=1e-10)
    np.testing.assert_allclose(objectives[0].hessian_matvec(w, w), one.hessian_matvec(w, w), rtol=1e-10)
    assert objectives[0].dual_sums(w, 0.4) == pytest.approx(one.dual_sums(w, 0.4), rel=1e-12)
    for other in objectives[1:]:
        np.testing.assert_array_equal(other.value_and_gradient(w)[1], objectives[0].value_and_gradient(w)[1])
        np.testing.assert_array_equal(other.hessian(w, np.arange(9)), objectives[0].hessian(w, np.arange(9)))


def test_the_public_objective_takes_other_query_weights() -> None:
    objective, w = PairwiseObjective(DATA), np.random.default_rng(3).standard_normal(9)
    weight = np.random.default_rng(4).uniform(0, 2, DATA.n_queries)
    found = objective.value_and_gradient(w, query_weight=weight)
    expected = PairwiseObjective(DATA, query_weight=weight).value_and_gradient(w)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])
    with pytest.raises(DataError, match="query_weight"):
        objective.value_and_gradient(w, query_weight=weight[1:])


@pytest.mark.parametrize("method", [m for m in SCALINGS if m not in ("none", "query-min-max")])
@pytest.mark.parametrize("kind", KINDS)
def test_scalings_of_folds_are_those_of_their_queries(kind: str, method: str) -> None:
    data = prepared(of_kind(kind), method)
    used = fold_weights().astype(bool)
    centers, scales = fit_scalings(data, method, used)
    linear = "standard" if method == "log-standard" else method
    for f in range(4):
        alone = fit_scaling(data.take_queries(used[f]), linear)
        np.testing.assert_allclose(scales[f], alone.scale, rtol=1e-9)
        np.testing.assert_allclose(centers[f], alone.center, rtol=1e-6, atol=1e-9)
    dense = data.X.toarray() if kind == "csr" else data.X.astype(np.float64)
    X = dense[np.repeat(used[0], np.diff(data.query_ptr))]
    if linear == "standard":
        np.testing.assert_allclose(scales[0], X.std(axis=0), rtol=1e-9)
    elif linear == "min-max":
        np.testing.assert_allclose(scales[0], X.max(axis=0) - X.min(axis=0), rtol=1e-12)
    else:
        of = data.take_queries(used[0]).query_ptr
        inside = np.concatenate([X[a:b] - X[a:b].mean(axis=0) for a, b in pairwise(of)])
        np.testing.assert_allclose(scales[0], np.sqrt((inside**2).mean(axis=0)), rtol=1e-9)


# -- lockstep -------------------------------------------------------------------------------------------------------


class Reads:
    """Counts reads of X."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n = 0
        plain = Weighting.evaluate

        def evaluate(weighting: Weighting, ks: Sequence[int], W: np.ndarray) -> list:
            self.n += 1
            return plain(weighting, ks, W)

        monkeypatch.setattr(Weighting, "evaluate", evaluate)


@pytest.mark.parametrize("penalty", [L1(), MCP(), Log()])
def test_paths_in_lockstep_have_the_bits_of_paths_alone_at_fewer_reads(penalty, monkeypatch):
    options = {"n_alphas": 8, "alpha_min_ratio": 0.02}
    reads = Reads(monkeypatch)
    together = run_all(
        [following(o, penalty, PathPlan(**options)) for o in objectives_of(Weighting(shards_of(DATA), fold_weights()))]
    )  # type: ignore[arg-type]
    at_once, reads.n = reads.n, 0
    for f, path in enumerate(together):
        (own,) = objectives_of(Weighting(shards_of(DATA), fold_weights()[f : f + 1]))
        alone = run(following(own, penalty, PathPlan(**options)))  # type: ignore[arg-type]
        np.testing.assert_array_equal(path.scaled_coefs, alone.scaled_coefs)
        np.testing.assert_array_equal(path.losses, alone.losses)
        assert path.statuses == alone.statuses
    assert at_once < 0.5 * reads.n


def test_an_error_in_one_computation_is_not_swallowed() -> None:
    def failing(objective: PairwiseObjective) -> Steps[None]:
        yield Evaluate(objective, np.zeros(9))
        raise DataError("seen")

    a, b = objectives_of(Weighting(shards_of(DATA), fold_weights(2)))
    with pytest.raises(DataError, match="seen"):
        run_all([failing(a), following(b, L1(), PathPlan())])


def test_batched_evaluations_do_not_mix_weightings() -> None:
    """Two weightings of different data sets in one run: each is answered by its own shards."""
    other = of_kind("csr")
    a, b = PairwiseObjective(DATA), PairwiseObjective(other)
    stop = [Stop(1e-8, 100, float(np.abs(o.gradient_at_zero).max())) for o in (a, b)]
    both = run_all([solving(ProxNewton(), o, L1(0.05 * s.scale), stop=s) for o, s in zip((a, b), stop, strict=True)])
    for o, s, found in zip((a, b), stop, both, strict=True):
        np.testing.assert_array_equal(found.w, run(solving(ProxNewton(), o, L1(0.05 * s.scale), stop=s)).w)


# -- paths ------------------------------------------------------------------------------------------------------------


def test_path_starts_are_the_path_between_its_points() -> None:
    alphas, coefs = np.array([4.0, 2.0, 1.0]), np.array([[0.0, 0.0], [1.0, 0.0], [2.0, -1.0]])
    starts = PathStarts(alphas, sp.csr_array(coefs), np.zeros(len(alphas)))
    for alpha, expected in [(9, [0, 0]), (4, [0, 0]), (3, [0.5, 0]), (2, [1, 0]), (1.5, [1.5, -0.5]), (1, [2, -1])]:
        np.testing.assert_array_equal(run(starts.at(alpha, NOWHERE)), expected)
    np.testing.assert_array_equal(run(starts.at(0.5, NOWHERE)), [2, -1])


def test_folded_paths_score_every_fold_on_its_own_queries() -> None:
    metrics = [parse_metric("ndcg@10"), parse_metric("map")]
    work, folds = FoldedPaths(DATA, FOLD, SETTINGS, metrics, n_threads=2), [FINAL, 0, 1, 2, 3]
    pieces = dict(zip(folds, work([PathTask("path", PenaltyPath(L1()), fold=f) for f in folds]), strict=True))
    assert pieces[FINAL].values is None
    for f in range(4):
        unseen = DATA.take_queries(f == FOLD)
        for i in (0, 3, 7):
            scores = unseen.X @ pieces[f].in_units(pieces[f].sparse_coefs).toarray()[i]
            expected = sr.evaluate(scores, unseen, metrics).per_query
            for m, values in enumerate(expected.values()):
                np.testing.assert_allclose(pieces[f].values[m, i], values, atol=1e-12)


def test_a_shard_forgets_a_weighting_that_is_gone() -> None:
    shards = shards_of(DATA)
    objective = objectives_of(Weighting(shards, np.ones((1, DATA.n_queries))))[0]
    objective.value_and_gradient(np.ones(9))
    objective.along(np.ones(9), np.ones(9))(0.5)
    shard = shards.shards[0]
    assert all((shard._last, shard._orders, shard._directions))
    lent = shard._borrowed(objective.weighting.key, 0)
    key = objective.weighting.key
    del objective
    shard._give_back(key, 0, lent)  # by a call that was under way
    assert not any((shard._last, shard._orders, shard._directions, shard._weightings))


def test_no_copy_of_the_features_is_made() -> None:
    """The wrong variant: a scaled copy per fold, 4 times X."""
    import tracemalloc

    rng = np.random.default_rng(0)
    data = RankingDataset(
        rng.standard_normal((40_000, 60)).astype(np.float32), rng.integers(0, 3, 40_000), np.repeat(np.arange(800), 50)
    )
    fold = np.arange(800) % 4
    settings = PathPlan(n_alphas=3, alpha_min_ratio=0.3)
    FoldedPaths(DATA, FOLD, settings, [])([PathTask("path", PenaltyPath(L1()), fold=0)])  # compiles
    tracemalloc.start()
    work = FoldedPaths(data, fold, settings, [parse_metric("ndcg@10")], n_threads=1)
    work([PathTask("path", PenaltyPath(L1()), fold=f) for f in (FINAL, 0, 1, 2, 3)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * data.X.nbytes + 20e6 - data.X.nbytes


@pytest.mark.parametrize("method", ["within-query-std", "standard", "min-max"])
@pytest.mark.parametrize("wide", [False, True])
def test_scalings_have_the_bits_of_each_set_alone(method: str, wide: bool) -> None:
    """The wrong variants: a centre averaged over the sets, blocks whose size depends on their number."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((400, 3000 if wide else 8)) + 100.0 * rng.standard_normal(400)[:, None]
    data = RankingDataset(X, rng.integers(0, 3, 400), np.repeat(np.arange(20), 20))
    used = rng.random((6, 20)) < 0.7
    centers, scales = fit_scalings(data, method, used)
    for k in range(6):
        center, scale = fit_scalings(data, method, used[k : k + 1])
        np.testing.assert_array_equal(centers[k], center[0])
        np.testing.assert_array_equal(scales[k], scale[0])


def test_a_feature_that_is_flat_in_one_fold_and_tiny_in_others_stays_in_them() -> None:
    X = np.array(DATA.X)
    X[:, 0] = np.where(np.repeat(FOLD == 0, np.diff(DATA.query_ptr)), 1e-200 * X[:, 0], 1e-200)
    used = np.array([FOLD != 0, FOLD != 1])
    data = DATA.replace_features(X)
    _, scales = fit_scalings(data, "within-query-std", used)
    assert scales[0, 0] == 1.0
    together = objectives_of(Weighting(shards_of(data), used.astype(float), scale=scales))
    alone = objectives_of(Weighting(shards_of(data), used[1:].astype(float), scale=scales[1:]))
    assert not together[0].varying[0]
    assert together[1].varying[0]
    np.testing.assert_array_equal(together[1].pair_norms, alone[0].pair_norms)


@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_float32_is_not_used_where_products_leave_it(scale: float) -> None:
    data = of_kind("float32")
    scales = np.full(9, scale)
    found = PairwiseObjective(data, scale=scales).hessian(np.zeros(9), np.arange(9))
    exact = PairwiseObjective(data.X.astype(np.float64), data.relevance, data.query_ptr, scale=scales)
    np.testing.assert_allclose(found, exact.hessian(np.zeros(9), np.arange(9)), rtol=1e-6, atol=0)


def test_a_part_of_sparse_rows_is_no_copy() -> None:
    rows = as_rows(of_kind("csr").X)
    part = rows.part(10, 200)
    assert np.shares_memory(part.arrays[0], rows.arrays[0])
    assert np.shares_memory(part.arrays[1], rows.arrays[1])


def test_a_query_that_does_not_count_is_not_read_whatever_it_holds() -> None:
    """A row without a gradient costs nothing and adds nothing, infinity included."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12))
    X[50:, 5], X[50:, 6] = np.nan, np.inf
    relevance, query_ptr, weight = np.tile([0.0, 1.0], 30), np.arange(0, 61, 10), np.array([1.0] * 5 + [0.0])
    whole = PairwiseObjective(X, relevance, query_ptr, query_weight=weight)
    without = PairwiseObjective(X[:50], relevance[:50], query_ptr[:6])
    w, v = 0.1 * rng.normal(size=12), rng.normal(size=12)
    np.testing.assert_allclose(whole.hessian_matvec(w, v), without.hessian_matvec(w, v), rtol=1e-12)
    np.testing.assert_allclose(whole.value_and_gradient(w)[1], without.value_and_gradient(w)[1], rtol=1e-12)
