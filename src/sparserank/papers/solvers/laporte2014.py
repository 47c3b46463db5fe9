"""The published settings of Laporte et al. (2014), as a preset."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sparserank.errors import DataError
from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1, MCP, Log, Lp, Penalty
from sparserank.solvers import Fista, ProxNewton, Reweighted, Solution, Stop, solve
from sparserank.solvers.loop import Solver

PENALTIES: dict[str, Penalty] = {
    "l1": L1(),
    "mcp": MCP(gamma=2.0, gamma_scale="sum"),
    "log": Log(eps=0.1),
    "l0.5": Lp(p=0.5, eps=0.1).smoothed(),  # the paper smooths nothing and prints no other eps
}
TOL = 1e-6  # of alpha_max; the paper says "until convergence"
MAX_ROUNDS = 200


@dataclass(frozen=True)
class Point:
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

    lp is also smoothed with eps = 0.1. As printed (eps = 0), its slope p |w|^(p-1) excludes every feature that the
    first round left at 0.
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
) -> list[Point]:
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
            Point(alpha, float(ratio), s.w, s.loss, s.kkt_violation, s.status.value, time.perf_counter() - began)
        )
    return points
