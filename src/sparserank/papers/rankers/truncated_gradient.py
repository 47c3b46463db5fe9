"""TGRank and RSRank, the papers' baselines: l1-penalised pairwise losses by truncated gradient, gradient steps with the
shrinkage of the l1 norm applied once per window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.metrics import Metric
from sparserank.options import Count, Number
from sparserank.papers.solvers.importance import ImportanceWeighted
from sparserank.penalties import L1
from sparserank.rankers.base import ThreadedRanker, TrainingSet
from sparserank.solvers.fista import tight_lipschitz
from sparserank.solvers.lockstep import Steps, run
from sparserank.solvers.loop import minimising
from sparserank.solvers.problem import Penalised, Problem
from sparserank.solvers.solution import Iterate, Status, Stop

NEVER = -1.0  # a tolerance that is never met: the published method has no stopping rule


class TruncatedGradient:
    """max_iter steps w <- w - step * gradient(w); after each `window` of them, soft thresholding by window * step *
    alpha.

    Between truncations, every coefficient moves. The sum of small gradients within a window survives unless the
    accumulated shrinkage exceeds it. The last step always ends a window. An iteration of the loop is a window.

    Raises
        DataError   the steps diverge because step is too long
    Source
        Langford, Li and Zhang (2009), 'Sparse online learning via truncated gradient', with an infinite truncation
        threshold and full gradients; used by Sun et al. (2009) and Lai et al. (2012), who print neither step nor
        window.
    """

    gives_up = Status.NOT_CERTIFIED

    def __init__(self, alpha: float, *, step: float, window: int = 10, max_iter: int = 1000) -> None:
        self.alpha = alpha
        self.length = step
        self.window = window
        self.max_iter = max_iter
        self.n_iter = 0

    def begin(self, problem: Problem, stop: Stop) -> None:
        self._problem = problem
        self.n_iter = 0

    def step(self, iterate: Iterate, violation: float) -> Steps[Iterate | None]:
        steps = min(self.window, self.max_iter - self.n_iter)
        if steps == 0:
            return None
        here = iterate
        w = iterate.w
        with np.errstate(over="ignore", invalid="ignore"):
            for t in range(steps):
                w = w - self.length * here.gradient
                if t < steps - 1:
                    here = yield from self._problem.evaluate(w)
            w = np.sign(w) * np.maximum(np.abs(w) - steps * self.length * self.alpha, 0.0)
        self.n_iter += steps
        if not np.isfinite(w).all():
            raise DataError(
                f"the gradient steps diverge: after {self.n_iter} of {self.max_iter} steps, the weights are no longer "
                "finite; use a smaller step."
            )
        return (yield from self._problem.evaluate(w))


@dataclass(kw_only=True, eq=False, repr=False)
class TGRank(ThreadedRanker):
    """Minimise the mean squared hinge over preferred pairs + alpha ||w||_1 by truncated gradient.

    Parameters
    ----------
    alpha : float, default 0.001
        Strength > 0 on the scale of the mean loss; the papers' C over the sum of pairs is 1 / (alpha n_pairs).
    window : int, default 10
        Steps between truncations; 1 is the proximal gradient method.
    max_iter : int, default 1000
        Number of steps; the paper uses 1000. There is no other stopping rule.
    step : float, default 1.0
        Length of a gradient step, as a multiple of 1 / (largest curvature of the mean loss). From 2 on, the steps may
        diverge, which raises an error.
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
    n_iter_, status_ : int, str
        Number of steps, and 'not certified' (the only stopping rule is the number of steps).

    Notes
    -----
    The papers state neither the step nor the window; the defaults are ours. The result is not a certified optimum;
    SparseRanker solves the same problem exactly.

    References
    ----------
    Lai et al. (2012), Section 8.5.1.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> sr.papers.TGRank(max_iter=50).fit(data.X, data.relevance, qid=data.qid).status_
    'not certified'
    """

    _kinds: ClassVar = {"alpha": Number(above=0), "window": Count(), "max_iter": Count(), "step": Number(above=0)}

    alpha: float = 1e-3
    window: int = 10
    max_iter: int = 1000
    step: float = 1.0
    metric: str | Metric = "ndcg@10"
    n_threads: int | None = None

    def _learn(self, training: TrainingSet) -> None:
        objective = self._objective(training)
        penalised = Penalised(objective, L1(self.alpha))
        solver = TruncatedGradient(
            self.alpha, step=self.step / tight_lipschitz(objective), window=self.window, max_iter=self.max_iter
        )
        s = run(
            minimising(
                solver, self._problem(training.data, penalised), None, Stop(tol=NEVER, max_iter=self.max_iter + 1)
            )
        )
        self.coef_ = s.w
        last = run(penalised.evaluate(s.w))
        self.objective_, self.kkt_violation_ = last.value, penalised.violation(last)
        self.n_iter_ = s.n_iter
        self.status_ = s.status.value

    def _problem(self, data: RankingDataset, penalised: Penalised) -> Problem:
        return penalised


class RSRank(TGRank):
    """Minimise the modified Huber loss, weighted by NDCG importance, + alpha ||w||_1 by truncated gradient.

    The weight of a pair is the change in NDCG (gain 2^y - 1, discount 1 / log2(1 + rank)) if its documents
    exchanged ranks in the current order; the loss is the weighted mean.

    Parameters
    ----------
    alpha : float, default 0.001
        As in `TGRank`, on the scale of the weighted mean.
    window, max_iter : int
        As in `TGRank`.
    step : float, default 1.0
        As in `TGRank`.
    metric : str or Metric, default 'ndcg@10'
        Metric that `score` computes.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.

    Notes
    -----
    The weights depend on w, so there is no fixed objective and no certificate: `objective_` is the objective of TGRank
    at the final point. query_weight multiplies the importance. Relevance must be >= 0 and at most 60 (gains are powers
    of 2).

    References
    ----------
    Sun, Qin, Tao and Wang (2009), doi:10.1145/1571941.1571987, in the form of Lai et al. (2012), equation (8.5). They
    do not state the weight function; ours is the one above.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> sr.papers.RSRank(max_iter=50).fit(data.X, data.relevance, qid=data.qid).coef_.shape
    (6,)
    """

    def _problem(self, data: RankingDataset, penalised: Penalised) -> Problem:
        if data.relevance.min() < 0 or data.relevance.max() > 60:
            raise DataError("RSRank: relevance must lie in 0..60, because gains are powers of 2.")
        return ImportanceWeighted(data, penalised)
