"""Pairwise squared hinge of one sorted query with many or real-valued grades: a Fenwick tree over relevance ranks.

Conventions
    scores (m,) float64 and levels (m,) int32 of one query; levels are relevance ranks from 0.
    order (m,) int32: documents by descending score; it comes in as a guess (the last permutation) and is
    corrected in place. `table` is not used: pair weights are 1, times
    doc_weight (m,) of the upper document; None for 1, which compiles to nothing.
    Pair (i, j), levels[i] > levels[j], is active iff scores[i] - scores[j] < 1.0: one predicate, on the raw floats,
    in every sweep. Both sweeps only add documents, never remove one: on a separated list the sums stay exactly 0.
    Plain loops replace array expressions, each of which costs 0.3 to 1 s of compile time.

Compared with a slow version in tests/losses/test_losses.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.losses._sorting_kernels import add, add_partners, add_row, sort_descending, sum_below


@kernel
def sweep(scores, levels, n_levels, table, doc_weight, order, gradient, work):
    """(loss of one query, sum of phi'^2 / 4: the same number); its gradient by scores is written to `gradient` (m,).

    With r_i = sum of h_ij over the active lower partners of i, the loss is sum_i r_i + gradient . (scores - origin) /
    2: linear in the scores, so a spread of 1e6 costs 1e-10 of accuracy where C u^2 + 2 u A + B costs 1e-4.
    work (3, at least m and n_levels + 1) is scratch: an allocation per query would cost a quarter of the sweep.
    """
    m = len(scores)
    for i in range(m):
        gradient[i] = 0.0
    ranked, count, total = work[0], work[1], work[2]
    sort_descending(scores, order, ranked)
    origin = ranked[m // 2]
    size = n_levels + 1
    # First sweep, by descending score: add every document j with s_i - s_j < 1 before i is read. The tree sums over
    # lower levels are then over the active lower partners of i (theory.md section 0): their count and the sum of their
    # scores.
    for level in range(size):
        count[level] = 0.0
        total[level] = 0.0
    loss = 0.0
    p = 0
    for a in range(m):
        i = order[a]
        if levels[i] == 0:
            continue
        s = ranked[a]
        while p < m and s - ranked[p] < 1.0:
            j = order[p]
            add(count, size, levels[j], 1.0)
            add(total, size, levels[j], ranked[p] - origin)
            p += 1
        # r_i = sum of h_ij = sum of 1 - (s_i - s_j) over these partners; dloss/ds_i gets -2 r_i.
        r = sum_below(count, levels[i]) * (1.0 - (s - origin)) + sum_below(total, levels[i])
        if doc_weight is not None:
            r *= doc_weight[i]
        gradient[i] -= 2.0 * r
        loss += r
    # Second sweep, by ascending score: the same for the active upper partners of each document.
    for level in range(size):
        count[level] = 0.0
        total[level] = 0.0
    p = m - 1
    for a in range(m - 1, -1, -1):  # levels reversed, so that a prefix sum is a sum over higher levels
        j = order[a]
        above = n_levels - 1 - levels[j]
        if above == 0:
            continue
        s = ranked[a]
        while p >= 0 and ranked[p] - s < 1.0:
            i = order[p]
            weight = 1.0
            if doc_weight is not None:
                weight = doc_weight[i]
            add(count, size, n_levels - 1 - levels[i], weight)
            add(total, size, n_levels - 1 - levels[i], weight * (ranked[p] - origin))
            p -= 1
        # dloss/ds_j gets 2 sum of h_ij over the upper partners i, weighted by doc_weight[i].
        gradient[j] += 2.0 * (sum_below(count, above) * (1.0 + (s - origin)) - sum_below(total, above))
    # sum h_ij^2 = sum_i r_i + gradient . (scores - origin) / 2, because h_ij = 1 - (s_i - s_j).
    half = 0.0
    for i in range(m):
        half += gradient[i] * (scores[i] - origin)
    loss += 0.5 * half
    return loss, loss


@kernel
def hessian_sweep(scores, levels, n_levels, table, doc_weight, order, Z, out):
    """out = W Z for one query: W is the generalised Hessian of the loss in score space, Z and out are (m, k).

    W Z = 2 (count * Z - lower sums - upper sums), count and sums over the active partners of each document.
    """
    m, k = Z.shape
    for i in range(m):
        for f in range(k):
            out[i, f] = 0.0
    ranked = np.empty(m)
    sort_descending(scores, order, ranked)
    count = np.zeros(n_levels + 1)
    sums = np.zeros((n_levels + 1, k))
    # First sweep, by descending score: row i gets 2 (count z_i - sum of z_j) over its active lower partners j.
    p = 0
    for a in range(m):
        i = order[a]
        if levels[i] == 0:
            continue
        while p < m and ranked[a] - ranked[p] < 1.0:
            j = order[p]
            add_row(count, sums, levels[j], 1.0, Z[j])
            p += 1
        weight = 2.0
        if doc_weight is not None:
            weight *= doc_weight[i]
        add_partners(count, sums, levels[i], weight, Z[i], out[i])
    # Second sweep, by ascending score: row j gets the same over its active upper partners, weighted by doc_weight.
    for level in range(n_levels + 1):
        count[level] = 0.0
        for f in range(k):
            sums[level, f] = 0.0
    p = m - 1
    for a in range(m - 1, -1, -1):
        j = order[a]
        above = n_levels - 1 - levels[j]
        if above == 0:
            continue
        while p >= 0 and ranked[p] - ranked[a] < 1.0:
            i = order[p]
            weight = 1.0
            if doc_weight is not None:
                weight = doc_weight[i]
            add_row(count, sums, n_levels - 1 - levels[i], weight, Z[i])
            p -= 1
        add_partners(count, sums, above, 2.0, Z[j], out[j])
