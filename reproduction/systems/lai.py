"""FenchelRank, FSMRank and the baselines that Lai et al. (2012, 2013) compare with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from reproduction.systems.base import Candidate, Candidates, Fold, Grid, fitted, timed
from sparserank.papers.measures import feature_importance, feature_similarity
from sparserank.papers.rankers.fenchel_rank import FenchelRank
from sparserank.papers.rankers.fsm_rank import FSMRank
from sparserank.papers.rankers.truncated_gradient import TGRank
from sparserank.papers.rankers.two_stage import FSRank, gas_order
from sparserank.paths import refit_on_support

FSM = ("kkt_violation", "objective", "n_iter", "status")


def fsm_rank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """FSMRank for each pair of measures and of strengths; 'ones' and 'identity' disable a measure. Each measure is
    computed once for all strengths."""
    d = fold.train.n_features
    importances = {m: np.ones(d) if m == "ones" else feature_importance(fold.train, m) for m in grid["importance"]}
    similarities = {m: feature_similarity(fold.train, m) for m in grid["similarity"]}
    for importance, similarity in product(importances, similarities):
        for lambda1, lambda2 in product(grid["lambda1"], grid["lambda2"]):
            ranker = FSMRank(
                lambda1=lambda1,
                lambda2=lambda2,
                importance=importances[importance],
                similarity=similarities[similarity],
                n_threads=1,
            )
            strengths = {"lambda1": lambda1, "lambda2": lambda2}
            yield fitted(fold, ranker, {**strengths, "importance": importance, "similarity": similarity}, FSM)


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
        for k in range(1, int(np.count_nonzero(best.coef)) + 1):
            coef = np.zeros_like(best.coef)
            coef[order[:k]] = best.coef[order[:k]]
            yield Candidate({"k": k, **best.params}, coef, best.time_s)


def _refitted(fold: Fold, orders: Sequence[tuple[dict[str, Any], np.ndarray]], grid: Grid) -> Iterator[Candidate]:
    """RankSVM on the first k features of each order, for each k and alpha. The two-stage estimators would compute the
    order again for every model, and would fit sets shared by two orders twice, so the stages are separate here."""
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
    """RankSVM on the k features that each rank the training queries best alone."""
    yield from _refitted(fold, [({}, FSRank(convention=fold.convention).feature_order(fold.train))], grid)


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


def truncated(ranker: type[TGRank]) -> Candidates:
    """TGRank or RSRank for each strength."""

    def candidates(fold: Fold, grid: Grid) -> Iterator[Candidate]:
        for ratio in sorted(grid["alpha_ratio"], reverse=True):
            alpha = ratio * fold.alpha_max
            model = ranker(alpha=alpha, max_iter=grid["max_iter"][0], n_threads=1)
            found = fitted(fold, model, {"alpha_ratio": ratio}, ("objective",))
            yield replace(found, info={**found.info, "alpha": alpha})

    return candidates


def lai2012_timing(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    """TGRank at a fixed C_sum, then FenchelRank on the ball of that model's norm."""
    (max_iter,) = grid["max_iter"]
    for C_sum in grid["C_sum"]:
        alpha = 1.0 / (C_sum * fold.objective.total_weight)
        ranker = TGRank(alpha=alpha, max_iter=max_iter, n_threads=1)
        found = fitted(fold, ranker, {"method": "TGRank", "C_sum": C_sum}, ("objective",))
        yield replace(found, info={**found.info, "alpha": alpha})
        radius = float(np.abs(found.coef).sum())
        published = FenchelRank(radius=radius, max_iter=max_iter, n_threads=1)
        yield fitted(fold, published, {"method": "FenchelRank", "radius": radius}, ("gap", "loss"))
        exact = FenchelRank(radius=radius, solver="exact", n_threads=1)
        yield fitted(fold, exact, {"method": "exact", "radius": radius}, ("gap", "loss"))
