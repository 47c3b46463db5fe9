"""Pairwise squared hinge of one sorted query with few grades: running sums per grade, no pair is stored.

Conventions
    scores (m,) float64 and levels (m,) int32 of one query; levels are relevance ranks from 0.
    order (m,) int32 holds documents by descending score; it comes in as a guess (the last permutation) and is
    corrected in place. table (K, K) holds the weight of a pair of levels, table[upper, lower], and 0 elsewhere.
    doc_weight (m,) multiplies the weight of a pair by that of its upper document; None for 1, which compiles to nothing.
    Pair (i, j), levels[i] > levels[j], is active iff scores[i] - scores[j] < 1.0: one predicate, on the raw floats,
    in every sweep. Both sweeps only add documents, never remove one: on a separated list the sums stay exactly 0.
    Plain loops stand where array expressions would do: each of those costs 0.3 to 1 s of compile time.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sparserank.losses._sorting_kernels import sort_descending


@njit(cache=True, nogil=True)
def sweep(scores, levels, n_levels, table, doc_weight, order, gradient, work):
    """(loss of one query, sum of phi'^2 / 4: the same number); its gradient by scores is written to `gradient` (m,).

    With r_i = sum of h_ij over the active lower partners of i, the loss is sum_i r_i + gradient . (scores - origin) / 2:
    linear in the scores, so a spread of 1e6 costs 1e-10 of accuracy where C u^2 + 2 u A + B costs 1e-4.
    Entering documents are added to the sums of every level that they make pairs with, whatever its number, so that a
    document reads one entry: a fifth faster than adding to one level and reading all (49 to 39 ns a document, 5 grades).
    work (5, at least m and n_levels + 1) is scratch: an allocation per query would cost a quarter of the sweep.
    """
    m = len(scores)
    sort_descending(scores, order)
    origin = scores[order[m // 2]]
    ranked, ranked_level, slope, count, total = work[0], work[1], work[2], work[3], work[4]
    for a in range(m):
        ranked[a] = scores[order[a]]
        ranked_level[a] = levels[order[a]]
    for level in range(n_levels):
        count[level] = 0.0
        total[level] = 0.0
    loss = 0.0
    p = 0
    for a in range(m):
        s = ranked[a]
        while p < m and s - ranked[p] < 1.0:
            lower = np.int64(ranked_level[p])
            x = ranked[p] - origin
            for level in range(n_levels):
                weight = table[level, lower]
                count[level] += weight
                total[level] += weight * x
            p += 1
        level = np.int64(ranked_level[a])
        r = count[level] * (1.0 - (s - origin)) + total[level]
        if doc_weight is not None:
            r *= doc_weight[order[a]]
        slope[a] = -2.0 * r
        loss += r
    for level in range(n_levels):
        count[level] = 0.0
        total[level] = 0.0
    half = 0.0
    p = m - 1
    for a in range(m - 1, -1, -1):
        s = ranked[a]
        while p >= 0 and ranked[p] - s < 1.0:
            upper = np.int64(ranked_level[p])
            x = ranked[p] - origin
            for level in range(n_levels):
                weight = table[upper, level]
                if doc_weight is not None:
                    weight *= doc_weight[order[p]]
                count[level] += weight
                total[level] += weight * x
            p -= 1
        level = np.int64(ranked_level[a])
        g = slope[a] + 2.0 * (count[level] * (1.0 + (s - origin)) - total[level])
        gradient[order[a]] = g
        half += g * (s - origin)
    loss += 0.5 * half
    return loss, loss


@njit(cache=True, nogil=True)
def hessian_sweep(scores, levels, n_levels, table, doc_weight, order, Z, out):
    """out = W Z for one query: W is the generalised Hessian of the loss in score space, Z and out are (m, k).

    W Z = 2 (count * Z - lower sums - upper sums), count and sums over the active partners of each document.
    """
    m, k = Z.shape
    for i in range(m):
        for f in range(k):
            out[i, f] = 0.0
    sort_descending(scores, order)
    count = np.zeros(n_levels)
    sums = np.zeros((n_levels, k))
    p = 0
    for a in range(m):
        i = order[a]
        level = levels[i]
        if level == 0:
            continue
        while p < m and scores[i] - scores[order[p]] < 1.0:
            j = order[p]
            p += 1
            if levels[j] < n_levels - 1:  # nobody is above the top level, so nobody reads its sums
                count[levels[j]] += 1.0
                for f in range(k):
                    sums[levels[j], f] += Z[j, f]
        for lower in range(level):
            weight = 2.0 * table[level, lower]
            if doc_weight is not None:
                weight *= doc_weight[i]
            for f in range(k):
                out[i, f] += weight * (count[lower] * Z[i, f] - sums[lower, f])
    for level in range(n_levels):
        count[level] = 0.0
        for f in range(k):
            sums[level, f] = 0.0
    p = m - 1
    for a in range(m - 1, -1, -1):
        j = order[a]
        level = levels[j]
        if level == n_levels - 1:
            continue
        while p >= 0 and scores[order[p]] - scores[j] < 1.0:
            i = order[p]
            p -= 1
            if levels[i] > 0:
                if doc_weight is None:
                    count[levels[i]] += 1.0
                    for f in range(k):
                        sums[levels[i], f] += Z[i, f]
                else:
                    count[levels[i]] += doc_weight[i]
                    for f in range(k):
                        sums[levels[i], f] += doc_weight[i] * Z[i, f]
        for upper in range(level + 1, n_levels):
            weight = 2.0 * table[upper, level]
            for f in range(k):
                out[j, f] += weight * (count[upper] * Z[j, f] - sums[upper, f])
