"""FenchelRank against Algorithm 1 on explicit pairs, the theorems of Lai et al. (2012), and the exact optimum."""

from collections.abc import Callable

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.dataset import RankingDataset
from sparserank.errors import ConvergenceWarning
from sparserank.objective import PairwiseObjective
from sparserank.papers.solvers.fenchel_rank import FrankWolfe, exact_minimum, frank_wolfe, solve_ball
from tests.oracles import fenchel_rank as oracle
from tests.oracles import pairs
from tests.support.problems import small_problem, unit_problem

PROBLEMS = [unit_problem(0), unit_problem(1), small_problem(2, n_queries=8), small_problem(3, n_queries=8, real=True)]


def _objective(data: RankingDataset) -> PairwiseObjective:
    return PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=1)


def _explicit_gap(data: RankingDataset, w: np.ndarray, radius: float) -> float:
    """radius max|g| + w.g with the gradient of explicit pairs."""
    g = data.X.T @ pairs.score_gradient(data.X @ w, pairs.pairs_of(data.relevance, data.query_ptr))
    return float(radius * np.abs(g).max() + w @ g)


# The objective along a line


def test_the_line_search_ends_at_the_minimum_of_terms_of_very_different_sizes() -> None:
    """Newton steps alone would leave the bracket here."""
    tried = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        n = rng.integers(1, 12)
        a, b = rng.standard_normal((2, n)) * 10 ** rng.uniform(-2, 2, (2, n))

        def at(mu: float, a: np.ndarray = a, b: np.ndarray = b) -> tuple[float, float, float]:
            h = np.maximum(a - mu * b, 0.0)
            return float(h @ h), float(-2 * h @ b), float(2 * b[h > 0] @ b[h > 0])

        if at(0.0)[1] < 0:
            tried += 1
            best, mu = oracle.exact_step(a, b), exact_minimum(at, at(0.0))
            assert at(mu)[0] <= at(best)[0] * (1 + 1e-13) + 1e-20 * at(0.0)[0], seed
    assert tried > 200


def _losses(found):
    return np.array([loss for _, loss, _ in found.history])


def _gaps(found):
    return np.array([gap for _, _, gap in found.history])


def _alpha(exact):
    """The multiplier of the constraint."""
    return float(np.abs(exact.gradient).max())


# Frank-Wolfe as published


