"""Intervals against rivals that were named beforehand, for every candidate at once."""

from __future__ import annotations

import numpy as np
import pytest

from sparserank.crossval.choice import Candidate, choose
from sparserank.crossval.rivals import Rival, Rivals
from sparserank.evaluation.rival_intervals import rival_intervals
from tests.oracles.rival_intervals import critical_value

RNG = np.random.default_rng(0)
N = 60
SHARED = 0.3 * RNG.standard_normal(N)
VALUES = 0.5 + SHARED + 0.1 * RNG.standard_normal((12, N)) * RNG.uniform(0.3, 1.5, (12, 1))
RIVALS = 0.48 + SHARED + 0.1 * RNG.standard_normal((2, N))


@pytest.fixture(autouse=True, scope="module")
def few_draws() -> None:
    """These tests need the full number of draws."""


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_reach_is_that_of_draws_in_loops(confidence: float) -> None:
    found = rival_intervals(VALUES, RIVALS, confidence)
    c, error = critical_value(VALUES, RIVALS, confidence, 4000, 1)
    # 4,000 plain draws leave a standard error of about 1% in a quantile
    np.testing.assert_allclose(found.reach, c * error, rtol=0.04)
    np.testing.assert_allclose(found.differences, VALUES.mean(axis=1)[:, None] - RIVALS.mean(axis=1), atol=1e-15)
    one, _ = critical_value(VALUES[:1], RIVALS[:1], confidence, 4000, 1)
    assert not np.allclose(found.reach, one * error, rtol=0.04)  # intervals of one pair alone are shorter


def test_out_of_fold_they_are_longer_the_fewer_the_queries() -> None:
    """Queries of one fold are in the training sets of the others (`DEPENDENCE`)."""
    plain, longer = (rival_intervals(VALUES, RIVALS, out_of_fold=own).reach for own in (False, True))
    np.testing.assert_allclose(longer, (1.0 + 20.0 / N) * plain, rtol=1e-12)


@pytest.mark.slow
def test_all_intervals_hold_together() -> None:
    rng, missed = np.random.default_rng(1), 0
    for _ in range(200):
        values, rivals = (0.3 * rng.standard_normal(40) + 0.1 * rng.standard_normal((k, 40)) for k in (15, 2))
        found = rival_intervals(values, rivals, 0.9)  # shared noise of the two differs: true differences are 0
        missed += bool((np.abs(found.differences) > found.reach).any())
    assert missed <= 33  # of 200 at 10%: beyond three standard errors


def test_few_queries_and_equal_values() -> None:
    assert np.isinf(rival_intervals(VALUES[:, :9], RIVALS[:, :9]).reach).all()
    same = rival_intervals(np.ones((3, 20)), np.ones((1, 20)))
    assert (same.reach == 0).all()
    assert (same.differences == 0).all()
    gaps = VALUES.copy()
    gaps[0, :5] = np.nan
    np.testing.assert_array_equal(
        rival_intervals(gaps, RIVALS).reach, rival_intervals(VALUES[:, 5:], RIVALS[:, 5:]).reach
    )


def test_the_chosen_one_beside_rivals() -> None:
    own = [Candidate("l1", k, 0.0, k, k, float(k), row) for k, row in enumerate(VALUES, start=1)]
    choice = choose(own)
    trees, today = Rival("trees", 40, RIVALS[0] + 0.3), Rival("today", 1, RIVALS[1] - 0.3)
    beside = Rivals(choice, [trees, today])
    chosen = choice.chosen
    assert beside.beside(chosen, trees).high < 0 < beside.beside(chosen, today).low
    assert beside.beside(chosen, trees).difference == chosen.mean - trees.mean
