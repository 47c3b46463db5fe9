"""Results are functions of their arguments alone: not of threads, of earlier calls, or of a fork."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sparserank as sr
from sparserank.execution import BlockExecutor, one_blas_thread
from sparserank.losses import SquaredHinge
from sparserank.losses._sorting_kernels import sort_descending
from sparserank.objective import PairwiseObjective, objectives_of
from sparserank.shards import LocalShards, Shard
from sparserank.shards.dense import DenseRows
from sparserank.weighting import Weighting

PROBLEM = sr.datasets.make_ranking(60, (20, 60), 12, n_informative=4, n_redundant=2, noise=0.5, random_state=8).data


class SharedOrder(Shard):
    """The wrong variant: one order of the documents for all calls."""

    def _borrowed(self, key: str, k: int) -> np.ndarray:
        return self._first_order


def make(kind: type[Shard] = Shard) -> PairwiseObjective:
    X = np.round(PROBLEM.X, 1)  # many equal scores
    loss = SquaredHinge()
    shard = kind(DenseRows(X), PROBLEM.relevance, PROBLEM.query_ptr, loss, None, BlockExecutor(1))
    return objectives_of(Weighting(LocalShards([shard], loss), np.ones((1, PROBLEM.n_queries))))[0]


def points(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(4)
    return [rng.choice([-0.5, 0.0, 0.25, 1.0], size=PROBLEM.n_features) for _ in range(n)]


def everything_at(objective: PairwiseObjective, w: np.ndarray) -> bytes:
    value, gradient = objective.value_and_gradient(w)
    H = objective.hessian(w, np.arange(5))
    v = np.ones(objective.n_features)
    line = objective.along(w, v)(0.3)
    return b"".join(np.asarray(a).tobytes() for a in (value, gradient, H, objective.hessian_matvec(w, v), line))


def wrong_in_threads(objective: PairwiseObjective, n_threads: int) -> int:
    ws = points(100)
    fresh = [everything_at(make(), w) for w in ws]
    with ThreadPoolExecutor(n_threads) as pool:
        found = list(pool.map(lambda i: everything_at(objective, ws[i % len(ws)]), range(4 * len(ws))))
    return sum(f != fresh[i % len(ws)] for i, f in enumerate(found))


@pytest.mark.slow_but("[8]")
@pytest.mark.parametrize("n_threads", [1, 8])
def test_one_objective_in_many_threads_gives_the_bits_of_a_fresh_one_in_each(n_threads: int) -> None:
    assert wrong_in_threads(make(), n_threads) == 0


def test_the_comparison_sees_a_shared_order() -> None:
    assert wrong_in_threads(make(SharedOrder), 8) > 0


def test_threads_of_one_pass_do_not_change_a_bit() -> None:
    X = np.tile(np.round(PROBLEM.X, 1), (1, 12))
    one, many = (PairwiseObjective(X, PROBLEM.relevance, PROBLEM.query_ptr, n_threads=n) for n in (1, 5))
    w = np.resize(points(1)[0], X.shape[1])
    for a, b in zip(one.value_and_gradient(w), many.value_and_gradient(w), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("m", [1, 2, 7, 60, 400])
def test_the_order_depends_on_scores_and_rows_alone(m: int) -> None:
    rng = np.random.default_rng(m)
    for _ in range(20):
        scores = rng.integers(-3, 4, size=m).astype(float)
        expected = np.lexsort((np.arange(m), -scores))
        for start in (np.arange(m), np.arange(m)[::-1], rng.permutation(m), expected):
            order = start.astype(np.int32)
            ranked = np.empty(m)
            sort_descending(scores, order, ranked)
            np.testing.assert_array_equal(order, expected)
            np.testing.assert_array_equal(ranked, scores[expected])


FORK_WHILE_FITTING = """
import os, sys, threading
import sparserank as sr
data = sr.datasets.make_ranking(30, 15, 60, n_informative=3, n_redundant=0, random_state=1).data
def fit():
    return sr.SparseRanker(alpha_ratio=0.2, n_threads=2).fit(data.X, data.relevance, qid=data.qid).objective_
expected, stop = fit(), threading.Event()
def work():
    while not stop.is_set():
        fit()
threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads: t.start()
failures = 0
for _ in range(5):
    child = os.fork()
    if child == 0:
        import faulthandler; faulthandler.dump_traceback_later(60, exit=True)
        os._exit(0 if fit() == expected else 1)
    failures += os.waitpid(child, 0)[1] != 0
stop.set()
for t in threads: t.join()
sys.exit(failures)
"""
BITS = """
import threading
import numpy as np
import sparserank as sr
from sparserank.objective import PairwiseObjective
data = sr.datasets.make_ranking(60, 40, 60, n_informative=3, n_redundant=0, random_state=1).data
objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=2)
def bits(out):
    m = sr.SparseRanker(alpha_ratio=0.1, n_threads=2).fit(data.X, data.relevance, qid=data.qid)
    H = objective.hessian(np.zeros(60), np.arange(60))
    Hv = objective.hessian_matvec(np.zeros(60), np.ones(60))
    out.append((m.coef_.tobytes(), m.objective_, m.kkt_violation_, m.duality_gap_, H.tobytes(), Hv.tobytes()))
found = []
bits(found)
for _ in range(3):
    threads = [threading.Thread(target=bits, args=(found,)) for _ in range(3)]
    for t in threads: t.start()
    bits(found)
    for t in threads: t.join()
assert len(set(found)) == 1, len(set(found))
"""
AFFINITY = """
import os
os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
from sparserank.execution import BlockExecutor, available_cores
assert available_cores() == BlockExecutor().n_threads == 1
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_after_and_during_fits_with_threads_fits_the_same() -> None:
    done = subprocess.run([sys.executable, "-c", FORK_WHILE_FITTING], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_fits_in_any_thread_have_the_bits_of_the_main_thread() -> None:
    """Matrix products too: BLAS gets one thread, whoever calls."""
    done = subprocess.run([sys.executable, "-c", BITS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_cores_are_those_that_the_process_may_use() -> None:
    done = subprocess.run([sys.executable, "-c", AFFINITY], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_overlapping_blas_limits_are_lifted_by_the_last_user() -> None:
    from threadpoolctl import threadpool_info

    def threads() -> list[int]:
        return [i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"]

    before = threads()
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(threads()) == {1}
    second.__exit__(None, None, None)
    assert threads() == before
