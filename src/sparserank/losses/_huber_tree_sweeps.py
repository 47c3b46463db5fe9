"""Pairwise modified Huber of one sorted query with many or real-valued grades: Fenwick trees over relevance ranks.

Conventions
    As in _huber_kernels; `table` is not used: pair weights are 1. Side 1 has mirrored levels, so that a sum over lower
    ranks is one over higher levels.

Compared with a slow version in tests/losses/test_losses.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.losses._huber_kernels import put_together, see_from_both_sides
from sparserank.losses._sorting_kernels import add, add_remaining_partners, add_row, clear, clear_row, sum_below


@kernel
def sweep(scores, levels, n_levels, table, doc_weight, order, gradient, work):
    """(loss of one query, sum of phi'^2 / 4); its gradient by scores is written to `gradient` (m,).

    Parameters are as in `_tree_sweeps`; work (17, at least m and > n_levels) is scratch.
    """
    # Side `down` finds the lower partners of each document, side `up` the upper ones, with the same code.
    down, up, trees = work[0:6], work[6:12], work[12:17]
    see_from_both_sides(scores, levels, n_levels - 1, doc_weight, order, down, up)
    _partners(down, len(scores), n_levels, trees)
    _partners(up, len(scores), n_levels, trees)
    return put_together(order, down, up, gradient)


@kernel
def _partners(side, m, n_levels, work):
    """Fill rows 3 to 5 of a side: sums over the near and the far partners of every document.

    Parameters
        side       (6, >= m) block as in `_huber_kernels`; rows 0 to 2 are read, rows 3 to 5 written
        m          number of documents
        n_levels   number of levels
        work       (5, > n_levels) scratch for five trees over levels: weights, and weights times score, of the
                   documents that have entered the window; the same of those that have left it; weights of far ones
    """
    x, own_level, weight, near, far, base = side[0], side[1], side[2], side[3], side[4], side[5]
    count, total, left_count, left_total, beyond = work[0], work[1], work[2], work[3], work[4]
    size = n_levels + 1
    # Clear the trees.
    for tree in range(5):
        for level in range(size):
            work[tree, level] = 0.0
    origin = 0.0
    p = q = first = (
        0  # documents before p have entered the window, those before q have left it; the run began with `first`
    )
    for a in range(m):
        s = x[a]
        # Documents that are now more than 1 above a leave the window: from near to far partners.
        while q < p and s - x[q] < -1.0:
            level = np.int64(own_level[q])
            add(left_count, size, level, weight[q])
            add(left_total, size, level, weight[q] * (x[q] - origin))
            add(beyond, size, level, weight[q])
            q += 1
        # The window is empty, so the run ends. Only nodes that it touched are cleared, and the next run has its origin
        # at a.
        if q == p:
            for c in range(first, p):
                for tree in range(4):
                    clear(work[tree], size, np.int64(own_level[c]))
            origin = s
            first = p
        # Documents down to 1 below a enter the window as near partners.
        while p < m and s - x[p] < 1.0:
            level = np.int64(own_level[p])
            add(count, size, level, weight[p])
            add(total, size, level, weight[p] * (x[p] - origin))
            p += 1
        level = np.int64(own_level[a])
        # Sum 1 - (s - x) over the near partners, which have entered and not left, in scores relative to the origin.
        c = sum_below(count, level) - sum_below(left_count, level)
        near[a] = c * (1.0 - (s - origin)) + (sum_below(total, level) - sum_below(left_total, level))
        far[a] = sum_below(beyond, level)
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
    see_from_both_sides(scores, levels, n_levels - 1, doc_weight, order, sides[0], sides[1])
    _near_products(sides[0], order, n_levels, Z, out)
    for a in range(m):
        document[a] = order[m - 1 - a]
    _near_products(sides[1], document, n_levels, Z, out)


@kernel
def _near_products(side, document, n_levels, Z, out):
    """Add to out (m, k) one side of W Z: 2 (count z_a - sum of z_b) over the near partners b of each document a.

    side (4, >= m): rows as in `_huber_kernels`, row 3 the weight of the document itself. document (m,): the document at
    each position of the side.
    """
    m, k = Z.shape
    x, own_level, weight, own_weight = side[0], side[1], side[2], side[3]
    count, left_count = np.zeros(n_levels + 1), np.zeros(n_levels + 1)
    sums, left_sums = np.zeros((n_levels + 1, k)), np.zeros((n_levels + 1, k))
    p = q = first = 0
    for a in range(m):
        s = x[a]
        i = document[a]
        # Documents more than 1 above leave the window.
        while q < p and s - x[q] < -1.0:
            add_row(left_count, left_sums, np.int64(own_level[q]), weight[q], Z[document[q]])
            q += 1
        # An empty window ends the run, so its sums are cleared exactly.
        if q == p:
            for c in range(first, p):
                clear_row(count, sums, np.int64(own_level[c]))
                clear_row(left_count, left_sums, np.int64(own_level[c]))
            first = p
        # Documents down to 1 below enter the window.
        while p < m and s - x[p] < 1.0:
            add_row(count, sums, np.int64(own_level[p]), weight[p], Z[document[p]])
            p += 1
        level = np.int64(own_level[a])
        add_remaining_partners(count, sums, left_count, left_sums, level, 2.0 * own_weight[a], Z[i], out[i])
