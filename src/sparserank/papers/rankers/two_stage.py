"""Two-stage baselines: a filter orders the features, and RankSVM is fitted on the first k."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.metrics import Metric, parse_convention
from sparserank.options import Choice, Count, Number, parse_option
from sparserank.papers.measures import (
    CORRELATIONS,
    SIMILARITIES,
    feature_importance,
    feature_similarity,
    single_feature_metric,
)
from sparserank.papers.rankers.fsm_rank import FSMRank
from sparserank.paths import refit_on_support
from sparserank.rankers.base import ThreadedRanker, TrainingSet
from sparserank.rankers.inputs import checked_metric


@dataclass(kw_only=True, eq=False, repr=False)
class TwoStageRanker(ThreadedRanker):
    """Base class: RankSVM (squared hinge + ridge) on the first k features of an order.

    The filter gives equal weights to the queries with positive query_weight; RankSVM uses the weights.

    Attributes
        coef_ (n_features,), selected_ (k,) in the filter's order, objective_, kkt_violation_, status_, n_iter_
    """

    k: int = 10
    alpha: float = 1e-3

    def _learn(self, training: TrainingSet) -> None:
        objective = self._objective(training)
        order = self.feature_order(training.used)
        order = order[objective.varying[order]]
        if len(order) == 0:
            raise DataError(f"{self._name}: the first stage keeps no feature; use smaller strengths for it.")
        self.selected_ = order[: self.k]
        solution = refit_on_support(objective, self.selected_, self.alpha)
        self.coef_ = solution.w
        self._keep_end_of(solution)

    def feature_order(self, data: RankingDataset) -> np.ndarray:
        """Features from the most to the least important."""
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class FSRank(TwoStageRanker):
    """RankSVM on the k features that rank best individually.

    Parameters
    ----------
    k : int, default 10
        Number of features.
    alpha : float, default 0.001
        Strength of the ridge on the scale of the mean loss.
    importance : str, default 'ndcg@10'
        Metric on the training set, ranked by one feature in descending order; the paper uses NDCG@10.
    convention : str, default 'default'
        Definition of that metric: 'default', 'letor3', 'letor4', ...
    metric : str or Metric, default 'ndcg@10'
        Metric that `score` computes.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.

    References
    ----------
    Lai et al. (2012), Section 8.5.2.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> len(sr.papers.FSRank(k=2).fit(data.X, data.relevance, qid=data.qid).support_)
    2
    """

    _kinds: ClassVar = {"k": Count(), "alpha": Number(above=0)}

    importance: str = "ndcg@10"
    convention: str = "default"
    metric: str | Metric = "ndcg@10"
    n_threads: int | None = None

    def _check_parameters(self) -> None:
        checked_metric(self._name, "importance", self.importance)
        parse_option("convention", parse_convention, self.convention, self._name)

    def feature_order(self, data: RankingDataset) -> np.ndarray:
        values, _ = single_feature_metric(data, self.importance, convention=self.convention, ascending=False)
        return np.argsort(-values, kind="stable")


@dataclass(kw_only=True, eq=False, repr=False)
class GasRanker(TwoStageRanker):
    """GAS-E: select important and mutually dissimilar features, then fit RankSVM.

    Parameters
    ----------
    k : int, default 10
        Number of features (the papers' t).
    alpha : float, default 0.001
        Strength of the ridge on the scale of the mean loss.
    c : float, default 0.1
        Weight >= 0 of similarity relative to importance.
    importance : str, default 'map'
        A metric (the better of ascending and descending order) or a correlation.
    similarity : str, default 'concordance'
        Fraction of concordant document pairs, or another name of `feature_similarity`.
    convention : str, default 'default'
        Definition of the metric of importance: 'default', 'letor3', 'letor4', ...
    metric : str or Metric, default 'ndcg@10'
        Metric that `score` computes.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.

    References
    ----------
    Geng, Liu, Qin and Li (2007), doi:10.1145/1277741.1277811, with RankSVM as in Lai et al. (2013), Section IV-D.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> len(sr.papers.GasRanker(k=2).fit(data.X, data.relevance, qid=data.qid).support_)
    2
    """

    _kinds: ClassVar = {
        "k": Count(),
        "alpha": Number(above=0),
        "c": Number(least=0),
        "similarity": Choice(SIMILARITIES),
    }

    c: float = 0.1
    importance: str = "map"
    similarity: str = "concordance"
    convention: str = "default"
    metric: str | Metric = "ndcg@10"
    n_threads: int | None = None

    def _check_parameters(self) -> None:
        if not isinstance(self.importance, str) or self.importance not in CORRELATIONS:
            checked_metric(self._name, "importance", self.importance)
        parse_option("convention", parse_convention, self.convention, self._name)

    def feature_order(self, data: RankingDataset) -> np.ndarray:
        importance = feature_importance(data, self.importance, convention=self.convention)
        k = min(self.k, data.n_features)
        varying = np.flatnonzero(~data.constant_features())
        similarity = feature_similarity(data, self.similarity)[np.ix_(varying, varying)]
        if len(varying) == 0:
            return varying
        return varying[gas_order(importance[varying], similarity, self.c, min(k, len(varying)))]


@dataclass(kw_only=True, eq=False, repr=False)
class FSMSVM(TwoStageRanker):
    """RankSVM on the k features with the largest weights of FSMRank.

    Parameters
    ----------
    k : int, default 10
        Number of features (the papers' t); fewer if FSMRank keeps fewer.
    alpha : float, default 0.001
        Strength of the ridge on the scale of the mean loss.
    lambda1, lambda2 : float
        Strengths of FSMRank.
    metric : str or Metric, default 'ndcg@10'
        Metric that `score` computes.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.

    References
    ----------
    Lai et al. (2013), Section IV-D.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> len(sr.papers.FSMSVM(k=2).fit(data.X, data.relevance, qid=data.qid).support_)
    2
    """

    _kinds: ClassVar = {"k": Count(), "alpha": Number(above=0), "lambda1": Number(least=0), "lambda2": Number(least=0)}

    lambda1: float = 0.1
    lambda2: float = 0.01
    metric: str | Metric = "ndcg@10"
    n_threads: int | None = None

    def feature_order(self, data: RankingDataset) -> np.ndarray:
        ranker = FSMRank(lambda1=self.lambda1, lambda2=self.lambda2, n_threads=self.n_threads)
        coef = ranker.fit(data.X, data.relevance, qid=data.qid).coef_
        return np.argsort(-np.abs(coef), kind="stable")[: np.count_nonzero(coef)]


def gas_order(importance: np.ndarray, similarity: np.ndarray, c: float, k: int) -> np.ndarray:
    """(k,) features in the order of the greedy search algorithm GAS.

    k times: take the feature of largest importance, then lower every other one's importance by 2 c times its similarity
    to it.

    Parameters
        importance (d,), similarity (d, d), c >= 0 (0: importance alone), 1 <= k <= d
    Source
        Geng, Liu, Qin and Li (2007), doi:10.1145/1277741.1277811, Algorithm 1. Ties are broken in favour of the smaller
        index.
    """
    importance = np.asarray(importance, dtype=np.float64).copy()
    if not 1 <= k <= len(importance):
        raise DataError(f"GAS selects between 1 and {len(importance)} features; got {k}.")
    if not c >= 0:
        raise DataError(f"GAS: c must be >= 0; got {c}.")
    order = []
    for _ in range(k):
        j = int(np.argmax(importance))
        order.append(j)
        importance -= 2.0 * c * similarity[j]
        importance[order] = -np.inf
    return np.array(order)
