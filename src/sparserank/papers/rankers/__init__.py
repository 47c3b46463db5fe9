"""The rankers of the papers and their baselines, as thin scikit-learn estimators."""

from sparserank.papers.rankers.fenchel_rank import FenchelRank
from sparserank.papers.rankers.fsm_rank import FSMRank
from sparserank.papers.rankers.greedy_rank_rls import GreedyRankRLS
from sparserank.papers.rankers.laporte2014 import Laporte2014
from sparserank.papers.rankers.random_ranker import RandomRanker
from sparserank.papers.rankers.rank_rls import RankRLS
from sparserank.papers.rankers.truncated_gradient import RSRank, TGRank
from sparserank.papers.rankers.two_stage import FSMSVM, FSRank, GasRanker

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
    "TGRank",
]
