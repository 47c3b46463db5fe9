"""The systems of an experiment, each with its default grid; we chose every grid that its source does not state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.systems import lai, laporte, least_squares, ours
from reproduction.systems.base import System, each_of
from sparserank.errors import DataError
from sparserank.papers.rankers.fenchel_rank import FenchelRank
from sparserank.papers.rankers.truncated_gradient import RSRank, TGRank
from sparserank.text import brief

RIDGE_ALPHAS = [10.0**e for e in range(-7, 1)]
REFIT_ALPHAS = [1e-5, 1e-3, 1e-1]
RATIOS = [float(a) for a in np.logspace(0, -4, 31)]  # of alpha_max
FSM_GRID: dict[str, Sequence[Any]] = {
    "lambda1": [1e-3, 1e-2, 1e-1, 1.0],
    "lambda2": [1e-5, 1e-4, 1e-3, 1e-2, 1e-1],
    "importance": ["pearson"],
    "similarity": ["pearson"],
}


def _ablation(importance: str | None = None, similarity: str | None = None) -> dict[str, Sequence[Any]]:
    """The grid for one measure alone: lambda1 = 0 to test importance, lambda2 = 0 to test similarity."""
    if importance is not None:
        return {**FSM_GRID, "lambda1": [0.0], "importance": [importance]}
    return {**FSM_GRID, "lambda2": [0.0], "similarity": [similarity]}


BALL = ("gap", "loss", "n_iter", "alpha", "status")
FENCHEL_GRID: dict[str, Sequence[Any]] = {"radius": [2.0**e for e in range(9)], "epsilon": [1e-3], "max_iter": [1000]}

SYSTEMS: dict[str, System] = {
    s.name: s
    for s in (
        System(
            "fenchel_rank",
            "FenchelRank",
            "Lai 2012, Algorithm 1; its grid",
            FENCHEL_GRID,
            each_of(FenchelRank, ("radius",), BALL, n_threads=1),
        ),
        System(
            "fenchel_exact",
            "FenchelRank, exact optimum",
            "the same problem",
            {"radius": FENCHEL_GRID["radius"]},
            each_of(FenchelRank, ("radius",), BALL, solver="exact", n_threads=1),
        ),
        System("fsm_rank", "FSMRank", "Lai 2013, Algorithm 1", FSM_GRID, lai.fsm_rank),
        System("fsm_truncated", "FSMRank, k largest weights", "Lai 2013, Figs 1-3", FSM_GRID, lai.fsm_truncated),
        System(
            "fsm_s1", "FSMRank, lambda1 = 0, s = 1", "Lai 2013, Table III", _ablation(importance="ones"), lai.fsm_rank
        ),
        System(
            "fsm_spc",
            "FSMRank, lambda1 = 0, s = PC",
            "Lai 2013, Table III",
            _ablation(importance="pearson"),
            lai.fsm_rank,
        ),
        System(
            "fsm_ai",
            "FSMRank, lambda2 = 0, A = I",
            "Lai 2013, Section IV-D",
            _ablation(similarity="identity"),
            lai.fsm_rank,
        ),
        System(
            "fsm_apc",
            "FSMRank, lambda2 = 0, A = PC",
            "Lai 2013, Section IV-D",
            _ablation(similarity="pearson"),
            lai.fsm_rank,
        ),
        System("l1", "RankSVM-l1", "Laporte 2014, Algorithm 1", {"alpha_ratio": RATIOS}, laporte.laporte("l1")),
        System(
            "mcp",
            "MCP",
            "Laporte 2014, Algorithm 2, gamma = 2 (sum scale)",
            {"alpha_ratio": RATIOS},
            laporte.laporte("mcp"),
        ),
        System("log", "log", "Laporte 2014, Algorithm 2, eps = 0.1", {"alpha_ratio": RATIOS}, laporte.laporte("log")),
        System("l0.5", "l0.5", "Laporte 2014, Algorithm 2, p = 0.5", {"alpha_ratio": RATIOS}, laporte.laporte("l0.5")),
        System(
            "rank_svm", "RankSVM-Primal", "Chapelle and Keerthi 2010", {"alpha": RIDGE_ALPHAS}, least_squares.rank_svm
        ),
        System(
            "rank_rls",
            "RankRLS",
            "Pahikkala 2010; its grid",
            {"lam": [2.0**e for e in range(-15, 16)]},
            least_squares.rank_rls,
        ),
        System(
            "greedy_rank_rls",
            "GRankRLS",
            "Pahikkala 2010, Algorithm 1; its grid",
            {"lam": [2.0**e for e in range(11)], "max_k": [1000]},
            least_squares.greedy_rank_rls,
        ),
        System(
            "tg_rank",
            "TGRank",
            "Lai 2012, Section 8.5.1",
            {"alpha_ratio": RATIOS[::3], "max_iter": [1000]},
            lai.truncated(TGRank),
        ),
        System(
            "rs_rank", "RSRank", "Sun 2009", {"alpha_ratio": RATIOS[::3], "max_iter": [1000]}, lai.truncated(RSRank)
        ),
        System("fs_rank", "FS-Rank", "Lai 2012, Section 8.5.2", {"alpha": REFIT_ALPHAS}, lai.fs_rank),
        System(
            "gas_e",
            "GAS-E",
            "Geng 2007",
            {"importance": ["map", "ndcg@10"], "c": [0.0, 0.01, 0.03, 0.1, 0.3], "alpha": REFIT_ALPHAS},
            lai.gas,
        ),
        System("fsmsvm", "FSMSVM", "Lai 2013, Section IV-D", {**FSM_GRID, "alpha": REFIT_ALPHAS}, lai.fsmsvm),
        System(
            "sparserank",
            "sparserank paths",
            "this package's paths, unscaled features",
            {"penalty": ["l1", "log", "mcp"], "n_alphas": [40]},
            ours.sparserank,
        ),
        System(
            "select",
            "sparserank select (train + validation)",
            "chosen as in `select`, out-of-fold, among linear paths without refits",
            {"penalty": ["l1", "log", "mcp"], "n_alphas": [40]},
            ours.select,
        ),
        System(
            "lai2012_timing",
            "training time",
            "Lai 2012, Table 6",
            {"C_sum": [0.1], "max_iter": [1000]},
            lai.lai2012_timing,
        ),
        System(
            "laporte_timing",
            "computing time of the penalties",
            "Laporte 2014, future work",
            {"alpha_ratio": [0.03], "tol": [1e-4]},
            laporte.laporte_timing,
        ),
        System(
            "log_eps",
            "log, eps varied",
            "Laporte 2014, future work",
            {"eps": [1e-3, 1e-2, 0.1, 1.0, 10.0], "alpha_ratio": RATIOS[::2]},
            laporte.sensitivity("log", "eps"),
        ),
        System(
            "lp_p",
            "lp, p varied",
            "Laporte 2014, future work",
            {"p": [0.1, 0.3, 0.5, 0.7, 0.9], "alpha_ratio": RATIOS[::2]},
            laporte.sensitivity("l0.5", "p"),
        ),
        System(
            "mcp_gamma",
            "MCP, gamma varied (sum scale)",
            "Laporte 2014, future work",
            {"gamma": [1e-5, 1e-4, 1e-3, 1e-2, 2.0], "alpha_ratio": RATIOS[::2]},
            laporte.sensitivity("mcp", "gamma"),
        ),
        System("random", "random weights", "Lai 2012, Fig. 1", {"draws": [10]}, ours.random),
    )
}


SINGLE = ("epsilon", "max_iter", "max_k", "n_alphas", "tol", "draws")  # parameters that are settings, not grids
SYSTEMS = {
    name: replace(
        s, single=tuple(p for p in SINGLE if p in s.grid) + (("alpha_ratio",) if name == "laporte_timing" else ())
    )
    for name, s in SYSTEMS.items()
}
COMPARED = tuple(  # what an experiment runs by default; the others answer one question of one paper
    s
    for s in SYSTEMS
    if not s.startswith("fsm_") or s in ("fsm_rank", "fsm_truncated")
    if s not in ("lai2012_timing", "laporte_timing", "log_eps", "lp_p", "mcp_gamma")
)


def find_system(name: str) -> System:
    """The system of that name; DataError lists the known ones."""
    if name not in SYSTEMS:
        raise DataError(f"no system {brief(name)}; choose one of {', '.join(SYSTEMS)}.")
    return SYSTEMS[name]
