"""Values of candidates with a judge: the formulas of docs/theory.md, and their means and errors."""

import numpy as np
import pytest

from sparserank.crossval.judged_queries import JudgedQueries, WithJudge
from sparserank.data.dataset import RankingDataset
from tests.oracles import judged_candidates as oracle

N, R, FOLDS = 20, 60, 4


def queries(n: int) -> JudgedQueries:
    """The first n queries are those of people."""
    documents = RankingDataset(np.zeros((n, 1)), np.zeros(n), np.arange(n))
    return JudgedQueries("judge", np.arange(n), np.ones(n, dtype=bool), documents)


def values(seed: int, share: float, n: int = N, r: int = R, m: int = 5) -> np.ndarray:
    """(m, n + r + n): by people, by the judge of the rest, by the judge of the queries of people. The judge knows
    `share` of a value."""
    rng = np.random.default_rng(seed)
    human, noise = rng.normal(size=(2, m, n + r))
    human += rng.normal(size=n + r) + np.linspace(0, 1, m)[:, None]
    judge = share * human + (1 - share) * noise
    return np.concatenate([human[:, :n], judge[:, n:], judge[:, :n]], axis=1)


def correction_of(raw: np.ndarray, n: int = N, seed: int = 0) -> WithJudge:
    return queries(n).with_judge(raw, np.arange(raw.shape[1]) % FOLDS, seed)


@pytest.mark.parametrize("by_folds", [True, False])
def test_values_are_those_of_the_formula(by_folds: bool) -> None:
    raw = values(1, 0.6)
    found = correction_of(raw)
    assert found.worth.worth > N
    parts = [part.tolist() for part in np.split(raw, [N, N + R], axis=1)]
    folds = [q % FOLDS for q in range(N)]
    partners = (found.partners - N).tolist()
    expected = oracle.values_of_people(parts[0], parts[2], parts[1], folds, partners, by_folds=by_folds)
    assert np.allclose(found.of(raw), expected, rtol=0, atol=1e-12) == by_folds


def test_a_judge_that_knows_nothing_changes_no_value() -> None:
    unused = 0
    for seed in range(20):
        raw = values(seed, 0.0)
        found = correction_of(raw)
        if found.worth.worth == N:
            unused += 1
            assert np.array_equal(found.of(raw), raw[:, :N])
    assert unused >= 12


@pytest.mark.parametrize("with_noise", [True, False])
def test_the_spread_contains_the_error_of_the_mean_of_the_judge(with_noise: bool) -> None:
    """Few other queries: most of the error is that of their mean. Without partners, it is too small."""
    n, r = 40, 40
    estimates = []
    errors = []
    for seed in range(300):
        raw = values(seed, 0.95, n, r)
        found = correction_of(raw, n, seed)
        of = (
            found.of(raw)
            if with_noise
            else found.of(raw)
            - found.scale * (raw[:, found.partners] - raw[:, found.partners].mean(axis=1, keepdims=True))
        )
        difference = of[0] - of[-1]
        estimates.append(difference.mean())
        errors.append(difference.var(ddof=1) / n)
    # The ratio of variances from 300 worlds has a standard error of sqrt(2 / 300) = 8%.
    ratio = np.mean(errors) / np.var(estimates, ddof=1)
    assert (abs(ratio - 1) < 0.25) == with_noise


def test_queries_that_the_judge_lacks_keep_the_values_of_people() -> None:
    raw = values(2, 0.9)
    judged = queries(N)
    judged.known[:3] = False
    found = judged.with_judge(raw, np.arange(raw.shape[1]) % FOLDS, 0)
    noise = raw[:, found.partners] - raw[:, found.partners].mean(axis=1, keepdims=True)
    assert np.allclose(found.of(raw)[:, :3], raw[:, :3] + found.scale * noise[:, :3])
    assert not np.allclose(found.of(raw)[:, 3:], raw[:, 3:N] + found.scale * noise[:, 3:])


def test_queries_without_a_value_have_none() -> None:
    raw = values(3, 0.9)
    raw[:, 4] = np.nan  # of people
    raw[:, N + 5] = np.nan  # of the rest
    found = correction_of(raw)
    assert found.worth.n_human == N - 1
    assert found.worth.n_all == N + R - 2
    assert np.flatnonzero(np.isnan(found.of(raw)).any(axis=0)).tolist() == [4]


def test_people_who_graded_other_queries_than_the_rest_are_noticed() -> None:
    raw = values(4, 0.9)
    raw[:, N : N + R] -= 3.0  # the judge finds the rest worse
    assert correction_of(raw).worth.is_selection
    assert not correction_of(values(4, 0.9)).worth.is_selection


def test_documents_of_people_come_again_with_the_grades_of_the_judge() -> None:
    data = RankingDataset(np.arange(6.0)[:, None], [2, 0, 1, 0, 1, 1], ["a", "a", "b", "b", "c", "c"])
    grades = np.array([1.0, np.nan, 0.0, 2.0, np.nan, np.nan])
    found = JudgedQueries.of("judge", data, np.array([True, False, True]), grades)
    assert found.people.tolist() == [0, 2]
    assert found.known.tolist() == [True, False]
    assert found.again.relevance.tolist() == [1.0, 0.0, 0.0, 0.0]
    evaluated = found.evaluated(data)
    assert evaluated.n_queries == 5
    assert evaluated.relevance.tolist() == [2, 0, 1, 0, 1, 1, 1, 0, 0, 0]
    assert found.twice(np.array([0, 1, 2])).tolist() == [0, 1, 2, 0, 2]
