"""Products with dense rows, compiled.

Reassociation (and nothing else of fast-math: NaN and infinity survive) lets the dot product vectorise.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numba import njit

_REASSOCIATE = {"reassoc", "contract"}
ROWS_IN_CACHE = 32  # whose products with all gradients are added up before the next are read


@njit(cache=True, nogil=True, fastmath=_REASSOCIATE)
def _dot(row, w):
    total = 0.0
    for j in range(len(w)):
        total += row[j] * w[j]
    return total


@njit(cache=True, nogil=True)
def scores(arrays, lo, hi, W, which, out):
    """out[k] = X[lo:hi] W[k] for k of `which`; a row stays in cache for all of them."""
    X = arrays[0]
    for i in range(lo, hi):
        row = X[i]
        for k in which:
            out[k, i - lo] = _dot(row, W[k])


@njit(cache=True, nogil=True, fastmath={"contract"})
def transposed(arrays, lo, hi, G, which, out):
    """out[k] += X[lo:hi]^T G[k] for k of `which`; rows without a gradient are skipped, the others go four at a time."""
    X = arrays[0]
    d = X.shape[1]
    row = np.zeros(4, dtype=np.int64)
    for first in range(lo, hi, ROWS_IN_CACHE):
        for k in which:
            g, total = G[k], out[k]
            filled = 0
            for i in range(first, min(first + ROWS_IN_CACHE, hi)):
                if g[i - lo] != 0.0:
                    row[filled] = i
                    filled += 1
                    if filled == 4:
                        a, b, c, e = row[0], row[1], row[2], row[3]
                        ga, gb, gc, ge = g[a - lo], g[b - lo], g[c - lo], g[e - lo]
                        for j in range(d):
                            total[j] += (ga * X[a, j] + gb * X[b, j]) + (gc * X[c, j] + ge * X[e, j])
                        filled = 0
            for r in range(filled):
                a = row[r]
                ga = g[a - lo]
                for j in range(d):
                    total[j] += ga * X[a, j]


@njit(cache=True, nogil=True)
def differences(X, query_ptr, queries, columns, inverse, out):
    """out = (X - the first document of its query) * inverse, for the rows of `queries` and the given columns.

    What is the same within a query changes no pair: without it, float32 is enough for a model of the curvature.
    """
    at = 0
    for q in queries:
        lo, hi = query_ptr[q], query_ptr[q + 1]
        for i in range(lo, hi):
            for c in range(len(columns)):
                j = columns[c]
                out[at + i - lo, c] = (np.float64(X[i, j]) - np.float64(X[lo, j])) * inverse[c]
        at += hi - lo
