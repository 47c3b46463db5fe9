"""The pair-free squared hinge against explicit pairs, in score space and through X."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.losses import SquaredHinge
from sparserank.objective import PairwiseObjective
from tests.oracles import pairs as oracle
from tests.support.problems import long_real_problem, small_problem
from tests.support.score_space import hessian, value_and_gradient

TABLE = np.array([[0, 0, 0], [1, 0, 0], [3, 2, 0.0]])
PROBLEMS = [small_problem(1), small_problem(2, grades=5), small_problem(3, real=True), long_real_problem(4)]


def _score_cases(data: RankingDataset) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    n = data.n_docs
    return {
        "random": rng.standard_normal(n),
        "decimal ties at margin 1": rng.integers(-15, 15, n) / 10.0,
        "integers, margins exactly 1": rng.integers(-2, 3, n).astype(float),
        "all equal": np.zeros(n),
        "equal at a huge offset": np.full(n, 1e6),
        "separated by 1e6": 1e6 * data.relevance,
        "inverted by 1e3": -1e3 * data.relevance,
        "clusters 1e6 apart": 1e6 * rng.integers(0, 2, n) + rng.standard_normal(n),
    }


WEIGHTINGS = [(data, kind) for data in PROBLEMS for kind in ("plain", "query weights")] + [(PROBLEMS[0], "grade table")]


@pytest.mark.parametrize(("data", "weighting"), WEIGHTINGS)
def test_loss_gradient_and_hessian_equal_explicit_pairs(data: RankingDataset, weighting: str) -> None:
    table = TABLE if weighting == "grade table" else None
    weights = np.linspace(0.5, 2, data.n_queries) if weighting == "query weights" else None
    loss = SquaredHinge(table)
    pairs = oracle.pairs_of(data.relevance, data.query_ptr, weights, table)
    per_query = loss.n_pairs(data.relevance, data.query_ptr)
    total = float(per_query @ (np.ones(data.n_queries) if weights is None else weights))
    for name, scores in _score_cases(data).items():
        value, gradient = value_and_gradient(loss, scores, data.relevance, data.query_ptr, weights)
        # Scores of 1e6 carry 1e-10 of rounding each; everything else is float64 noise.
        noise = 1e-9 if "1e6" in name else 1e-13
        assert value / total == pytest.approx(oracle.loss(scores, pairs), rel=1e-9, abs=noise), name
        expected = oracle.score_gradient(scores, pairs)
        np.testing.assert_allclose(gradient / total, expected, rtol=1e-9, atol=noise, err_msg=name)
        W = hessian(loss, scores, data.relevance, data.query_ptr, weights) / total
        np.testing.assert_allclose(W, oracle.score_hessian(scores, pairs), atol=1e-13, err_msg=name)


def test_a_predicate_that_counts_margin_one_is_rejected() -> None:
    data = small_problem(1)
    scores = data.relevance.copy()  # margins are exactly 1 and 2
    pairs = oracle.pairs_of(data.relevance, data.query_ptr)
    W = hessian(SquaredHinge(), scores, data.relevance, data.query_ptr)
    wrong = oracle.score_hessian(scores, pairs, oracle.squared_hinge_active_at_one)
    assert np.abs(wrong).max() > 0
    assert not W.any()


def test_separated_list_has_exactly_zero_loss_and_gradient() -> None:
    data = small_problem(5)
    value, gradient = value_and_gradient(SquaredHinge(), 1e6 * data.relevance + 0.3, data.relevance, data.query_ptr)
    assert value == 0.0
    assert not gradient.any()


@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("pair_weights", ["pair", "query"])
@pytest.mark.parametrize("container", ["dense", "csr", "float32"])
def test_objective_equals_explicit_pairs(data: RankingDataset, pair_weights: str, container: str) -> None:
    X = {"dense": data.X, "csr": sp.csr_matrix(data.X), "float32": data.X.astype(np.float32)}[container]
    query_weight = np.linspace(0.0, 2.0, data.n_queries)[::-1]
    objective = PairwiseObjective(
        X, data.relevance, data.query_ptr, pair_weights=pair_weights, query_weight=query_weight, n_threads=1
    )
    dense = X.toarray() if container == "csr" else np.asarray(X, dtype=np.float64)
    pairs = oracle.pairs_of(data.relevance, data.query_ptr, query_weight, per_query=pair_weights == "query")
    w = np.random.default_rng(0).standard_normal(data.n_features)
    value, gradient = objective.value_and_gradient(w)
    scores = dense @ w
    assert value == pytest.approx(oracle.loss(scores, pairs), rel=1e-11)
    np.testing.assert_allclose(gradient, dense.T @ oracle.score_gradient(scores, pairs), rtol=1e-9, atol=1e-12)
    columns = np.array([0, 2, 3])
    H = dense.T @ oracle.score_hessian(scores, pairs) @ dense
    np.testing.assert_allclose(objective.hessian(w, columns), H[np.ix_(columns, columns)], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(objective.hessian_matvec(w, w), H @ w, rtol=1e-9, atol=1e-12)
    K = oracle.pair_matrix(dense, pairs)
    np.testing.assert_allclose(objective.pair_norms, (K**2).sum(axis=0), rtol=1e-10)


def test_grade_pair_weights_reach_pair_norms_and_certificates() -> None:
    data = small_problem(6)
    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, loss=SquaredHinge(TABLE))
    pairs = oracle.pairs_of(data.relevance, data.query_ptr, None, TABLE)
    K = oracle.pair_matrix(data.X, pairs)
    np.testing.assert_allclose(objective.pair_norms, (K**2).sum(axis=0), rtol=1e-10)
    assert objective.value_and_gradient(np.zeros(data.n_features))[0] == pytest.approx(1.0)


def test_gradient_is_the_derivative() -> None:
    data = small_problem(8)
    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr)
    w = np.random.default_rng(3).standard_normal(data.n_features)
    _, gradient = objective.value_and_gradient(w)
    e = 1e-5
    for j in range(data.n_features):
        step = e * np.eye(data.n_features)[j]
        numeric = (objective.value_and_gradient(w + step)[0] - objective.value_and_gradient(w - step)[0]) / (2 * e)
        assert numeric == pytest.approx(gradient[j], rel=1e-6, abs=1e-8)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(-1e3, 1e3))
def test_invariances(seed: int, shift: float) -> None:
    """Gradient sums to zero in each query; a shift per query changes nothing; row order changes nothing."""
    data = small_problem(seed)
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(data.n_docs)
    loss = SquaredHinge()
    value, gradient = value_and_gradient(loss, scores, data.relevance, data.query_ptr)
    np.testing.assert_allclose(np.add.reduceat(gradient, data.query_ptr[:-1]), 0.0, atol=1e-11)
    moved = scores + shift * np.repeat(rng.standard_normal(data.n_queries), np.diff(data.query_ptr))
    assert value_and_gradient(loss, moved, data.relevance, data.query_ptr)[0] == pytest.approx(value, rel=1e-9)
    order = rng.permutation(data.n_docs)
    shuffled = RankingDataset(scores[order, None], data.relevance[order], np.asarray(data.qid)[order])
    again, _ = value_and_gradient(loss, shuffled.X[:, 0], shuffled.relevance, shuffled.query_ptr)
    assert again == pytest.approx(value, rel=1e-12)


def test_one_and_two_threads_give_identical_results(
    mq2008_train: RankingDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sparserank.execution.blocks as blocks

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 17)  # many blocks, so that threads have something to share
    w = np.random.default_rng(0).standard_normal(46)
    results = []
    for n_threads in (1, 2):
        objective = PairwiseObjective(
            mq2008_train.X, mq2008_train.relevance, mq2008_train.query_ptr, n_threads=n_threads
        )
        assert len(objective.shards.shards[0]._blocks) > 10
        value, gradient = objective.value_and_gradient(w)
        results.append((value, gradient, objective.hessian(w, np.arange(46)), objective.pair_norms))
    for one, two in zip(*results, strict=True):
        assert np.array_equal(one, two)


def test_constant_features_have_no_gradient_at_all() -> None:
    data = small_problem(9)
    X = np.column_stack([data.X, 1e6 + np.asarray(data.qid) / 3.0])  # constant within queries, and large
    objective = PairwiseObjective(X, data.relevance, data.query_ptr)
    assert not objective.varying[-1]
    assert objective.gradient_at_zero[-1] == 0.0


def test_python_body_equals_compiled_sweep() -> None:
    from sparserank.losses import _grade_sweeps, _tree_sweeps
    from sparserank.losses._sizes import WORK_ROWS

    data = small_problem(10)
    lo, hi = 0, int(data.query_ptr[1])
    scores = np.random.default_rng(1).standard_normal(hi)
    lv = SquaredHinge().levels(data.relevance, data.query_ptr)
    for module in (_grade_sweeps, _tree_sweeps):
        results = []
        for sweep in (module.sweep, module.sweep.py_func):
            gradient = np.zeros(hi)
            order = np.arange(hi, dtype=np.int32)
            work = np.empty((WORK_ROWS, hi + 5))
            value, square = sweep(scores, lv.levels[lo:hi], lv.n_levels[0], lv.table, None, order, gradient, work)
            assert square == value
            results.append((value, gradient))
        assert results[0][0] == pytest.approx(results[1][0], rel=1e-14)
        np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-13)


def test_no_pair_is_refused_with_a_sentence() -> None:
    with pytest.raises(DataError, match="no preferred pair"):
        PairwiseObjective(np.eye(3), np.ones(3), np.array([0, 3]))


def test_an_objective_takes_a_data_set_and_checks_what_it_is_given() -> None:
    data = small_problem(1)
    whole, parts = PairwiseObjective(data), PairwiseObjective(data.X, data.relevance, data.query_ptr)
    w = np.linspace(-1, 1, data.n_features)
    assert whole.value_and_gradient(w)[0] == parts.value_and_gradient(w)[0]
    weighted = RankingDataset(data.X, data.relevance, data.qid, doc_weight=np.linspace(0.5, 2.0, data.n_docs))
    assert PairwiseObjective(weighted).value_and_gradient(w)[0] != whole.value_and_gradient(w)[0]
    X, y, ptr = data.X, data.relevance, data.query_ptr
    for wrong in (
        (X, y[1:], ptr),
        (X, y, ptr[:-1]),
        (X, y, ptr[::-1]),
        (X, y, None),
        (X, None, ptr),
        (X.astype(int), y, ptr),
        (X, y, np.concatenate([[0, 5, 3], ptr[-1:]])),
        (X[:, 0], y, ptr),
    ):
        with pytest.raises(DataError, match=r"X must be|relevance must|query_ptr must"):
            PairwiseObjective(*wrong)
    with pytest.raises(DataError, match="one coefficient per feature"):
        whole.value_and_gradient(w[1:])
    with pytest.raises(DataError, match="w must be finite"):
        whole.value_and_gradient(np.r_[np.nan, w[1:]])
    with pytest.raises(DataError, match="the loss at w is"):
        whole.value_and_gradient(1e200 + w)
    for wrong in (["a"] * len(w), w + 1j):
        with pytest.raises(DataError, match="w must contain real numbers"):
            whole.value_and_gradient(wrong)
    for columns in ([len(w)], [-1], [[0]], [0.5], ["a"]):
        with pytest.raises(DataError, match="columns must be whole numbers"):
            whole.hessian(w, columns)
    with pytest.raises(DataError, match="n_docs must be"):
        whole.hessian(w, [0], 0)
    with pytest.raises(DataError, match="relevance must be finite"):
        PairwiseObjective(data.X, np.where(data.relevance > 0, np.nan, 0.0), data.query_ptr)
