"""Pairwise modified Huber of one sorted query with few grades: running sums per grade, no pair is stored.

Conventions
    As in _huber_kernels; table (K, K): the weight of a pair of levels, table[upper, lower], and 0 elsewhere.

Compared with a slow version in tests/losses/test_losses.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.losses._huber_kernels import put_together, see_from_both_sides


@kernel
def sweep(scores, levels, n_levels, table, doc_weight, order, gradient, work):
    """(loss of one query, sum of phi'^2 / 4); its gradient by scores is written to `gradient` (m,).

    Parameters are as in `_grade_sweeps`; work (17, at least m and n_levels) is scratch.
    """
    # Side `down` finds the lower partners of each document, side `up` the upper ones, with the same code.
    down, up, sums = work[0:6], work[6:12], work[12:17]
    see_from_both_sides(scores, levels, 0, doc_weight, order, down, up)
    _partners(down, len(scores), n_levels, table, False, sums)
    _partners(up, len(scores), n_levels, table, True, sums)
    return put_together(order, down, up, gradient)


@kernel
def _partners(side, m, n_levels, table, entering_is_upper, work):
    """Fill rows 3 to 5 of a side: sums over the near and the far partners of every document.

    Parameters
        side       (6, >= m) block as in `_huber_kernels`; rows 0 to 2 are read, rows 3 to 5 written
        m          number of documents
        n_levels   number of levels
        table      (K, K) weight of a pair of levels, table[upper, lower]
        entering_is_upper   whether documents that enter the window are the upper ones of their pairs (side 1)
        work       (5, >= n_levels) scratch, sums per level of the reader: weights, and weights times score, of the
                   documents that have entered the window; the same of those that have left it; weights of far ones
    """
    x, own_level, weight, near, far, base = side[0], side[1], side[2], side[3], side[4], side[5]
    count, total, left_count, left_total, beyond = work[0], work[1], work[2], work[3], work[4]
    for level in range(n_levels):
        beyond[level] = 0.0
    origin = 0.0
    p = q = 0  # documents before p have entered the window, those before q have left it again
    for a in range(m):
        s = x[a]
        # Documents that are now more than 1 above a leave the window: from near to far partners.
        while q < p and s - x[q] < -1.0:
            other = np.int64(own_level[q])
            for level in range(n_levels):
                t = weight[q] * (table[other, level] if entering_is_upper else table[level, other])
                left_count[level] += t
                left_total[level] += t * (x[q] - origin)
                beyond[level] += t
            q += 1
        # The window is empty, so the run ends: the sums are cleared, and the next run has its origin at a.
        if q == p:
            origin = s
            for level in range(n_levels):
                count[level] = 0.0
                total[level] = 0.0
                left_count[level] = 0.0
                left_total[level] = 0.0
        # Documents down to 1 below a enter the window, and are added to the sums of every level with its pair weight.
        while p < m and s - x[p] < 1.0:
            other = np.int64(own_level[p])
            for level in range(n_levels):
                t = weight[p] * (table[other, level] if entering_is_upper else table[level, other])
                count[level] += t
                total[level] += t * (x[p] - origin)
            p += 1
        level = np.int64(own_level[a])
        # Sum 1 - (s - x) over the near partners, which have entered and not left, in scores relative to the origin.
        near[a] = (count[level] - left_count[level]) * (1.0 - (s - origin)) + (total[level] - left_total[level])
        far[a] = beyond[level]
        base[a] = origin


@kernel
def hessian_sweep(scores, levels, n_levels, table, doc_weight, order, Z, out):
    """out = W Z for one query: W is the generalised Hessian of the loss in score space, Z and out are (m, k).

    W Z = 2 (count * Z - lower sums - upper sums), count and sums over the near partners of each document.
    """
    m, k = Z.shape
    # Far pairs have no curvature, so only near partners enter: first the lower ones, then the upper ones.
    for i in range(m):
        for f in range(k):
            out[i, f] = 0.0
    sides = np.empty((2, 4, m))
    document = np.empty(m, dtype=np.int32)
    see_from_both_sides(scores, levels, 0, doc_weight, order, sides[0], sides[1])
    _near_products(sides[0], order, n_levels, table, False, Z, out)
    for a in range(m):
        document[a] = order[m - 1 - a]
    _near_products(sides[1], document, n_levels, table, True, Z, out)


@kernel
def _near_products(side, document, n_levels, table, entering_is_upper, Z, out):
    """Add to out (m, k) one side of W Z: 2 (count z_a - sum of z_b) over the near partners b of each document a, times
    the weights of pairs.

    side (4, >= m): rows as in `_huber_kernels`, row 3 the weight of the document itself. document (m,): the document at
    each position of the side. table, entering_is_upper: as in `_partners`.
    """
    m, k = Z.shape
    x, own_level, weight, own_weight = side[0], side[1], side[2], side[3]
    count, left_count = np.zeros(n_levels), np.zeros(n_levels)
    sums, left_sums = np.zeros((n_levels, k)), np.zeros((n_levels, k))
    p = q = 0
    for a in range(m):
        s = x[a]
        i = document[a]
        # Documents more than 1 above leave the window.
        while q < p and s - x[q] < -1.0:
            level = np.int64(own_level[q])
            left_count[level] += weight[q]
            for f in range(k):
                left_sums[level, f] += weight[q] * Z[document[q], f]
            q += 1
        # An empty window ends the run, so its sums are cleared exactly.
        if q == p:
            for level in range(n_levels):
                count[level] = 0.0
                left_count[level] = 0.0
                for f in range(k):
                    sums[level, f] = 0.0
                    left_sums[level, f] = 0.0
        # Documents down to 1 below enter the window.
        while p < m and s - x[p] < 1.0:
            level = np.int64(own_level[p])
            count[level] += weight[p]
            for f in range(k):
                sums[level, f] += weight[p] * Z[document[p], f]
            p += 1
        own = np.int64(own_level[a])
        for level in range(n_levels):
            # Near partners of each level are those that have entered and not left.
            t = 2.0 * own_weight[a] * (table[level, own] if entering_is_upper else table[own, level])
            if t != 0.0:
                c = count[level] - left_count[level]
                for f in range(k):
                    out[i, f] += t * (c * Z[i, f] - (sums[level, f] - left_sums[level, f]))
