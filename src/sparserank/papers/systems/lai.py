"""FenchelRank, FSMRank and the baselines that Lai et al. (2012, 2013) compare with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from sparserank.papers.filters import gas_order
from sparserank.papers.measures import feature_importance, feature_similarity, single_feature_metric
from sparserank.papers.rankers.truncated_gradient import TGRank
from sparserank.papers.solvers.fenchel_rank import BallSolution, frank_wolfe, solve_ball
from sparserank.papers.solvers.fsm import FsmProblem, accelerated_gradient
from sparserank.papers.systems.base import Candidate, Fold, Grid, timed
from sparserank.paths import refit_on_support

EXACT_GOAL = 1e-6  # duality gap from which the exact solution counts as optimal


def fenchel_rank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """FenchelRank as published, for each radius."""
    (epsilon,), (max_iter,) = grid["epsilon"], grid["max_iter"]
    for radius in grid["radius"]:
        s, t = timed(frank_wolfe, fold.objective, radius, epsilon=epsilon, max_iter=max_iter)
        yield Candidate({"radius": radius}, s.w, t, _ball_info(s, epsilon))


def fenchel_exact(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """The exact optimum of FenchelRank's problem, for each radius."""
    for radius in grid["radius"]:
        s, t = timed(solve_ball, fold.objective, radius)
        yield Candidate({"radius": radius}, s.w, t, _ball_info(s, EXACT_GOAL))


def _ball_info(s: BallSolution, goal: float) -> dict[str, Any]:
    status = "optimal" if s.gap <= goal else "iteration limit"
    return {"gap": s.gap, "loss": s.loss, "n_iter": s.n_iter, "alpha": s.alpha, "status": status}


def fsm_rank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """FSMRank for each pair of measures and of strengths; 'ones' and 'identity' switch a measure off."""
    d = fold.train.n_features
    importances = {m: np.ones(d) if m == "ones" else feature_importance(fold.train, m) for m in grid["importance"]}
    similarities = {m: feature_similarity(fold.train, m) for m in grid["similarity"]}
    for s_name, a_name in product(importances, similarities):
        for lambda1, lambda2 in product(grid["lambda1"], grid["lambda2"]):
            problem = FsmProblem(fold.objective, lambda1, lambda2, importances[s_name], similarities[a_name])
            s, t = timed(accelerated_gradient, problem, max_iter=400, tol=1e-4)
            info = {
                "kkt_violation": s.kkt_violation,
                "objective": s.objectives[-1],
                "n_iter": s.n_iter,
                "status": s.status.value,
            }
            params = {"lambda1": lambda1, "lambda2": lambda2, "importance": s_name, "similarity": a_name}
            yield Candidate(params, s.w, t, info)


def _best_fsm(fold: Fold, grid: Grid) -> list[Candidate]:
    """The FSMRank models that validation prefers, one for each metric (fewer when they agree)."""
    models = [c for c in fsm_rank(fold, grid) if c.coef.any()]
    if not models:
        return []
    values = np.array([fold.validation(c.coef) for c in models])
    return [models[i] for i in dict.fromkeys(values.argmax(axis=0).tolist())]


def fsm_truncated(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """FSMRank cut to its k largest weights, without refit, for each k."""
    for best in _best_fsm(fold, grid):
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
    """RankSVM on the k largest weights of FSMRank."""
    orders = []
    for best in _best_fsm(fold, grid):
        order = np.argsort(-np.abs(best.coef), kind="stable")[: np.count_nonzero(best.coef)]
        orders.append((dict(best.params), order))
    yield from _refitted(fold, orders, grid)


def fs_rank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """RankSVM on the k features that rank the training queries best alone."""
    values, _ = single_feature_metric(fold.train, "ndcg@10", convention=fold.convention, ascending=False)
    yield from _refitted(fold, [({}, np.argsort(-values, kind="stable"))], grid)


def gas(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """RankSVM on the first k features of GAS, for each importance and weight c of similarity."""
    varying = fold.varying
    similarity = feature_similarity(fold.train, "concordance")[np.ix_(varying, varying)]
    orders = []
    for importance in grid["importance"]:
        values = feature_importance(fold.train, importance, convention=fold.convention)[varying]
        for c in grid["c"]:
            order = varying[gas_order(values, similarity, c, len(varying))]
            orders.append(({"importance": importance, "c": c}, order))
    yield from _refitted(fold, orders, grid)


def truncated(ranker: type[TGRank]) -> Callable[[Fold, Grid], Iterator[Candidate]]:
    """TGRank or RSRank for each strength."""

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
