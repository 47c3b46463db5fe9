"""Blocks of whole queries: the unit of parallel work. They depend on the data only, never on the number of threads."""

from __future__ import annotations

import numpy as np

BLOCK_BYTES = 4 << 20  # below this a thread hand-over costs more than the work it carries


def split_queries(query_ptr: np.ndarray, row_bytes: float, minimum_bytes: float = 0.0) -> np.ndarray:
    """Query offsets of consecutive blocks of about BLOCK_BYTES (at least `minimum_bytes`) of features.

    Parameters
        query_ptr   (n_queries + 1,)
        row_bytes   average bytes of features per document
    Returns
        (n_blocks + 1,) int64: block b holds queries offsets[b]:offsets[b + 1]
    """
    n_queries = len(query_ptr) - 1
    total = float(query_ptr[-1]) * row_bytes
    n_blocks = max(1, min(n_queries, round(total / max(BLOCK_BYTES, minimum_bytes))))
    targets = np.linspace(0, query_ptr[-1], n_blocks + 1)[1:-1]
    inner = np.searchsorted(query_ptr, targets)
    return np.unique(np.concatenate([[0], inner, [n_queries]])).astype(np.int64)
