"""RankRLS, Greedy RankRLS (Pahikkala et al. 2010) and RankSVM with ridge: closed forms and Newton."""

from __future__ import annotations

from collections.abc import Iterator

from reproduction.systems.base import Candidate, Fold, Grid, points_of, timed
from sparserank.papers.rankers.greedy_rank_rls import GreedyRankRLS
from sparserank.papers.rankers.rank_rls import RankRLS
from sparserank.paths import fit_path_on
from sparserank.penalties import Ridge


def rank_svm(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """The path of the ridge; the estimator RankSVM starts every strength at 0, which would be slower."""
    alphas = sorted(grid["alpha"], reverse=True)
    path = fit_path_on(fold.objective, Ridge(), alphas=alphas, tol=1e-8, max_iter=500, warn=False)
    yield from points_of(path, ({"alpha": alpha} for alpha in alphas))


def rank_rls(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """All strengths from one fit."""
    lams = sorted(grid["lam"])
    ranker, t = timed(RankRLS(lam=lams).fit_dataset, fold.train)
    for lam, coef, error in zip(lams, ranker.coefs_, ranker.leave_query_out_errors_, strict=True):
        yield Candidate({"lam": lam}, coef, t / len(lams), {"leave_query_out_error": error})


def greedy_rank_rls(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """The models of every size in a search, for each strength."""
    (max_k,) = grid["max_k"]
    for lam in sorted(grid["lam"]):
        ranker, t = timed(GreedyRankRLS(k=max_k, lam=lam).fit_dataset, fold.train)
        for step in ranker.path_:
            info = {"leave_query_out_error": step.leave_query_out_error, "selected": list(step.features)}
            yield Candidate({"lam": lam, "k": step.k}, step.coef, t / len(ranker.path_), info)
