"""What a choice owes to having been made: the chosen mean corrected by resampled queries."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sparserank.crossval.choice import Candidate, Choice, Rule, choose
from sparserank.crossval.resampling import Resamples
from tests.oracles.resampled_choice import corrected_mean, left_out_means, smallest_within

SIZES = np.repeat(np.arange(1, 21), 4)
N_RESAMPLES = 200  # a fifth of those of the product: loops take their time


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparserank.crossval.resampling.N_RESAMPLES", N_RESAMPLES)


@pytest.fixture
def no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no guarantee is asked for, bounds on losses play no part."""

    def means_alone(values: np.ndarray, *more: Any, **options: Any) -> SimpleNamespace:
        return SimpleNamespace(means=values.mean(axis=1))

    monkeypatch.setattr("sparserank.crossval.choice.loss_bounds", means_alone)


def world(rng: np.random.Generator, n: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """(values (80, n), true means): 20 sizes, four candidates of each, of which the larger ones are equally good."""
    truth = 0.45 - 0.15 * np.exp(-SIZES / 3.0)
    return truth[:, None] + 0.2 * rng.standard_normal(n) + 0.1 * rng.standard_normal((len(SIZES), n)), truth


def candidates(values: np.ndarray, sizes: np.ndarray) -> list[Candidate]:
    return [
        Candidate("l1", int(k), 0.0, i, int(k), float(k), row)
        for i, (k, row) in enumerate(zip(sizes, values, strict=True))
    ]


def chosen_from(values: np.ndarray, sizes: np.ndarray = SIZES, **rule: float) -> Choice:
    return choose(candidates(values, sizes), rule=Rule(**rule))  # type: ignore[arg-type]


@pytest.mark.slow_but("[0.0]")
@pytest.mark.parametrize("margin", [0.0, 0.01, 0.05])
def test_the_corrected_mean_is_that_of_the_rule_made_again_in_loops(margin: float) -> None:
    values, _ = world(np.random.default_rng(3), n=25)
    choice = chosen_from(values, margin=margin)
    draws = np.random.default_rng([0, 1]).integers(0, 25, (N_RESAMPLES, 25))
    rule = smallest_within(SIZES.tolist(), margin)
    assert choice.corrected_chosen == pytest.approx(corrected_mean(values, draws, rule), rel=1e-12)
    sizes = [int(SIZES[taken]) for taken, _ in left_out_means(values, draws, rule)]
    assert choice.resampled_sizes.tolist() == sizes


@pytest.mark.usefixtures("no_bounds")
def test_the_correction_takes_away_what_the_choice_flatters() -> None:
    """Worlds whose true means are known: the corrected mean estimates that of the procedure, the raw mean does not."""
    rng = np.random.default_rng(0)
    raw, corrected = [], []
    for _ in range(150):
        values, truth = world(rng)
        choice = chosen_from(values)
        true = truth[choice.candidates.index(choice.chosen)]
        raw.append(choice.chosen.mean - values.mean() + truth.mean() - true)  # the luck of the queries taken off
        corrected.append(choice.corrected_chosen - values.mean() + truth.mean() - true)
    for bias, unbiased in ((raw, False), (corrected, True)):
        error = np.std(bias, ddof=1) / np.sqrt(len(bias))
        assert bool(abs(np.mean(bias)) < 2 * error) is unbiased
    assert np.mean(raw) > 0.005


def test_what_is_always_picked_keeps_its_mean() -> None:
    values, _ = world(np.random.default_rng(1))
    values[7] += 1.0
    choice = chosen_from(values)
    assert choice.chosen is choice.candidates[7]
    assert choice.corrected_chosen == pytest.approx(choice.chosen.mean, rel=1e-14)


def test_the_best_of_each_size_is_corrected_among_those_of_its_size() -> None:
    values, _ = world(np.random.default_rng(2), n=25)
    choice = chosen_from(values)
    draws = np.random.default_rng([0, 1]).integers(0, 25, (N_RESAMPLES, 25))
    of_size = values[SIZES == 12]
    best = max((c for c in choice.candidates if c.n_features == 12), key=lambda c: c.mean)
    expected = corrected_mean(of_size, draws, lambda means: int(np.argmax(means)))
    assert choice.corrected(best) == pytest.approx(expected, rel=1e-12)


def test_dense_candidates_are_corrected_among_themselves() -> None:
    values, _ = world(np.random.default_rng(4), n=25)
    dense = candidates(values[60:] + 0.01, np.full(20, 99))
    choice = choose(candidates(values[:60], SIZES[:60]), dense)
    draws = np.random.default_rng([0, 1]).integers(0, 25, (N_RESAMPLES, 25))
    best = max(dense, key=lambda c: c.mean)
    expected = corrected_mean(values[60:] + 0.01, draws, lambda means: int(np.argmax(means)))
    assert choice.corrected(best) == pytest.approx(expected, rel=1e-12)


def test_blocks_of_draws_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values, _ = world(np.random.default_rng(5))
    whole = Resamples(values, 0)
    monkeypatch.setattr("sparserank.crossval.resampling.BLOCK_BYTES", 8 * 100 * 7)
    parts = Resamples(values, 0)
    np.testing.assert_allclose(parts.means, whole.means, rtol=1e-14)
    np.testing.assert_allclose(parts.out, whole.out, rtol=1e-14)


def test_one_query_leaves_none_out() -> None:
    values = np.array([[0.5], [0.6]])
    resamples = Resamples(values, 0)
    assert resamples.out.shape == (0, 2)
    assert resamples.corrected(1, resamples.picks(lambda means: 0)) == 0.6
    assert Resamples(np.array([[0.5, np.nan], [np.nan, 0.6]]), 0).means.shape == (0, 2)
