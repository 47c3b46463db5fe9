"""XGBoost itself, asked for the metrics of scores that it is given, says what our convention says; it loads steps."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost
from tests.metrics.test_metrics import random_lists, values_of

from sparserank import SparseRanker, evaluate
from sparserank.data.dataset import RankingDataset
from sparserank.datasets import make_curved_ranking


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


def test_xgboost_loads_steps_as_trees(tmp_path) -> None:
    data = make_curved_ranking(60, random_state=2).data
    model = SparseRanker(penalty="steps", k=4).fit_dataset(data).to_model()
    file = tmp_path / "model.json"
    file.write_text(model.export("xgboost", offset=1.0)["model.json"])
    wild = np.random.default_rng(0).normal(0, 3, (1000, data.n_features)).astype(np.float32)
    at = 0
    for j, steps in {
        f.index: f.steps for f in model.features
    }.items():  # the numbers of single precision around each edge
        near = steps.edges.astype(np.float32)
        for to in (-np.inf, np.inf):
            wild[at : at + len(near), j] = np.nextafter(near, np.float32(to))
            at += len(near)
    expected = model.predict(wild.astype(np.float64)) + 1.0
    booster, ranker = xgboost.Booster(), xgboost.XGBRanker()
    booster.load_model(file)
    ranker.load_model(file)
    names = booster.feature_names
    assert names == list(model.feature_names)
    for found in (booster.predict(xgboost.DMatrix(wild, feature_names=names)), ranker.predict(wild)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.ptp(expected))  # single precision
