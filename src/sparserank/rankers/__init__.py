"""Rankers: scikit-learn estimators, thin."""

from sparserank.rankers.fenchel_rank import FenchelRank
from sparserank.rankers.fsm_rank import FSMRank
from sparserank.rankers.greedy_rank_rls import GreedyRankRLS
from sparserank.rankers.laporte2014 import Laporte2014
from sparserank.rankers.random_ranker import RandomRanker
from sparserank.rankers.rank_rls import RankRLS
from sparserank.rankers.sparse_ranker import RankSVM, SparseRanker
from sparserank.rankers.sparse_ranker_cv import SparseRankerCV
from sparserank.rankers.truncated_gradient import RSRank, TGRank
from sparserank.rankers.two_stage import FSMSVM, FSRank, GasRanker

__all__ = [
    "FSMSVM",
    "FSMRank",
    "FSRank",
    "FenchelRank",
    "GasRanker",
    "GreedyRankRLS",
    "Laporte2014",
    "RSRank",
    "RandomRanker",
    "RankRLS",
    "RankSVM",
    "SparseRanker",
    "SparseRankerCV",
    "TGRank",
]
