"""Map-reduce over blocks of whole queries."""

from sparserank.execution.blocks import split_queries
from sparserank.execution.cores import available_cores
from sparserank.execution.threads import BlockExecutor

__all__ = ["BlockExecutor", "available_cores", "split_queries"]
