"""FenchelRank: squared hinge over preferred pairs on an l1 ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparserank.errors import ConvergenceWarning, warn_caller
from sparserank.metrics import Metric
from sparserank.options import Choice, Count, Number
from sparserank.papers.solvers.fenchel_rank import EXACT_GOAL, STEPS, FrankWolfe, frank_wolfe, solve_ball
from sparserank.rankers.base import ThreadedRanker, TrainingSet

SOLVERS = ("frank_wolfe", "exact")


@dataclass(kw_only=True, eq=False, repr=False)
class FenchelRank(ThreadedRanker):
    """Minimise the mean squared hinge over preferred pairs subject to ||w||_1 <= radius.

    Parameters
    ----------
    radius : float, default 8.0
        Radius of the l1 ball, > 0; the paper tries 1, 2, 4, ..., 256.
    epsilon : float, default 0.001
        Stop when the duality gap is at most this value; the paper uses 1e-3.
    max_iter : int, default 1000
        Maximum number of Frank-Wolfe iterations, one feature each; the paper uses 1000.
    step : {'exact', 'closed_form'}, default 'exact'
        Line search along the segment, or the paper's alternative rule.
    solver : {'frank_wolfe', 'exact'}, default 'frank_wolfe'
        The published method, or the optimum of the same problem to 1e-9. 'exact' ignores epsilon, max_iter and step.
    metric : str or Metric, default 'ndcg@10'
        Metric that `score` computes.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    loss_, gap_ : float
        Mean loss, and an upper bound on its distance to the minimum.
    alpha_ : float
        The multiplier: coef_ also minimises loss + alpha_ ||w||_1 when the gap is 0.
    n_iter_, status_ : int, str
        Number of iterations; 'optimal' when gap_ <= epsilon (1e-6 for 'exact'), else 'iteration limit' or 'stalled'.
    history_ : dict of ndarray
        feature, sign, mu (one per iteration), gap and loss (before each iteration and at the end).

    Raises
    ------
    DataError
        There is no preferred pair, or a parameter is out of range.

    Warns
    -----
    ConvergenceWarning
        The gap is above epsilon after max_iter iterations, which is usual for radius >= 4.

    References
    ----------
    Lai et al. (2012), Algorithm 1 and equation (3), in original units; misprints are corrected, see docs/theory.md.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> ranker = sr.papers.FenchelRank(radius=1.0).fit(data.X, data.relevance, qid=data.qid)
    >>> bool(abs(ranker.coef_).sum() <= 1 + 1e-9)
    True
    """

    _takes_client = True

    _kinds: ClassVar = {
        "radius": Number(above=0),
        "epsilon": Number(least=0),
        "max_iter": Count(),
        "step": Choice(STEPS),
        "solver": Choice(SOLVERS),
    }

    radius: float = 8.0
    epsilon: float = 1e-3
    max_iter: int = 1000
    step: str = "exact"
    solver: str = "frank_wolfe"
    metric: str | Metric = "ndcg@10"
    n_threads: int | None = None

    def _learn(self, training: TrainingSet) -> None:
        objective = self._objective(training)
        steps = FrankWolfe(self.step)
        if self.solver == "exact":
            result = solve_ball(objective, self.radius)
            goal = EXACT_GOAL
            remedy = "the problem is ill-conditioned: scale the features or use a smaller radius."
        else:
            result = frank_wolfe(objective, self.radius, epsilon=self.epsilon, max_iter=self.max_iter, solver=steps)
            goal = self.epsilon
            remedy = "raise max_iter or use solver='exact'."
        self.coef_ = result.w
        self.loss_ = result.loss
        self.gap_ = result.kkt_violation
        self.alpha_ = float(np.abs(result.gradient).max())
        self.n_iter_ = max(result.n_iter, 1)
        self.status_ = result.status.value
        choices = np.array(steps.choices, dtype=float).reshape(-1, 3)
        self.history_ = {
            "feature": choices[:, 0].astype(np.int64),
            "sign": choices[:, 1],
            "mu": choices[:, 2],
            "gap": np.array([gap for _, _, gap in result.history]),
            "loss": np.array([loss for _, loss, _ in result.history]),
        }
        if not result.status.converged:
            warn_caller(
                f"{self._name}: gap {self.gap_:.3g} > {goal:.3g} after {result.n_iter} iterations; {remedy}",
                ConvergenceWarning,
            )
