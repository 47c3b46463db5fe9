"""Shards own rows: whole queries, what they cost at given coefficients, and nothing else."""

from sparserank.shards.local import LocalShards, Shards, as_rows, make_shards
from sparserank.shards.rows import Rows
from sparserank.shards.shard import Shard

__all__ = ["LocalShards", "Rows", "Shard", "Shards", "as_rows", "make_shards"]
