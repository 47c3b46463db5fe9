"""FSMRank: importance and similarity of features in the ranking objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import ConvergenceWarning, DataError, ParameterError, warn_caller
from sparserank.metrics import Metric
from sparserank.number_checks import as_floats, usable_weights
from sparserank.options import Choice, Count, Flag, Number
from sparserank.papers.measures import (
    CORRELATIONS,
    SIMILARITIES,
    feature_importance,
    feature_similarity,
    nearest_positive_semidefinite,
)
from sparserank.papers.solvers.fsm import FsmProblem, Nesterov, accelerated_gradient
from sparserank.rankers.base import ThreadedRanker, TrainingSet
from sparserank.rankers.inputs import checked_metric
from sparserank.solvers.solution import Status

FORMS = ("split", "quadratic")


@dataclass(kw_only=True, eq=False, repr=False)
class FSMRank(ThreadedRanker):
    """Minimise (lambda1/2) |w|^T A |w| + lambda2 sum_j |w_j| / importance_j + mean squared hinge over preferred pairs.

    Parameters
    ----------
    lambda1 : float, default 0.1
        Strength >= 0 against large weights on similar features.
    lambda2 : float, default 0.01
        Strength >= 0 of the importance-weighted l1 norm.
    importance : str or array_like of shape (n_features,), default 'pearson'
        'pearson', 'spearman', 'kendall', a metric such as 'map' or 'ndcg@10', 'ones', or values >= 0. A feature of
        importance 0 (a constant one) is never used.
    similarity : str or array_like of shape (n_features, n_features), default 'pearson'
        'pearson', 'spearman', 'kendall', 'concordance', 'identity', or a symmetric array with entries >= 0.
    form : {'split', 'quadratic'}, default 'split'
        'split': equation (2), with 2d nonnegative coordinates and the quadratic |w|^T A |w|. 'quadratic': w^T A w of
        equation (1), a different problem that needs a positive semidefinite A.
    positive_semidefinite : bool, default False
        Clip the negative eigenvalues of A (|Pearson| has some), which makes the problem convex.
    max_iter : int, default 400
        Maximum number of iterations.
    tol : float, default 1e-4
        Stop when the relative change of the objective is at most this value.
    metric : str or Metric, default 'ndcg@10'
        Metric that `score` computes.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    objective_, kkt_violation_ : float
        Values at the final point.
    importance_, similarity_ : ndarray
        The measures used.
    n_iter_, status_ : int, str
        Number of iterations; 'not certified' (the published rule ended it) or 'iteration limit'.
    history_ : dict of ndarray
        objective (n_iter + 1,) and lipschitz (n_iter,).

    Raises
    ------
    DataError
        There is no preferred pair, or a parameter is out of range.

    Notes
    -----
    The paper does not state the settings of its ablations (Table III). They are lambda1=0 with importance='ones', and
    lambda2=0 with similarity='identity'. Features should lie in [0, 1]; otherwise, L may exceed the bound of Theorem 1.
    Features that vary only between queries are never used: they change no ranking, but they would change w^T A w.
    The measures use only the queries with positive query_weight, and give them equal weights.

    References
    ----------
    Lai et al. (2013), equation (2), Algorithm 1; departures in docs/theory.md.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> sr.papers.FSMRank().fit(data.X, data.relevance, qid=data.qid).coef_.shape
    (6,)
    """

    _kinds: ClassVar = {
        "lambda1": Number(least=0),
        "lambda2": Number(least=0),
        "form": Choice(FORMS),
        "positive_semidefinite": Flag(),
        "max_iter": Count(),
        "tol": Number(least=0),
    }

    lambda1: float = 0.1
    lambda2: float = 0.01
    importance: str | np.ndarray = "pearson"
    similarity: str | np.ndarray = "pearson"
    form: str = "split"
    positive_semidefinite: bool = False
    max_iter: int = 400
    tol: float = 1e-4
    metric: str | Metric = "ndcg@10"
    n_threads: int | None = None

    def _check_parameters(self) -> None:
        if isinstance(self.importance, str) and self.importance not in ("ones", *CORRELATIONS):
            checked_metric(self._name, "importance", self.importance)
        if isinstance(self.similarity, str) and self.similarity not in SIMILARITIES:
            raise ParameterError("similarity", Choice(SIMILARITIES).problem(self.similarity), owner=self._name)

    def _learn(self, training: TrainingSet) -> None:
        objective = self._objective(training)
        measured = training.used
        self.importance_ = self._importance(measured)
        if not (objective.varying & (self.importance_ > 0)).any():
            raise DataError(
                f"{self._name}: importance is 0 for every feature that varies within the queries, so none may be used."
            )
        self.similarity_ = self._similarity(measured)
        if self.form == "quadratic" and self.lambda1 > 0:
            smallest = float(np.linalg.eigvalsh(self.similarity_)[0])
            if smallest < -1e-10:
                raise DataError(
                    f"{self._name}: w^T A w has the negative eigenvalue {smallest:.3g}, so equation (1) is not convex "
                    "and can be unbounded below; pass positive_semidefinite=True or form='split'."
                )
        problem = FsmProblem(
            objective, self.lambda1, self.lambda2, self.importance_, self.similarity_, split=self.form == "split"
        )
        steps = Nesterov(self.tol)
        result = accelerated_gradient(problem, max_iter=self.max_iter, tol=self.tol, solver=steps)
        self.coef_ = problem.weights(result.w)
        self._keep_end_of(result)
        objectives = np.array([value for _, value, _ in result.history])
        self.history_ = {"objective": objectives, "lipschitz": np.array(steps.lipschitz)}
        if result.status is Status.ITERATION_LIMIT:
            warn_caller(
                f"{self._name}: the objective still changes by a relative amount of more than {self.tol:.3g} after "
                f"{result.n_iter} iterations; raise max_iter.",
                ConvergenceWarning,
            )

    def _importance(self, data: RankingDataset) -> np.ndarray:
        if isinstance(self.importance, str):
            if self.importance == "ones":
                return np.ones(data.n_features)
            return feature_importance(data, self.importance)
        values = usable_weights(self.importance, data.n_features)
        if values is None:
            raise DataError(f"FSMRank: importance must contain {data.n_features} finite values >= 0.")
        return values

    def _similarity(self, data: RankingDataset) -> np.ndarray:
        if isinstance(self.similarity, str):
            return feature_similarity(data, self.similarity, positive_semidefinite=self.positive_semidefinite)
        d = data.n_features
        try:
            A = as_floats(self.similarity)
        except (TypeError, ValueError, OverflowError):
            A = np.empty(0)
        if A.shape != (d, d) or not np.isfinite(A).all() or (A < 0).any() or not np.allclose(A, A.T):
            raise DataError(f"FSMRank: similarity must be a symmetric ({d}, {d}) array with finite entries >= 0.")
        return nearest_positive_semidefinite(A) if self.positive_semidefinite else A
