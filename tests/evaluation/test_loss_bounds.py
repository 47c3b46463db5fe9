"""Bounds whichever candidate is chosen, and intervals against rivals: explicit loops, and what the old rule gives."""

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sparserank.crossval.choice import Candidate, choose
from sparserank.crossval.rivals import Rival, Rivals
from sparserank.errors import ParameterError
from sparserank.evaluation import leads
from sparserank.evaluation import loss_bounds as bounds
from sparserank.evaluation._lead_kernels import GROUP, largest_leads
from sparserank.evaluation.loss_bounds import DRAW_ERROR, LossBounds, loss_bounds
from sparserank.evaluation.rival_intervals import rival_intervals
from tests.oracles import loss_bounds as oracle
from tests.oracles.loss_bounds import critical_value


@pytest.fixture(autouse=True, scope="module")
def few_draws() -> None:
    """These tests need the full number of draws."""


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
    found = loss_bounds(values, 0.95)
    np.testing.assert_allclose(found.upper, expected, atol=0.05 * found.error.max(), rtol=0.02)
    assert not np.allclose(oracle.pairwise_bounds_against_the_picked_best(values, 0.95), expected, rtol=0.1)


@pytest.fixture
def fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quicker; the draws' noise can only break more bounds."""
    for place, name, less in ((leads, "ROUND", 512), (leads, "PILOT", 256), (bounds, "MIN_ROUNDS", 4)):
        monkeypatch.setattr(place, name, less)
    monkeypatch.setattr(bounds, "MAX_ROUNDS", 4)


