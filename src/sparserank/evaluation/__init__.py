"""Values per query in, statements out: systems compared, intervals and tests, bounds that hold after a choice."""

from sparserank.evaluation.compare import (
    DEFAULT_METRICS,
    Comparison,
    Evaluation,
    compare_systems,
    evaluate,
    mean_of,
    per_query_values,
)

__all__ = ["DEFAULT_METRICS", "Comparison", "Evaluation", "compare_systems", "evaluate", "mean_of", "per_query_values"]
