"""scikit-learn's own estimator checks, for the main estimators and every penalty; none is expected to fail."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparserank import SparseRanker, SparseRankerCV
from sparserank.papers import RankSVM

ESTIMATORS = [
    *(SparseRanker(penalty=p) for p in ("l1", "elastic_net", "log", "l0.5", "mcp", "scad", "ridge")),
    SparseRanker(k=2, n_alphas=20),
    SparseRanker(pair_weights="query"),
    SparseRankerCV(n_alphas=8, cv=2),
    SparseRankerCV(penalty="mcp", n_alphas=8, cv=2),
    RankSVM(),
]


@pytest.mark.slow_but("RankSVM")
@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")  # the checks pass no qid
@parametrize_with_checks(ESTIMATORS)
def test_estimator_check_passes(estimator: Any, check: Any) -> None:
    check(estimator)