@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("radius", [0.5, 2.0, 16.0, 64.0])
@pytest.mark.parametrize("step", ["exact", "closed_form"])
def test_every_iteration_is_that_of_algorithm_1_on_explicit_pairs(data, radius, step):
    expected = oracle.fenchel_rank(data.X, data.relevance, data.query_ptr, radius, 1e-3, 60, step)
    solver = FrankWolfe(step)
    found = frank_wolfe(_objective(data), radius, epsilon=1e-3, max_iter=60, solver=solver)
    features, signs, steps = zip(*solver.choices, strict=True)
    assert list(features) == expected["feature"]
    assert list(signs) == expected["sign"]
    assert found.n_iter == len(expected["mu"])
    np.testing.assert_allclose(steps, expected["mu"], rtol=1e-9)
    np.testing.assert_allclose(_gaps(found), expected["gap"], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(_losses(found), -np.array(expected["D"]), rtol=1e-11)
    np.testing.assert_allclose(found.w, expected["w"], rtol=1e-9, atol=1e-12)
    assert found.loss == _losses(found)[-1]
    assert found.gap == pytest.approx(_explicit_gap(data, found.w, radius), rel=1e-8, abs=1e-12)


def test_the_printed_closed_forms_lose_what_the_repaired_one_keeps() -> None:
    """The wrong variants, on the oracle: min and max exchanged, and a step without p / (2 r^2)."""
    data, r = PROBLEMS[0], 64.0
    K = oracle.pair_rows(data.X, data.relevance, data.query_ptr)

    def changes(rule: Callable[[np.ndarray, np.ndarray], float]) -> np.ndarray:
        w, D = np.zeros(6), []
        for _ in range(10):
            D.append(oracle.dual_objective(K, w, r))
            d = oracle.dual_point(K, w, r)
            g = oracle.edges(K, d)
            j = int(np.argmax(abs(g)))
            b = np.sign(g[j]) * np.eye(6)[j] - w
            w = w + rule(d, K @ b) * b
        return np.diff(D)

    assert np.all(changes(lambda d, kb: oracle.closed_form_step(d, kb, r)) >= 0)
    assert np.any(changes(lambda d, kb: max(min(0.0, d @ kb / (kb @ kb)), 1.0)) < 0)
    assert np.any(changes(lambda d, kb: min(max(d @ kb / (kb @ kb), 0.0), 1.0)) < 0)


def test_equal_columns_are_taken_in_order_and_a_whole_step_ends_at_a_vertex() -> None:
    data = PROBLEMS[0]
    solver, again = FrankWolfe(), FrankWolfe()
    frank_wolfe(_objective(data), 2.0, max_iter=1, solver=solver)
    ((best, _, _),) = solver.choices
    doubled = np.ascontiguousarray(np.column_stack([data.X, data.X[:, best]])[:, ::-1])
    frank_wolfe(_objective(RankingDataset(doubled, data.relevance, data.qid)), 2.0, max_iter=1, solver=again)
    assert [feature for feature, _, _ in again.choices] == [0]
    m = sr.papers.FenchelRank(radius=0.2, epsilon=1e-9).fit(np.array([[0.0], [1.0]]), [1, 0])
    assert m.history_["mu"].tolist() == [1.0]
    assert m.history_["sign"].tolist() == [-1.0]
    assert m.coef_.tolist() == [-0.2]
    assert m.gap_ == pytest.approx(0.0, abs=1e-15)
    assert m.loss_ == pytest.approx(0.64)


@pytest.mark.parametrize("step", ["exact", "closed_form"])
@pytest.mark.parametrize("radius", [1.0, 4.0, 32.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_loss_never_rises_and_theorem_1_bounds_what_is_missing(seed: int, radius: float, step: str) -> None:
    data = unit_problem(seed)  # features in [0, 1]
    objective = _objective(data)
    found = frank_wolfe(objective, radius, epsilon=1e-6, max_iter=150, solver=FrankWolfe(step))
    minimum = solve_ball(objective, radius).loss
    missing = _losses(found) - minimum
    assert np.all(np.diff(_losses(found)) <= 1e-15)
    assert np.all(missing >= -1e-12)
    assert np.all(missing <= _gaps(found) + 1e-12)
    assert np.all(missing <= 16 * radius**2 / (np.arange(len(missing)) + 2))
    assert np.abs(found.w).sum() <= radius * (1 + 1e-12)


# The exact solution


@pytest.mark.parametrize("data", PROBLEMS)
@pytest.mark.parametrize("radius", [0.1, 1.0, 4.0, 16.0])
def test_the_exact_solution_is_certified_by_explicit_pairs_and_below_frank_wolfe(data, radius):
    objective = _objective(data)
    exact = solve_ball(objective, radius)
    top = float(np.abs(objective.gradient_at_zero).max())
    assert np.abs(exact.w).sum() <= radius * (1 + 1e-14)
    assert exact.gap <= 2e-9 * top * max(radius, 4.0)  # below 1e-8 where the constraint is active
    assert exact.gap == pytest.approx(_explicit_gap(data, exact.w, radius), abs=1e-13)
    for step in ("exact", "closed_form"):
        assert (
            exact.loss <= _losses(frank_wolfe(objective, radius, max_iter=300, solver=FrankWolfe(step))).min() + 1e-10
        )
    # alpha is the multiplier: the same point minimises loss + alpha |w|_1.
    if _alpha(exact) > 1e-6:
        assert exact.gap <= 1e-8
        assert np.abs(exact.w).sum() == pytest.approx(radius, rel=1e-8)
        penalised = sr.solvers.solve(
            sr.solvers.ProxNewton(), objective, sr.penalties.L1(_alpha(exact)), stop=sr.solvers.Stop(1e-9, 500)
        )
        np.testing.assert_allclose(penalised.w, exact.w, atol=1e-5 * radius)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-6])
def test_the_exact_solution_survives_features_that_are_almost_copies(noise: float) -> None:
    """The norm of the penalised optimum then jumps as its strength falls."""
    for seed in range(5):
        data = unit_problem(seed)
        copy = data.X[:, 0] + noise * np.random.default_rng(0).standard_normal(data.n_docs)
        X = np.column_stack([data.X, copy, 3 * data.X[:, 2], data.X[:, 0] - data.X[:, 2]])
        copied = RankingDataset(X, data.relevance, data.qid)
        for radius in (0.1, 1.0, 4.0):
            exact = solve_ball(_objective(copied), radius)
            assert np.abs(exact.w).sum() <= radius * (1 + 1e-14)
            assert _explicit_gap(copied, exact.w, radius) <= 1e-8


def test_beyond_the_unconstrained_minimum_the_radius_does_not_matter() -> None:
    data = unit_problem(0)
    objective = _objective(data)
    near, far = solve_ball(objective, 100.0), solve_ball(objective, 1e4)
    assert np.abs(near.w).sum() < 99
    np.testing.assert_allclose(near.w, far.w, atol=1e-6)
    assert _alpha(near) < 1e-9
    _, gradient = objective.value_and_gradient(near.w)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)
    just_inside = solve_ball(objective, 0.99 * float(np.abs(near.w).sum()))
    assert _alpha(just_inside) > 1e-6
    assert near.loss < just_inside.loss < near.loss + 1e-3
    # A separable problem: the loss is 0 from a finite radius on.
    separable = _objective(RankingDataset(np.array([[0.0], [1.0], [3.0]]), [0.0, 1.0, 2.0]))
    assert solve_ball(separable, 0.5).loss == pytest.approx((0.5**2 + 0 + 0) / 3)
    assert solve_ball(separable, 50.0).loss == pytest.approx(0.0, abs=1e-12)


