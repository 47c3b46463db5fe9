"""RankRLS: pairwise squared loss and ridge, in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.metrics import Metric
from sparserank.papers.rls import leave_query_out
from sparserank.papers.rls.leave_query_out import strengths
from sparserank.rankers.base import LinearRanker, TrainingSet


@dataclass(kw_only=True, eq=False, repr=False)
class RankRLS(LinearRanker):
    """Linear RankRLS with exact leave-query-out residuals.

    Minimises sum over queries of 1 / (2 l) sum_ij (y_i - y_j - w.(x_i - x_j))^2 + lam ||w||^2. Every ordered pair of a
    query with l documents counts, including tied pairs. Features are not scaled.

    Parameters
    ----------
    lam : float or sequence of float, default 1.0
        Strength > 0 on the papers' scale (a sum over queries), or several. Of these, the one with the smallest
        leave-query-out error is used (on ties, the smaller one).
    metric : str, default 'ndcg@10'
        Metric that `score` computes.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    lam_ : float
        The strength.
    lams_ : ndarray of shape (n_lams,)
        All strengths.
    coefs_ : ndarray of shape (n_lams, n_features)
        Weights for each strength.
    leave_query_out_errors_ : ndarray of shape (n_lams,)
        Sums of squared held-out residuals.
    held_out_scores_ : ndarray of shape (n_docs,)
        In row order: each document scored by the model fitted without its query.

    Raises
    ------
    DataError
        No preferred pair, no feature that varies within the queries, lam <= 0 or too small for the scale of the data,
        or values whose squares leave the range of floating-point numbers.

    References
    ----------
    Pahikkala et al. (2010), equations (3)-(6), Theorem 3.1.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> sr.papers.RankRLS(lam=[0.1, 1.0]).fit(data.X, data.relevance, qid=data.qid).coefs_.shape
    (2, 6)
    """

    lam: Any = 1.0
    metric: str | Metric = "ndcg@10"

    def _check_parameters(self) -> None:
        strengths(self._name, self.lam)

    def _learn(self, training: TrainingSet) -> None:
        lams = np.sort(strengths(self._name, self.lam))
        result = leave_query_out(training.data, lams, query_weight=training.query_weight)
        best = int(np.argmin(result.errors))
        self.lams_ = result.lams
        self.coefs_ = result.coefs
        self.leave_query_out_errors_ = result.errors
        self.lam_ = float(result.lams[best])
        self.coef_ = result.coefs[best]
        self.held_out_scores_ = training.data.to_input_order(result.held_out_scores[best])
