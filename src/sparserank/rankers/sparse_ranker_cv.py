"""SparseRankerCV: the strength by validation, in one call, with the whole curve."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.errors import DataError, DataWarning
from sparserank.evaluation import per_query_values
from sparserank.losses import LOSSES
from sparserank.metrics import Metric, parse_metric
from sparserank.objective import PairwiseObjective
from sparserank.path import fit_path_on
from sparserank.penalties import Penalty, parse_penalty
from sparserank.rankers.base import LinearRanker, _query_ids
from sparserank.selection.choice import Candidate, best_candidate, best_within, smallest_non_inferior
from sparserank.statistics import mean_interval

RULES = ("non_inferior", "best")


class SparseRankerCV(LinearRanker):
    """Linear ranker whose strength is chosen by query-wise cross-validation, or on a given validation set.

    Parameters
        penalty               as in SparseRanker
        metric                metric to choose by, higher is better
        rule                  'non_inferior' (the smallest model whose one-sided upper bound on the mean paired loss against the
                              best is at most `margin` times the best) or 'best'
        margin, confidence    of that rule
        n_features_to_select  the best model of at most this many features instead
        cv, seed              query folds, used when fit gets no eval_set
        n_alphas, alpha_min_ratio, pair_weights, tol, max_iter, n_threads   of the paths
    Attributes
        coef_, support_, alpha_, n_iter_, best_index_ (highest mean), chosen_index_;
        path_ (PathResult on all training rows); values_ (n_alphas, n_queries) metric on queries unseen by the model;
        curve_: list of dicts with alpha, n_features, mean, low, high, one per alpha
    Raises
        DataError             as SparseRanker; fewer than two queries without an eval_set
    Notes
        A single query cannot be validated: without an eval_set it is then scored on itself, with a warning
        if its qid was given.
    """

    def __init__(
        self,
        penalty: str | Penalty = "l1",
        metric: str = "ndcg@10",
        rule: str = "non_inferior",
        margin: float = 0.01,
        confidence: float = 0.95,
        n_features_to_select: int | None = None,
        cv: int = 5,
        seed: int = 0,
        n_alphas: int = 50,
        alpha_min_ratio: float = 3e-3,
        pair_weights: str = "pair",
        tol: float = 1e-6,
        max_iter: int = 300,
        n_threads: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.metric = metric
        self.rule = rule
        self.margin = margin
        self.confidence = confidence
        self.n_features_to_select = n_features_to_select
        self.cv = cv
        self.seed = seed
        self.n_alphas = n_alphas
        self.alpha_min_ratio = alpha_min_ratio
        self.pair_weights = pair_weights
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        query_weight: Any = None,
    ) -> Self:
        """Fit; `eval_set` is (X, y) or [(X, y)] with `eval_qid` or `eval_group` (one array or a list of one)."""
        penalty = parse_penalty(self.penalty)
        metric = parse_metric(self.metric)
        if not metric.higher_is_better:
            raise DataError(f"SparseRankerCV: metric must be one where higher is better; got {self.metric!r}.")
        if not (0 <= self.margin < 1 and 0 < self.confidence < 1):
            raise DataError(
                f"SparseRankerCV: margin and confidence must lie in [0, 1); got {self.margin}, {self.confidence}."
            )
        if penalty.smooth_at_zero and self.rule != "best":
            raise DataError(f"{penalty.name} selects no features; use rule='best', or a sparse penalty.")
        if self.rule not in RULES:
            raise DataError(f"SparseRankerCV: rule must be one of {', '.join(RULES)}; got {self.rule!r}.")
        data = self._fit_dataset(X, y, qid, group)
        weight = self._weight_per_query(data, query_weight)
        self.path_ = self._path(data, penalty, weight)
        if eval_set is not None:
            unseen = self._evaluation_data(eval_set, eval_qid, eval_group)
            self.values_ = _score_points(self.path_.coefs, unseen, metric)
        elif data.n_queries == 1:
            if qid is not None or group is not None:
                warnings.warn(
                    "one query cannot be validated: it is scored on itself; pass eval_set.", DataWarning, stacklevel=2
                )
            self.values_ = _score_points(self.path_.coefs, data, metric)
        else:
            self.values_ = self._out_of_fold(data, penalty, metric, weight)
        self._choose(penalty)
        self.coef_ = self.path_.coefs[self.chosen_index_].astype(data.X.dtype, copy=False)
        self.alpha_ = float(self.path_.alphas[self.chosen_index_])
        self.n_iter_ = int(self.path_.n_iters.max(initial=1))
        return self

    def _path(self, data: RankingDataset, penalty: Penalty, weight: np.ndarray | None) -> Any:
        objective = PairwiseObjective(
            data.X, data.relevance, data.query_ptr,
            loss=LOSSES["squared_hinge"](), query_weight=weight, pair_weights=self.pair_weights, n_threads=self.n_threads,
        )  # fmt: skip
        return fit_path_on(
            objective,
            penalty,
            n_alphas=self.n_alphas,
            alpha_min_ratio=self.alpha_min_ratio,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _out_of_fold(
        self, data: RankingDataset, penalty: Penalty, metric: Metric, weight: np.ndarray | None
    ) -> np.ndarray:
        """Points matched by their fraction of the path's start; folds are query weights of 0, not copies."""
        folds = query_folds(data.n_queries, min(self.cv, data.n_queries), self.seed)
        values = np.empty((len(self.path_.alphas), data.n_queries))
        for f in range(int(folds.max()) + 1):
            fold_weight = (folds != f).astype(float) * (1.0 if weight is None else weight)
            path = self._path(data, penalty, fold_weight)
            held_out = np.flatnonzero(folds == f)
            values[:, held_out] = _score_points(path.coefs, data.take_queries(held_out), metric)
        return values

    def _evaluation_data(self, eval_set: Any, eval_qid: Any, eval_group: Any) -> RankingDataset:
        if isinstance(eval_set, list):
            if len(eval_set) != 1:
                raise DataError(f"SparseRankerCV takes one evaluation set; got {len(eval_set)}.")
            eval_set = eval_set[0]
            eval_qid = eval_qid[0] if isinstance(eval_qid, list) and len(eval_qid) == 1 else eval_qid
            eval_group = eval_group[0] if isinstance(eval_group, list) and len(eval_group) == 1 else eval_group
        X, y = eval_set
        data = RankingDataset(X, y, _query_ids(eval_qid, eval_group, len(y)))
        if data.n_features != self.n_features_in_:
            raise DataError(f"eval_set has {data.n_features} features; training data have {self.n_features_in_}.")
        return data

    def _choose(self, penalty: Penalty) -> None:
        nnz = self.path_.nnz
        candidates = [Candidate(penalty.label, i, int(nnz[i]), float(nnz[i]), self.values_[i]) for i in range(len(nnz))]
        best = best_candidate(candidates)
        self.best_index_ = best.index
        chosen = best
        if self.n_features_to_select is not None:
            chosen = best_within(candidates, self.n_features_to_select, None)
        elif self.rule == "non_inferior":
            verdict = smallest_non_inferior(candidates, best, self.margin * abs(best.mean), self.confidence)
            chosen = best if verdict is None else verdict.candidate
        self.chosen_index_ = chosen.index
        self.curve_ = []
        for c in candidates:
            mean, low, high = mean_interval(c.values, self.confidence)
            alpha = float(self.path_.alphas[c.index])
            self.curve_.append({"alpha": alpha, "n_features": c.n_features, "mean": mean, "low": low, "high": high})


def _score_points(coefs: np.ndarray, data: RankingDataset, metric: Metric) -> np.ndarray:
    """(n_alphas, n_queries) metric of every point of a path."""
    scores = np.asarray(data.X @ coefs.T, dtype=np.float64)
    return np.array([per_query_values(scores[:, i], data, [metric])[0] for i in range(len(coefs))])
