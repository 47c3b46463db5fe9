"""RankRLS, Greedy RankRLS (Pahikkala et al. 2010) and RankSVM with ridge: closed forms and Newton."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparserank.papers.rls.gram_search import gram_greedy_search, prefers_grams
from sparserank.papers.rls.greedy import greedy_search
from sparserank.papers.rls.leave_query_out import leave_query_out
from sparserank.papers.systems.base import Candidate, Fold, Grid, timed
from sparserank.penalties import Ridge
from sparserank.solvers import ProxNewton, Stop, solve


def rank_svm(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    scale = float(np.abs(fold.objective.gradient_at_zero).max())
    start = None
    for alpha in sorted(grid["alpha"], reverse=True):
        s, t = timed(solve, ProxNewton(), fold.objective, Ridge(alpha), start, Stop(tol=1e-8, scale=scale), warn=False)
        start = s.w
        info = {"kkt_violation": s.kkt_violation, "gap": s.gap, "loss": s.loss, "status": s.status.value}
        yield Candidate({"alpha": alpha}, s.w, t, info)


def rank_rls(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    lams = sorted(grid["lam"])
    result, t = timed(leave_query_out, fold.train, lams)
    for lam, coef, error in zip(lams, result.coefs, result.errors, strict=True):
        yield Candidate({"lam": lam}, coef, t / len(lams), {"leave_query_out_error": error})


def greedy_rank_rls(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    centred = fold.centred
    d = len(np.flatnonzero(centred.varying))
    search = gram_greedy_search if prefers_grams(centred) else greedy_search
    for lam in sorted(grid["lam"]):
        path, t = timed(search, centred, lam, min(d, grid["max_k"][0]))
        for step in path:
            info = {"leave_query_out_error": step.leave_query_out_error, "selected": list(step.features)}
            yield Candidate({"lam": lam, "k": step.k}, step.coef, t / len(path), info)
