"""Products with dense rows, compiled.

Reassociation (and nothing else of fast-math: NaN and infinity survive) lets the dot product vectorise.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numba import njit

_REASSOCIATE = {"reassoc", "contract"}


@njit(cache=True, nogil=True, fastmath=_REASSOCIATE)
def _dot(row, w):
    total = 0.0
    for j in range(len(w)):
        total += row[j] * w[j]
    return total


@njit(cache=True, nogil=True)
def scores(arrays, lo, hi, w, out):
    """out = X[lo:hi] w; several rows at a time were measured and are slower (28 against 24 ms on 240,000 x 136)."""
    X = arrays[0]
    for i in range(lo, hi):
        out[i - lo] = _dot(X[i], w)


@njit(cache=True, nogil=True)
def transposed(arrays, lo, hi, g, out):
    """out += X[lo:hi]^T g, four rows at a time; rows without a gradient are skipped."""
    X = arrays[0]
    d = X.shape[1]
    row = np.zeros(4, dtype=np.int64)
    filled = 0
    for i in range(lo, hi):
        if g[i - lo] != 0.0:
            row[filled] = i
            filled += 1
            if filled == 4:
                a, b, c, e = row[0], row[1], row[2], row[3]
                ga, gb, gc, ge = g[a - lo], g[b - lo], g[c - lo], g[e - lo]
                for j in range(d):
                    out[j] += (ga * X[a, j] + gb * X[b, j]) + (gc * X[c, j] + ge * X[e, j])
                filled = 0
    for k in range(filled):
        i = row[k]
        for j in range(d):
            out[j] += g[i - lo] * X[i, j]


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
