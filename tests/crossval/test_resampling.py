"""What a choice owes to having been made: the chosen mean corrected by resampled queries."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sparserank.crossval.choice import Candidate, Choice, Rule, choose
from sparserank.crossval.resampling import Resamples
from tests.oracles.resampled_choice import corrected_mean, left_out_means, smallest_ties, smallest_within

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
    # The wrong variant: without a choice made again.
    as_it_is = corrected_mean(values, draws, lambda _: [SIZES.tolist().index(choice.chosen.n_features)])
    assert choice.corrected_chosen != pytest.approx(as_it_is, rel=1e-6)
    sizes = [int(SIZES[taken[0]]) for taken, _ in left_out_means(values, draws, rule)]
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


@pytest.mark.slow_but("[0.01-100]")
@pytest.mark.parametrize("n", [30, 100, 400])
@pytest.mark.parametrize("margin", [0.0, 0.01, 0.05])
@pytest.mark.usefixtures("no_bounds")
def test_the_interval_around_the_corrected_mean_contains_the_true_one(margin: float, n: int) -> None:
    """In 95% of 150 worlds, with a standard error of 1.8%. The same interval around the raw mean (the wrong variant)
    misses more of them, because the raw mean is too high."""
    rng = np.random.default_rng(1)
    covers, raw_covers = 0, 0
    bias = []
    for _ in range(150):
        values, truth = world(rng, n)
        choice = chosen_from(values, margin=margin)
        true = truth[choice.candidates.index(choice.chosen)]
        low, high = choice.corrected_interval(0.95)
        taken = choice.chosen.mean - choice.corrected_chosen
        covers += low <= true <= high
        raw_covers += low + taken <= true <= high + taken
        bias.append(choice.chosen.mean - values.mean() + truth.mean() - true)
    assert covers / 150 > 0.95 - 3 * 0.018
    assert raw_covers < covers
    assert np.mean(bias) > 2 * np.std(bias) / 150**0.5  # being chosen made the mean too high, never too low


@pytest.mark.parametrize(("n_other", "is_known"), [(9, False), (10, True)])
@pytest.mark.usefixtures("no_bounds")
def test_an_interval_needs_ten_queries_whose_value_is_not_that_of_most(n_other: int, is_known: bool) -> None:
    """The t interval of values that are nearly all 1 ends at the values that happen to be there (the wrong variant)."""
    values = np.ones((2, 60))
    values[:, :n_other] -= np.linspace(0.1, 0.5, n_other)
    values[1] -= 0.1
    choice = chosen_from(values, np.array([1, 2]), margin=0.0)
    assert np.isfinite(choice.corrected_interval(0.95)).all() == is_known
    assert np.isfinite(choice.corrected_chosen)
    # A judge makes the values of queries differ; what people graded is counted (the wrong variant: the values).
    by_judge = values + np.linspace(0.0, 1e-3, 60)
    candidates = [replace(c, values=v, per_query=c.values) for c, v in zip(choice.candidates, by_judge, strict=True)]
    judged = choose(candidates, rule=choice.rule)
    assert np.isfinite(judged.corrected_interval(0.95)).all() == is_known


def test_what_is_always_picked_keeps_its_mean() -> None:
    values, _ = world(np.random.default_rng(1))
    values[7] += 1.0
    choice = chosen_from(values)
    assert choice.chosen is choice.candidates[7]
    assert choice.corrected_chosen == pytest.approx(choice.chosen.mean, rel=1e-14)


def test_a_correction_for_optimism_never_raises_a_mean() -> None:
    """The larger of two candidates is better by less than the margin, and resamples often pick it: the rule made again
    has the higher mean (the wrong variant), which is no merit of the candidate that all queries choose."""
    rng = np.random.default_rng(0)
    one = 0.5 + 0.1 * rng.standard_normal(60)
    difference = rng.standard_normal(60)
    values = np.array([one, one + 0.004 + 0.02 * (difference - difference.mean())])
    sizes = np.array([1, 2])
    choice = chosen_from(values, sizes)
    assert choice.chosen.n_features == 1
    draws = np.random.default_rng([0, 1]).integers(0, 60, (N_RESAMPLES, 60))
    rule = smallest_within(sizes.tolist(), 0.01)
    picked = np.mean([mean for _, mean in left_out_means(values, draws, rule)])
    kept = np.mean([mean for _, mean in left_out_means(values, draws, lambda _: [0])])
    assert picked > kept + 1e-4
    assert choice.corrected_chosen == pytest.approx(choice.chosen.mean, rel=1e-12)
    low, high = choice.corrected_interval(0.95)
    half = 2.001 * one.std(ddof=1) / np.sqrt(60)  # the 97.5% quantile of t with 59 degrees of freedom
    assert [low, high] == pytest.approx([one.mean() - half, one.mean() + half], abs=1e-5)


def alike(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(values, sizes): 12 candidates that differ from each other on two of 20 queries each, by eighths: sums of these
    are exact, so that means are equal where they should be."""
    rng = np.random.default_rng(seed)
    values = np.tile(rng.integers(0, 9, 20) / 8.0, (12, 1))
    for row in values:
        row[rng.choice(20, 2, replace=False)] = rng.integers(0, 9, 2) / 8.0
    return values, np.repeat([1, 2, 3], 4)


@pytest.mark.parametrize("rule", [{}, {"margin": 0.05}, {"k": 2}])
@pytest.mark.parametrize("seed", range(4))
def test_neither_the_order_of_candidates_nor_rounding_changes_a_corrected_mean(seed: int, rule: dict[str, Any]) -> None:
    values, sizes = alike(seed)
    dense, rng = alike(seed + 10)[0][:3], np.random.default_rng(seed)
    expected = None
    for _ in range(10):
        order = rng.permutation(len(values))
        rounded = values[order] * (1.0 + 4e-16 * rng.integers(-1, 2, values.shape))
        choice = choose(
            candidates(rounded, sizes[order]), candidates(rng.permutation(dense), np.full(3, 99)), rule=Rule(**rule)
        )
        mean, picked = choice.corrected_chosen, choice.resampled_sizes
        expected = expected or (mean, picked.tolist())
        assert mean == pytest.approx(expected[0], rel=1e-12)
        assert picked.tolist() == expected[1]


@pytest.mark.parametrize("seed", range(4))
def test_candidates_that_tie_on_a_draw_count_equally(seed: int) -> None:
    """Taken one by one they would differ: on just the queries that the draw leaves out."""
    values, sizes = alike(seed)[0], np.ones(12, dtype=np.int64)
    draws = np.random.default_rng([0, 1]).integers(0, 20, (N_RESAMPLES, 20))
    found, ties = chosen_from(values, sizes, margin=0.0).corrected_chosen, smallest_ties(sizes.tolist())
    assert found == pytest.approx(corrected_mean(values, draws, ties), rel=1e-12)
    assert abs(found - corrected_mean(values, draws, lambda means: ties(means)[:1])) > 1e-6


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
    assert np.isnan(resamples.corrected(np.array([1]), resamples.picks(lambda means: np.array([0]))))
    assert Resamples(np.array([[0.5, np.nan], [np.nan, 0.6]]), 0).means.shape == (0, 2)
