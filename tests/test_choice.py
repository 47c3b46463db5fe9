"""The rule that picks a model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sparserank.errors import DataError
from sparserank.selection.choice import Candidate, best_candidate, best_within, judge, smallest_non_inferior

RNG = np.random.default_rng(0)
BASE = RNG.random(200)


def _candidate(n_features: int, loss: float, spread: float, index: int = 0) -> Candidate:
    noise = RNG.standard_normal(200)
    noise = (noise - noise.mean()) / noise.std(ddof=1) * spread
    return Candidate("l1", index, n_features, float(n_features), BASE - loss + noise)


def test_bound_is_the_one_sided_t_bound_of_the_paired_loss() -> None:
    best, other = _candidate(9, 0.0, 0.0), _candidate(3, 0.01, 0.05)
    verdict = judge(other, best, margin=0.02)
    loss = best.values - other.values
    expected = stats.ttest_1samp(loss, 0.0).confidence_interval(0.90).high  # two-sided 90% is one-sided 95%
    assert verdict.loss == pytest.approx(0.01)
    assert verdict.bound == pytest.approx(expected)
    assert verdict.non_inferior == (expected <= 0.02)


def test_not_significant_is_not_equal() -> None:
    """The trap: a noisy model whose loss is not significant must not pass."""
    best, noisy = _candidate(9, 0.0, 0.0), _candidate(1, 0.01, 0.3)
    assert stats.ttest_rel(best.values, noisy.values).pvalue > 0.2
    verdict = smallest_non_inferior([best, noisy], best, margin=0.02)
    assert verdict is not None
    assert verdict.candidate is best


def test_smallest_passing_model_is_chosen_then_the_better_of_that_size() -> None:
    best = _candidate(9, 0.0, 0.0)
    four_a, four_b, three = _candidate(4, 0.008, 0.01), _candidate(4, 0.004, 0.01), _candidate(3, 0.05, 0.01)
    verdict = smallest_non_inferior([three, four_a, four_b, best], best, margin=0.015)
    assert verdict is not None
    assert verdict.candidate is four_b
    assert "not worse than" in verdict.sentence("ndcg@10")
    assert "NOT shown" in judge(three, best, 0.015).sentence("ndcg@10")


def test_the_empty_model_is_never_chosen() -> None:
    empty, one = _candidate(0, -0.5, 0.0), _candidate(1, 0.3, 0.0)
    assert best_candidate([empty, one]) is one
    verdict = smallest_non_inferior([empty, one], one, margin=0.5)
    assert verdict is not None
    assert verdict.candidate is one
    with pytest.raises(DataError, match="no candidate model has a feature"):
        best_candidate([empty])


def test_limits_on_size_and_cost() -> None:
    small, large = _candidate(2, 0.1, 0.0), _candidate(6, 0.0, 0.0)
    assert best_within([small, large], 5, None) is small
    assert best_within([small, large], None, 6.0) is large
    with pytest.raises(DataError, match="within 1 features"):
        best_within([small, large], 1, None)


def test_queries_without_a_value_are_left_out() -> None:
    best, other = _candidate(9, 0.0, 0.0), _candidate(3, 0.0, 0.01)
    holed = Candidate("l1", 0, 3, 3.0, np.where(np.arange(200) < 50, np.nan, other.values))
    assert np.isfinite(judge(holed, best, 0.1).bound)
