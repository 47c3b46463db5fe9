"""Passes that go to the threads together: every block once, few bytes at a time, the bits of each shard alone;
wide sparse data: ridge by products with the Hessian, nothing of n_features squared."""

import copy
import pickle
import tracemalloc
from collections import Counter
from threading import Barrier, Lock
from time import sleep

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank import execution as blocks
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.execution import BlockExecutor
from sparserank.objective import PairwiseObjective
from sparserank.paths import fit_path_on, follow
from sparserank.shards import local, passes
from sparserank.shards._pass_kernels import APART
from sparserank.shards.dask import packed, unpacked
from sparserank.solvers.newton_cg import NewtonCG
from tests.extension.logistic import PairwiseLogistic

DATA = sr.datasets.make_ranking(90, (5, 40), 10, n_informative=4, n_redundant=2, noise=0.5, random_state=3).data


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
@pytest.mark.parametrize("sizes", [(5,), (1, 1, 1), (4, 0, 3), (1, 20, 2)])
def test_every_block_of_every_work_is_done_once(n_threads: int, sizes: tuple[int, ...]) -> None:
    done: Counter[tuple[int, int]] = Counter()
    of_thread: Counter[int] = Counter()
    lock = Lock()

    def work(w: int) -> passes.Share:
        def share(start: int, step: int) -> None:
            with lock:
                for b in range(start, sizes[w], step):
                    done[w, b] += 1
                    of_thread[(sum(sizes[:w]) + b) % step] += 1

        return share

    BlockExecutor(n_threads).share([(work(w), n) for w, n in enumerate(sizes)])
    assert done == {(w, b): 1 for w, n in enumerate(sizes) for b in range(n)}
    assert max(of_thread.values()) - min(of_thread.values()) <= 1


def test_threads_go_on_to_the_next_work_without_waiting_for_each_other() -> None:
    """The wrong variant hands over work by work: there the second thread never comes to the second work while the first
    is in its first."""
    meet = Barrier(2, timeout=20)

    def first(start: int, step: int) -> None:
        if start == 0:
            meet.wait()

    def second(start: int, step: int) -> None:
        if start == 1:
            meet.wait()

    BlockExecutor(2).share([(first, 2), (second, 2)])


@pytest.mark.parametrize("where", [0, 1, 2])
def test_an_error_in_one_thread_is_raised_when_all_have_ended_what_they_were_at(where: int) -> None:
    begun, ended = [], []
    all_here = Barrier(3, timeout=20)

    def first(start: int, step: int) -> None:
        all_here.wait()
        if start == where:
            raise ValueError("of one thread")
        begun.append(start)
        sleep(0.1)
        ended.append(start)

    def second(start: int, step: int) -> None:
        begun.append(-1)

    with pytest.raises(ValueError, match="of one thread"):
        BlockExecutor(3).share([(first, 3), (second, 3)])
    assert sorted(begun) == sorted(ended) == sorted({0, 1, 2} - {where})


def of_many_shards(monkeypatch: pytest.MonkeyPatch) -> PairwiseObjective:
    monkeypatch.setattr(local, "SHARD_BYTES", 20 * DATA.X.shape[1] * 8)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 10 * DATA.X.shape[1] * 8)
    return PairwiseObjective(DATA, n_threads=3)


@pytest.mark.parametrize("room", [0, 2.5, 7, 10_000])
def test_passes_under_way_hold_what_they_may_and_give_the_bits_of_each_shard_alone(monkeypatch, room):
    objective = of_many_shards(monkeypatch)
    shards = objective.shards.shards  # type: ignore[attr-defined]
    assert len(shards) > 20
    W = np.random.default_rng(0).standard_normal((5, DATA.X.shape[1]))
    key, ks = objective.weighting.key, [0] * 5
    alone = [shard.value_and_gradient(W, key, ks) for shard in shards]

    most = max(shard.bytes_of_a_pass(key) for shard in shards)
    monkeypatch.setattr(passes, "PASS_BYTES", int(room * most))
    held: list[int] = []
    share = BlockExecutor.share
    monkeypatch.setattr(BlockExecutor, "share", lambda self, works: held.append(len(works)) or share(self, works))
    together = objective.shards.call("value_and_gradient", W, key, ks)
    for a, b in zip(alone, together, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)
    assert held == {0: [1] * (5 * len(shards)), 10_000: [len(shards)]}.get(room, held)
    assert (max(held) > 1) == (room > 0)


