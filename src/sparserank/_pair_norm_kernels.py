"""Weighted sums over all pairs of squared feature differences, active or not, from sums per level."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numba import njit

from sparserank._pass_kernels import rows_of


@njit(cache=True, nogil=True)
def dense_pair_norms(X, facts, first, last, out, largest, offset):
    """out[j] += sum over queries of scale * sum over pairs of t (x_ij - x_jj)^2, features centred at a document of the query.

    largest[j] becomes at least the largest |deviation| from that document, offset[j] the largest |value| of such a document.
    """
    query_ptr, levels, n_levels, table, doc_weight, query_scale = facts
    for q in range(first, last):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        if n_levels[q] >= 2 and query_scale[q] != 0.0:
            dw = rows_of(doc_weight, lo, hi)
            _of_query(X[lo:hi], levels[lo:hi], n_levels[q], table, dw, query_scale[q], out, largest, offset)


@njit(cache=True, nogil=True)
def _of_query(X, levels, K, table, doc_weight, scale, out, largest, offset):
    """Per level: count, sum and sum of squares, as a lower partner and, by its weight, as an upper one; pairs of levels are
    then closed forms. Without a table the lower levels are accumulated into one.
    """
    m, d = X.shape
    count = np.zeros(K)
    sums = np.zeros((K, d))
    squares = np.zeros((K, d))
    upper_count, upper_sums, upper_squares = count, sums, squares
    if doc_weight is not None:
        upper_count, upper_sums, upper_squares = np.zeros(K), np.zeros((K, d)), np.zeros((K, d))
    for j in range(d):
        offset[j] = max(offset[j], abs(np.float64(X[0, j])))
    for i in range(m):
        level = levels[i]
        count[level] += 1.0
        for j in range(d):
            x = np.float64(X[i, j]) - np.float64(X[0, j])
            sums[level, j] += x
            squares[level, j] += x * x
            if not abs(x) <= largest[j]:  # NaN counts as too large
                largest[j] = abs(x)
        if doc_weight is not None:
            weight = doc_weight[i]
            upper_count[level] += weight
            for j in range(d):
                x = np.float64(X[i, j]) - np.float64(X[0, j])
                upper_sums[level, j] += weight * x
                upper_squares[level, j] += weight * (x * x)
    if table.shape[0] > 0:
        for a in range(K):
            for b in range(a):
                weight = scale * table[a, b]
                if weight != 0.0 and upper_count[a] > 0 and count[b] > 0:
                    for j in range(d):
                        out[j] += weight * (
                            count[b] * upper_squares[a, j]
                            + upper_count[a] * squares[b, j]
                            - 2.0 * upper_sums[a, j] * sums[b, j]
                        )
    else:
        for a in range(1, K):
            c = count[a - 1]
            for j in range(d):
                out[j] += scale * (
                    c * upper_squares[a, j]
                    + upper_count[a] * squares[a - 1, j]
                    - 2.0 * upper_sums[a, j] * sums[a - 1, j]
                )
                sums[a, j] += sums[a - 1, j]
                squares[a, j] += squares[a - 1, j]
            count[a] += c
