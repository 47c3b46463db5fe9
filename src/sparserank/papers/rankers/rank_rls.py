"""RankRLS: pairwise squared loss and ridge, in closed form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparserank.papers.rls import leave_query_out
from sparserank.papers.rls.leave_query_out import strengths
from sparserank.rankers.base import LinearRanker
from sparserank.rankers.training import TrainingSet


class RankRLS(LinearRanker):
    """Linear RankRLS with exact leave-query-out residuals.

    Minimises sum over queries of 1 / (2 l) sum_ij (y_i - y_j - w.(x_i - x_j))^2 + lam ||w||^2: every ordered pair of a
    query of l documents counts, tied ones too. No scaling happens inside.

    Parameters
        lam     strength > 0 on the papers' scale (a sum over queries), or a sequence of strengths: the one with the
                smallest leave-query-out error is taken, the smaller of equals
        metric  metric of `score`
    Attributes
        coef_ (n_features,), lam_, lams_ (n_lams,), coefs_ (n_lams, n_features), leave_query_out_errors_ (n_lams,) sums
        of squared hold-out residuals, held_out_scores_ (n_docs,) in row order: each document scored by the model that
        was fitted without its query
    Raises
        DataError   no preferred pair, no feature that varies within the queries, lam <= 0 or too small for the scale of
                    the data, values whose squares leave the range of numbers
    Source
        Pahikkala et al. (2010), equations (3)-(6), Theorem 3.1.
    """

    def __init__(self, *, lam: float | Sequence[float] = 1.0, metric: str = "ndcg@10") -> None:
        self.lam = lam
        self.metric = metric

    def _check_parameters(self) -> None:
        strengths(type(self).__name__, self.lam)

    def _learn(self, given: TrainingSet) -> None:
        data, query_weight = given.data, given.query_weight
        lams = np.sort(strengths(type(self).__name__, self.lam))
        result = leave_query_out(data, lams, query_weight=query_weight)
        best = int(np.argmin(result.errors))
        self.lams_, self.coefs_, self.leave_query_out_errors_ = result.lams, result.coefs, result.errors
        self.lam_ = float(result.lams[best])
        self.coef_ = result.coefs[best]
        self.held_out_scores_ = data.to_input_order(result.held_out_scores[best])
