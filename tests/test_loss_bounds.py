"""Bounds that hold whichever candidate is chosen: against explicit loops, in simulated worlds, and what the old rule does there."""

from __future__ import annotations

import time

import numpy as np
import pytest

from sparserank.evaluation.bounds import LossBounds, loss_bounds
from sparserank.execution.threads import one_blas_thread
from tests.oracles import loss_bounds as oracle


def table(m: int, n: int, seed: int, spread: float = 0.05) -> np.ndarray:
    """(m, n) metric of similar models: a part that they share and one of their own, correlated between neighbours."""
    rng = np.random.default_rng(seed)
    own = np.cumsum(rng.standard_normal((m, n)), axis=0) * spread / np.sqrt(m)
    quality = -0.01 * np.linspace(-1, 1, m)[:, None] ** 2
    return np.clip(rng.random(n) + quality + own, 0, 1)


@pytest.mark.parametrize(("m", "n"), [(2, 30), (7, 50), (12, 200)])
def test_bounds_are_those_of_explicit_loops(m: int, n: int) -> None:
    values = table(m, n, seed=m)
    expected = oracle.bounds(values, 0.95, 4000, np.random.default_rng(1))
    found = loss_bounds(values, 0.95, n_draws=20_000)
    np.testing.assert_allclose(found.upper, expected, atol=0.05 * found.error.max(), rtol=0.02)
    assert not np.allclose(oracle.pairwise_bounds_against_the_picked_best(values, 0.95), expected, rtol=0.1)


def worlds(m: int, n: int, n_worlds: int) -> tuple[float, float]:
    """(share of worlds in which some candidate loses more than its bound, the same for the old rule), a fixed population resampled."""
    population = table(m, 4000, seed=5)
    truth = population.mean(axis=1)
    loss = truth.max() - truth
    rng = np.random.default_rng(2)
    broken = np.zeros(2)
    for world in range(n_worlds):
        values = population[:, rng.integers(0, 4000, n)]
        broken[0] += (loss > loss_bounds(values, 0.95, seed=world, n_draws=400).upper).any()
        broken[1] += (loss > oracle.pairwise_bounds_against_the_picked_best(values, 0.95)).any()
    return broken[0] / n_worlds, broken[1] / n_worlds


@pytest.mark.parametrize("n", [40, 300])
def test_worlds_in_which_a_bound_is_broken_are_rare(n: int) -> None:
    ours, old = worlds(25, n, 300)
    assert ours <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)
    assert old > 0.15  # the test can fail


def test_a_bound_never_says_that_the_picked_best_loses_nothing() -> None:
    b = loss_bounds(table(20, 100, seed=0))
    assert b.upper[np.argmax(b.means)] > 0
    assert b.resolution == b.upper.min()


def test_a_clear_winner_loses_nothing_and_others_what_they_lose() -> None:
    values = table(3, 500, seed=0, spread=0.001)
    values[1] = np.minimum(values[1] + 0.5, 2.0)
    b = loss_bounds(values)
    assert b.upper[1] == 0.0
    assert b.upper[0] > values[1].mean() - values[0].mean()


def test_shifting_or_doubling_the_metric_and_reordering_candidates_change_nothing_else() -> None:
    values = table(9, 120, seed=3)
    plain = loss_bounds(values, n_draws=20_000)
    np.testing.assert_allclose(loss_bounds(values + 7.0, n_draws=20_000).upper, plain.upper, atol=1e-9)
    np.testing.assert_allclose(loss_bounds(2 * values, n_draws=20_000).upper, 2 * plain.upper, rtol=0.05)
    np.testing.assert_allclose(loss_bounds(values[::-1], n_draws=20_000).upper[::-1], plain.upper, rtol=0.05)


def test_identical_candidates_single_ones_and_few_queries() -> None:
    same = np.tile(np.random.default_rng(0).random(30), (4, 1))
    assert loss_bounds(same).upper.tolist() == [0.0] * 4
    assert loss_bounds(same[:1]).upper.tolist() == [0.0]
    one: LossBounds = loss_bounds(np.array([[0.5], [0.7]]))
    assert np.isinf(one.upper).all()
    two = loss_bounds(np.array([[0.5, 0.1], [0.7, 0.0]]))
    assert (two.upper > 0.1).all()
    nothing = loss_bounds(np.zeros((3, 0)))
    assert np.isinf(nothing.upper).all()


def test_skipped_queries_are_left_out_and_zeros_counted() -> None:
    values = table(5, 60, seed=1)
    values[:, :7] = 0.0
    holed = np.insert(values, [10, 20], np.nan, axis=1)
    a, b = loss_bounds(values), loss_bounds(holed)
    np.testing.assert_array_equal(a.upper, b.upper)
    assert b.n_queries == 60
    assert b.n_zero >= 7


def test_queries_needed_grow_with_the_square() -> None:
    b = loss_bounds(table(5, 100, seed=2))
    assert b.queries_needed(b.resolution) == pytest.approx(100)
    assert b.queries_needed(b.resolution / 2) == pytest.approx(400)


def test_more_queries_show_more() -> None:
    values = table(15, 3200, seed=4)
    assert loss_bounds(values).resolution < 0.5 * loss_bounds(values[:, :100]).resolution


def test_a_second_for_500_candidates_on_10000_queries() -> None:
    values = table(500, 10_000, seed=0)
    with one_blas_thread():  # as `select` does
        began = time.process_time()
        loss_bounds(values)
        assert time.process_time() - began < 4.0  # a second when the machine is idle
