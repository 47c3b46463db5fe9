"""The best set of features: every set tried, the bound of a stopped search, the ranker that uses it."""

import numpy as np
import pytest

import sparserank as sr
from sparserank.errors import DataError
from sparserank.papers.rls.best_subset import best_subset
from sparserank.papers.rls.leave_query_out import leave_query_out
from tests.oracles import best_subset as oracle

DATA = sr.datasets.make_ranking(30, (6, 14), 12, n_informative=4, n_redundant=4, noise=0.5, random_state=2).data


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, float, int]:
    """A Gram and moments of correlated columns, a strength between weak and strong, a size."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(5, 11))
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, d)) + 0.5 * rng.standard_normal((40, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(40)
    return X.T @ X, X.T @ y, float(10 ** rng.uniform(-2, 3)), int(rng.integers(1, 6))


@pytest.mark.parametrize("seed", range(40))
def test_the_best_set_and_all_near_ties_are_those_of_trying_every_set(seed: int) -> None:
    G, b, lam, k = problem(seed)
    every = oracle.all_subsets(G, b, lam, k)
    best = every[0][0]
    found = best_subset(G, b, k, lam)
    assert found.proven
    assert found.gap == 0.0
    assert found.explained == pytest.approx(best, rel=1e-10)
    assert oracle.explained(G, b, lam, found.features) == pytest.approx(best, rel=1e-10)
    assert found.near_ties == ()
    near = best_subset(G, b, k, lam, tie=0.05 * best)
    assert {S for _, S in near.near_ties} == {S for value, S in every if value >= 0.95 * best}
    assert [value for value, _ in near.near_ties] == sorted((value for value, _ in near.near_ties), reverse=True)


def test_forward_selection_would_miss_the_best_set() -> None:
    missed = 0  # the wrong variant
    for G, b, lam, k in map(problem, range(40)):
        forward = oracle.explained(G, b, lam, oracle.greedy(G, b, lam, k))
        missed += forward < oracle.all_subsets(G, b, lam, k)[0][0] * (1 - 1e-6)
    assert missed > 0


def test_a_search_that_is_stopped_has_a_gap() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 60)) + 0.3 * rng.standard_normal((300, 60))
    y = X @ rng.standard_normal(60) + 20 * rng.standard_normal(300)
    G, b = X.T @ X, X.T @ y
    short, longer = (best_subset(G, b, 12, 1.0, time_limit=t) for t in (1e-9, 0.5))
    assert np.isinf(short.bound)
    assert not short.proven
    assert longer.n_nodes > 0
    assert longer.explained <= longer.bound < float(b @ np.linalg.solve(G + np.eye(60), b)) * (1 + 1e-9)
    assert longer.bound == longer.explained + longer.gap


def test_bounds_hold_while_the_search_goes_on() -> None:
    G, b, lam, k = problem(3)
    best = oracle.all_subsets(G, b, lam, k)[0][0]
    seen: list[tuple[float, float]] = []
    best_subset(G, b, k, lam, progress=lambda value, bound: seen.append((value, bound)))
    assert seen
    assert all(value <= best * (1 + 1e-12) and bound >= best * (1 - 1e-12) for value, bound in seen)


@pytest.mark.parametrize(("k", "lam"), [(0, 1.0), (99, 1.0), (2, 0.0)])
def test_what_cannot_be_is_refused(k: int, lam: float) -> None:
    G, b, _, _ = problem(0)
    with pytest.raises(DataError, match="best_subset needs"):
        best_subset(G, b, k, lam)


def test_the_ranker_gives_every_size_with_its_leave_query_out_error() -> None:
    lam = 2.0
    exact = sr.papers.GreedyRankRLS(k=5, lam=lam, search="exact", tie=0.001).fit_dataset(DATA)
    greedy = sr.papers.GreedyRankRLS(k=5, lam=lam).fit_dataset(DATA)
    assert [s.k for s in exact.path_] == [1, 2, 3, 4, 5]
    assert all(s.proven for s in exact.subsets_)
    centred = DATA.X - np.repeat(
        np.add.reduceat(DATA.X, DATA.query_ptr[:-1], axis=0) / np.diff(DATA.query_ptr)[:, None],
        np.diff(DATA.query_ptr),
        axis=0,
    )
    y = DATA.relevance - np.repeat(
        np.add.reduceat(DATA.relevance, DATA.query_ptr[:-1]) / np.diff(DATA.query_ptr), np.diff(DATA.query_ptr)
    )
    G, b = centred.T @ centred, centred.T @ y
    for step, subset, forward in zip(exact.path_, exact.subsets_, greedy.path_, strict=True):
        assert step.features == subset.features
        assert subset.explained == pytest.approx(oracle.all_subsets(G, b, lam, step.k)[0][0], rel=1e-9)
        assert subset.explained >= oracle.explained(G, b, lam, forward.features) - 1e-9
        alone = DATA.replace_features(DATA.X[:, list(step.features)])
        assert step.leave_query_out_error == pytest.approx(float(leave_query_out(alone, [lam]).errors[0]), rel=1e-8)
        assert subset.near_ties[0][1] == subset.features
    np.testing.assert_allclose(
        exact.coef_[list(exact.selected_)],
        np.linalg.solve(G[np.ix_(exact.selected_, exact.selected_)] + lam * np.eye(5), b[exact.selected_]),
    )
