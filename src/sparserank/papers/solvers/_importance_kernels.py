"""RSRank's pairwise loss: modified Huber, weighted by the change in NDCG if the pair is swapped.

Compared with a slow version in tests/papers/test_baselines.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.losses._sorting_kernels import sort_descending


@kernel
def weighted_huber(scores, gains, discounts, query_ptr, query_scale, gradient):
    """(sum of weights, weighted loss); the gradient with respect to the scores is written to `gradient` (n_docs,).

    Weight of a pair (i, j), gains i > j, of query q: query_scale[q] (gain_i - gain_j) |discount at rank i - at rank j|,
    ranks by descending score, ties in row order; query_scale holds 1 / ideal DCG (0: the query is left out). Loss of a
    margin t: 0 from 1 on, (1 - t)^2 from -1, -4 t below. Pairs are visited, never stored.
    """
    total = 0.0
    loss = 0.0
    for i in range(len(scores)):
        gradient[i] = 0.0
    for q in range(len(query_scale)):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        if query_scale[q] == 0.0:
            continue
        m = hi - lo
        order = np.arange(m).astype(np.int32)
        s = scores[lo:hi]
        at = np.empty(m)
        sort_descending(s, order, at)
        for r in range(m):
            at[order[r]] = discounts[r]
        for i in range(m):
            for j in range(m):
                if gains[lo + i] > gains[lo + j]:
                    weight = query_scale[q] * (gains[lo + i] - gains[lo + j]) * abs(at[i] - at[j])
                    total += weight
                    t = s[i] - s[j]
                    if t < -1.0:
                        loss -= weight * 4.0 * t
                        slope = -4.0
                    elif t < 1.0:
                        loss += weight * (1.0 - t) ** 2
                        slope = -2.0 * (1.0 - t)
                    else:
                        continue
                    gradient[lo + i] += weight * slope
                    gradient[lo + j] -= weight * slope
    return total, loss
