"""Parameters and data that the papers' rankers cannot use are refused in a sentence that names them."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.errors import DataError
from tests.support.problems import unit_problem

DATA = unit_problem(0)
NAN, INF = float("nan"), float("inf")
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    *[("FSRank", {"k": k}, "k must be an integer >= 1") for k in (0, 1.5)],
    ("FSMSVM", {"k": 2, "alpha": 0.0}, "alpha must be finite and > 0"),
    ("FSMSVM", {"k": 2, "lambda2": 1e3}, "the first stage keeps no feature"),
    ("GasRanker", {"k": 2, "c": -1.0}, "c must be >= 0"),
    ("TGRank", {"alpha": 0.0}, "alpha must be finite and > 0"),
    ("TGRank", {"window": 0}, "window must be an integer >= 1"),
    ("TGRank", {"step": INF}, "step must be finite and > 0"),
    ("RSRank", {"max_iter": 0}, "max_iter must be an integer >= 1"),
    ("FenchelRank", {"solver": "simplex"}, "solver must be one of frank_wolfe, exact"),
    ("FenchelRank", {"step": "constant"}, "step must be one of exact, closed_form"),
    ("FenchelRank", {"radius": INF}, "radius must be finite and > 0"),
    ("FenchelRank", {"epsilon": NAN}, "epsilon must be >= 0 and finite"),
    ("FenchelRank", {"max_iter": 1.5}, "max_iter must be an integer >= 1"),
    ("FSMRank", {"form": "cubic"}, "form must be one of split, quadratic"),
    ("FSMRank", {"lambda1": -1.0}, "lambda1 must be >= 0"),
    ("FSMRank", {"lambda2": NAN}, "lambda2 must be >= 0"),
    ("FSMRank", {"max_iter": 0}, "max_iter must be an integer >= 1"),
    ("FSMRank", {"tol": -1.0}, "tol must be >= 0"),
    ("FSMRank", {"importance": "gain"}, "importance 'gain' is unknown"),
    *[("FSMRank", {"importance": v}, "importance must contain 6 finite values >= 0") for v in ([1.0], [-1.0] * 6)],
    ("FSMRank", {"similarity": "cosine"}, "similarity must be one of"),
    *[
        ("FSMRank", {"similarity": S}, "similarity must be a symmetric")
        for S in (np.eye(3), -np.eye(6), np.triu(np.ones((6, 6))))
    ],
    ("FSMRank", {"form": "quadratic", "similarity": 1.0 - np.eye(6)}, "has the negative eigenvalue -1"),
    ("GreedyRankRLS", {"search": "backward"}, "search must be one of forward, floating, backfitting"),
    ("GreedyRankRLS", {"lam": INF}, "lam must be finite and > 0"),
    ("GreedyRankRLS", {"k": 2.5}, "k must be an integer >= 1"),
    ("GreedyRankRLS", {"n_candidates": 0}, "n_candidates must be an integer >= 1"),
    ("GreedyRankRLS", {"k_max": -1}, "k_max must be an integer >= 1"),
    ("GreedyRankRLS", {"size_penalty": NAN}, "size_penalty must be >= 0"),
    ("GreedyRankRLS", {"search": "exact", "time_limit": 0.0}, "time_limit must be finite and > 0"),
    ("GreedyRankRLS", {"search": "exact", "tie": 1.0}, "tie must be >= 0 and < 1"),
    ("GreedyRankRLS", {"search": "exact", "n_candidates": 3}, "n_candidates is for greedy searches"),
    *[("RankRLS", {"lam": lam}, "lam must be finite and > 0") for lam in (0.0, NAN, INF, (), (1.0, 0.0))],
    ("Laporte2014", {"C_sum": 0.0}, "C_sum must be finite and > 0"),
    ("Laporte2014", {"penalty": "scad"}, "penalty must be one of l1, mcp, log"),
]


@pytest.mark.parametrize(("ranker", "parameters", "sentence"), REFUSED)
def test_a_wrong_parameter_is_refused_by_name(ranker: str, parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=f"{ranker}: .*{sentence}"):
        getattr(sr.papers, ranker)(**parameters).fit(DATA.X, DATA.relevance, qid=DATA.qid)


@pytest.mark.parametrize(
    "ranker", [sr.papers.RankRLS(), sr.papers.GreedyRankRLS(), sr.papers.GreedyRankRLS(search="backfitting")], ids=repr
)
def test_data_without_a_preference_and_wrong_weights_are_refused(ranker: sr.papers.RankRLS) -> None:
    own_level = np.repeat([0.1, 0.7, 0.2, 0.4, 0.3], np.diff(DATA.query_ptr))  # real labels, equal within each query
    for labels, weight in ((np.ones(DATA.n_docs), None), (own_level, None), (DATA.relevance, np.zeros(5))):
        with pytest.raises(DataError, match="no preferred pair"):
            ranker.fit(DATA.X, labels, qid=DATA.qid, query_weight=weight)
    for weight in ([1, 1], [1, 1, 1, 1, -1], [1, 1, 1, 1, np.nan]):
        with pytest.raises(DataError, match="query_weight must contain"):
            ranker.fit(DATA.X, DATA.relevance, qid=DATA.qid, query_weight=weight)


def test_data_that_are_too_large_to_decompose_name_the_alternative() -> None:
    square = sp.csr_matrix(([1.0], ([0], [0])), shape=(20_001, 20_001))
    with pytest.raises(DataError, match=r"smaller side of X, at most 20000.*backfitting"):
        sr.papers.RankRLS().fit(square, np.arange(20_001) % 2, qid=np.arange(20_001) // 10_000)
