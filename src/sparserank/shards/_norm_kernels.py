"""Weighted sums over all pairs of squared feature differences, active or not, from sums per level."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numba import njit

from sparserank.shards._pass_kernels import rows_of


@njit(cache=True, nogil=True)
def pair_norms(X, at, lists, scales, unit, first, last, out, largest, offset):
    """Adds queries first .. last - 1 to K sums at once; the first row of X is document `at`.

    out[k, j] += scales[k, q] * sum over the pairs of q of t (x_ij - x_jj)^2, features times unit (d,) and centred at a document of
    the query; largest[k, j] becomes at least the largest |deviation| from that document, offset[k, j] the largest |value| of such
    a document, over the queries with scales[k, q] != 0. All three (K, d).
    """
    query_ptr, levels, n_levels, table, doc_weight = lists
    d = X.shape[1]
    of_query = np.empty((2, d))
    for q in range(first, last):
        used = False
        for k in range(scales.shape[0]):
            used = used or scales[k, q] != 0.0
        if n_levels[q] < 2 or not used:
            continue
        lo, hi = query_ptr[q], query_ptr[q + 1]
        rows = X[lo - at : hi - at]
        _of_query(rows, levels[lo:hi], n_levels[q], table, rows_of(doc_weight, lo, hi), unit, of_query)
        for k in range(scales.shape[0]):
            if scales[k, q] != 0.0:
                for j in range(d):
                    out[k, j] += scales[k, q] * of_query[0, j]
                    if not of_query[1, j] <= largest[k, j]:  # NaN counts as too large
                        largest[k, j] = of_query[1, j]
                    offset[k, j] = max(offset[k, j], abs(unit[j] * np.float64(rows[0, j])))


@njit(cache=True, nogil=True)
def _of_query(X, levels, K, table, doc_weight, unit, out):
    """out[0] = sum over pairs of t (x_i - x_j)^2, out[1] = largest |deviation| from the first document, per feature.

    Per level: count, sum and sum of squares, as a lower partner and, by its weight, as an upper one; pairs of levels are
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
        out[0, j] = 0.0
        out[1, j] = 0.0
    for i in range(m):
        level = levels[i]
        count[level] += 1.0
        for j in range(d):
            x = unit[j] * (np.float64(X[i, j]) - np.float64(X[0, j]))
            sums[level, j] += x
            squares[level, j] += x * x
            if not abs(x) <= out[1, j]:
                out[1, j] = abs(x)
        if doc_weight is not None:
            weight = doc_weight[i]
            upper_count[level] += weight
            for j in range(d):
                x = unit[j] * (np.float64(X[i, j]) - np.float64(X[0, j]))
                upper_sums[level, j] += weight * x
                upper_squares[level, j] += weight * (x * x)
    if table.shape[0] > 0:
        for a in range(K):
            for b in range(a):
                weight = table[a, b]
                if weight != 0.0 and upper_count[a] > 0 and count[b] > 0:
                    for j in range(d):
                        out[0, j] += weight * (
                            count[b] * upper_squares[a, j]
                            + upper_count[a] * squares[b, j]
                            - 2.0 * upper_sums[a, j] * sums[b, j]
                        )
    else:
        for a in range(1, K):
            c = count[a - 1]
            for j in range(d):
                out[0, j] += (
                    c * upper_squares[a, j]
                    + upper_count[a] * squares[a - 1, j]
                    - 2.0 * upper_sums[a, j] * sums[a - 1, j]
                )
                sums[a, j] += sums[a - 1, j]
                squares[a, j] += squares[a - 1, j]
            count[a] += c
