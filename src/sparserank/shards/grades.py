"""Grades by scores: the labels from which distilled models learn (docs/theory.md section 9)."""

from __future__ import annotations

import numpy as np

BOUNDS = (0.5, 0.7, 0.82, 0.9, 0.96)  # shares of the other documents of the query that score lower


def grades_of(scores: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """(n_docs,) uint8: the number of BOUNDS below the share of a query's other documents that score lower. Tied
    documents get the same grade, so the order of the file does not matter."""
    sizes = np.diff(query_ptr)
    starts = np.repeat(query_ptr[:-1], sizes)
    order = np.lexsort((scores, starts))
    # In order of score within each query, each document has as many below it as the first of its ties.
    ordered, place = scores[order], np.arange(len(scores))
    begins = (place == starts) | (ordered != np.roll(ordered, 1))
    first = np.maximum.accumulate(np.where(begins, place, 0))
    lower = (first - starts) / np.maximum(np.repeat(sizes, sizes) - 1, 1)
    out = np.empty(len(scores), dtype=np.uint8)
    out[order] = np.searchsorted(BOUNDS, lower, side="left")
    return out
