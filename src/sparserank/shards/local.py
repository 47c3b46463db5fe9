"""Shards of this process, in memory or memory-mapped; threads work on their blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from sparserank.data.store.features import StoredFeatures
from sparserank.execution import SHARD_BYTES, BlockExecutor, shard_end
from sparserank.losses import PairwiseLoss
from sparserank.shards.csr import CsrRows
from sparserank.shards.dense import DenseRows
from sparserank.shards.passes import run_passes
from sparserank.shards.rows import Rows, in_parts
from sparserank.shards.shard import Shard


class Shards(Protocol):
    """Shards of whole queries, in any place. The results of a call are small: nothing per document, and per query only
    the summary, which is requested once, and metrics of models."""

    n_docs: int
    n_queries: int
    n_columns: int
    column_blocks: tuple[tuple[int, ...], ...] | None
    loss: PairwiseLoss

    def call(self, method: str, *small: Any, per_query: np.ndarray | None = None) -> list[Any]:
        """Call `method(*small)` of every shard. The results are in shard order, so that sums of them do not depend on
        where shards are.

        per_query (..., n_queries): each shard gets the part for its queries as an additional argument.
        """
        ...

    def in_order(self, method: str, *small: Any) -> Iterator[Any]:
        """The results of `call`, with only a few in memory at a time: for large results."""
        ...


class LocalShards:
    """`Shards` in this process; threads work on all passes together."""

    def __init__(self, shards: Sequence[Shard], loss: PairwiseLoss) -> None:
        self.shards = list(shards)
        self.loss = loss
        self.n_docs = sum(s.rows.n_docs for s in self.shards)
        self.n_queries = sum(len(s.query_ptr) - 1 for s in self.shards)
        self.n_columns = self.shards[0].rows.n_columns
        self.column_blocks = self.shards[0].rows.column_blocks

    def call(self, method: str, *small: Any, per_query: np.ndarray | None = None) -> list[Any]:
        if method == "value_and_gradient" and len(self.shards) > 1:  # one hand-over to the threads for many shards
            return run_passes(self.shards, self.shards[0].executor, *small)
        results: list[Any] = []
        at = 0
        for shard in self.shards:
            n = len(shard.query_ptr) - 1
            query_part = () if per_query is None else (per_query[..., at : at + n],)
            results.append(getattr(shard, method)(*small, *query_part))
            at += n
        return results

    def in_order(self, method: str, *small: Any) -> Iterator[Any]:
        return (getattr(shard, method)(*small) for shard in self.shards)


def make_shards(
    rows: Rows | Sequence[Rows],
    relevance: np.ndarray,
    query_ptr: np.ndarray,
    loss: PairwiseLoss,
    doc_weight: np.ndarray | None = None,
    n_threads: int | None = None,
    docid: np.ndarray | None = None,
    returned: np.ndarray | None = None,
) -> LocalShards:
    """Cut rows and lists into shards at places that depend only on the data. Nothing is copied. A sequence of rows is
    treated as if they were stacked."""
    executor = BlockExecutor(n_threads)
    shards = []
    for shard_rows, a, b in in_parts(rows, query_ptr) if isinstance(rows, Sequence) else _cut(rows, query_ptr):
        lo = int(query_ptr[a])
        hi = int(query_ptr[b])
        weight = None if doc_weight is None else doc_weight[lo:hi]
        ids, hits = (None if values is None else values[lo:hi] for values in (docid, returned))
        shards.append(
            Shard(
                shard_rows,
                relevance[lo:hi],
                query_ptr[a : b + 1] - lo,
                loss,
                weight,
                executor,
                ids,
                hits,
            )
        )
    return LocalShards(shards, loss)


def _cut(rows: Rows, query_ptr: np.ndarray) -> list[tuple[Rows, int, int]]:
    """(rows, first query, last query + 1) of each shard."""
    until = rows.bytes_until()
    n = rows.n_docs
    at = 0
    cuts = [0]
    while at < n:
        at = shard_end(query_ptr[1:], until, at, SHARD_BYTES)
        cuts.append(int(np.searchsorted(query_ptr, at)))
    cuts[-1:] = [len(query_ptr) - 1]  # queries without documents at the end
    if len(cuts) <= 2:
        return [(rows, 0, len(query_ptr) - 1)]
    places = query_ptr[cuts].tolist()
    parts = [rows.part(lo, hi) for lo, hi in pairwise(places)]
    return list(zip(parts, cuts[:-1], cuts[1:], strict=True))


def as_rows(X: Any) -> Rows | list[Rows]:
    """The rows for an array, a CSR matrix, each part of a store, or rows of any kind unchanged."""
    if isinstance(X, StoredFeatures):
        return [CsrRows(p) if sp.issparse(p) else DenseRows(p) for p in X.parts]
    if sp.issparse(X):
        return CsrRows(X)
    if isinstance(X, np.ndarray):
        return DenseRows(X)
    rows: Rows = X
    return rows
