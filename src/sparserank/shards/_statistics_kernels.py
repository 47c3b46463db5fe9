"""Compiled sums for statistics of features: range and squares for K sets of queries in one read; the pair norms.

Compared with a slow version in tests/shards/test_pair_norms.py and, `moments`, in tests/shards/test_shards.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel


@kernel
def moments(X, at, query_ptr, used, unit, around, first, last, low, high, sums, within, between):
    """Add queries first .. last - 1 to the sums of every k with used[k, q]; the first row of X is document `at`.

    For the features times unit (d,), all (K, d): low, high; sums of x - around; within: squares about the query's mean;
    between: squares of the query's mean about `around` (K, d), times its number of documents.
    """
    d = X.shape[1]
    of_query = np.empty((4, d))
    for q in range(first, last):
        lo = query_ptr[q] - at
        hi = query_ptr[q + 1] - at
        m = hi - lo
        any_used = False
        for k in range(used.shape[0]):
            any_used = any_used or used[k, q]
        if m == 0 or not any_used:
            continue
        least = of_query[0]
        most = of_query[1]
        mean = of_query[2]
        square = of_query[3]
        for j in range(d):
            least[j] = most[j] = unit[j] * np.float64(X[lo, j])
            mean[j] = square[j] = 0.0
        for i in range(lo, hi):
            for j in range(d):
                x = unit[j] * np.float64(X[i, j])
                least[j] = min(least[j], x)
                most[j] = max(most[j], x)
                mean[j] += x - unit[j] * np.float64(X[lo, j])  # exact for values close together, however far from 0
        for j in range(d):
            mean[j] /= m
        for i in range(lo, hi):
            for j in range(d):
                here = unit[j] * np.float64(X[i, j])
                first = unit[j] * np.float64(X[lo, j])
                x = (here - first) - mean[j]
                square[j] += x * x
        for j in range(d):
            mean[j] += unit[j] * np.float64(X[lo, j])
        for k in range(used.shape[0]):
            if used[k, q]:
                for j in range(d):
                    low[k, j] = min(low[k, j], least[j])
                    high[k, j] = max(high[k, j], most[j])
                    x = mean[j] - around[k, j]
                    sums[k, j] += m * x
                    within[k, j] += square[j]
                    between[k, j] += m * x * x


@kernel
def sums_before(values, is_first, out):
    """out[i] = the sum of values (n, d) before row i since the last row with is_first[i]:
    other segments cost no precision."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if is_first[i]:
                out[i, j] = 0.0
            else:
                out[i, j] = out[i - 1, j] + values[i - 1, j]


@kernel
def dense_sums(X, lists, weight, of_document, unit, of_query, largest, offset):
    """Fill of_query, largest, offset, each (n_queries, d) of zeros, for dense rows X whose pairs of levels have a
    table: per query the sum over pairs of t (v_i - v_j)^2, v = X times unit (d,), and the largest |deviation| from, and
    |value| of, the first document in a pair.

    weight, of_document (n_docs,): weights of a document, and of all its pairs. NaN in X stays NaN.
    """
    query_ptr, levels, n_levels, table, doc_weight = lists
    d = X.shape[1]
    K = table.shape[0]
    S = np.zeros((K, d))
    U = np.zeros((K, d))
    around = np.empty(d)
    present = np.zeros(K, dtype=np.bool_)
    for q in range(len(n_levels)):
        lo = query_ptr[q]
        hi = query_ptr[q + 1]
        if lo == hi:
            continue
        first = lo
        for i in range(hi - 1, lo - 1, -1):
            if of_document[i] > 0.0:
                first = i
        for j in range(d):
            around[j] = X[first, j]
            offset[q, j] = abs(around[j] * unit[j])
        for i in range(lo, hi):
            present[levels[i]] = True
            c = of_document[i]
            if c > 0.0:
                s = S[levels[i]]
                u = U[levels[i]]
                w = weight[i]
                for j in range(d):
                    v = (X[i, j] - around[j]) * unit[j]
                    size = abs(v)
                    if size > largest[q, j] or size != size:  # NaN stays
                        largest[q, j] = size
                    of_query[q, j] += c * v * v
                    s[j] += v
                    if doc_weight is not None:
                        u[j] += w * v
        upper = S if doc_weight is None else U
        for a in range(1, K):
            for b in range(a if present[a] else 0):
                t = 2.0 * table[a, b]
                if present[b] and t != 0.0:
                    for j in range(d):
                        of_query[q, j] -= t * upper[a, j] * S[b, j]
        for level in range(K):
            if present[level]:
                present[level] = False
                for j in range(d):
                    S[level, j] = 0.0
                    U[level, j] = 0.0
