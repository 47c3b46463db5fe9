"""Products with compressed sparse rows, compiled."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def scores(arrays, lo, hi, w, out):
    """out = X[lo:hi] w."""
    data, indices, indptr = arrays
    for i in range(lo, hi):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * w[indices[k]]
        out[i - lo] = total


@njit(cache=True, nogil=True)
def transposed(arrays, lo, hi, g, out):
    """out += X[lo:hi]^T g."""
    data, indices, indptr = arrays
    for i in range(lo, hi):
        if g[i - lo] != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += g[i - lo] * data[k]
