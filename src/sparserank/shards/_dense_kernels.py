"""Compiled products with dense rows.

Reassociation lets the dot product vectorise. Other fast-math options are off, so NaN and infinity survive.

Compared with a slow version in tests/shards/test_dense_rows.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.shards._instructions import LINE_BYTES, prefetch

_REASSOCIATE = {"reassoc", "contract"}
AHEAD_BYTES = 2200  # prefetch distance for rows of float32
ROWS_IN_CACHE = 32  # the products of these rows with all gradients are added before the next rows are read


@kernel(fastmath=_REASSOCIATE)
def scores(arrays, lo, hi, W, which, out):
    """out[k] = X[lo:hi] W[k] for k of `which`. Rows are processed in pairs that are half the block apart, because
    memory serves two streams faster than one. A pair stays in cache for all k; with an odd number of rows, the last is
    computed twice.

    Conversions of float32 leave the processor little room to look ahead. Rows of float32 between a cache line and
    AHEAD_BYTES in length are therefore prefetched AHEAD_BYTES before they are read.
    """
    X = arrays[0]
    n, d = X.shape
    half = (hi - lo + 1) // 2
    row_bytes = X.itemsize * d
    ahead = AHEAD_BYTES // row_bytes if X.itemsize < 8 and row_bytes >= LINE_BYTES else 0
    for i in range(lo, lo + half):
        other = min(i + half, hi - 1)
        if ahead > 0:
            for j in range(0, d, LINE_BYTES // X.itemsize):
                prefetch(X, min(i + ahead, n - 1), j)
                prefetch(X, min(other + ahead, n - 1), j)
        for k in which:
            w = W[k]
            here = there = 0.0
            for j in range(len(w)):
                here += X[i, j] * w[j]
                there += X[other, j] * w[j]
            out[k, i - lo] = here
            out[k, other - lo] = there


@kernel(fastmath={"contract"})
def transposed(arrays, lo, hi, G, which, out):
    """out[k] += X[lo:hi]^T G[k] for k of `which`; rows without a gradient are not read. Eight rows with a gradient are
    processed together: each sum is read and written once for eight multiply-adds."""
    X = arrays[0]
    d = X.shape[1]
    for first in range(lo, hi, ROWS_IN_CACHE):
        last = min(first + ROWS_IN_CACHE, hi)
        for k in which:
            g = G[k]
            total = out[k]
            i = first
            while i < last:
                a = i - lo
                if i + 8 <= last:
                    g0 = g[a]
                    g1 = g[a + 1]
                    g2 = g[a + 2]
                    g3 = g[a + 3]
                    g4 = g[a + 4]
                    g5 = g[a + 5]
                    g6 = g[a + 6]
                    g7 = g[a + 7]
                    all_first = g0 != 0.0 and g1 != 0.0 and g2 != 0.0 and g3 != 0.0
                    if all_first and g4 != 0.0 and g5 != 0.0 and g6 != 0.0 and g7 != 0.0:
                        for j in range(d):
                            t = total[j] + g0 * X[i, j] + g1 * X[i + 1, j] + g2 * X[i + 2, j] + g3 * X[i + 3, j]
                            total[j] = t + g4 * X[i + 4, j] + g5 * X[i + 5, j] + g6 * X[i + 6, j] + g7 * X[i + 7, j]
                        i += 8
                        continue
                gi = g[a]
                if gi != 0.0:
                    for j in range(d):
                        total[j] += gi * X[i, j]
                i += 1


@kernel
def differences(X, query_ptr, queries, columns, inverse, out):
    """out = (X - the first document of its query) * inverse, for the rows of `queries` and the given columns.

    A shift that is constant within a query affects no pair. Without it, float32 suffices for a model of the curvature.
    """
    at = 0
    for q in queries:
        lo = query_ptr[q]
        hi = query_ptr[q + 1]
        for i in range(lo, hi):
            for c in range(len(columns)):
                j = columns[c]
                here = np.float64(X[i, j])
                first = np.float64(X[lo, j])
                out[at + i - lo, c] = (here - first) * inverse[c]
        at += hi - lo
