"""Rankers: thin scikit-learn estimators."""

from sparserank.rankers.sparse_ranker import RankSVM, SparseRanker
from sparserank.rankers.sparse_ranker_cv import SparseRankerCV

__all__ = [
    "RankSVM",
    "SparseRanker",
    "SparseRankerCV",
]
