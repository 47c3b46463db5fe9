"""Shards of whole queries: their rows, and the sums over them at given coefficients."""

from sparserank.shards.local import LocalShards, Shards, as_rows, make_shards
from sparserank.shards.rows import Rows
from sparserank.shards.shard import Shard

__all__ = ["LocalShards", "Rows", "Shard", "Shards", "as_rows", "make_shards"]
