"""Map-reduce over blocks of whole queries."""

from sparserank.execution.blocks import split_queries
from sparserank.execution.threads import BlockExecutor

__all__ = ["BlockExecutor", "split_queries"]