@pytest.mark.parametrize(("case", "n_rows"), [("plain", 1), ("plain", 4), ("line", 1), ("dual", 1), ("dual", 4)])
def test_a_pass_holds_no_more_memory_than_declared(case: str, n_rows: int) -> None:
    """The wrong variant of a dual counts orders alone."""
    problem = sr.datasets.make_ranking(
        4000, (20, 30), 2, n_informative=2, n_redundant=0, noise=0.5, random_state=3
    ).data
    objective = PairwiseObjective(problem, loss=PairwiseLogistic() if case == "dual" else "squared_hinge", n_threads=1)
    (shard,) = objective.shards.shards  # type: ignore[attr-defined]
    key, w = objective.weighting.key, np.array([1.0, -0.5])
    if case == "line":
        objective.along(w, w)(0.5)
    W = np.outer(np.arange(n_rows) + 1.0, w)
    shard.value_and_gradient(W, key, [0] * n_rows)
    tracemalloc.start()
    shard.value_and_gradient(2.0 * W, key, [0] * n_rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    beside = 8 * problem.n_queries * n_rows + 50_000  # the scales of the queries; objects
    assert peak < n_rows * shard.bytes_of_a_pass(key) + beside
    if case == "dual" and n_rows > 1:
        assert peak > n_rows * 8 * problem.n_docs + beside


def test_an_order_is_lent_to_one_call_at_a_time_and_kept_after_a_pass() -> None:
    objective = PairwiseObjective(DATA)
    (shard,) = objective.shards.shards  # type: ignore[attr-defined]
    key, w = objective.weighting.key, np.random.default_rng(1).standard_normal(10)
    objective.value_and_gradient(w)
    first, second = shard._borrowed(key, 0), shard._borrowed(key, 0)
    assert not np.shares_memory(first, second)
    scores = DATA.X @ w
    for a, b in zip(DATA.query_ptr[:-1], DATA.query_ptr[1:], strict=True):
        np.testing.assert_array_equal(first[a:b], np.argsort(-scores[a:b], kind="stable"))
    shard._give_back(key, 0, first)
    objective.value_and_gradient(w)
    shard.value_and_gradient(
        np.array([w, 2.0 * w]), key, [0, 0]
    )  # both rows begin with it; the wrong variant asks for it twice
    assert shard._borrowed(key, 0) is first  # corrected in place: nothing per document is copied


def test_what_a_failing_call_has_half_sorted_is_not_lent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = PairwiseObjective(DATA)
    (shard,) = objective.shards.shards  # type: ignore[attr-defined]
    w = np.ones(10)
    value, gradient = objective.value_and_gradient(w)
    (order,) = shard._orders[objective.weighting.key, 0]

    def fails(self: BlockExecutor, works: object) -> None:
        order[:] = 0
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(BlockExecutor, "share", fails)
        with pytest.raises(KeyboardInterrupt):
            objective.value_and_gradient(2.0 * w)
    again, same = objective.value_and_gradient(w)
    assert again == value
    np.testing.assert_array_equal(same, gradient)


def test_sums_have_the_same_bits_in_memory_of_a_thread_and_in_that_of_all() -> None:
    """One row's gradient grows in the thread's own memory, those of three rows are too many for it."""
    rng = np.random.default_rng(0)
    d = APART // 2
    objective = PairwiseObjective(rng.standard_normal((60, d)), np.arange(60.0) % 3, np.arange(0, 61, 10), n_threads=2)
    (shard,) = objective.shards.shards  # type: ignore[attr-defined]
    W, key = rng.standard_normal((3, d)) / d, objective.weighting.key
    together = shard.value_and_gradient(W, key, [0] * 3)
    for i in range(3):
        for one, all_three in zip(shard.value_and_gradient(W[i : i + 1], key, [0]), together, strict=True):
            np.testing.assert_array_equal(one[0], all_three[i])


def test_an_objective_in_use_may_be_copied_and_pickled() -> None:
    """The wrong variant takes an order out of the dictionary that holds it: its size changes while it is copied."""
    objective = PairwiseObjective(DATA, n_threads=1)
    shard = objective.shards.shards[0]  # type: ignore[attr-defined]
    w = np.ones(10)
    objective.value_and_gradient(w)
    names = list(shard._orders)
    lent = shard._borrowed(objective.weighting.key, 0)
    assert list(shard._orders) == names
    assert copy.deepcopy(objective).value_and_gradient(w)[0] == objective.value_and_gradient(w)[0]
    weight, sent = np.linspace(0.1, 2.0, DATA.n_queries), pickle.loads(pickle.dumps(objective))
    for options in ({}, {"query_weight": weight}, {}):
        assert sent.value_and_gradient(w, **options)[0] == objective.value_and_gradient(w, **options)[0]
    shard._give_back(objective.weighting.key, 0, lent)
    assert list(shard._orders) == names


MADE = sr.datasets.make_ranking(120, (8, 40), 40, n_informative=6, noise=0.5, random_state=2).data


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6])
def test_truncated_newton_finds_the_ridge_optimum(share: float) -> None:
    objective = sr.solvers.PairwiseObjective(MADE)
    penalty = sr.penalties.Ridge(
        share * sr.penalties.Ridge(1.0).path_alpha_max(objective.gradient_at_zero, objective.curvature)
    )
    stop = sr.solvers.Stop(tol=1e-10, scale=float(np.abs(objective.gradient_at_zero).max()))
    exact, found = (
        sr.solvers.solve(solver, objective, penalty, stop=stop) for solver in (sr.solvers.ProxNewton(), NewtonCG())
    )
    assert found.status.converged
    assert found.kkt_violation <= 1e-10 * stop.scale
    assert found.gap is not None
    assert found.gap < 1e-12
    np.testing.assert_allclose(found.w, exact.w, atol=1e-7)
    assert found.n_iter <= 12