# The estimator


def test_a_gap_above_epsilon_warns_and_has_its_status() -> None:
    data = PROBLEMS[0]
    with pytest.warns(ConvergenceWarning, match=r"gap .* > 0.001 after 3 iterations; raise max_iter or use solver"):
        m = sr.papers.FenchelRank(radius=16.0, max_iter=3).fit(data.X, data.relevance, qid=data.qid)
    assert m.status_ == "iteration limit"
    assert m.gap_ > 1e-3
    m = sr.papers.FenchelRank(radius=16.0).fit(data.X, data.relevance, qid=data.qid)
    assert m.status_ == "optimal"
    assert m.gap_ <= 1e-3
    assert len(m.history_["gap"]) == m.n_iter_ + 1
    assert m.loss_ == pytest.approx(pairs.loss(data.X @ m.coef_, pairs.pairs_of(data.relevance, data.query_ptr)))


def test_query_weight_0_is_a_query_less_for_both_solvers() -> None:
    data = PROBLEMS[1]
    weight = np.array([1.0, 0.0, 2.0, 1.0, 1.0])
    rest = np.asarray(data.qid) != 1
    for solver in ("frank_wolfe", "exact"):
        m = sr.papers.FenchelRank(radius=4.0, epsilon=1e-2, solver=solver)
        a = m.fit(data.X, data.relevance, qid=data.qid, query_weight=weight).coef_
        b = m.fit(data.X[rest], data.relevance[rest], qid=data.qid[rest], query_weight=weight[[0, 2, 3, 4]]).coef_
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
        assert np.abs(a - m.fit(data.X, data.relevance, qid=data.qid).coef_).max() > 1e-3


@pytest.mark.slow
def test_the_published_models_are_not_optimal(mq2008_train: RankingDataset) -> None:
    """MQ2008 fold 1, radius 4, epsilon 1e-3, T = 1000: the paper's rule stops at T."""
    data = mq2008_train
    with pytest.warns(ConvergenceWarning, match="after 1000 iterations"):
        published = sr.papers.FenchelRank(radius=4.0).fit(data.X, data.relevance, qid=data.qid)
    exact = sr.papers.FenchelRank(radius=4.0, solver="exact").fit(data.X, data.relevance, qid=data.qid)
    assert 1e-3 < published.gap_ < 5e-3
    assert exact.gap_ < 1e-6
    assert exact.status_ == "optimal"
    assert 1e-4 < published.loss_ - exact.loss_ < published.gap_
    assert np.all(np.diff(published.history_["loss"]) <= 1e-15)
