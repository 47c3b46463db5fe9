"""Sorting the documents of every list, compiled.

Compared with a slow version in tests/metrics/test_metrics.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel


@kernel
def order_lists(scores, second, query_ptr):
    """(n_docs,) rows, list after list, by descending score, equal scores by ascending `second`, then by row."""
    order = np.empty(len(scores), dtype=np.int64)
    buffer = np.empty(len(scores), dtype=np.int64)
    for q in range(len(query_ptr) - 1):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        for i in range(lo, hi):
            order[i] = i
        source, target = order, buffer
        width = 1
        while width < hi - lo:
            start = lo
            while start < hi:
                middle, end = min(start + width, hi), min(start + 2 * width, hi)
                a, b = start, middle
                for k in range(start, end):
                    if b >= end:
                        first = True
                    elif a >= middle:
                        first = False
                    else:
                        x, y = source[a], source[b]
                        first = scores[x] > scores[y] or (scores[x] == scores[y] and second[x] <= second[y])
                    if first:
                        target[k] = source[a]
                        a += 1
                    else:
                        target[k] = source[b]
                        b += 1
                start = end
            source, target = target, source
            width *= 2
        if source is not order:
            for i in range(lo, hi):
                order[i] = buffer[i]
    return order