def test_truncated_newton_is_for_ridge() -> None:
    with pytest.raises(DataError, match="NewtonCG solves only problems with the ridge penalty; l1 is not smooth"):
        sr.solvers.solve(NewtonCG(), sr.solvers.PairwiseObjective(MADE), sr.penalties.L1(0.1))


def test_ridge_paths_do_not_depend_on_which_solver_the_width_calls_for(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"n_alphas": 5, "alpha_min_ratio": 1e-5, "tol": 1e-9}
    few = sr.fit_path(MADE, sr.penalties.Ridge(), **options)
    monkeypatch.setattr(follow, "MAX_IN_HESSIAN", 10)
    many = sr.fit_path(MADE, sr.penalties.Ridge(), **options)
    np.testing.assert_allclose(many.coefs, few.coefs, atol=1e-6)


def text_like(n_docs: int, n_features: int, per_row: int, seed: int = 0) -> RankingDataset:
    """Documents with a few of very many features, the frequent ones by far most often."""
    rng = np.random.default_rng(seed)
    frequency = np.cumsum(1.0 / np.arange(1, n_features + 1))
    columns = np.searchsorted(frequency, rng.random((n_docs, per_row)) * frequency[-1]).astype(np.int32)
    columns.sort(axis=1)
    X = sp.csr_matrix(
        (rng.random(columns.size, dtype=np.float32), columns.ravel(), np.arange(0, columns.size + 1, per_row)),
        shape=(n_docs, n_features),
    )
    X.sum_duplicates()
    w = np.zeros(n_features)
    w[rng.choice(300, 20, replace=False)] = 3 * rng.standard_normal(20)
    grade = np.clip(np.floor(X @ w + 0.5 * rng.standard_normal(n_docs) + 1.5), 0, 3)
    return RankingDataset(X, grade, np.repeat(np.arange(n_docs // 25), 25))


def test_features_that_vary_are_found_without_a_dense_row() -> None:
    data = text_like(500, 3000, 10)
    dense = data.replace_features(data.X.toarray())
    np.testing.assert_array_equal(data.constant_features(), dense.constant_features())
    shifted = sp.csr_matrix(np.where(np.arange(3000) == 7, 5.0, data.X.toarray()))  # stored everywhere, and constant
    assert data.replace_features(shifted).constant_features()[7]


@pytest.mark.slow
@pytest.mark.usefixtures("no_processes")
def test_a_hundred_thousand_features_go_through_path_and_selection() -> None:
    resource = pytest.importorskip("resource")
    data = text_like(2000, 100_000, 30)
    path = sr.fit_path(data, n_alphas=5, alpha_min_ratio=0.05)
    assert set(path.statuses) == {"optimal"}
    result = sr.select(data, penalties=["l1"], n_alphas=4, alpha_min_ratio=0.2, cv=2, half_samples=2, relaxed=False)
    assert 0 < len(result.model.support) < 300
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert peak < 4000  # a Hessian on the features that vary would take 10 GB alone


def test_what_travels_between_shards_is_as_large_as_what_is_not_zero() -> None:
    gradient = np.zeros((2, 50_000))
    gradient[0, [3, 40_000]] = 1.5, -np.inf
    sent = packed((gradient, "key", [gradient[0]]))
    assert len(pickle.dumps(sent)) < 2000
    back = unpacked(pickle.loads(pickle.dumps(sent)))
    np.testing.assert_array_equal(back[0], gradient)
    np.testing.assert_array_equal(back[2][0], gradient[0])
    assert back[1] == "key"
    full = np.ones(50_000)
    assert packed(full) is full
    assert packed(gradient.astype(np.float32)).dtype == np.float32
    X = sp.random_array((60, 200_000), density=1e-5, rng=np.random.default_rng(0), format="csr")
    objective = sr.solvers.PairwiseObjective(X, np.arange(60.0) % 3, np.arange(0, 61, 10))
    sums = objective.shards.shards[0].value_and_gradient(np.zeros((1, 200_000)), objective.weighting.key, [0])
    assert len(pickle.dumps(packed(sums))) < sums[2].nbytes / 100  # a plain tuple of what a shard answers


def test_a_path_holds_what_its_models_have_features() -> None:
    data = text_like(500, 3000, 10)
    path = sr.fit_path(data, n_alphas=10, alpha_min_ratio=0.1)
    assert len(path.sparse_coefs.data) == path.nnz.sum() < 500
    np.testing.assert_array_equal(path.truncate(2).nnz, np.minimum(path.nnz, 2))


@pytest.mark.slow
def test_a_path_holds_no_vectors_of_every_strength() -> None:
    """Penalties keep vectors as long as there are features; those of strengths that are done are gone."""
    rng = np.random.default_rng(0)
    n, d = 400, 60_000
    X = sp.csr_array((rng.random(n * 20), rng.integers(0, d, n * 20), np.arange(0, n * 20 + 1, 20)), shape=(n, d))
    X.sum_duplicates()
    objective = sr.solvers.PairwiseObjective(X, rng.integers(0, 3, n).astype(float), np.arange(0, n + 1, 20))

    def peak(n_alphas: int) -> int:
        tracemalloc.start()
        fit_path_on(objective, sr.penalties.L1(), n_alphas=n_alphas, alpha_min_ratio=0.5, tol=1e-3)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(2)
    assert peak(20) < peak(5) + 8 * d * 4
