"""Which features tree rankers should keep, and our models compared with trees; needs `sparserank[trees]`."""

from sparserank.jobs.trees.compare import compare_with_trees
from sparserank.jobs.trees.select_for_trees import select_for_trees
from sparserank.selection.comparison import ComparisonResult
from sparserank.selection.for_trees import TreesSelection

__all__ = ["ComparisonResult", "TreesSelection", "compare_with_trees", "select_for_trees"]
