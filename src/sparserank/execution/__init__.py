"""Map-reduce over blocks of whole queries."""

from sparserank.execution.blocks import split_queries
from sparserank.execution.threads import BlockExecutor, available_cores

__all__ = ["BlockExecutor", "available_cores", "split_queries"]
