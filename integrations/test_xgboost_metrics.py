"""XGBoost itself, asked for the metrics of scores that it is given, says what our convention says."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost
from tests.metrics.test_metrics import random_lists, values_of

from sparserank import evaluate
from sparserank.data.dataset import RankingDataset


def of_xgboost(metric: str, data: RankingDataset, q: int) -> float:
    """Of one query: scores come in as base margins of a model without trees."""
    rows = slice(data.query_ptr[q], data.query_ptr[q + 1])
    n = rows.stop - rows.start
    given = xgboost.DMatrix(np.zeros((n, 1)), label=data.relevance[rows], qid=np.zeros(n, dtype=int))
    given.set_base_margin(data.X[rows, 0])
    parameters = {
        "objective": "rank:ndcg",
        "eval_metric": metric,
        "disable_default_eval_metric": True,
        "base_score": 0.0,
    }
    said = xgboost.train(parameters, given, num_boost_round=0).eval(given)
    return float(said.split(":")[-1])


@pytest.mark.parametrize(
    "name",
    [
        "ndcg",
        "ndcg@1",
        "ndcg@3",
        "ndcg@10",
        "ndcg@3-",
        "map",
        "map@1",
        "map@3",
        "map@10",
        "map@3-",
        "pre@1",
        "pre@3",
        "pre@10",
    ],
)
def test_xgboost_says_what_its_convention_says(name: str) -> None:
    data = random_lists(4, grades=5 if name.startswith("ndcg") else 2)  # its others want grades of 0 and 1
    ours = name.replace("pre", "p")
    found = values_of(data, ours, "xgboost")
    theirs = np.array([of_xgboost(name, data, q) for q in range(data.n_queries)])
    np.testing.assert_allclose(found, theirs, rtol=0, atol=2e-6)  # it computes and prints in single precision
    mean = float(np.mean(list(evaluate(data.X[:, 0], data, ours, convention="xgboost").values())))
    assert mean == pytest.approx(theirs.mean(), abs=2e-6)
    letor = values_of(data, ours.removesuffix("-"), "letor4")
    assert np.abs(letor - theirs).max() > 0.05 or name in ("pre@1",)  # the wrong convention is rejected
