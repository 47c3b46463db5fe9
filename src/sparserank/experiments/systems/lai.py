"""FenchelRank, FSMRank and the baselines that Lai et al. (2012, 2013) compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sparserank.experiments.systems.base import Candidate, Fold, Grid, timed
from sparserank.path import refit_on_support
from sparserank.rankers.truncated_gradient import TGRank
from sparserank.selection.filters import gas_order
from sparserank.selection.measures import feature_importance, feature_similarity, single_feature_metric
from sparserank.solvers.accelerated_gradient import FsmProblem, accelerated_gradient
from sparserank.solvers.frank_wolfe import frank_wolfe, solve_ball


def fenchel_rank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    for radius in grid["radius"]:
        for epsilon in grid["epsilon"]:
            s, t = timed(frank_wolfe, fold.objective, radius, epsilon=epsilon, max_iter=grid["max_iter"][0])
            info: dict[str, Any] = {"gap": s.gap, "loss": s.loss, "n_iter": s.n_iter, "alpha": s.alpha}
            info["status"] = "optimal" if s.gap <= epsilon else "not converged"
            yield Candidate({"radius": radius, "epsilon": epsilon}, s.w, t, info)


def fenchel_exact(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    for radius in grid["radius"]:
        s, t = timed(solve_ball, fold.objective, radius)
        info: dict[str, Any] = {"gap": s.gap, "loss": s.loss, "n_iter": s.n_iter, "alpha": s.alpha}
        info["status"] = "optimal" if s.gap <= 1e-6 else "not converged"
        yield Candidate({"radius": radius}, s.w, t, info)


def fsm_rank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    importance, similarity = feature_importance(fold.train), feature_similarity(fold.train)
    measures = {"PC": (importance, similarity), "1": (np.ones_like(importance), np.eye(len(importance)))}
    for s_name in grid["importance"]:
        for a_name in grid["similarity"]:
            for lambda1 in grid["lambda1"]:
                for lambda2 in grid["lambda2"]:
                    problem = FsmProblem(
                        fold.objective, lambda1, lambda2, measures[s_name][0], measures[a_name][1], split=True
                    )
                    s, t = timed(accelerated_gradient, problem, max_iter=400, tol=1e-4)
                    info = {"kkt_violation": s.kkt_violation, "objective": s.objectives[-1], "n_iter": s.n_iter}
                    info["status"] = "stopped" if s.stopped else "not converged"
                    params = {"lambda1": lambda1, "lambda2": lambda2}
                    if len(grid["importance"]) * len(grid["similarity"]) > 1 or (s_name, a_name) != ("PC", "PC"):
                        params |= {"importance": s_name, "similarity": a_name}
                    yield Candidate(params, s.w, t, info)


def _best_fsm(fold: Fold, grid: Grid) -> Candidate:
    """The FSMRank model that validation prefers."""
    best, best_value = None, -np.inf
    for c in fsm_rank(fold, grid):
        value = fold.validation(c.coef) if c.coef.any() else -np.inf
        if value > best_value or best is None:
            best, best_value = c, value
    assert best is not None
    return best


def fsm_truncated(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    best = _best_fsm(fold, grid)
    order = np.argsort(-np.abs(best.coef), kind="stable")
    for k in range(1, np.count_nonzero(best.coef) + 1):
        coef = np.zeros_like(best.coef)
        coef[order[:k]] = best.coef[order[:k]]
        yield Candidate({"k": k, **best.params}, coef, best.time_s)


def _refitted(fold: Fold, orders: Sequence[tuple[dict[str, Any], np.ndarray]], grid: Grid) -> Iterator[Candidate]:
    """RankSVM on the first k features of each order, for each k and alpha."""
    known: dict[tuple[frozenset[int], float], tuple[Any, float]] = {}
    for params, order in orders:
        usable = [int(j) for j in order if fold.objective.varying[j]]
        for k in range(1, len(usable) + 1):
            for alpha in grid["alpha"]:
                key = (frozenset(usable[:k]), alpha)
                if key in known:
                    continue  # another order begins with the same set
                known[key] = s, t = timed(refit_on_support, fold.objective, np.array(usable[:k]), alpha, 1e-5)
                info = {"kkt_violation": s.kkt_violation, "gap": s.gap, "status": s.status.value}
                yield Candidate({**params, "k": k, "alpha": alpha}, s.w, t, info)


def fsmsvm(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    best = _best_fsm(fold, grid)
    order = np.argsort(-np.abs(best.coef), kind="stable")[: np.count_nonzero(best.coef)]
    yield from _refitted(fold, [(dict(best.params), order)], grid)


def fs_rank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    values, _ = single_feature_metric(fold.train, "ndcg@10", convention="letor4", ascending=False)
    yield from _refitted(fold, [({}, np.argsort(-values, kind="stable"))], grid)


def gas(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    varying = fold.varying
    similarity = feature_similarity(fold.train, "concordance")[np.ix_(varying, varying)]
    orders = []
    for importance in grid["importance"]:
        values = feature_importance(fold.train, importance, convention="letor4")[varying]
        for c in grid["c"]:
            order = varying[gas_order(values, similarity, c, len(varying))]
            orders.append(({"importance": importance, "c": c}, order))
    yield from _refitted(fold, orders, grid)


def truncated(ranker: type[TGRank]) -> Callable[[Fold, Grid], Iterator[Candidate]]:
    def candidates(fold: Fold, grid: Grid) -> Iterator[Candidate]:
        top = float(np.abs(fold.objective.gradient_at_zero).max())
        for ratio in sorted(grid["alpha_ratio"], reverse=True):
            model = ranker(alpha=ratio * top, max_iter=grid["max_iter"][0], n_threads=1)
            _, t = timed(model.fit, fold.train.X, fold.train.relevance, qid=fold.train.qid)
            info = {"objective": model.objective_, "alpha": ratio * top}
            yield Candidate({"alpha_ratio": ratio}, model.coef_.astype(np.float64), t, info)

    return candidates


def lai2012_timing(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """TGRank at a fixed C_sum, then FenchelRank on the ball of that model's norm."""
    for C_sum in grid["C_sum"]:
        alpha = 1.0 / (C_sum * fold.objective.total_weight)
        model = TGRank(alpha=alpha, max_iter=grid["max_iter"][0], n_threads=1)
        _, t = timed(model.fit, fold.train.X, fold.train.relevance, qid=fold.train.qid)
        w = model.coef_.astype(np.float64)
        yield Candidate({"method": "TGRank", "C_sum": C_sum}, w, t, {"objective": model.objective_, "alpha": alpha})
        radius = float(np.abs(w).sum())
        s, t = timed(frank_wolfe, fold.objective, radius, epsilon=1e-3, max_iter=grid["max_iter"][0])
        yield Candidate({"method": "FenchelRank", "radius": radius}, s.w, t, {"gap": s.gap, "loss": s.loss})
        s, t = timed(solve_ball, fold.objective, radius)
        yield Candidate({"method": "exact", "radius": radius}, s.w, t, {"gap": s.gap, "loss": s.loss})
