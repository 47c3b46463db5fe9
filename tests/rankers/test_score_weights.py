"""sample_weight of score: the weight of a query, given with each of its rows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparserank as sr
from sparserank.errors import DataError
from sparserank.metrics.ndcg import Ndcg
from sparserank.metrics.ranking import RankedLists

RNG = np.random.default_rng(0)
QID = RNG.permutation(np.repeat(np.arange(12), 6))  # rows of a query do not stand together
X = RNG.normal(size=(72, 3))
Y = np.digitize(X[:, 0] + RNG.normal(size=72), [0.0, 1.0])
RANKER = sr.SparseRanker().fit(X, Y, qid=QID)
WEIGHT = np.array([0, 1, 2, 3, 0, 1, 1, 5, 2, 1, 1, 2])  # of queries


def test_a_whole_weight_is_that_many_copies_of_the_query_and_0_is_none() -> None:
    rows = [np.flatnonzero(q == QID) for q in range(12)]
    copies = [(r, 100 * q + k) for q, r in enumerate(rows) for k in range(WEIGHT[q])]
    at = np.concatenate([r for r, _ in copies])
    ids = np.concatenate([np.full(len(r), name) for r, name in copies])
    expected = RANKER.score(X[at], Y[at], qid=ids)
    assert RANKER.score(X, Y, WEIGHT[QID], qid=QID) == pytest.approx(expected, rel=1e-12)
    assert RANKER.score(X, Y, sample_weight=pd.Series(WEIGHT[QID] * 0.25), qid=QID) == pytest.approx(
        expected, rel=1e-12
    )
    assert abs(RANKER.score(X, Y, qid=QID) - expected) > 1e-3  # what it was before
    frame = pd.DataFrame(X).rename(columns=str).assign(qid=QID)
    by_name = sr.SparseRanker().fit(frame, Y)
    assert by_name.score(frame, Y, WEIGHT[QID]) == pytest.approx(expected, rel=1e-9)


def test_equal_weights_and_none_change_nothing() -> None:
    plain = RANKER.score(X, Y, qid=QID)
    assert RANKER.score(X, Y, None, qid=QID) == plain
    for weight in (1.0, 7.5, 1e-300, 1e300):
        assert RANKER.score(X, Y, np.full(72, weight), qid=QID) == pytest.approx(plain, rel=1e-12)
    one = sr.SparseRanker().fit(X, Y)
    assert one.score(X, Y, np.ones(72)) == pytest.approx(one.score(X, Y), rel=1e-12)


class NdcgOfSome(Ndcg):
    """A metric of the user's own: queries without relevant documents have no value."""

    def compute(self, lists: RankedLists) -> np.ndarray:
        return np.where(lists.sum_per_query(lists.relevance) > 0, super().compute(lists), np.nan)


def test_queries_without_a_value_are_left_out() -> None:
    skipping = NdcgOfSome(10)
    for metric in ("ndcg@10", skipping):
        ranker = sr.SparseRanker(metric=metric).fit(X, Y, qid=QID)
        y = np.where(QID == 3, 0, Y)
        (values,) = sr.evaluate(ranker.predict(X), y, [metric], qid=QID).per_query.values()
        assert np.isnan(values).any() == (metric is skipping)
        order = list(dict.fromkeys(QID.tolist()))  # of first appearance
        known = [(v, WEIGHT[q]) for q, v in zip(order, values, strict=True) if not math.isnan(v)]
        expected = sum(v * w for v, w in known) / sum(w for _, w in known)
        assert ranker.score(X, y, WEIGHT[QID], qid=QID) == pytest.approx(expected, rel=1e-12)


def test_weights_that_cannot_be_of_queries_are_refused() -> None:
    weight = WEIGHT[QID].astype(float)
    row = int(np.flatnonzero(QID == 7)[3])
    weight[row] = 4.0
    expected = (
        r"SparseRanker\.score: sample_weight is the weight of the query, so it must be the same for all rows of a "
        rf"query; the first row of query 7 has 5, row {row} has 4"
    )
    with pytest.raises(DataError, match=expected):
        RANKER.score(X, Y, weight, qid=QID)
    with pytest.raises(DataError, match="must be the same for all rows"):
        sr.SparseRanker().fit(X, Y).score(X, Y, WEIGHT[QID])  # one query
    for bad in (np.ones(71), -np.ones(72), np.full(72, np.nan), np.full(72, np.inf), ["a"] * 72, 1.0, np.ones((72, 1))):
        with pytest.raises(DataError, match="sample_weight must contain one finite weight >= 0 per row"):
            RANKER.score(X, Y, bad, qid=QID)
    with pytest.raises(DataError, match="sample_weight must be positive"):
        RANKER.score(X, Y, np.zeros(72), qid=QID)


def test_a_pipeline_passes_weights_on() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = sr.SparseRanker().set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler(), ranker).fit(X, Y, qid=QID)
        found = pipeline.score(X, Y, sample_weight=WEIGHT[QID], qid=QID)
        alone = pipeline[-1].score(pipeline[0].transform(X), Y, WEIGHT[QID], qid=QID)
    assert found == alone != pipeline[-1].score(pipeline[0].transform(X), Y, qid=QID)
