"""RankRLS: the pairwise squared loss, reduced to ridge regression by centring each query."""

from sparserank.papers.rls.greedy import GreedyStep, greedy_search
from sparserank.papers.rls.leave_query_out import LeaveQueryOut, leave_query_out

__all__ = ["GreedyStep", "LeaveQueryOut", "greedy_search", "leave_query_out"]
