"""The rule that picks a model, and its sentences."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sparserank.crossval.choice import Candidate, Choice, Rule, choose
from sparserank.errors import DataError
from sparserank.paths.sizes import point_within, points_by_size
from sparserank.selection.claims import answers, claims_of_choice
from sparserank.selection.notes import notes_of_choice
from sparserank.selection.plan import make_plan
from tests.oracles import departures as oracle

RNG = np.random.default_rng(0)
BASE = RNG.random(400)


def sentences(choice: Choice, metric: str, n_all: int) -> list[str]:
    return [claim.text for claim in claims_of_choice(choice, metric, n_all) if claim.text]


def candidate(n_features: int, loss: float, spread: float, cost: float | None = None) -> Candidate:
    noise = RNG.standard_normal(400)
    noise = (noise - noise.mean()) / noise.std(ddof=1) * spread
    cost = float(n_features) if cost is None else cost
    return Candidate("l1", n_features, 0.0, n_features, n_features, cost, BASE - loss + noise)


def test_the_smallest_model_whose_estimated_loss_is_within_the_margin_is_chosen() -> None:
    large, four, three = candidate(9, 0.0, 0.01), candidate(4, 0.004, 0.3), candidate(3, 0.006, 0.01)
    choice = choose([three, four, large])
    assert choice.chosen is four
    assert choice.best is large
    assert choice.margin == pytest.approx(0.01 * large.mean)
    assert choice.loss(four) == pytest.approx(0.004)
    assert choice.loss(four) < choice.margin < choice.loss(three)
    assert choice.bound(four) > 0.02 > choice.margin  # reported, not hunted
    assert choice.margin_kind == "estimate"


def test_with_a_guarantee_the_smallest_model_whose_bound_is_within_it_is_chosen() -> None:
    large, four, three = candidate(9, 0.0, 0.01), candidate(4, 0.002, 0.01), candidate(3, 0.05, 0.01)
    choice = choose([three, four, large], rule=Rule(guarantee=0.02))
    assert choice.chosen is four
    assert choice.margin_kind == "bound"
    assert choice.best is large
    assert choice.bound(four) <= choice.margin == pytest.approx(0.02 * large.mean)
    assert choice.bound(three) > 0.05 > choice.margin
    assert choice.loss(three) == pytest.approx(0.05)
    assert not choice.within_margin(three)


def test_among_equal_sizes_the_cheaper_then_the_better() -> None:
    best = candidate(9, 0.0, 0.005)
    dear, cheap, better = (candidate(4, loss, 0.005, cost) for loss, cost in ((0.001, 9.0), (0.002, 4.0), (0.001, 4.0)))
    assert choose([dear, cheap, best], rule=Rule(0.05)).chosen is cheap
    assert choose([dear, cheap, better, best], rule=Rule(0.05)).chosen is better


@pytest.mark.parametrize(
    ("n_steps", "n_weights", "loss", "steps_chosen"),
    [(4, 5, 0.002, True), (8, 10, 0.002, True), (5, 6, 0.002, False), (9, 8, 0.0, False), (7, 8, 0.02, True)],
)
def test_steps_are_chosen_if_they_have_a_fifth_fewer_features_or_no_weights_are_within_the_margin(
    n_steps: int, n_weights: int, loss: float, steps_chosen: bool
) -> None:
    best = candidate(20, 0.0, 0.001)
    steps = replace(candidate(n_steps, 0.003, 0.001), penalty="steps", on_steps=True)
    weights = candidate(n_weights, loss, 0.001)
    choice = choose([best, steps, weights])
    assert choice.chosen is (steps if steps_chosen else weights)
    fewer = not steps_chosen and n_steps < n_weights
    assert choice.passed_over is (steps if fewer else None)
    assert ("a step function counts as 1.25 weights" in " ".join(sentences(choice, "ndcg@10", 30))) == fewer
    plan = make_plan(penalties=None, metric="ndcg@5", report_metrics=(), convention="default")
    command = f"penalties='steps' with k={n_steps} gives that model"
    assert (command in " ".join(notes_of_choice(plan, choice))) == fewer
    # The command does: of models of steps alone, that is the best of at most so many features.
    more = replace(candidate(n_steps + 4, 0.001, 0.001), penalty="steps", on_steps=True)
    assert choose([steps, more], rule=Rule(k=n_steps)).chosen is steps
    # A limit asks for the best, whatever it is made of.
    limited = choose([best, steps, weights], rule=Rule(k=max(n_steps, n_weights)))
    assert limited.chosen is max((steps, weights), key=lambda c: c.mean)
    assert limited.passed_over is None


def test_not_significant_is_not_equal() -> None:
    """The trap: a noisy model whose loss is not significant passes neither as an estimate nor with a guarantee."""
    best, noisy = candidate(9, 0.0, 0.0), candidate(1, 0.01, 0.3)
    assert choose([best, noisy]).chosen is best
    assert choose([best, noisy], rule=Rule(guarantee=0.02)).chosen is best


def test_what_may_not_be_chosen_is_compared_all_the_same() -> None:
    sparse, dense = candidate(5, 0.1, 0.01), candidate(40, 0.0, 0.01)
    choice = choose([sparse], [dense])
    assert choice.best is dense
    assert choice.chosen is sparse
    assert not choice.within_margin(sparse)
    assert choice.bound(sparse) > 0.09


def test_where_nothing_is_within_the_margin_the_best_is_taken_with_a_sentence() -> None:
    same = [candidate(k, 0.0, 0.2) for k in (1, 2, 3, 4)]
    finer = choose(same, rule=Rule(guarantee=0.001))
    assert not finer.within_margin(finer.chosen)
    assert finer.chosen is finer.best
    assert "none is shown to lose at most 0.1% (try a larger guarantee)" in " ".join(sentences(finer, "ndcg@10", 9))
    dense = choose(same, [candidate(9, -0.1, 0.0)])
    assert dense.chosen is max(same, key=lambda c: c.mean)
    assert "none has an estimated loss of at most 1% (try a larger margin)" in " ".join(sentences(dense, "ndcg@10", 9))


def test_what_the_queries_cannot_tell_is_the_first_sentence() -> None:
    rng = np.random.default_rng(5)
    few = [Candidate("l1", k, 0.0, k, k, float(k), BASE[:40] + 0.2 * rng.standard_normal(40)) for k in (1, 2, 3, 4)]
    choice = choose(few)
    told, answers_of_both, rule, *_ = sentences(choice, "ndcg@10", 9)
    assert choice.resolution > 0.05
    assert told.startswith("These 40 queries cannot rule out a loss below ")
    assert "; to rule out 2%, you would need roughly " in told
    assert rule.startswith("Rule: smallest model with an estimated loss of at most 1% against the best of 4 models")
    other = choice.other
    assert other is not None
    n, both = choice.chosen.n_features, sorted([choice.chosen.n_features, other.n_features])
    assert f"The model is that of {n}, the choice of the rule; k={other.n_features} gives the other." in answers_of_both
    assert answers(choice) == f"{both[0]} or {both[1]}"
    for rule_of_user in (Rule(k=2), Rule(guarantee=0.5)):  # no guess: the size or the loss was given
        given = choose(few, rule=rule_of_user)
        assert "Two answers" not in " ".join(sentences(given, "ndcg@10", 9))
        assert answers(given) == str(given.chosen.n_features)


def test_models_that_rarely_differ_from_the_best_are_counted_in_a_sentence() -> None:
    rare = BASE - 0.3 * (np.arange(400) < 3)
    often = [BASE - 0.1 - 0.1 * np.random.default_rng(k).random(400) for k in range(4)]
    values = [BASE, rare, *often, BASE - 1e-3]
    few = [Candidate("l1", k + 1, 0.0, k, k + 1, float(k), row) for k, row in enumerate(values)]
    note = "1 of the 7 models differs from the best on fewer than 10 queries: others of this kind may be missing by "
    text = " ".join(sentences(choose(few), "ndcg@10", 9))
    assert note + "chance, and a loss may exceed its bound." in text
    assert "fewer than 10 queries" not in " ".join(sentences(choose([few[0], *few[2:]]), "ndcg@10", 9))


def test_the_empty_model_and_models_without_a_value_are_never_chosen() -> None:
    empty, one = candidate(0, -0.5, 0.0), candidate(1, 0.3, 0.0)
    assert choose([empty, one], rule=Rule(0.5)).chosen is one
    with pytest.raises(DataError, match="no size has a model with features"):
        choose([empty])
    nothing = Candidate("l1", 2, 0.0, 0, 2, 2.0, np.full(400, np.nan))
    assert choose([nothing, one]).candidates == (one,)


def test_limits_on_size_and_cost() -> None:
    small, large = candidate(2, 0.1, 0.0), candidate(6, 0.0, 0.0)
    assert choose([small, large], rule=Rule(k=5)).chosen is small
    assert choose([small, large], rule=Rule(budget=6.0)).chosen is large
    five = choose([small, large], rule=Rule(k=5))
    assert "Rule: the best model with at most 5 features. " in " ".join(sentences(five, "map", 9))
    assert five.margin_kind == "limit"
    with pytest.raises(DataError, match="within 1 feature;"):
        choose([small, large], rule=Rule(k=1))


def test_the_sentences_have_the_numbers_of_the_choice() -> None:
    large, four = candidate(9, 0.0, 0.02), candidate(4, 0.003, 0.02)
    four.values[:30] = large.values[:30] = 0.0
    choice = choose([four, large])
    shows, rule, again = sentences(choice, "ndcg@10", 46)
    percent = float(rule.split("at most ")[2].split("%")[0])
    assert percent == pytest.approx(100 * choice.bound(four) / large.mean, abs=0.1)
    assert percent >= 100 * choice.bound(four) / large.mean  # never rounded down
    estimate = 100 * choice.loss(four) / large.mean
    best = "against the best of 2 models (9 features)"
    assert rule.startswith(
        f"Rule: smallest model with an estimated loss of at most 1% {best}: {estimate:.1f}%, at most "
    )
    assert shows.startswith(
        "These 400 queries, 30 of them with the value 0 for every model, cannot rule out a loss below "
    )
    assert re.match(r"Size on resampled queries: [49]( to 9)? features; by the same rule, ", again)


def test_one_query_gives_no_bound() -> None:
    a, b = (Candidate("l1", k, 0.0, k, k, float(k), np.array([0.5 + 0.1 * k])) for k in (1, 2))
    choice = choose([a, b])
    assert choice.chosen is b
    few, rule = sentences(choice, "map", 5)
    assert few == "1 query is too few to bound the loss of a model; at least 10 are needed."
    assert rule.endswith("against the best of 2 models: 0.0%.")
    assert choice.other is None
    assert np.isnan(choice.corrected_chosen)
    same = [Candidate("l1", k, 0.0, k, k, float(k), np.ones(20)) for k in (1, 2)]
    assert "cannot tell any models apart" in " ".join(sentences(choose(same), "map", 5))
    shifted = [Candidate("l1", k, 0.0, k, k, float(k), np.full(50, 0.5 * k)) for k in (1, 2)]
    assert "cannot tell any models apart" not in " ".join(sentences(choose(shifted), "map", 5))


def test_a_loss_of_exactly_the_margin_is_within_it() -> None:
    """The wrong variant compares without room for rounding: 1.00 - 0.99 is above 0.01."""
    best, hit = np.ones(100), np.arange(100) > 0
    three, eight = (
        Candidate("l1", k, 0.0, k, k, float(k), values.astype(float)) for k, values in ((3, hit), (8, best))
    )
    assert eight.mean - three.mean > 0.01
    choice = choose([three, eight])
    assert choice.chosen is three
    assert choice.within_margin(three)


def test_a_loss_is_never_below_0_though_sums_are_rounded() -> None:
    rng = np.random.default_rng(0)
    values = rng.random(57)
    same = [Candidate("l1", k, 0.0, k, k, float(k), rng.permutation(values)) for k in range(1, 30)]
    choice = choose(same)
    assert min(choice.loss(c) for c in same) == 0.0
    assert "-0.0%" not in " ".join(sentences(choice, "ndcg@10", 30))


def test_a_size_shows_the_best_model_of_at_most_that_size() -> None:
    """Explicitly: for each size the best of all that are no larger, once. The wrong variant takes the best of each."""
    losses = {1: 0.3, 2: 0.1, 3: 0.2, 4: 0.05, 5: 0.05, 6: 0.0, 7: 0.04}
    own = [candidate(k, loss, 0.001) for k, loss in losses.items()]
    choice = choose(own, rule=Rule(0.0))
    assert [c.n_features for c in choice.by_size] == [1, 2, 4, 6]
    for k in range(1, 8):
        shown = [c for c in choice.by_size if c.n_features <= k][-1]
        assert shown.mean == max(c.mean for c in own if c.n_features <= k)
    assert sorted(losses) != [c.n_features for c in choice.by_size]


def test_the_chosen_represents_its_size_even_where_a_smaller_or_dearer_one_is_as_good() -> None:
    large, better, chosen = candidate(9, 0.0, 0.001), candidate(3, 0.001, 0.3), candidate(5, 0.004, 0.01)
    choice = replace(choose([large, better, chosen]), chosen=chosen)
    assert choice.by_size == [better, chosen, large]
    dear, cheap = candidate(4, 0.001, 0.002, 9.0), candidate(4, 0.002, 0.002, 4.0)
    choice = choose([dear, cheap, large], rule=Rule(0.05))
    assert choice.chosen is cheap
    assert choice.by_size == [cheap, large]


def test_means_that_differ_by_rounding_have_one_row() -> None:
    """One mean by columns, one by rows: 0.648 and 0.6480000000000001."""
    values, rng = np.random.default_rng(3).random(50), np.random.default_rng(4)
    same = [Candidate("l1", k, 0.0, k, k, float(k), rng.permutation(values)) for k in range(2, 20)]
    assert len({c.mean for c in same}) > 1, "the means differ in the last bit"
    assert choose(same).by_size == [same[0]]


def named(values: np.ndarray, n_features: int = 4) -> Candidate:
    return Candidate("named formulas", n_features, 0.0, 0, n_features, float(n_features), values, formula="RRF")


def test_a_named_formula_is_left_only_for_what_leads_it() -> None:
    """By the rule made in loops: 1.5 paired standard errors for a single retriever, 1 for more. The wrong variants ask
    for one lead whatever the size, for none, or only of the smallest set within the margin (they differ somewhere)."""
    wrong = {"1 for all": (1.0, 1.0), "1.5 for all": (1.5, 1.5), "none": (0.0, 0.0)}
    differ = dict.fromkeys([*wrong, "the smallest within the margin alone"], 0)
    departures = set()
    for seed in range(120):
        rng = np.random.default_rng(seed)
        rrf = named(np.abs(0.5 + 0.2 * rng.standard_normal(50)))
        everyone = []
        for i, size in enumerate(rng.integers(1, 4, 5).tolist()):
            values = rrf.values + rng.normal(0.02, 0.02) + 0.1 * rng.standard_normal(50)
            everyone.append(Candidate("l1", size, 0.0, i, size, float(size), values))
        everyone.append(rrf)
        given = [(c.n_features, c.values.tolist()) for c in everyone]
        choice = choose(everyone, named="RRF")
        expected = oracle.chosen(given, 5, 0.01)
        assert choice.chosen is everyone[expected]
        assert choice.reference is rrf
        assert choice.corrected_chosen <= choice.chosen.mean + 1e-12
        departures.add(choice.chosen.n_features)
        for name, (one, more) in wrong.items():
            differ[name] += oracle.chosen(given, 5, 0.01, one, more) != expected
        alone = everyone.index(choose(everyone).chosen)  # the rule without a defence
        lead, error = oracle.lead_and_error(given[alone][1], given[5][1])
        first = alone if lead >= (1.5 if given[alone][0] == 1 else 1.0) * error else 5
        differ["the smallest within the margin alone"] += first != expected
    assert departures == {1, 2, 3, 4}
    assert all(differ.values()), differ


def test_fewer_retrievers_that_do_not_lead_are_not_chosen() -> None:
    """However little they lose: a set within the margin is named on the screen, and not chosen."""
    rrf, fewer = named(BASE), Candidate("l1", 2, 0.0, 1, 2, 2.0, BASE - 1e-6)
    assert choose([fewer, rrf]).chosen is fewer
    assert choose([fewer, rrf], named="RRF").chosen is rrf


def test_a_limit_decides_before_a_named_formula() -> None:
    rrf, one = named(BASE), Candidate("l1", 1, 0.0, 1, 1, 1.0, BASE - 0.2)
    assert choose([one, rrf], rule=Rule(k=1), named="RRF").chosen is one
    assert choose([one, rrf], rule=Rule(k=4), named="RRF").chosen is rrf
    assert choose([one, rrf], rule=Rule(most=2), named="RRF").chosen is one  # an engine takes no more


def test_a_named_formula_is_kept_with_the_lead_of_the_best_other_choice() -> None:
    noise = np.random.default_rng(2).standard_normal(400)
    learned = Candidate("l1", 4, 0.0, 1, 4, 4.0, BASE + 0.01 + 0.5 * (noise - noise.mean()))
    rule = Rule(noun="retriever")
    choice = choose([learned, named(BASE)], rule=rule, named="RRF")
    text = " ".join(sentences(choice, "ndcg@10", 4))
    assert "RRF of all 4 retrievers: the best other choice, 4 retrievers (l1), is +" in text
    assert "less than 1 standard error of the difference (" in text
    single = replace(learned, n_features=1, formula="dense alone")
    text = " ".join(sentences(choose([single, named(BASE)], rule=rule, named="RRF"), "ndcg@10", 4))
    assert "1 retriever (dense alone), is +" in text
    assert "less than 1.5 standard errors of the difference (" in text


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
