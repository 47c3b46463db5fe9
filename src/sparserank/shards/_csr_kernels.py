"""Compiled products with compressed sparse rows.

Compared with a slow version in tests/losses/test_losses.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from sparserank._kernel_cache import kernel


@kernel
def scores(arrays, lo, hi, W, which, out):
    """out[k] = X[lo:hi] W[k] for k of `which`."""
    data, indices, indptr = arrays
    for i in range(lo, hi):
        for k in which:
            w = W[k]
            total = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                total += data[at] * w[indices[at]]
            out[k, i - lo] = total


@kernel
def transposed(arrays, lo, hi, G, which, out):
    """out[k] += X[lo:hi]^T G[k] for k of `which`."""
    data, indices, indptr = arrays
    for k in which:
        total = out[k]
        for i in range(lo, hi):
            g = G[k, i - lo]
            if g != 0.0:
                for at in range(indptr[i], indptr[i + 1]):
                    total[indices[at]] += g * data[at]
