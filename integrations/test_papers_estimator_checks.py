"""scikit-learn's own estimator checks for the rankers of the papers; none is expected to fail."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparserank.papers import (
    FSMSVM,
    FenchelRank,
    FSMRank,
    FSRank,
    GasRanker,
    GreedyRankRLS,
    Laporte2014,
    RandomRanker,
    RankRLS,
    RSRank,
    TGRank,
)

ESTIMATORS = [
    RankRLS(),
    RankRLS(lam=(0.5, 2.0)),
    GreedyRankRLS(k=2),
    GreedyRankRLS(search="floating"),
    GreedyRankRLS(search="backfitting"),
    FenchelRank(radius=1.0),
    FenchelRank(radius=1.0, solver="exact"),
    FSMRank(),
    *(Laporte2014(penalty=p) for p in ("l1", "mcp", "log", "l0.5")),
    Laporte2014(published=True, max_iter=50),
    TGRank(max_iter=50),
    RSRank(max_iter=50),
    FSRank(),
    GasRanker(),
    FSMSVM(),
    RandomRanker(random_state=0),
]


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")  # the checks pass no qid
@parametrize_with_checks(ESTIMATORS)
def test_estimator_check_passes(estimator: Any, check: Any) -> None:
    check(estimator)
