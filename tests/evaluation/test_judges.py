"""Means from people and a judge: the estimate is unbiased however wrong the judge is, and its interval holds."""

from itertools import combinations

import numpy as np
import pytest

from sparserank.evaluation.judges import JudgedMeans, judged_means, without_favour
from tests.oracles import judged_means as oracle


def problem(
    seed: int, n: int, r: int, *, correlation: float = 0.7, lacking: int = 0, n_strata: int = 1
) -> tuple[dict[str, float], dict[str, float], dict[str, str]]:
    """Values of people, of the judge, and the strata of their queries."""
    rng = np.random.default_rng(seed)
    ids = [f"q{i:03}" for i in range(n + r)]
    g = rng.normal(0.3, 1.0, n + r)
    h = correlation * g + (1 - correlation**2) ** 0.5 * rng.normal(size=n + r)
    strata = {q: f"s{rng.integers(n_strata)}" for q in ids}
    human = {q: float(h[i]) for i, q in enumerate(ids[:n])}
    judge = {q: float(g[i]) for i, q in enumerate(ids) if not i < lacking}
    return human, judge, strata


def ours(human: dict[str, float], judge: dict[str, float], strata: dict[str, str] | None = None) -> JudgedMeans:
    own, others = list(human), [q for q in judge if q not in human]
    arrays = [[human[q] for q in own], [judge.get(q, np.nan) for q in own], [judge[q] for q in others]]
    numbers = {name: i for i, name in enumerate(sorted(set((strata or {}).values())))}
    of = None if strata is None else tuple(np.array([numbers[strata[q]] for q in qs], dtype=int) for qs in (own, others))
    return judged_means(*(np.array([a]) for a in arrays), of)  # type: ignore[arg-type]


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.4, 0.95])
@pytest.mark.parametrize(("n", "r", "lacking", "n_strata"), [(8, 0, 0, 1), (9, 30, 0, 1), (25, 60, 4, 1), (30, 90, 3, 4)])
def test_the_estimate_is_that_of_the_oracle(correlation: float, n: int, r: int, lacking: int, n_strata: int) -> None:
    human, judge, strata = problem(n, n, r, correlation=correlation, lacking=lacking, n_strata=n_strata)
    found = ours(human, judge, strata)
    both, alone = oracle.with_judge(human, judge, strata), oracle.human_only(human, judge, strata)
    # Sums of at most 120 values of order 1, and one difference of two of them for each lambda.
    seen = (found.judged[0], found.judged_half[0], found.share[0])
    assert seen == pytest.approx(both, rel=1e-10, abs=1e-12)
    assert (found.human[0], found.human_half[0]) == pytest.approx(alone[:2], rel=1e-12)
    assert (found.mean[0], found.half[0]) == pytest.approx(oracle.decided(human, judge, strata)[:2], rel=1e-10)


def test_the_mean_over_all_samples_is_the_truth() -> None:
    """Each set of 5 of 8 queries is graded by people equally often: the mean over all sets is that of all 8, with a
    lambda for each query from the others. The naive mixture is off by the judge's bias; so would be one lambda from all
    of the queries."""
    human, judge, _ = problem(3, 8, 0, correlation=0.8)
    judge = {q: g + 0.7 * g**2 for q, g in judge.items()}
    truth = np.mean([*human.values()])
    found = {"ours": [], "naive": [], "of all": []}  # type: ignore[var-annotated]
    for graded in combinations(human, 5):
        own = {q: human[q] for q in graded}
        both = ours(own, judge)
        found["ours"].append(both.judged[0])
        found["naive"].append(oracle.naive_mixture(own, judge).mean)
        lam = oracle.best_share(own, judge, dict.fromkeys(human, "all"), {"all": 1.0})
        rest = np.mean([judge[q] for q in judge if q not in own])
        found["of all"].append(np.mean([own[q] - lam * 3 / 8 * (judge[q] - rest) for q in own]))
    assert np.std(found["ours"]) > 0.01
    assert np.mean(found["ours"]) == pytest.approx(truth, abs=1e-12)
    assert abs(np.mean(found["naive"]) - truth) > 0.1
    assert abs(np.mean(found["of all"]) - truth) > 1e-3


def test_the_favour_is_subtracted_where_systems_differ() -> None:
    rng = np.random.default_rng(4)
    judge = {f"q{i}": float(g) for i, g in enumerate(np.where(rng.random(30) < 0.5, rng.normal(0.4, 1, 30), 0.0))}
    values = np.array([[*judge.values()]])
    found = np.concatenate(without_favour(values[:, :9], values[:, 9:]), axis=1)[0]
    assert found == pytest.approx([*oracle.without_favour(judge).values()], abs=1e-15)
    assert (found == 0).sum() == (values == 0).sum() > 5
    lacking = np.concatenate([[[np.nan]], values[:, 1:9]], axis=1)
    own, others = without_favour(lacking, values[:, 9:])
    assert np.isnan(own[0, 0])
    assert np.nansum(own) + others.sum() == pytest.approx(0.0, abs=1e-12)


def test_a_judge_that_knows_nothing_is_worth_nothing() -> None:
    human, judge, _ = problem(1, 20, 60)
    for useless in (dict.fromkeys(judge, 0.4), {q: -human.get(q, 0.1) for q in judge}):
        found = ours(human, useless)
        assert (found.share[0], found.used[0], found.worth[0]) == (0.0, False, 20)
        assert (found.mean[0], found.half[0]) == (found.human[0], found.human_half[0])
    # One other value gives no slope without its query.
    found = ours(human, {**dict.fromkeys(judge, 0.4), "q001": 0.9})
    assert found.used[0] == (oracle.decided(human, {**dict.fromkeys(judge, 0.4), "q001": 0.9}).share > 0)


def test_nothing_is_gained_where_people_graded_all() -> None:
    human, judge, _ = problem(2, 20, 0, correlation=0.95)
    found = ours(human, judge)
    assert found.judged[0] == found.human[0] == pytest.approx(np.mean([*human.values()]))
    assert not found.used[0]


def test_a_perfect_judge_is_worth_all_of_its_queries() -> None:
    human, judge, _ = problem(2, 50, 150, correlation=1.0)
    found = ours(human, judge)
    assert found.used[0]
    assert 150 < found.worth[0] <= 200


def test_few_queries_have_no_interval() -> None:
    human, judge, _ = problem(2, 7, 50)
    found = ours(human, judge)
    assert np.isnan([found.half[0], found.human_half[0]]).all()
    assert not found.used[0]
    assert np.isfinite(ours(*problem(2, 8, 50)[:2]).half[0])
