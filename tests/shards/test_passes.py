"""Passes that go to the threads together: every block once, few bytes at a time, the bits of each shard alone."""

import copy
import pickle
import tracemalloc
from collections import Counter
from threading import Barrier, Lock
from time import sleep

import numpy as np
import pytest

import sparserank as sr
from sparserank import execution as blocks
from sparserank.execution import BlockExecutor
from sparserank.objective import PairwiseObjective
from sparserank.shards import local, passes
from sparserank.shards._pass_kernels import APART
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
