"""The rule that picks a model, and what it says."""

from __future__ import annotations

import numpy as np
import pytest

from sparserank.crossval.choice import Candidate, choose
from sparserank.errors import DataError
from sparserank.paths.sizes import point_within, points_by_size
from sparserank.selection.statements import choice_sentences

RNG = np.random.default_rng(0)
BASE = RNG.random(400)


def candidate(n_features: int, loss: float, spread: float, cost: float | None = None) -> Candidate:
    noise = RNG.standard_normal(400)
    noise = (noise - noise.mean()) / noise.std(ddof=1) * spread
    cost = float(n_features) if cost is None else cost
    return Candidate("l1", n_features, 0.0, n_features, n_features, cost, BASE - loss + noise)


def test_the_smallest_model_whose_bound_is_within_the_margin_is_chosen() -> None:
    large, four, three = candidate(9, 0.0, 0.01), candidate(4, 0.002, 0.01), candidate(3, 0.05, 0.01)
    choice = choose([three, four, large], margin=0.02)
    assert choice.chosen is four
    assert choice.best is large
    assert choice.bound(four) <= choice.margin == pytest.approx(0.02 * large.mean)
    assert choice.bound(three) > 0.05 > choice.margin
    assert choice.loss(three) == pytest.approx(0.05)
    assert not choice.within_margin(three)


def test_among_equal_sizes_the_cheaper_then_the_better() -> None:
    best = candidate(9, 0.0, 0.005)
    dear, cheap, better = (
        candidate(4, 0.001, 0.005, 9.0),
        candidate(4, 0.002, 0.005, 4.0),
        candidate(4, 0.001, 0.005, 4.0),
    )
    assert choose([dear, cheap, best], margin=0.05).chosen is cheap
    assert choose([dear, cheap, better, best], margin=0.05).chosen is better


def test_not_significant_is_not_equal() -> None:
    """The trap: a noisy model whose loss is not significant must not pass."""
    best, noisy = candidate(9, 0.0, 0.0), candidate(1, 0.01, 0.3)
    assert choose([best, noisy], margin=0.02).chosen is best


def test_what_may_not_be_chosen_is_compared_all_the_same() -> None:
    sparse, dense = candidate(5, 0.1, 0.01), candidate(40, 0.0, 0.01)
    choice = choose([sparse], [dense], margin=0.01)
    assert choice.best is dense
    assert choice.chosen is sparse
    assert not choice.within_margin(sparse)
    assert choice.bound(sparse) > 0.09


def test_the_margin_is_never_finer_than_what_the_queries_can_show_unless_asked() -> None:
    same = [candidate(k, 0.0, 0.2) for k in (1, 2, 3, 4)]
    choice = choose(same)
    unit = choice.best.mean
    assert choice.relative_margin == pytest.approx(max(0.01, 1.25 * choice.bounds.resolution / unit))
    assert choice.relative_margin > 0.01
    assert choice.within_margin(choice.chosen)
    finer = choose(same, margin=0.001)
    assert not finer.within_margin(finer.chosen)
    assert "none is shown to lose no more than the margin of 0.1%" in choice_sentences(finer, "ndcg@10", 9)[0]
    fine = [candidate(k, 0.0, 0.001) for k in (1, 2, 3, 4)]
    assert choose(fine).relative_margin == 0.01


def test_the_empty_model_and_models_without_a_value_are_never_chosen() -> None:
    empty, one = candidate(0, -0.5, 0.0), candidate(1, 0.3, 0.0)
    assert choose([empty, one], margin=0.5).chosen is one
    with pytest.raises(DataError, match="no size has a model with features"):
        choose([empty])
    nothing = Candidate("l1", 2, 0.0, 0, 2, 2.0, np.full(400, np.nan))
    assert choose([nothing, one]).candidates == (one,)


def test_limits_on_size_and_cost() -> None:
    small, large = candidate(2, 0.1, 0.0), candidate(6, 0.0, 0.0)
    assert choose([small, large], k=5).chosen is small
    assert choose([small, large], budget=6.0).chosen is large
    assert "the best model with at most 5 features" in choice_sentences(choose([small, large], k=5), "map", 9)[0]
    with pytest.raises(DataError, match="within 1 feature;"):
        choose([small, large], k=1)


def test_what_is_said_is_what_was_found() -> None:
    large, four = candidate(9, 0.0, 0.02), candidate(4, 0.003, 0.02)
    four.values[:30] = large.values[:30] = 0.0
    choice = choose([four, large], margin=0.05)
    kept, loses, shows, again = choice_sentences(choice, "ndcg@10", 46)
    assert kept == "Keep 4 of 46 features (l1), the smallest model shown to lose no more than the margin of 5%."
    percent = float(loses.split("at most ")[1].split("%")[0])
    assert percent == pytest.approx(100 * choice.bound(four) / large.mean, abs=0.1)
    assert percent >= 100 * choice.bound(four) / large.mean  # never rounded down
    assert "against the best of all 2 tried" in loses
    assert shows.startswith("These 400 queries, 30 of them zero for every model, can show differences of ")
    assert again.startswith("On resampled queries the same rule keeps ")


def test_one_query_gives_no_bound() -> None:
    a, b = (Candidate("l1", k, 0.0, k, k, float(k), np.array([0.5 + 0.1 * k])) for k in (1, 2))
    choice = choose([a, b])
    assert choice.chosen is b  # nothing can be shown, so the best is taken
    assert "1 query is too few to bound what a model loses; 10 are needed" in " ".join(
        choice_sentences(choice, "map", 5)
    )
    same = [Candidate("l1", k, 0.0, k, k, float(k), np.ones(20)) for k in (1, 2)]
    assert "cannot tell them apart" in " ".join(choice_sentences(choose(same), "map", 5))


def test_resampling_follows_the_rule() -> None:
    steady = choose([candidate(9, 0.0, 0.001), candidate(4, 0.001, 0.001), candidate(2, 0.2, 0.001)])
    assert steady.resampled.range() == (4, 4)
    assert steady.resampled.loss == pytest.approx(0.001, abs=3e-4)
    shaky = choose([candidate(k, 0.0, 0.15) for k in range(1, 12)], margin=0.01)
    low, high = shaky.resampled.range()
    assert low < high
    assert choose([candidate(3, 0.0, 0.1)]).resampled.range() == (3, 3)


def test_sizes_are_matched_by_the_lowest_training_loss() -> None:
    nnz, losses = np.array([0, 1, 3, 2, 3, 5]), np.array([1.0, 0.9, 0.7, 0.8, 0.65, 0.5])
    assert points_by_size(nnz, losses) == {1: 1, 2: 3, 3: 4, 5: 5}
    assert point_within(nnz, losses, 4) == 4
    assert point_within(nnz, losses, 99) == 5
    assert point_within(nnz + 2, losses, 1) is None  # nothing that small; the empty model never stands for one
    assert point_within(np.array([0, 2]), losses[:2], 1) is None
    assert points_by_size(np.array([0, 2, 3]), np.array([1.0, 0.5, 0.6])) == {
        2: 1
    }  # a larger one that is worse adds nothing
