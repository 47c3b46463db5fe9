"""SparseRankerCV: regularisation strength by validation, in one call, with the curve over all sizes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sparserank.crossval.candidate_set import CandidateSet
from sparserank.crossval.choice import Rule, choose
from sparserank.crossval.cross_validation import CrossValidation
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.errors import DataError, ParameterError, warn_caller
from sparserank.evaluation.statistics import mean_interval
from sparserank.losses import parse_loss
from sparserank.options import CheckedLater, Choice, Count, parse_option
from sparserank.options.arguments import Positions
from sparserank.options.selection import SEARCHED
from sparserank.paths import PathPlan, PenaltyPath, SizedMaker
from sparserank.penalties import Penalty
from sparserank.rankers.base import TrainingSet
from sparserank.rankers.inputs import checked_metric, require_variation
from sparserank.rankers.penalty_parameters import DEFAULTS, KINDS, PenalizedRanker, usable_penalty
from sparserank.text import brief

PATH = "path"
RULES = ("smallest", "best")
NO_FOLD = -2  # fold number of queries with weight 0, and of every query if there is an eval_set


EXPECTED = "a number of folds >= 2, a scikit-learn splitter, or a list of pairs (train rows, test rows)"


@dataclass(kw_only=True, eq=False, repr=False)
class SparseRankerCV(PenalizedRanker):
    """Linear ranker whose strength is chosen by cross-validation over queries, or on a validation set.

    Parameters
    ----------
    penalty : str or Penalty, default 'l1'
        As in `SparseRanker`, but not None.
    loss : str or PairwiseLoss, default 'squared_hinge'
        As in `SparseRanker`.
    k : int, optional
        Choose the best model of at most k features instead.
    scaling : str, default 'within-query-std'
        As in `SparseRanker`; learned in every fold on its training queries.
    feature_transform : str
        As in `SparseRanker`; learned on all rows of `fit`, without labels.
    monotone, keep, drop, feature_groups, costs : optional
        As in `SparseRanker`.
    missing : str, float or mapping, default 'error'
        As in `SparseRanker`; learned on all rows of `fit`, without labels.
    pair_weights : {'pair', 'query'}, default 'pair'
        Whether every pair or every query has the same weight.
    tol : float, default 1e-6
        kkt_violation at which the solver stops, relative to the alpha_max of l1.
    n_alphas : int, default 40
        Number of points of the paths.
    metric : str or Metric, default 'ndcg@10'
        Metric for choosing the model; higher values must be better.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.
    rule : {'smallest', 'best'}, default 'smallest'
        'smallest': the smallest model whose estimated loss compared with the best of all sizes is at most `margin`
        times the best. 'best': the model with the highest mean.
    margin : float, default 0.01
        Largest acceptable estimated loss under rule 'smallest', relative to the best.
    guarantee : float, optional
        Largest acceptable upper bound on the loss, instead of the estimated loss.
    confidence : float, default 0.95
        Confidence level of bounds and intervals, > 0.5 and <= 0.99.
    cv : int, splitter or list of (train rows, test rows), default 5
        Folds of queries, used when `fit` gets no eval_set. A scikit-learn splitter splits the queries; lists must
        contain whole queries.
    random_state : int, default 0
        Random seed for drawing the folds.
    alpha_min_ratio : float, default 0.01
        Smallest strength of the paths, as a fraction of the largest.
    max_iter : int, default 300
        Maximum number of solver iterations at one strength.

    Attributes
    ----------
    coef_, scaled_coef_, scale_, support_, alpha_, transform_ : ndarray
        As in `SparseRanker`.
    path_ : PathResult
        The path on all training rows.
    n_iter_, best_index_, chosen_index_ : int
        Number of iterations; index in path_ of the point with the highest mean; index of the chosen model.
    bound_, resolution_ : float
        Bound on the mean loss of the chosen model compared with the best; the smallest such bound of any size.
    values_ : ndarray of shape (n_sizes, n_queries)
        Metric on held-out queries; NaN for queries of weight 0, which are ignored.
    curve_ : list of dict
        alpha, n_features, mean, low, high and bound for each size of the path (with ridge, for each alpha).
    cv_results_ : dict of arrays
        The columns of curve_; alpha is `param_alpha` and mean is `mean_test_score`.
    alphas_, best_score_ : ndarray, float
        Strengths of the path; the highest mean.

    Raises
    ------
    DataError
        As `SparseRanker`; also raised if all queries have weight 0.

    Notes
    -----
    A single query cannot be cross-validated. Without an eval_set, the model is scored on this query itself, with a
    warning if qid was passed.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 10, n_informative=3, n_redundant=2).data
    >>> ranker = sr.SparseRankerCV(penalty="mcp", n_alphas=10).fit(data.X, data.relevance, qid=data.qid)
    >>> 1 <= len(ranker.support_) <= 10
    True
    """

    penalty: str | Penalty = "l1"
    rule: str = "smallest"
    margin: float = DEFAULTS["margin"]
    guarantee: float | None = None
    confidence: float = DEFAULTS["confidence"]
    cv: Any = DEFAULTS["cv"]
    random_state: int = DEFAULTS["random_state"]
    alpha_min_ratio: float = DEFAULTS["alpha_min_ratio"]
    max_iter: int = DEFAULTS["max_iter"]

    _kinds: ClassVar = {
        **KINDS,
        "penalty": SEARCHED,
        "rule": Choice(RULES),
        "cv": CheckedLater(),
    }
    _takes_doc_weight = _takes_client = True

    def _learn(self, training: TrainingSet) -> None:
        data = training.data
        weight = training.query_weight
        metric = checked_metric(self._name, "metric", self.metric)
        counted = np.arange(data.n_queries) if weight is None else np.flatnonzero(weight)
        if len(counted) == 0:
            raise DataError(f"{self._name}: every query has weight 0; at least one must have a positive weight.")
        if len(training.evaluation) > 1:
            raise DataError(f"{self._name} takes one evaluation set; got {len(training.evaluation)}.")
        unseen = training.evaluation[0] if training.evaluation else None
        if unseen is None and len(counted) == 1:
            if not training.one_list:
                warn_caller(
                    "a single query cannot be cross-validated, so the model is scored on its training query; "
                    "pass eval_set."
                )
            unseen = data
        of_query = np.full(data.n_queries, NO_FOLD)
        if unseen is None:
            of_query[counted] = split_queries(self._name, self.cv, data, counted, self.random_state)
        plan = PathPlan(
            self.n_alphas,
            float(self.alpha_min_ratio),
            float(self.tol),
            self.max_iter,
            scaling=self.scaling,
            pair_weights=self.pair_weights,
            loss=parse_option("loss", parse_loss, self.loss, self._name),
        )
        penalty = self._completed_penalty(data)
        transform = self._learned_transform(training, penalty)
        penalty = transform.limited(penalty)
        cv = CrossValidation(
            data,
            of_query,
            [transform],
            plan,
            [metric],
            valid=unseen,
            query_weight=weight,
            feature_groups=self._groups,
            n_threads=self.n_threads,
            client=training.client,
        )
        require_variation(self._name, cv.objective)
        maker = PenaltyPath(usable_penalty(self._name, penalty, cv.objective))
        candidate_set = cv.fit([PathTask(PATH, maker, transform)])
        final = candidate_set.paths[PATH, FINAL]
        scaling = None if self.scaling == "none" else final.scaling
        self.path_ = replace(final, scaling=scaling, values=None)
        if unseen is data:  # queries of weight 0 are not used for evaluation
            assert final.values is not None
            known = np.where(np.isin(np.arange(data.n_queries), counted), final.values, np.nan)
            paths = {**candidate_set.paths, (PATH, FINAL): replace(final, values=known)}
            candidate_set = replace(candidate_set, paths=paths)
        self._choose(candidate_set)
        self.scaled_coef_ = self.path_.scaled_coef(self.chosen_index_)
        self.scale_ = None if scaling is None else scaling.scale
        self.coef_ = self.scaled_coef_ if self.scale_ is None else self.scaled_coef_ / self.scale_
        self.alpha_ = float(self.path_.alphas[self.chosen_index_])
        self.n_iter_ = int(self.path_.n_iters.max(initial=1))

    def _check_parameters(self) -> None:
        penalty = self._checked_penalty()
        if isinstance(penalty, SizedMaker):
            name = penalty.name
            searches = f"{name} searches over the number of features; use `select` (penalties={name!r})."
            raise ParameterError("penalty", searches, owner=self._name)
        check_splits(self._name, self.cv)
        if self.guarantee is not None and (self.k is not None or self.rule == "best"):
            instead = "k" if self.k is not None else "rule='best'"
            raise ParameterError("guarantee", f"cannot be combined with {instead}.", owner=self._name)
        if self.guarantee is not None and self.margin != DEFAULTS["margin"]:
            raise ParameterError("guarantee", "cannot be combined with margin.", owner=self._name)
        if penalty.smooth_at_zero and self.rule != "best":
            selects_none = f"{penalty.name} selects no features; use rule='best', or a sparse penalty."
            raise ParameterError("penalty", selects_none, owner=self._name)

    def _choose(self, candidate_set: CandidateSet) -> None:
        candidates = candidate_set.sparse or candidate_set.dense
        rule = Rule(self.margin, self.guarantee, self.k)
        choice = choose(candidates, rule=rule, confidence=self.confidence, seed=self.random_state)
        chosen = choice.chosen if self.k is not None or self.rule == "smallest" else choice.best
        self.best_index_ = choice.best.index
        self.chosen_index_ = chosen.index
        self.bound_ = choice.bound(chosen)
        self.resolution_ = choice.bounds.resolution
        self.values_ = np.array([c.values for c in choice.candidates])
        self.curve_ = []
        for c in choice.candidates:
            mean, low, high = map(float, mean_interval(c.values, self.confidence))
            strength = {"alpha": float(self.path_.alphas[c.index]), "n_features": c.n_features}
            self.curve_.append({**strength, "mean": mean, "low": low, "high": high, "bound": choice.bound(c)})
        self.alphas_ = self.path_.alphas
        self.best_score_ = max(row["mean"] for row in self.curve_)
        names = {"alpha": "param_alpha", "mean": "mean_test_score"}
        self.cv_results_ = {names.get(n, n): np.array([row[n] for row in self.curve_]) for n in self.curve_[0]}


def check_splits(owner: str, cv: Any) -> None:
    """Raise DataError unless `cv` is one of EXPECTED; its splits are checked later."""
    if hasattr(cv, "split") and not isinstance(cv, str):
        return
    again = isinstance(cv, Iterable) and not isinstance(cv, Iterator)  # a generator could be used for only one fit
    if isinstance(cv, bool | str) or not (isinstance(cv, int | np.integer) or again):
        raise ParameterError("cv", f"must be {EXPECTED}; got {brief(cv)}.", owner=owner)
    if isinstance(cv, int | np.integer) and (problem := Count(2).problem(cv)):
        raise ParameterError("cv", problem, owner=owner)


def split_queries(owner: str, cv: Any, data: RankingDataset, counted: np.ndarray, random_state: int) -> np.ndarray:
    """(n_counted,) the fold in which each of the counted queries is held out.

    A splitter splits the queries: each query is one sample and one group. Row numbers refer to the rows of fit, and
    must form whole queries.

    Raises
        DataError   a query is never held out, held out twice or in part, or used for training while held out
    """
    n = len(counted)
    if isinstance(cv, int | np.integer):
        return query_folds(n, min(int(cv), n), random_state)
    if hasattr(cv, "split"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # some splitters warn that they ignore groups
                parts = [*cv.split(np.zeros((n, 1)), None, np.arange(n))]
        except (TypeError, ValueError) as error:
            raise DataError(f"{owner}: cv cannot split {n} queries: {brief(str(error))}.") from error
    else:
        code = data.to_input_order(np.repeat(np.arange(data.n_queries), data.sizes))
        parts = [tuple(_whole(owner, rows, code, counted) for rows in pair) for pair in _pairs(owner, cv)]
    fold = np.full(n, -1)
    for number, (train, test) in enumerate(parts):
        train, test = (_positions(owner, part, n, "query") for part in (train, test))
        if len(test) == 0 or len(train) == 0 or len(np.intersect1d(train, test)):
            raise DataError(f"{owner}: each split of cv must train on some queries and hold out others.")
        if len(train) + len(test) != n or (fold[test] >= 0).any():
            raise DataError(
                f"{owner}: cv must hold out every query once and train on all other queries; use GroupKFold or KFold."
            )
        fold[test] = number
    if (fold < 0).any():
        raise DataError(
            f"{owner}: cv must hold out every query once; {int((fold < 0).sum())} of {n} are never held out."
        )
    return fold


def _pairs(owner: str, cv: Any) -> list[tuple[Any, Any]]:
    pairs = [] if getattr(cv, "ndim", 1) == 0 else list(cv)
    if not pairs or any(not isinstance(p, tuple | list) or len(p) != 2 for p in pairs):
        raise DataError(f"{owner}: cv must be {EXPECTED}; got {brief(cv)}.")
    return [(a, b) for a, b in pairs]


def _whole(owner: str, rows: Any, code: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The positions, among the counted queries, of the queries that these rows form; raises if a query is only partly
    included."""
    rows = _positions(owner, rows, len(code), "row")
    n_rows = np.bincount(code[np.unique(rows)], minlength=int(code.max()) + 1)
    size = np.bincount(code)
    if ((n_rows > 0) & (n_rows < size)).any():
        raise DataError(
            f"{owner}: cv splits the rows of a query; pass rows of whole queries (GroupKFold with groups=qid)."
        )
    return np.flatnonzero(n_rows[counted] > 0)


def _positions(owner: str, value: Any, n: int, of: str) -> np.ndarray:
    """Positions from 0 among n things; `value` contains such positions, or one bool for each thing."""
    if problem := Positions(n, of, masks=True).problem(value):
        raise ParameterError("cv", f"A part of a split {problem}", owner=owner)
    positions = np.asarray(value)
    return np.flatnonzero(positions) if positions.dtype == bool else positions.astype(np.int64) % n
