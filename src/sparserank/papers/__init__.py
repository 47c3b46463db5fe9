"""The five papers: their algorithms, rankers and measures."""

from sparserank.papers.measures import feature_importance, feature_similarity
from sparserank.papers.rankers import (
    FSMSVM,
    FenchelRank,
    FSMRank,
    FSRank,
    GasRanker,
    GreedyRankRLS,
    Laporte2014,
    RandomRanker,
    RankRLS,
    RSRank,
    TGRank,
)
from sparserank.papers.rls import leave_query_out
from sparserank.rankers.sparse_ranker import RankSVM

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
    "TGRank",
    "feature_importance",
    "feature_similarity",
    "leave_query_out",
]
