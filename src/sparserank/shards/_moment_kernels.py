"""Range, sums and within-query squares of features, for K sets of queries in one read."""

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
        lo, hi = query_ptr[q] - at, query_ptr[q + 1] - at
        m = hi - lo
        any_used = False
        for k in range(used.shape[0]):
            any_used = any_used or used[k, q]
        if m == 0 or not any_used:
            continue
        least, most, mean, square = of_query[0], of_query[1], of_query[2], of_query[3]
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
                x = (unit[j] * np.float64(X[i, j]) - unit[j] * np.float64(X[lo, j])) - mean[j]
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
