"""Mistakes that were made once."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.combine import concatenate
from sparserank.data.data_hash import data_hash
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError, DataFormatError
from sparserank.execution import one_blas_thread
from sparserank.losses import SquaredHinge
from tests.support.problems import small_problem


def test_equal_ids_of_different_queries_can_be_kept_apart() -> None:
    a, b = small_problem(1), small_problem(2)
    apart = concatenate([a, b], join_queries=False)
    assert apart.n_queries == a.n_queries + b.n_queries
    pairs = SquaredHinge().n_pairs
    assert pairs(apart.relevance, apart.query_ptr).sum() == sum(pairs(d.relevance, d.query_ptr).sum() for d in (a, b))


def test_document_ids_are_part_of_a_fingerprint() -> None:
    a = small_problem(1)
    with_ids = RankingDataset(a.X, a.relevance, a.qid, np.array([f"d{i}" for i in range(a.n_docs)], dtype=object))
    other = RankingDataset(a.X, a.relevance, a.qid, np.array([f"e{i}" for i in range(a.n_docs)], dtype=object))
    assert len({data_hash(d) for d in (a, with_ids, other)}) == 3


def test_metrics_where_lower_is_better_are_not_maximised() -> None:
    a = small_problem(1)
    with pytest.raises(DataError, match="higher is better"):
        sr.SparseRankerCV(metric="pairwise_error").fit(a.X, a.relevance, qid=a.qid)


def test_solve_resolves_the_scale_of_gamma() -> None:
    a = small_problem(1)
    objective = sr.solvers.PairwiseObjective(a.X, a.relevance, a.query_ptr)
    penalty = sr.penalties.MCP(0.05)
    resolved = penalty.resolve(2 * objective.pair_norms, objective.total_weight)
    assert resolved != penalty
    one, two = (sr.solvers.solve(sr.solvers.ProxNewton(), objective, p) for p in (penalty, resolved))
    np.testing.assert_allclose(one.w, two.w, rtol=1e-9)


def test_small_pair_weights_do_not_round_the_scales_to_nothing() -> None:
    a = small_problem(1)
    light = sr.fit_path(a, loss=SquaredHinge(0.001 * np.tril(np.ones((3, 3)), -1)), n_alphas=3)
    plain = sr.fit_path(a, n_alphas=3)
    assert light.n_pairs == plain.n_pairs
    assert light.total_weight == pytest.approx(0.001 * plain.n_pairs)
    assert np.isfinite(light.to_table()["C_sum"]).all()


def test_values_too_large_to_scale_are_named() -> None:
    a = small_problem(1)
    X = np.array(a.X)
    X[:, 1] *= 1e300
    with pytest.raises(DataError, match="feature f2 cannot be scaled: its spread is"):
        sr.fit_scaling(RankingDataset(X, a.relevance, a.qid))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_read_from_its_first_byte(tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_text, args=("2 qid:1 1:0.5\n0 qid:1 1:0.25\n",))
    writer.start()
    data = sr.read(fifo)
    writer.join()
    assert data.relevance.tolist() == [2.0, 0.0]


def test_large_relevance_is_fine_where_no_gain_is_used() -> None:
    a = RankingDataset(np.zeros((2, 1)), [0.0, 1000.0])
    assert sr.evaluate(np.array([0.0, 1.0]), a, ["map"])["map"] == 1.0
    with pytest.raises(DataError, match="too large for a gain"):
        sr.evaluate(np.array([0.0, 1.0]), a, ["ndcg@10"])


def test_sparse_data_cannot_be_written_either() -> None:
    a = small_problem(1)
    data = RankingDataset(sp.csr_matrix(a.X), a.relevance, a.qid)
    with pytest.raises(ValueError, match="read-only"):
        data.X.data[0] = 7.0


def test_one_query_that_was_named_is_warned_of() -> None:
    a = small_problem(1)
    with pytest.warns(UserWarning, match="a single query cannot be cross-validated"):
        sr.SparseRankerCV(n_alphas=5).fit(a.X[:8], a.relevance[:8], qid=np.ones(8, dtype=int))


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
