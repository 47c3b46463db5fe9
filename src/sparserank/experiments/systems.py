"""The systems of an experiment: each turns a fold's training data into candidate models, one per point of its grid."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.evaluation import mean_of, per_query_values
from sparserank.experiments.layouts import FoldData
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.path import PathResult, fit_path_on, refit_on_support
from sparserank.penalties import Ridge, parse_penalty
from sparserank.rankers.truncated_gradient import RSRank, TGRank
from sparserank.rls.centring import CentredData, centre
from sparserank.rls.gram_search import gram_greedy_search
from sparserank.rls.greedy import greedy_search
from sparserank.rls.leave_query_out import leave_query_out
from sparserank.selection.filters import gas_order
from sparserank.selection.measures import feature_importance, feature_similarity, single_feature_metric
from sparserank.solvers import ProxNewton, Stop, solve
from sparserank.solvers.accelerated_gradient import FsmProblem, accelerated_gradient
from sparserank.solvers.frank_wolfe import frank_wolfe, solve_ball
from sparserank.experiments.laporte2014 import laporte_path

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Candidate:
    """A fitted model: its place in the grid, coefficients, seconds of its own fit, and what its solver says of it."""

    params: dict[str, Any]
    coef: np.ndarray
    time_s: float
    info: dict[str, Any] = field(default_factory=dict)


@dataclass
class Fold:
    """What the systems share within a fold; computed when first asked for."""

    data: FoldData
    choose_by: Metric
    seed: int = 0

    @property
    def train(self) -> RankingDataset:
        return self.data.train

    @cached_property
    def objective(self) -> PairwiseObjective:
        return PairwiseObjective(self.train.X, self.train.relevance, self.train.query_ptr, n_threads=1)

    @cached_property
    def centred(self) -> CentredData:
        return centre(self.train)

    @cached_property
    def varying(self) -> np.ndarray:
        return np.flatnonzero(self.objective.varying)

    def validation(self, coef: np.ndarray) -> float:
        """The metric of choice on the validation queries."""
        return mean_of(per_query_values(self.data.valid.X @ coef, self.data.valid, [self.choose_by])[0])


@dataclass(frozen=True)
class System:
    """Conventions: `candidates(fold, grid)` yields models in the order in which ties on validation are broken.

    title     as the papers print it
    grid      default values; every list here is ours unless the source gives it
    source    paper and section
    """

    name: str
    title: str
    source: str
    grid: dict[str, Sequence[Any]]
    candidates: Callable[[Fold, Grid], Iterator[Candidate]]


def _timed(run: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    result = run()
    return result, time.perf_counter() - began


def _fenchel_rank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    for radius in grid["radius"]:
        for epsilon in grid["epsilon"]:
            s, t = _timed(lambda: frank_wolfe(fold.objective, radius, epsilon=epsilon, max_iter=grid["max_iter"][0]))
            info = {"gap": s.gap, "loss": s.loss, "n_iter": s.n_iter, "alpha": s.alpha}
            info["status"] = "optimal" if s.gap <= epsilon else "not converged"
            yield Candidate({"radius": radius, "epsilon": epsilon}, s.w, t, info)


def _fenchel_exact(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    for radius in grid["radius"]:
        s, t = _timed(lambda: solve_ball(fold.objective, radius))
        info = {"gap": s.gap, "loss": s.loss, "n_iter": s.n_iter, "alpha": s.alpha}
        info["status"] = "optimal" if s.gap <= 1e-6 else "not converged"
        yield Candidate({"radius": radius}, s.w, t, info)


def _fsm_rank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    importance, similarity = feature_importance(fold.train), feature_similarity(fold.train)
    measures = {"PC": (importance, similarity), "1": (np.ones_like(importance), np.eye(len(importance)))}
    for s_name in grid["importance"]:
        for a_name in grid["similarity"]:
            for lambda1 in grid["lambda1"]:
                for lambda2 in grid["lambda2"]:
                    problem = FsmProblem(
                        fold.objective, lambda1, lambda2, measures[s_name][0], measures[a_name][1], split=True
                    )
                    s, t = _timed(lambda: accelerated_gradient(problem, max_iter=400, tol=1e-4))
                    info = {"kkt_violation": s.kkt_violation, "objective": s.objectives[-1], "n_iter": s.n_iter}
                    info["status"] = "stopped" if s.stopped else "not converged"
                    params = {"lambda1": lambda1, "lambda2": lambda2}
                    if len(grid["importance"]) * len(grid["similarity"]) > 1 or (s_name, a_name) != ("PC", "PC"):
                        params |= {"importance": s_name, "similarity": a_name}
                    yield Candidate(params, s.w, t, info)


def _best_fsm(fold: Fold, grid: Grid) -> Candidate:
    """The FSMRank model that validation prefers."""
    best, best_value = None, -np.inf
    for c in _fsm_rank(fold, grid):
        value = fold.validation(c.coef) if c.coef.any() else -np.inf
        if value > best_value or best is None:
            best, best_value = c, value
    assert best is not None
    return best


def _fsm_truncated(fold: Fold, grid: Grid) -> Iterator[Candidate]:
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
                known[key] = s, t = _timed(lambda: refit_on_support(fold.objective, np.array(usable[:k]), alpha, 1e-5))
                info = {"kkt_violation": s.kkt_violation, "gap": s.gap, "status": s.status.value}
                yield Candidate({**params, "k": k, "alpha": alpha}, s.w, t, info)


def _fsmsvm(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    best = _best_fsm(fold, grid)
    order = np.argsort(-np.abs(best.coef), kind="stable")[: np.count_nonzero(best.coef)]
    yield from _refitted(fold, [(dict(best.params), order)], grid)


def _fs_rank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    values, _ = single_feature_metric(fold.train, "ndcg@10", convention="letor4", ascending=False)
    yield from _refitted(fold, [({}, np.argsort(-values, kind="stable"))], grid)


def _gas(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    varying = fold.varying
    similarity = feature_similarity(fold.train, "concordance")[np.ix_(varying, varying)]
    orders = []
    for importance in grid["importance"]:
        values = feature_importance(fold.train, importance, convention="letor4")[varying]
        for c in grid["c"]:
            order = varying[gas_order(values, similarity, c, len(varying))]
            orders.append(({"importance": importance, "c": c}, order))
    yield from _refitted(fold, orders, grid)


def _rank_svm(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    scale = float(np.abs(fold.objective.gradient_at_zero).max())
    start = None
    for alpha in sorted(grid["alpha"], reverse=True):
        s, t = _timed(
            lambda: solve(ProxNewton(), fold.objective, Ridge(alpha), start, Stop(tol=1e-8, scale=scale), warn=False)
        )
        start = s.w
        info = {"kkt_violation": s.kkt_violation, "gap": s.gap, "loss": s.loss, "status": s.status.value}
        yield Candidate({"alpha": alpha}, s.w, t, info)


def _rank_rls(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    lams = sorted(grid["lam"])
    result, t = _timed(lambda: leave_query_out(fold.train, lams))
    for lam, coef, error in zip(lams, result.coefs, result.errors, strict=True):
        yield Candidate({"lam": lam}, coef, t / len(lams), {"leave_query_out_error": error})


def _greedy_rank_rls(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    centred = fold.centred
    d = len(np.flatnonzero(centred.varying))
    long_lists = 2 * centred.n_queries * d < 3 * len(centred.y)
    search = gram_greedy_search if long_lists else greedy_search
    for lam in sorted(grid["lam"]):
        path, t = _timed(lambda: search(centred, lam, min(d, grid["max_k"][0])))
        for step in path:
            info = {"leave_query_out_error": step.leave_query_out_error, "selected": list(step.features)}
            yield Candidate({"lam": lam, "k": step.k}, step.coef, t / len(path), info)


def _truncated(ranker: type[TGRank]) -> Callable[[Fold, Grid], Iterator[Candidate]]:
    def candidates(fold: Fold, grid: Grid) -> Iterator[Candidate]:
        top = float(np.abs(fold.objective.gradient_at_zero).max())
        for ratio in sorted(grid["alpha_ratio"], reverse=True):
            model = ranker(alpha=ratio * top, max_iter=grid["max_iter"][0], n_threads=1)
            _, t = _timed(lambda: model.fit(fold.train.X, fold.train.relevance, qid=fold.train.qid))
            info = {"objective": model.objective_, "alpha": ratio * top}
            yield Candidate({"alpha_ratio": ratio}, model.coef_.astype(np.float64), t, info)

    return candidates


def _laporte(penalty: str) -> Callable[[Fold, Grid], Iterator[Candidate]]:
    def candidates(fold: Fold, grid: Grid) -> Iterator[Candidate]:
        for point in laporte_path(fold.objective, penalty, grid["alpha_ratio"]):
            info = {"alpha": point.alpha, "kkt_violation": point.kkt_violation, "loss": point.loss, "status": point.status}
            yield Candidate({"alpha_ratio": point.alpha_ratio}, point.w, point.time_s, info)

    return candidates


def _path_points(path: PathResult, label: str) -> Iterator[Candidate]:
    for i in range(len(path.alphas)):
        info = {
            "alpha": path.alphas[i], "kkt_violation": path.kkt_violations[i], "loss": path.losses[i],
            "status": path.statuses[i], "gap": None if np.isnan(path.gaps[i]) else path.gaps[i],
        }  # fmt: skip
        yield Candidate({"penalty": label, "alpha_ratio": path.alphas[i] / path.alpha_max}, path.coefs[i], path.times_s[i], info)


def _sparserank(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    for label in grid["penalty"]:
        path = fit_path_on(fold.objective, parse_penalty(label), n_alphas=grid["n_alphas"][0], alpha_min_ratio=1e-2)
        yield from _path_points(path, label)


def _random(fold: Fold, grid: Grid) -> Iterator[Candidate]:
    rng = np.random.default_rng(fold.seed)
    for draw in range(grid["draws"][0]):
        coef = np.zeros(fold.train.n_features)
        coef[fold.varying] = rng.dirichlet(np.ones(len(fold.varying)))
        yield Candidate({"draw": draw}, coef, 0.0)


RIDGE_ALPHAS = [10.0**e for e in range(-7, 1)]
REFIT_ALPHAS = [1e-5, 1e-3, 1e-1]
RATIOS = [float(a) for a in np.logspace(0, -4, 31)]
FSM_GRID: dict[str, Sequence[Any]] = {
    "lambda1": [1e-3, 1e-2, 1e-1, 1.0],
    "lambda2": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    "importance": ["PC"],
    "similarity": ["PC"],
}


def _ablation(importance: str | None = None, similarity: str | None = None) -> dict[str, Sequence[Any]]:
    """One measure alone: lambda1 = 0 when importance is tested, lambda2 = 0 when similarity is."""
    if importance is not None:
        return {**FSM_GRID, "lambda1": [0.0], "importance": [importance]}
    return {**FSM_GRID, "lambda2": [0.0], "similarity": [similarity]}


FENCHEL_GRID: dict[str, Sequence[Any]] = {"radius": [2.0**e for e in range(9)], "epsilon": [1e-3], "max_iter": [1000]}

SYSTEMS: dict[str, System] = {
    s.name: s
    for s in (
        System("fenchel_rank", "FenchelRank", "Lai 2012, Algorithm 1; its grid", FENCHEL_GRID, _fenchel_rank),
        System("fenchel_exact", "FenchelRank, exact optimum", "the same problem", FENCHEL_GRID, _fenchel_exact),
        System("fsm_rank", "FSMRank", "Lai 2013, Algorithm 1", FSM_GRID, _fsm_rank),
        System("fsm_truncated", "FSMRank, k largest weights", "Lai 2013, Figs 1-3", FSM_GRID, _fsm_truncated),
        System("fsm_s1", "FSMRank, lambda1 = 0, s = 1", "Lai 2013, Table III", _ablation(importance="1"), _fsm_rank),
        System("fsm_spc", "FSMRank, lambda1 = 0, s = PC", "Lai 2013, Table III", _ablation(importance="PC"), _fsm_rank),
        System("fsm_ai", "FSMRank, lambda2 = 0, A = I", "Lai 2013, Section IV-D", _ablation(similarity="1"), _fsm_rank),
        System("fsm_apc", "FSMRank, lambda2 = 0, A = PC", "Lai 2013, Section IV-D", _ablation(similarity="PC"), _fsm_rank),
        System("l1", "RankSVM-l1", "Laporte 2014, Algorithm 1", {"alpha_ratio": RATIOS}, _laporte("l1")),
        System("mcp", "MCP", "Laporte 2014, Algorithm 2, gamma = 2 (sum scale)", {"alpha_ratio": RATIOS}, _laporte("mcp")),
        System("log", "log", "Laporte 2014, Algorithm 2, eps = 0.1", {"alpha_ratio": RATIOS}, _laporte("log")),
        System("l0.5", "l0.5", "Laporte 2014, Algorithm 2, p = 0.5", {"alpha_ratio": RATIOS}, _laporte("l0.5")),
        System("rank_svm", "RankSVM-Primal", "Chapelle and Keerthi 2010", {"alpha": RIDGE_ALPHAS}, _rank_svm),
        System("rank_rls", "RankRLS", "Pahikkala 2010; its grid", {"lam": [2.0**e for e in range(-15, 16)]}, _rank_rls),
        System(
            "greedy_rank_rls", "GRankRLS", "Pahikkala 2010, Algorithm 1; its grid",
            {"lam": [2.0**e for e in range(11)], "max_k": [1000]}, _greedy_rank_rls,
        ),  # fmt: skip
        System("tg_rank", "TGRank", "Lai 2012, Section 8.5.1", {"alpha_ratio": RATIOS[::3], "max_iter": [1000]}, _truncated(TGRank)),
        System("rs_rank", "RSRank", "Sun 2009", {"alpha_ratio": RATIOS[::3], "max_iter": [1000]}, _truncated(RSRank)),
        System("fs_rank", "FS-Rank", "Lai 2012, Section 8.5.2", {"alpha": REFIT_ALPHAS}, _fs_rank),
        System(
            "gas_e", "GAS-E", "Geng 2007", {"importance": ["map", "ndcg@10"], "c": [0.0, 0.01, 0.03, 0.1, 0.3], "alpha": REFIT_ALPHAS},
            _gas,
        ),  # fmt: skip
        System("fsmsvm", "FSMSVM", "Lai 2013, Section IV-D", {**FSM_GRID, "alpha": REFIT_ALPHAS}, _fsmsvm),
        System(
            "sparserank", "sparserank paths", "this package's default paths, unscaled features",
            {"penalty": ["l1", "log", "mcp"], "n_alphas": [40]}, _sparserank,
        ),  # fmt: skip
        System("random", "random weights", "Lai 2012, Fig. 1", {"draws": [10]}, _random),
    )
}


def find_system(name: str) -> System:
    if name not in SYSTEMS:
        raise DataError(f"no system {name!r}; there are {', '.join(SYSTEMS)}.")
    return SYSTEMS[name]
