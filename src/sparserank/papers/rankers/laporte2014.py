"""RankSVM with the sparse penalties and published settings of Laporte et al. (2014), and its solver."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sparserank.errors import ConvergenceWarning, DataError, warn_caller
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.options import Choice, Flag, Number
from sparserank.options.kinds import COUNT_OR_NONE
from sparserank.penalties import L1, MCP, Log, Lp, Penalty
from sparserank.rankers.base import ThreadedRanker, TrainingSet
from sparserank.solvers import Fista, ProxNewton, Reweighted, Solution, Stop, solve
from sparserank.solvers.loop import Solver

PENALTIES: dict[str, Penalty] = {
    "l1": L1(),
    "mcp": MCP(gamma=2.0, gamma_scale="sum"),
    "log": Log(eps=0.1),
    "l0.5": Lp(p=0.5, eps=0.1).smoothed(),  # the paper does not smooth and prints no other eps
}
TOL = 1e-6  # tolerance relative to alpha_max; the paper only says "until convergence"
MAX_ROUNDS = 200


@dataclass(frozen=True)
class FittedStrength:
    """One strength of a path; alpha_ratio relates it to alpha_max of l1."""

    alpha: float
    alpha_ratio: float
    w: np.ndarray
    loss: float
    kkt_violation: float
    status: str
    time_s: float


def laporte2014_penalty(name: str) -> Penalty:
    """The penalty of the paper's experiments: eps = 0.1 (log), gamma = 2 on the sum scale (MCP), p = 0.5.

    lp is also smoothed with eps = 0.1. As printed (eps = 0), its slope p |w|^(p-1) excludes every feature whose
    weight is 0 after the first round.
    """
    if name not in PENALTIES:
        raise DataError(f"laporte2014 has the penalties {', '.join(PENALTIES)}; got {name!r}.")
    return PENALTIES[name]


def laporte2014_solver(name: str, *, published: bool = False) -> Solver:
    """Algorithm 1 for l1, Algorithm 2 otherwise.

    published=True solves the (weighted) l1 problems by FISTA with the paper's Lipschitz constant. The default is
    proximal Newton, which reaches the same unique minimum in a fraction of the time.
    """
    if name == "l1":
        return Fista(step="published") if published else ProxNewton()
    return Reweighted(inner=Fista, inner_options={"step": "published"}) if published else Reweighted()


def laporte2014_solve(
    objective: PairwiseObjective, name: str, penalty: Penalty, stop: Stop, *, published: bool = False
) -> Solution:
    """Algorithm 1 from w = 0, or Algorithm 2 from its first round.

    The first round of Algorithm 2 (beta = 1: plain l1) is solved before the shared loop checks the certificate. For
    large alpha, w = 0 is already stationary, and the published algorithm does not stop there.
    """
    solver = laporte2014_solver(name, published=published)
    if name == "l1":
        return solve(solver, objective, penalty, stop=stop, warn=False)
    l1_stop = replace(stop, max_iter=100_000)
    first = solve(laporte2014_solver("l1", published=published), objective, L1(penalty.alpha), stop=l1_stop, warn=False)
    return solve(solver, objective, penalty, first.w, stop, warn=False)


def laporte_path(
    objective: PairwiseObjective,
    name: str,
    alpha_ratios: Sequence[float],
    *,
    published: bool = False,
    penalty: Penalty | None = None,
    tol: float = TOL,
) -> list[FittedStrength]:
    """Solutions for decreasing strengths, each from beta = 1 as in Algorithm 2.

    Ratios are relative to alpha_max of l1, at which the first round becomes zero; 1 / (alpha n_pairs) is the paper's C
    for l1, log and lp.
    """
    penalty = penalty or laporte2014_penalty(name)
    penalty = penalty.resolve(objective.curvature, objective.total_weight)
    top = float(np.abs(objective.gradient_at_zero).max())
    stop = Stop(tol=tol, max_iter=MAX_ROUNDS if name != "l1" else 100_000, scale=top)
    points = []
    for ratio in sorted(alpha_ratios, reverse=True):
        began = time.perf_counter()
        alpha = top * float(ratio)
        s = laporte2014_solve(objective, name, penalty.with_alpha(alpha), stop, published=published)
        points.append(
            FittedStrength(
                alpha, float(ratio), s.w, s.loss, s.kkt_violation, s.status.value, time.perf_counter() - began
            )
        )
    return points


@dataclass(kw_only=True, eq=False, repr=False)
class Laporte2014(ThreadedRanker):
    """RankSVM with nonconvex penalties: penalty + C_sum * sum over preferred pairs of the squared hinge.

    It is solved by Algorithm 1 (l1) or Algorithm 2 (the others), as in ncsvmclassNob of the Matlab toolbox.
    `SparseRanker` offers the same penalties on the mean scale, with better starting points.

    Parameters
    ----------
    penalty : {'l1', 'mcp', 'log', 'l0.5'}, default 'log'
        Penalty with the paper's settings: eps = 0.1 (log), gamma = 2 on the sum scale (MCP), p = 0.5.
    C_sum : float, default 1.0
        Weight > 0 of the sum of losses; alpha = 1 / (C_sum n_pairs).
    published : bool, default False
        True: FISTA with the paper's Lipschitz constant. False: proximal Newton, which reaches the same minima of the
        convex problems in a fraction of the time.
    tol : float, default 1e-6
        kkt_violation at which the solver stops, relative to alpha_max of l1.
    max_iter : int, optional
        Rounds of Algorithm 2, or iterations of Algorithm 1 if `published` is True.
    metric : str or Metric, default 'ndcg@10'
        Metric that `score` computes.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    alpha_, C_sum_, C_mean_, r_ : float
        The strength on four scales; r_ is the l1 norm of coef_. For l1, it is the radius at which FenchelRank solves
        the same problem.
    objective_, loss_, kkt_violation_ : float
        Values on the scale of the mean loss.
    status_, n_iter_ : str, int
        Final status, and number of iterations.
    history_ : ndarray
        Objective after the first round (beta = 1) and after each later one; never increasing.

    Raises
    ------
    DataError
        There is no preferred pair, or a parameter is out of range.

    References
    ----------
    Laporte et al. (2014), equations (7), (8), (13), Algorithms 1 and 2, Table II.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> sr.papers.Laporte2014(penalty="l1").fit(data.X, data.relevance, qid=data.qid).status_
    'optimal'
    """

    _takes_client = True

    _kinds: ClassVar = {
        "penalty": Choice(tuple(PENALTIES)),
        "C_sum": Number(above=0),
        "published": Flag(),
        "tol": Number(above=0),
        "max_iter": COUNT_OR_NONE,
    }

    penalty: str = "log"
    C_sum: float = 1.0
    published: bool = False
    tol: float = 1e-6
    max_iter: int | None = None
    metric: str | Metric = "ndcg@10"
    n_threads: int | None = None

    def _learn(self, training: TrainingSet) -> None:
        penalty = laporte2014_penalty(self.penalty)
        objective = self._objective(training)
        summed = float(self.C_sum) * objective.total_weight
        self.alpha_ = 1.0 / summed if summed > 0 else float("inf")
        if not 0 < self.alpha_ < float("inf"):
            raise DataError(
                f"{self._name}: alpha = 1 / (C_sum n_pairs) is outside the range of floating-point numbers; got C_sum "
                f"{self.C_sum}."
            )
        most = self.max_iter or (100_000 if self.penalty == "l1" else MAX_ROUNDS)
        scale = max(float(np.abs(objective.gradient_at_zero).max()), 1e-300)
        stop = Stop(tol=self.tol, max_iter=most, scale=scale)
        penalty = penalty.resolve(objective.curvature, objective.total_weight).with_alpha(self.alpha_)
        s = laporte2014_solve(objective, self.penalty, penalty, stop, published=self.published)
        self.coef_ = s.w
        self.C_sum_, self.C_mean_, self.r_ = self.C_sum, 1.0 / self.alpha_, float(np.abs(s.w).sum())
        self.loss_ = s.loss
        self._keep_end_of(s)
        self.history_ = np.array([value for _, value, _ in s.history])
        if self.status_ not in ("optimal", "stationary"):
            warn_caller(
                f"{self._name}: kkt_violation {s.kkt_violation:.3g} > {stop.threshold:.3g} after {s.n_iter} "
                "iterations; raise max_iter or tol.",
                ConvergenceWarning,
            )
