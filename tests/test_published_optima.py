"""The l1 optimum on real data, to nine decimals, and its certificate."""

from __future__ import annotations

import numpy as np
import pytest

import sparserank as sr
from sparserank.data.dataset import RankingDataset

OPTIMA = {
    "mq2008_train": (52_325, 0.475253096, {0.1: 0.694529109, 0.01: 0.591060523}),
    "ohsumed_train": (367_663, 0.263033137, {0.1: 0.926716563, 0.01: 0.903622201}),
}


@pytest.mark.parametrize("name", OPTIMA)
def test_l1_optimum_equals_the_reference(name: str, request: pytest.FixtureRequest) -> None:
    data: RankingDataset = request.getfixturevalue(name)
    n_pairs, alpha_max, objectives = OPTIMA[name]
    objective = sr.PairwiseObjective(data.X, data.relevance, data.query_ptr)
    assert objective.n_pairs == n_pairs
    assert sr.alpha_max(data.X, data.relevance, qid=data.qid, scaling="none") == pytest.approx(alpha_max, abs=5e-10)
    scale = float(np.abs(objective.gradient_at_zero).max())
    for fraction, expected in objectives.items():
        solution = sr.solve(sr.ProxNewton(), objective, sr.L1(fraction * scale), stop=sr.Stop(tol=1e-8, scale=scale))
        assert solution.value == pytest.approx(expected, abs=5e-10)
        assert solution.gap is not None
        assert solution.gap < 1e-8
        assert solution.status.value == "optimal"
