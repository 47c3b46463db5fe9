"""FSMRank against Algorithm 1 with explicit pairs, Theorems 1 and 2 of Lai et al. (2013), and its measures by hand."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.dataset import RankingDataset
from sparserank.errors import ConvergenceWarning
from sparserank.papers.measures import concordance, nearest_positive_semidefinite, single_feature_metric
from tests.oracles import baselines, rank_rls
from tests.oracles import fsm_rank as oracle
from tests.support.problems import small_problem, unit_problem

PROBLEMS = {
    "in [0, 1]": unit_problem(0),
    "ten times that": unit_problem(1).replace_features(10 * unit_problem(1).X),
    "normal features": small_problem(2, n_queries=8),
    "real labels": small_problem(3, n_queries=8, real=True),
}
STRENGTHS = [(0.1, 0.01), (2.0, 0.001), (0.0, 0.02), (0.1, 0.0), (1.0, 0.1), (0.01, 1e-4)]


def _usable(data: RankingDataset) -> np.ndarray:
    """Pearson importance, 0 for what varies only between queries: the ranker never uses that (equation (1) would)."""
    s = oracle.pearson_importance(data.X, data.relevance)
    varying = np.isin(np.arange(data.n_features), rank_rls.varying_features(data.X, data.query_ptr))
    return np.where(varying, s, 0.0)


def _cosines(X: np.ndarray) -> np.ndarray:
    """Entries in [0, 1], diagonal 1, positive semidefinite."""
    Z = X + 0.01
    Z = Z / np.sqrt(np.sum(Z**2, axis=0))
    return np.minimum(Z.T @ Z, 1.0)


def _fit(data: RankingDataset, *strengths: float, **parameters: object) -> sr.papers.FSMRank:
    """strengths: lambda1 and lambda2"""
    parameters |= dict(zip(("lambda1", "lambda2"), strengths, strict=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is often what ends it here
        return sr.papers.FSMRank(**parameters).fit(data.X, data.relevance, qid=data.qid)


def _assert_trace_equals(found: sr.papers.FSMRank, expected: dict) -> None:
    assert found.history_["lipschitz"].tolist() == expected["L"]
    np.testing.assert_allclose(found.history_["objective"], expected["objective"], rtol=1e-12)
    np.testing.assert_allclose(found.coef_, expected["w"], rtol=1e-9, atol=1e-12)
    assert found.n_iter_ == len(expected["L"])
    assert found.objective_ == found.history_["objective"][-1]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("form", ["split", "quadratic"])
@pytest.mark.parametrize(("lambda1", "lambda2"), STRENGTHS)
def test_objective_and_lipschitz_traces_are_those_of_explicit_pairs(name, form, lambda1, lambda2):
    data = PROBLEMS[name]
    s, A = oracle.pearson_importance(data.X, data.relevance), oracle.pearson_similarity(data.X)
    if form == "quadratic":
        s = _usable(data)
    for tol, max_iter in ((1e-4, 400), (1e-8, 80)):
        expected = oracle.fsm_rank(
            data.X, data.relevance, data.query_ptr, lambda1, lambda2, s, A, max_iter, tol, form == "split"
        )
        m = _fit(data, lambda1, lambda2, form=form, max_iter=max_iter, tol=tol)
        _assert_trace_equals(m, expected)
        last, previous = expected["objective"][-1], expected["objective"][-2]
        assert m.status_ == ("not certified" if abs(last - previous) <= tol * previous else "iteration limit")


def test_the_first_lipschitz_constant_is_tried_as_it_is() -> None:
    data = PROBLEMS["in [0, 1]"].replace_features(PROBLEMS["in [0, 1]"].X / 100)
    m = _fit(data, 0.0, 1e-4, importance="ones", similarity="identity", max_iter=3)
    assert m.history_["lipschitz"].tolist() == [24.0 / 1024] * 3


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("form", ["split", "quadratic"])
@pytest.mark.parametrize(("lambda1", "lambda2"), [(0.1, 0.01), (2.0, 0.001), (0.0, 0.02)])
def test_theorems_1_and_2_hold_where_their_assumptions_do(seed: int, form: str, lambda1: float, lambda2: float) -> None:
    data = unit_problem(seed)  # features in [0, 1]
    s, A = _usable(data), _cosines(data.X)
    m = _fit(data, lambda1, lambda2, importance=s, similarity=A, form=form, max_iter=60, tol=0.0)
    L, F = m.history_["lipschitz"], m.history_["objective"]
    L0 = (4 + 2 * lambda1) * data.n_features
    assert F[0] == pytest.approx(1.0)
    assert np.all(L <= L0)
    assert set(L) <= {L0 / 2**n for n in range(11)}
    w, least = oracle.optimum(data.X, data.relevance, data.query_ptr, lambda1, lambda2, s, A, split=form == "split")
    t = np.arange(1, len(F))
    assert np.all(F - least >= -1e-12)
    assert np.all(F[1:] - least <= 2 * L * (w @ w) / (t + 1) ** 2 + 1e-12)  # sharper than with L0


@pytest.mark.parametrize("form", ["split", "quadratic"])
def test_a_tiny_tolerance_ends_at_the_minimum_with_a_certificate(form: str) -> None:
    data = PROBLEMS["in [0, 1]"]
    s, A = _usable(data), _cosines(data.X)
    early = _fit(data, 0.1, 0.005, importance=s, similarity=A, form=form)
    late = _fit(data, 0.1, 0.005, importance=s, similarity=A, form=form, tol=1e-16, max_iter=20_000)
    w, least = oracle.optimum(data.X, data.relevance, data.query_ptr, 0.1, 0.005, s, A, split=form == "split")
    assert late.kkt_violation_ < 1e-6
    assert late.objective_ == pytest.approx(least, abs=1e-12)
    np.testing.assert_allclose(late.coef_, w, atol=1e-5)
    assert early.kkt_violation_ > 1e-4  # the published rule is not a certificate
    assert early.objective_ > least + 1e-6
    assert _fit(data, 0.1, 10.0, form=form).kkt_violation_ == 0.0  # all coefficients 0
    for lambda1, lambda2 in ((0.1, 0.005), (0.0, 0.02)):  # the violation at w = 0 after no more than one step from it
        one = _fit(data, lambda1, lambda2, importance=s, similarity=A, form=form, max_iter=1)
        problem = oracle.Problem(data.X, data.relevance, data.query_ptr, lambda1, lambda2, s, A, form == "split")
        u = np.concatenate([np.maximum(one.coef_, 0), np.maximum(-one.coef_, 0)]) if form == "split" else one.coef_
        away = 0.0
        for weight, g, price in zip(u, problem.gradient(u), problem.prices, strict=True):
            if np.isfinite(price):
                nearest = g + price if weight > 0 else g - price
                zero = max(-g - price, 0.0) if form == "split" else max(abs(g) - price, 0.0)
                away = max(away, abs(nearest) if weight != 0 else zero)
        assert one.kkt_violation_ == pytest.approx(away, rel=1e-9)


def test_importance_0_is_never_used_whatever_the_strengths() -> None:
    data = PROBLEMS["in [0, 1]"]
    s = np.array([0.0, 0.3, 1.0, 0.2, 0.5, 0.0])
    for lambda1, lambda2 in ((0.1, 0.001), (0.1, 0.0), (0.0, 0.0)):
        for form in ("split", "quadratic"):
            m = _fit(data, lambda1, lambda2, importance=s, form=form)
            assert not m.coef_[[0, 5]].any()
            assert m.coef_[2] != 0
    assert _fit(data, 0.1, 0.001).coef_[0] != 0


ABLATIONS = [
    {"lambda1": 0.0, "importance": "ones"},  # Table III: l1 alone
    {"lambda2": 0.0, "similarity": "identity"},  # ridge alone
    {"importance": "ones"},
    {"similarity": "identity"},
    {"importance": "map", "similarity": "concordance"},
    {"importance": "ndcg@10", "similarity": "spearman"},
    {"importance": "kendall", "similarity": "kendall"},
    {"positive_semidefinite": True},
]


@pytest.mark.parametrize("parameters", ABLATIONS, ids=repr)
def test_every_ablation_is_the_algorithm_on_its_own_measures(parameters: dict) -> None:
    data = PROBLEMS["in [0, 1]"]
    m = _fit(data, **parameters)
    assert m.status_ == "not certified"
    assert m.importance_.shape == (6,)
    given = (m.lambda1, m.lambda2, m.importance_, m.similarity_)
    expected = oracle.fsm_rank(data.X, data.relevance, data.query_ptr, *given)
    # With a nonnegative A the feature that varies only between queries stays at 0 in the split form by itself.
    _assert_trace_equals(m, expected)
    if parameters == {"lambda2": 0.0, "similarity": "identity"}:
        gentle = sr.papers.RankSVM(alpha=0.1).fit(data.X, data.relevance, qid=data.qid)
        exact = _fit(data, **parameters, tol=1e-14, max_iter=5000)
        np.testing.assert_allclose(exact.coef_, gentle.coef_, atol=1e-5)


def test_csr_and_float32_give_the_model_of_dense() -> None:
    data = PROBLEMS["in [0, 1]"]
    dense, csr, single = (
        sr.papers.FSMRank().fit(X, data.relevance, qid=data.qid).coef_
        for X in (data.X, sp.csr_matrix(data.X), data.X.astype(np.float32))
    )
    np.testing.assert_allclose(csr, dense, rtol=1e-12)
    np.testing.assert_allclose(single, dense, rtol=1e-5)
    assert single.dtype == np.float32


def test_running_out_of_iterations_is_never_silent() -> None:
    data = PROBLEMS["in [0, 1]"]
    with pytest.warns(
        ConvergenceWarning, match="still changes by a relative amount of more than 0.0001 after 2 iterations"
    ):
        m = sr.papers.FSMRank(max_iter=2).fit(data.X, data.relevance, qid=data.qid)
    assert m.status_ == "iteration limit"


# Measures


def _ranks(column: np.ndarray) -> np.ndarray:
    return np.array([np.sum(column < x) + (np.sum(column == x) + 1) / 2 for x in column])


def _tau_b(a: np.ndarray, b: np.ndarray) -> float:
    both = untied_a = untied_b = 0.0
    for i in range(len(a)):
        for j in range(i):
            both += np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])
            untied_a += a[i] != a[j]
            untied_b += b[i] != b[j]
    return abs(both) / np.sqrt(untied_a * untied_b) if untied_a and untied_b else 0.0


@pytest.mark.parametrize("name", PROBLEMS)
def test_correlations_equal_the_oracle_and_loops(name: str) -> None:
    data = PROBLEMS[name]
    X, y, d = data.X, data.relevance, data.n_features
    pearson = oracle.pearson_importance(X, y)
    np.testing.assert_allclose(sr.papers.feature_importance(data), pearson, atol=1e-13)
    np.testing.assert_allclose(sr.papers.feature_similarity(data), oracle.pearson_similarity(X), atol=1e-13)
    ranked = np.column_stack([_ranks(x) for x in X.T])
    spearman = oracle.pearson_importance(ranked, _ranks(y))
    np.testing.assert_allclose(sr.papers.feature_importance(data, "spearman"), spearman, atol=1e-13)
    np.testing.assert_allclose(
        sr.papers.feature_similarity(data, "spearman"), oracle.pearson_similarity(ranked), atol=1e-13
    )
    kendall = [_tau_b(x, y) for x in X.T]
    np.testing.assert_allclose(sr.papers.feature_importance(data, "kendall"), kendall, atol=1e-13)
    pairwise = [[_tau_b(X[:, i], X[:, j]) for j in range(d)] for i in range(d)]
    np.testing.assert_allclose(sr.papers.feature_similarity(data, "kendall"), pairwise, atol=1e-13)
    for a, b in ((pearson, spearman), (spearman, np.array(kendall))):
        assert np.abs(a - b).max() > 0.01
    centred = oracle.pearson_importance(rank_rls.centred(X, data.query_ptr), rank_rls.centred(y, data.query_ptr))
    assert np.abs(pearson - centred).max() > 0.01  # the wrong variant: correlation within queries


@pytest.mark.parametrize("name", PROBLEMS)
def test_concordance_is_the_share_of_pairs_that_two_features_order_alike(name: str) -> None:
    data = PROBLEMS[name]
    expected = baselines.kendall_concordance(data.X, data.query_ptr)
    np.testing.assert_allclose(concordance(data.X, data.query_ptr), expected, rtol=1e-6)
    np.testing.assert_array_equal(
        sr.papers.feature_similarity(data, "concordance"), concordance(data.X, data.query_ptr)
    )
    assert expected.min() < 0.5  # a tau would be negative, and its absolute value would be another number


def test_concordance_of_a_long_list_comes_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(3).integers(0, 4, (30, 3)).astype(float)
    ptr = np.array([0, 23, 24, 30])
    whole = concordance(X, ptr)
    np.testing.assert_allclose(whole, baselines.kendall_concordance(X, ptr), rtol=1e-14)
    monkeypatch.setattr("sparserank.papers.measures.PAIR_BLOCK", 1)
    np.testing.assert_allclose(concordance(X, ptr), whole, rtol=1e-14)


def test_single_feature_metrics_take_the_better_of_both_orders() -> None:
    data = PROBLEMS["in [0, 1]"]
    for metric in ("map", "ndcg@3"):
        up, down = ([sr.evaluate(sign * x, data, metric)[metric] for x in data.X.T] for sign in (1.0, -1.0))
        best, sign = single_feature_metric(data, metric)
        np.testing.assert_array_equal(best, np.maximum(up, down))
        assert set(sign) == {1.0, -1.0}
        np.testing.assert_array_equal(sign, np.where(np.array(down) > up, -1.0, 1.0))
        np.testing.assert_array_equal(single_feature_metric(data, metric, ascending=False)[0], up)
        importance = sr.papers.feature_importance(data, metric)
        assert not importance[[3, 5]].any()  # constant within queries
        np.testing.assert_array_equal(importance[[0, 1, 2, 4]], best[[0, 1, 2, 4]])


def test_clipping_gives_a_positive_semidefinite_matrix_without_negative_entries(mq2008_train: RankingDataset) -> None:
    c = 0.5**0.5
    T = np.array([[1, c, 0, -c], [0, c, 1, c]])
    four = np.abs(T.T @ T)  # |correlation| of four features of two sources
    assert np.linalg.eigvalsh(four)[0] == pytest.approx(1 - 2**0.5)
    real = sr.papers.feature_similarity(mq2008_train)
    assert np.linalg.eigvalsh(real)[0] == pytest.approx(-0.0274, abs=5e-5)
    chain = np.eye(4) + np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    for A in (four, real, chain):
        e, V = np.linalg.eigh(A)
        once = (V * np.maximum(e, 0)) @ V.T
        clipped = nearest_positive_semidefinite(A)
        assert np.linalg.eigvalsh(clipped)[0] >= -1e-9
        assert clipped.min() >= 0
        assert np.array_equal(clipped, clipped.T)
        assert np.linalg.norm(clipped - A) <= 1.1 * np.linalg.norm(once - A)
    assert once.min() < -0.08  # of the chain: clipping once is not enough
    np.testing.assert_array_equal(nearest_positive_semidefinite(np.eye(3)), np.eye(3))
    clipped = sr.papers.feature_similarity(mq2008_train, positive_semidefinite=True)
    np.testing.assert_array_equal(clipped, nearest_positive_semidefinite(real))
