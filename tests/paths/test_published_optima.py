"""The l1 optimum on real data, to nine decimals, and its certificate.

The numbers are liblinear's on explicit pairs, with a duality gap below 1e-10: scikit-learn 1.9.1, numpy 2.4.6, scipy
1.17.1, by `python -m tests.oracles.published_optima $SPARSERANK_DATA` (some minutes), which prints between which two
numbers each optimum lies.
"""

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.dataset import RankingDataset
from tests.oracles import published_optima as oracle
from tests.oracles.letor_reader import read_rows
from tests.support.problems import small_problem

OPTIMA = {
    "mq2008_train": (52_325, 0.475253096, {0.1: 0.694529109, 0.01: 0.591060523}),
    "ohsumed_train": (367_663, 0.263033137, {0.1: 0.926716563, 0.01: 0.903622201}),
}


@pytest.mark.parametrize("name", OPTIMA)
def test_l1_optimum_equals_the_reference(name: str, request: pytest.FixtureRequest) -> None:
    data: RankingDataset = request.getfixturevalue(name)
    n_pairs, alpha_max, objectives = OPTIMA[name]
    objective = sr.solvers.PairwiseObjective(data.X, data.relevance, data.query_ptr)
    assert objective.n_pairs == n_pairs
    assert sr.alpha_max(data.X, data.relevance, qid=data.qid, scaling="none") == pytest.approx(alpha_max, abs=5e-10)
    scale = float(np.abs(objective.gradient_at_zero).max())
    for fraction, expected in objectives.items():
        penalty, stop = sr.penalties.L1(fraction * scale), sr.solvers.Stop(tol=1e-8, scale=scale)
        solution = sr.solvers.solve(sr.solvers.ProxNewton(), objective, penalty, stop=stop)
        assert solution.value == pytest.approx(expected, abs=5e-10)
        assert solution.gap is not None
        assert solution.gap < 1e-8
        assert solution.status.value == "optimal"


def test_the_program_that_the_numbers_come_from_brackets_our_optimum() -> None:
    """On a small problem. Twice the strength, and pairs of equal grades, are outside the bracket."""
    data = small_problem(3, n_queries=12)
    text = "".join(
        f"{y:g} qid:{q} " + " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(x)) + "\n"
        for x, y, q in zip(data.X, data.relevance, data.qid, strict=True)
    )
    D = oracle.differences(read_rows(text))
    objective = sr.solvers.PairwiseObjective(data)
    scale = float(np.abs(objective.gradient_at_zero).max())
    assert len(D) == objective.n_pairs
    assert oracle.largest_gradient_at_zero(D) == pytest.approx(scale, rel=1e-12)
    for fraction in oracle.FRACTIONS:
        alpha = fraction * scale
        low, high = oracle.bounds(D, alpha, oracle.by_liblinear(D, alpha))
        assert low <= high <= low + 1e-9
        stop = sr.solvers.Stop(tol=1e-8, scale=scale)
        found, stronger = (
            sr.solvers.solve(sr.solvers.ProxNewton(), objective, sr.penalties.L1(a), stop=stop)
            for a in (alpha, 2 * alpha)
        )
        assert found.gap is not None
        assert low - 1e-13 <= found.value <= high + found.gap + 1e-13  # what sums of terms below 10 lose by rounding
        assert stronger.value > high + 1e-3
        more = np.concatenate([D, np.zeros((3, D.shape[1]))])
        wrong_low, _ = oracle.bounds(more, alpha, oracle.by_liblinear(more, alpha))
        assert wrong_low > high + 1e-3
