"""What independent tests found in the papers' systems, each kept as a claim."""

from __future__ import annotations

import numpy as np
import pytest

import sparserank as sr
from sparserank.errors import DataError
from sparserank.papers.measures import concordance
from sparserank.papers.solvers.laporte2014 import laporte_path
from tests.oracles.baselines import kendall_concordance
from tests.support.problems import unit_problem


def test_algorithm_2_goes_through_its_first_round_where_zero_is_stationary() -> None:
    data = unit_problem(0)
    objective = sr.solvers.PairwiseObjective(data.X, data.relevance, data.query_ptr)
    top = np.abs(objective.gradient_at_zero).max()
    (point,) = laporte_path(objective, "log", (0.3,))
    assert 0.3 * top > 0.1 * top  # above eps times the largest gradient, w = 0 is stationary for the log penalty
    assert np.count_nonzero(point.w) > 0
    model = sr.papers.Laporte2014(penalty="log", C_sum=1 / (0.3 * top * objective.n_pairs)).fit(
        data.X, data.relevance, qid=data.qid
    )
    np.testing.assert_allclose(model.coef_, point.w, atol=1e-8)
    assert len(model.history_) >= 1
    assert (np.diff(model.history_) <= 1e-12).all()


@pytest.mark.parametrize("search", ["forward", "floating", "backfitting"])
def test_a_single_query_leaves_documents_out(search: str) -> None:
    X = np.random.default_rng(0).random((12, 4))
    y = (3 * X[:, 2]).round()
    model = sr.papers.GreedyRankRLS(k=2, lam=0.1, search=search).fit(X, y)
    assert model.selected_[0] == 2
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    error = 0.0
    for i in range(12):
        rest = np.arange(12) != i
        x = Xc[rest][:, model.selected_]
        w = np.linalg.solve(x.T @ x + 0.1 * np.eye(2), x.T @ yc[rest])
        error += (yc[i] - Xc[i, model.selected_] @ w) ** 2
    assert model.leave_query_out_error_ == pytest.approx(error)
    errors = sr.papers.RankRLS(lam=[1e-3, 1.0, 1e3]).fit(X, y).leave_query_out_errors_
    assert len(np.unique(errors.round(9))) == 3


def test_a_large_offset_does_not_drown_wide_data() -> None:
    rng = np.random.default_rng(1)
    X, y, qid = rng.random((10, 15)), rng.integers(0, 3, 10).astype(float), np.repeat([1, 2], 5)
    plain = sr.papers.RankRLS(lam=1.0).fit(X, y, qid=qid).coef_
    moved = sr.papers.RankRLS(lam=1.0).fit(X + 1e7, y, qid=qid).coef_
    np.testing.assert_allclose(moved, plain, atol=1e-7)
    constant = sr.papers.RankRLS(lam=1.0).fit(np.column_stack([X, np.full(10, 1e8)]), y, qid=qid).coef_
    np.testing.assert_allclose(constant[:15], plain, atol=1e-12)
    assert constant[15] == 0


def _copied(data: sr.RankingDataset, times: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first query `times` times, under ids of its own."""
    first = np.arange(data.query_ptr[1])
    rows = np.concatenate([np.arange(data.n_docs), *[first] * (times - 1)])
    ids = [f"q{q}" for q in data.qid] + [f"copy{k}" for k in range(times - 1) for _ in first]
    return data.X[rows], data.relevance[rows], np.array(ids)


def test_query_weights_are_copies_for_rs_rank() -> None:
    data = unit_problem(0)
    weight = np.ones(data.n_queries)
    weight[0] = 3.0
    model = sr.papers.RSRank(max_iter=30)
    weighted = model.fit(data.X, data.relevance, qid=data.qid, query_weight=weight).coef_
    X, y, qid = _copied(data, 3)
    np.testing.assert_allclose(weighted, sr.papers.RSRank(max_iter=30).fit(X, y, qid=qid).coef_, atol=1e-12)
    plain = model.fit(data.X, data.relevance, qid=data.qid).coef_
    assert np.abs(weighted - plain).max() > 1e-3


@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        sr.papers.FSMRank(lambda2=1e-3),
        sr.papers.FSRank(k=2),
        sr.papers.GasRanker(k=2),
        sr.papers.FSMSVM(k=2, lambda2=1e-3),
    ],
    ids=repr,
)
def test_a_query_of_weight_zero_is_not_there(model: sr.papers.FSMRank) -> None:
    data = unit_problem(0)
    weight = np.ones(data.n_queries)
    weight[1] = 0.0
    some = data.take_queries(weight > 0)
    with_zero = model.fit(data.X, data.relevance, qid=data.qid, query_weight=weight).coef_
    np.testing.assert_allclose(with_zero, model.fit(some.X, some.relevance, qid=some.qid).coef_, atol=1e-9)


@pytest.mark.parametrize(
    "model", [sr.papers.RankRLS(), *(sr.papers.GreedyRankRLS(k=1, search=s) for s in ("forward", "backfitting"))]
)
def test_equal_real_labels_are_no_preference(model: sr.papers.RankRLS) -> None:
    X = np.random.default_rng(0).random((6, 2))
    with pytest.raises(DataError, match="no preferred pair"):
        model.fit(X, [0.1] * 3 + [0.7] * 3, qid=[1, 1, 1, 2, 2, 2])


@pytest.mark.parametrize("search", ["forward", "floating", "backfitting"])
def test_equal_candidates_are_taken_in_order_whatever_the_draw(search: str) -> None:
    data = unit_problem(0)
    same = np.repeat(data.X[:, [0]], 5, axis=1)
    same[:, 3] -= 0.7  # equal but for rounding
    for seed in range(4):
        model = sr.papers.GreedyRankRLS(k=1, search=search, n_candidates=5, random_state=seed)
        assert model.fit(same, data.relevance, qid=data.qid).selected_[0] == 0


def test_a_first_stage_that_keeps_nothing_says_so() -> None:
    data = unit_problem(0)
    with pytest.raises(DataError, match="first stage keeps no feature"):
        sr.papers.FSMSVM(k=2, lambda2=1e3).fit(data.X, data.relevance, qid=data.qid)


def test_concordance_of_a_long_list_comes_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(3).integers(0, 4, (30, 3)).astype(float)
    ptr = np.array([0, 23, 24, 30])
    whole = concordance(X, ptr)
    np.testing.assert_allclose(whole, kendall_concordance(X, ptr), rtol=1e-14)
    monkeypatch.setattr("sparserank.papers.measures.PAIR_BLOCK", 1)
    np.testing.assert_allclose(concordance(X, ptr), whole, rtol=1e-14)


@pytest.mark.parametrize(
    "model",
    [
        sr.papers.FenchelRank(max_iter=1.5),
        sr.papers.TGRank(step=np.inf),
        sr.papers.TGRank(window=0),
        sr.papers.FSMRank(max_iter=0),
        sr.papers.FSRank(k=1.5),
        sr.papers.GreedyRankRLS(k=2.5),
        sr.papers.FSMRank(form="quadratic", similarity=np.array([[0, 1.0], [1, 0]])),
        sr.papers.Laporte2014(C_sum=0.0),
        sr.papers.Laporte2014(penalty="scad"),
    ],
    ids=repr,
)
def test_a_wrong_parameter_is_one_sentence(model: sr.papers.FenchelRank) -> None:
    with pytest.raises(DataError):
        model.fit(np.random.default_rng(0).random((6, 2)), [0, 1, 2, 0, 1, 2], qid=[1, 1, 1, 2, 2, 2])
