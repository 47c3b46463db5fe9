"""Statistics of values per query: comparison of systems, intervals, tests, bounds that stay valid after a choice."""

from sparserank.evaluation.compare import (
    DEFAULT_METRICS,
    Evaluation,
    compare_systems,
    evaluate,
    mean_of,
    per_query_values,
)
from sparserank.evaluation.comparison import Comparison

__all__ = ["DEFAULT_METRICS", "Comparison", "Evaluation", "compare_systems", "evaluate", "mean_of", "per_query_values"]
