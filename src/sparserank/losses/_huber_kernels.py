"""Code shared by both forms of the modified Huber sweep: one list seen from above and from below, and the combination
of the sums.

Conventions
    A pair (i, j) with margin s_i - s_j is far iff s_i - s_j < -1.0, near iff it is not far and s_i - s_j < 1.0: two
    predicates, on the raw floats, in every sweep. A side is a (6, >= m) block of rows; position a of it is one
    document:
        0 score x, descending   1 level   2 weight with which it enters the sums of others
        3 its own weight, later the sum of 1 - margin over its near partners   4 the weight of its far partners   5 the
                                                                               origin of its run
    Side 0 is the scores, side 1 the negated scores: code that looks down to lower partners on one looks up on the
    other, and the negated difference is the same float, so both see the same pairs. A sweep adds, and subtracts only
    sums that were added in the same order: with an empty window their difference is exactly 0. A run ends where the
    window is empty; near sums restart there around the next score, so that neither a large offset nor distant
    clusters cost digits.

Compared with a slow version in tests/losses/test_losses.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from sparserank._kernel_cache import kernel
from sparserank.losses._sorting_kernels import sort_descending


@kernel
def see_from_both_sides(scores, levels, mirror, doc_weight, order, down, up):
    """Sort, and fill rows 0 to 3 of both sides; with mirror > 0 the levels of side 1 are mirror - level."""
    m = len(scores)
    sort_descending(scores, order, down[0])
    for a in range(m):
        i = order[a]
        b = m - 1 - a
        weight = 1.0
        if doc_weight is not None:
            weight = doc_weight[i]
        down[1, a] = levels[i]
        down[2, a] = 1.0
        down[3, a] = weight
        up[0, b] = -scores[i]
        up[1, b] = mirror - down[1, a] if mirror > 0 else down[1, a]
        up[2, b] = weight
        up[3, b] = 1.0


@kernel
def put_together(order, down, up, gradient):
    """(loss, sum of phi'^2 / 4) of one query; its gradient with respect to the scores is written to `gradient` (m,).

    With h = 1 - margin of a near pair, sum h^2 = sum h + (near gradient) . (scores - origin) / 2, and a far pair's
    -4 margin = (far gradient) . scores: linear in the scores, as in the squared hinge.
    """
    m = len(order)
    middle = down[0, m // 2]
    near = linear = far = 0.0
    for a in range(m):
        b = m - 1 - a
        weight = up[2, b]
        near_gradient = 2.0 * (up[3, b] - weight * down[3, a])
        far_gradient = 4.0 * (up[4, b] - weight * down[4, a])
        gradient[order[a]] = near_gradient + far_gradient
        near += weight * down[3, a] + 0.5 * near_gradient * (down[0, a] - down[5, a])
        linear += far_gradient * (down[0, a] - middle)
        far += weight * down[4, a]
    return near + linear, near + 4.0 * far
