"""SparseRankerCV: the strength by validation, in one call, with the whole curve."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Rule, choose
from sparserank.crossval.engine import CrossValidation
from sparserank.crossval.families import Trial
from sparserank.crossval.feature_transforms import RAW
from sparserank.crossval.folded_paths import FINAL
from sparserank.crossval.settings import PathSettings
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError, DataWarning
from sparserank.evaluation.statistics import mean_interval
from sparserank.options import Option
from sparserank.paths import BestK, PenaltyPath
from sparserank.rankers.base import LinearRanker
from sparserank.rankers.checks import (
    checked_loss,
    checked_metric,
    checked_penalty,
    numbered_penalty,
    require_variation,
    usable_penalty,
)
from sparserank.rankers.options import SPARSE_RANKER_CV
from sparserank.rankers.parameters import SparseRankerCVParameters
from sparserank.rankers.penalty_parameters import PenaltyParameters
from sparserank.rankers.query_splits import check_splits, split_queries
from sparserank.rankers.training import TrainingSet
from sparserank.selection import options as of_selection

PATH = "path"
NO_FOLD = -2  # of queries that do not count, and of all with an eval_set


class SparseRankerCV(SparseRankerCVParameters, PenaltyParameters, LinearRanker):
    """Linear ranker whose strength is chosen by query-wise cross-validation, or on a given validation set.

    Parameters
        penalty               as in SparseRanker, but always named
        metric                metric to choose by, higher is better
        rule                  'smallest' (the smallest model whose estimated loss against the best of all sizes is at
                              most `margin` times the best) or 'best'
        margin, guarantee     of that rule; guarantee: the bound on the loss is to be at most this, not its estimate
        confidence            of bounds and intervals, > 0.5 and <= 0.99
        k                     the best model of at most this many features instead
        cv, random_state      query folds, used when fit gets no eval_set: their number, a splitter of scikit-learn
                              (which splits the queries), or a list of pairs (train rows, test rows), whole queries each
        scaling               as in SparseRanker; in every fold learned on its training queries
        missing               as in SparseRanker; learned on all rows of fit, without labels
        n_alphas, alpha_min_ratio, pair_weights, tol, max_iter, n_threads, loss   of the paths, as in `fit_path`
    Attributes
        coef_, scaled_coef_, scale_, support_, alpha_ (as in SparseRanker), n_iter_, best_index_ (highest mean),
        chosen_index_; (of points of path_, PathResult on all training rows); bound_ on the mean loss of the chosen
        model against the best, resolution_ (the smallest such bound of any size); values_ (n_sizes, n_queries) metric
        on queries unseen by the model, NaN for queries of weight 0, which do not count; curve_: list of dicts with
        alpha, n_features, mean, low, high, bound, one per size of the path (per alpha for ridge)
    Raises
        DataError             as SparseRanker; fewer than two queries without an eval_set
    Notes
        A single query cannot be validated: without an eval_set it is then scored on itself, with a warning
        if its qid was given.
    """

    _options: Sequence[Option] = SPARSE_RANKER_CV
    _takes_doc_weight = _takes_client = True

    def _learn(self, given: TrainingSet) -> None:
        data, weight = given.data, given.query_weight
        metric = checked_metric(type(self).__name__, "metric", self.metric)
        counted = np.arange(data.n_queries) if weight is None else np.flatnonzero(weight)
        if len(counted) == 0:
            raise DataError(f"{type(self).__name__}: every query has weight 0; nothing is left to learn from.")
        if len(given.evaluation) > 1:
            raise DataError(f"{type(self).__name__} takes one evaluation set; got {len(given.evaluation)}.")
        unseen: RankingDataset | None = given.evaluation[0] if given.evaluation else None
        if unseen is None and len(counted) == 1:
            if not given.one_list:
                warnings.warn(
                    "one query cannot be validated: it is scored on itself; pass eval_set.", DataWarning, stacklevel=4
                )
            unseen = data
        of_query = np.full(data.n_queries, NO_FOLD)
        if unseen is None:
            of_query[counted] = split_queries(type(self).__name__, self.cv, data, counted, self.random_state)
        name, names = type(self).__name__, data.feature_names or ()
        settings = PathSettings(
            self.scaling,
            self.n_alphas,
            float(self.alpha_min_ratio),
            float(self.tol),
            self.pair_weights,
            checked_loss(name, self.loss),
        )
        cv = CrossValidation(
            data,
            of_query,
            [RAW],
            settings,
            [metric],
            valid=unseen,
            query_weight=weight,
            max_iter=self.max_iter,
            n_threads=self.n_threads,
            client=given.client,
        )
        require_variation(name, cv.objective)
        penalty = usable_penalty(name, numbered_penalty(name, self.penalty, names), cv.objective)
        candidate_set = cv.fit([Trial(PATH, PenaltyPath(penalty))])
        final = candidate_set.paths[PATH, FINAL]
        self.path_ = replace(final.path, scale=None if self.scaling == "none" else final.scaling.scale)
        if unseen is data:  # queries that do not count judge nothing
            assert final.values is not None
            known = np.where(np.isin(np.arange(data.n_queries), counted), final.values, np.nan)
            candidate_set.paths[PATH, FINAL] = replace(final, values=known)
        self._choose(candidate_set)
        self.scaled_coef_, self.scale_ = self.path_.scaled_coef(self.chosen_index_), self.path_.scale
        self.coef_ = self.scaled_coef_ if self.scale_ is None else self.scaled_coef_ / self.scale_
        self.alpha_ = float(self.path_.alphas[self.chosen_index_])
        self.n_iter_ = int(self.path_.n_iters.max(initial=1))

    def _check_parameters(self) -> None:
        name = type(self).__name__
        penalty = checked_penalty(name, self.penalty)
        if isinstance(penalty, BestK):
            raise DataError(f"{name}: {penalty.name} goes through sizes; `select` takes it (penalties='best_k').")
        check_splits(name, self.cv)
        instead = "k" if self.k is not None else "rule='best'"
        if self.guarantee is not None and (self.k is not None or self.rule == "best"):
            raise DataError(f"{name}: guarantee cannot be combined with {instead}.")
        if self.guarantee is not None and self.margin != of_selection.MARGIN.default:
            raise DataError(f"{name}: guarantee cannot be combined with margin.")
        if penalty.smooth_at_zero and self.rule != "best":
            raise DataError(
                f"{name}: penalty {penalty.name} selects no features; use rule='best', or a sparse penalty."
            )

    def _choose(self, candidate_set: CandidateSet) -> None:
        candidates = candidate_set.sparse or candidate_set.dense
        within = self.k
        rule = Rule(self.margin, self.guarantee, within)
        choice = choose(candidates, rule=rule, confidence=self.confidence, seed=self.random_state)
        best = choice.best
        chosen = choice.chosen if within is not None or self.rule == "smallest" else best
        self.best_index_, self.chosen_index_ = best.index, chosen.index
        self.bound_, self.resolution_ = choice.bound(chosen), choice.bounds.resolution
        self.values_ = np.array([c.values for c in choice.candidates])
        self.curve_ = []
        for c in choice.candidates:
            mean, low, high = map(float, mean_interval(c.values, self.confidence))
            alpha = float(self.path_.alphas[c.index])
            self.curve_.append(
                {
                    "alpha": alpha,
                    "n_features": c.n_features,
                    "mean": mean,
                    "low": low,
                    "high": high,
                    "bound": choice.bound(c),
                }
            )