def rarely_different(n: int, most: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(values (12, n), true losses): candidates that lose 0.5 on a share of 0 to `most` of the queries, and are equal
    to the best on all others."""
    rng, share = np.random.default_rng([seed, n]), np.linspace(0, most, 12)
    return rng.uniform(0.4, 1, n) - 0.5 * (rng.random((12, n)) < share[:, None]), 0.5 * share


@pytest.mark.slow_but("300-0.04")
@pytest.mark.parametrize(("n", "most"), [(40, 0.12), (100, 0.12), (300, 0.04), (300, 0.12), (600, 0.12), (1000, 0.12)])
@pytest.mark.usefixtures("fewer_draws")
def test_where_candidates_rarely_differ_bounds_hold_or_a_note_says_that_they_may_not(n: int, most: float) -> None:
    worlds = 60
    held = stated = 0
    for seed in range(worlds):
        values, loss = rarely_different(n, most, seed)
        found = loss_bounds(values, seed=seed)
        holds = bool((loss <= found.upper + 1e-12).all())
        held, stated = held + holds, stated + (holds or found.n_rare > 0)
    assert stated >= 0.93 * worlds
    if n <= 300:
        assert held < 0.9 * worlds  # the test can fail


def test_few_queries_that_differ_are_counted_from_the_best() -> None:
    rng = np.random.default_rng(0)
    values = np.tile(rng.uniform(0.4, 1, 200), (4, 1))
    values[1, :3] -= 0.3  # a Poisson mean of 10.0 gives at most 3 with probability 0.01
    values[2:, ::2] -= rng.uniform(0, 1e-3, (2, 100))
    found = loss_bounds(values)
    assert found.upper[1] < 10.045 * 0.3 / 200
    assert found.n_rare == 1
    assert loss_bounds(values[[0, 2, 3]]).n_rare == 0
    values[1, 3:10] -= 0.3
    assert loss_bounds(values).n_rare == 0  # ten different queries are enough
    values[3] = values[0] - 0.5 * rng.permutation(np.arange(200) % 4 == 0)
    values[1] = values[0]
    values[1, :3] -= 1e-3  # so small that the bound covers what may be missing
    assert loss_bounds(values).n_rare == 0


def test_a_clear_winner_loses_nothing_and_others_what_they_lose() -> None:
    values = table(3, 500, seed=0, spread=0.001)
    values[1] = np.minimum(values[1] + 0.5, 2.0)
    b = loss_bounds(values)
    assert b.upper[1] == 0.0
    assert b.upper[0] > values[1].mean() - values[0].mean()


def test_shifting_or_doubling_the_metric_and_reordering_candidates_change_nothing_else() -> None:
    values = table(9, 120, seed=3)
    plain = loss_bounds(values)
    noise = 6 * DRAW_ERROR  # of two bounds with errors of DRAW_ERROR, four standard errors of their difference
    np.testing.assert_allclose(loss_bounds(values + 7.0).upper, plain.upper, rtol=noise)
    np.testing.assert_allclose(loss_bounds(2 * values).upper, 2 * plain.upper, rtol=noise)
    np.testing.assert_allclose(loss_bounds(values[::-1]).upper[::-1], plain.upper, rtol=noise)


def test_identical_candidates_single_ones_and_few_queries() -> None:
    same = np.tile(np.random.default_rng(0).random(30), (4, 1))
    assert loss_bounds(same).upper.tolist() == [0.0] * 4
    assert loss_bounds(same).n_rare == 0
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


def test_more_queries_show_more_and_those_needed_grow_with_the_square() -> None:
    values = table(15, 3200, seed=4)
    few, many = loss_bounds(values[:, :100]), loss_bounds(values)
    assert many.resolution < 0.5 * few.resolution
    assert few.resolution == few.upper.min()
    assert few.upper[np.argmax(few.means)] > 0  # the best that was found may lose too
    assert few.queries_needed(few.resolution) == pytest.approx(100)
    assert few.queries_needed(few.resolution / 2) == pytest.approx(400)


def test_no_run_of_ten_seeds_shows_more_noise_than_is_stated() -> None:
    values = table(20, 20, seed=8)
    for confidence, allowed in ((0.95, 0.005), (0.99, 0.01)):
        runs = [loss_bounds(values, confidence, seed=seed) for seed in range(10)]
        upper = np.array([b.upper for b in runs])
        spread = upper.std(axis=0, ddof=1)
        assert (spread <= allowed * upper.mean(axis=0)).all()
        stated = np.mean([b.draw_error for b in runs], axis=0)
        assert np.median(spread / stated) == pytest.approx(1.0, abs=0.5)  # of ten and of eight rounds: a quarter each
    with pytest.MonkeyPatch.context() as patch:  # the test can fail
        patch.setattr(leads, "ROUND", 256)
        patch.setattr(bounds, "MAX_ROUNDS", bounds.MIN_ROUNDS)
        upper = np.array([loss_bounds(values, seed=seed).upper for seed in range(10)])
        assert (upper.std(axis=0, ddof=1) > 0.005 * upper.mean(axis=0)).any()


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("m", [2, 5, 40])
def test_quantiles_of_independent_candidates_are_those_of_an_integral(m: int, confidence: float) -> None:
    expected = oracle.quantile_of_independent_candidates(m, confidence)
    error = np.sqrt(2.0) * (1.0 - np.eye(m))
    drawn = leads.Leads(np.eye(m), error, confidence, seed=m)
    rounds = np.array([drawn.round() for _ in range(16)])
    standard_error = rounds.std(axis=0, ddof=1) / 4
    assert (np.abs(rounds.mean(axis=0) - expected) < np.maximum(5 * standard_error, 0.002)).all()
    assert standard_error.max() < 0.02
    assert abs(oracle.quantile_of_independent_candidates(2 * m, confidence) - expected) > 5 * np.median(standard_error)


def kinds_of_candidates() -> dict[str, np.ndarray]:
    """(m, n_queries) values: similar neighbours, no neighbours alike, some identical,
    one far more certain than the others."""
    rng = np.random.default_rng(3)
    nested, independent = table(3 * GROUP + 5, 200, seed=1), rng.random((2 * GROUP + 1, 200))
    identical = nested[np.arange(70) // 4]
    certain = np.concatenate([nested, nested[:1] + 1e-9 * rng.standard_normal((1, 200))])
    return {"nested": nested, "independent": independent, "identical": identical, "certain": certain}


@pytest.mark.parametrize("kind", kinds_of_candidates())
def test_leads_that_are_left_out_are_below_the_floor(kind: str) -> None:
    values = kinds_of_candidates()[kind]
    covariance = np.cov(values) / values.shape[1]
    error = bounds._errors(covariance)
    z = np.random.default_rng(0).multivariate_normal(np.zeros(len(values)), covariance, 40).astype(np.float32)
    expected = oracle.largest_leads(z, error)
    starts = np.arange(0, len(values), GROUP)
    top = np.maximum.reduceat(z, starts, axis=1)
    has_error = error > 0
    inverse = np.where(has_error, 1.0 / np.where(has_error, error, 1.0), 0.0).astype(np.float32)
    everyone, floor = np.arange(len(values)), 1.5
    tolerance = 1e-5 * np.abs(z).max() / error[has_error].min()

    def found(least: np.ndarray, kernel: object = largest_leads) -> np.ndarray:
        out = np.empty_like(expected, dtype=np.float32)
        room = (leads.SLACK * floor * least).astype(np.float32)
        kernel(z, top, inverse, room, everyone, out)  # type: ignore[operator]
        return out

    every = np.empty_like(expected, dtype=np.float32)
    largest_leads(z, top, inverse, np.zeros((len(values), len(starts)), dtype=np.float32), everyone, every)
    np.testing.assert_allclose(every, expected, atol=tolerance)
    least = np.minimum.reduceat(np.where(has_error, error, np.inf), starts, axis=1)
    ours = found(least)
    needed = every > floor
    assert needed.any()
    np.testing.assert_array_equal(ours[needed], every[needed])
    assert (ours[~needed] <= floor).all()
    assert (ours < every).any()  # something was left out
    if kind == "nested":
        np.testing.assert_array_equal(ours, found(least, largest_leads.py_func))
    if kind != "independent":  # the largest error of a group proves nothing
        assert (found(np.maximum.reduceat(error, starts, axis=1))[needed] < every[needed]).any()


def test_a_floor_that_was_too_high_costs_time_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = table(50, 100, seed=6)
    plain = loss_bounds(values)
    monkeypatch.setattr(leads, "SURELY_BELOW", 1.05)
    high = loss_bounds(values)
    np.testing.assert_array_equal(high.upper, plain.upper)
    monkeypatch.setattr(leads, "SURELY_BELOW", 0.0)
    np.testing.assert_array_equal(loss_bounds(values).upper, plain.upper)


def test_the_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "DRAW_ERROR", 1.0)
    values = table(80, 700, seed=9)
    found = []
    for n_threads in (1, 2, 4):
        with threadpool_limits(n_threads):
            found.append(loss_bounds(values, seed=4))
    for other in found[1:]:
        np.testing.assert_array_equal(other.upper, found[0].upper)
        np.testing.assert_array_equal(other.quantile, found[0].quantile)
        np.testing.assert_array_equal(other.draw_error, found[0].draw_error)


@pytest.mark.parametrize("confidence", [0.5, 0.9900001, 0.9999, 1.0, float("nan")])
def test_a_confidence_that_draws_cannot_show_is_refused(confidence: float) -> None:
    with pytest.raises(ParameterError, match=r"^confidence must be > 0\.5 and <= 0\.99; got "):
        loss_bounds(table(3, 20, seed=0), confidence)
    loss_bounds(table(3, 20, seed=0), 0.99)


@pytest.mark.slow
def test_seconds_for_500_candidates_on_10000_queries() -> None:
    values = table(500, 10_000, seed=0)
    began = time.process_time()
    loss_bounds(values)
    assert time.process_time() - began < 6.0  # two when the machine is idle; without leaving leads out, more than ten


# -- intervals against rivals that were named beforehand, for every candidate at once ----------------------------------

RNG = np.random.default_rng(0)
N = 60
SHARED = 0.3 * RNG.standard_normal(N)
VALUES = 0.5 + SHARED + 0.1 * RNG.standard_normal((12, N)) * RNG.uniform(0.3, 1.5, (12, 1))
RIVALS = 0.48 + SHARED + 0.1 * RNG.standard_normal((2, N))


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
    assert beside.compare(chosen, trees).high < 0 < beside.compare(chosen, today).low
    assert beside.compare(chosen, trees).difference == chosen.mean - trees.mean
