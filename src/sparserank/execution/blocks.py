"""Blocks of whole queries, the unit of parallel work. They depend only on the data, never on the number of threads."""

from __future__ import annotations

import numpy as np

SHARD_BYTES = 128 << 20  # of features; a shard is what is placed, in memory, on a disk or on a worker, as a whole
BLOCK_BYTES = 4 << 20  # below this a thread hand-over costs more than the work it carries


def split_queries(query_ptr: np.ndarray, row_bytes: float, minimum_bytes: float = 0.0) -> np.ndarray:
    """Query offsets of consecutive blocks with about BLOCK_BYTES (at least `minimum_bytes`) of features.

    Parameters
        query_ptr   (n_queries + 1,)
        row_bytes   average bytes of features per document
    Returns
        (n_blocks + 1,) int64: block b contains queries offsets[b]:offsets[b + 1]
    """
    n_queries = len(query_ptr) - 1
    total = float(query_ptr[-1]) * row_bytes
    n_blocks = max(1, min(n_queries, round(total / max(BLOCK_BYTES, minimum_bytes))))
    targets = np.linspace(0, query_ptr[-1], n_blocks + 1)[1:-1]
    inner = np.searchsorted(query_ptr, targets)
    return np.unique(np.concatenate([[0], inner, [n_queries]])).astype(np.int64)


def shard_end(ends: np.ndarray, until: np.ndarray, at: int, n_bytes: int) -> int:
    """The row after a shard that begins with row `at`: the first end of a query with at least n_bytes of features
    before it.

    ends    row after each query, rising; the last one is after all rows
    until   (n_docs + 1,) bytes of features before each row
    The same rule applies to data in memory and in stores, so that both are summed in the same order.
    """
    full = np.searchsorted(until, until[at] + n_bytes)
    return int(ends[min(np.searchsorted(ends, full), len(ends) - 1)])
