"""NDCG of changed scores, and pairs weighted by the change of NDCG if their documents are exchanged; compiled.

Shared arguments: query_ptr; gains (n_docs,); discounts (c,) of ranks 1..c; share (n_queries,) the factor of a query's
DCG.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel


@kernel
def changed_sums(scores, direction, steps, tie, gains, query_ptr, discounts, share, half, out):
    """out[m, half[q]] += share[q] * DCG of query q by scores + steps[m] * direction: the top len(discounts) by falling
    score, equal scores by rising `tie`."""
    c = len(discounts)
    top, second, gain = np.empty(c), np.empty(c), np.empty(c)
    for m in range(len(steps)):
        step = steps[m]
        for q in range(len(query_ptr) - 1):
            n = 0
            for i in range(query_ptr[q], query_ptr[q + 1]):
                s, t = scores[i] + step * direction[i], tie[i]
                if n == c and not (s > top[c - 1] or (s == top[c - 1] and t < second[c - 1])):
                    continue
                at = n if n < c else c - 1
                n = min(n + 1, c)
                while at > 0 and (s > top[at - 1] or (s == top[at - 1] and t < second[at - 1])):
                    top[at], second[at], gain[at] = top[at - 1], second[at - 1], gain[at - 1]
                    at -= 1
                top[at], second[at], gain[at] = s, t, gains[i]
            dcg = 0.0
            for r in range(n):
                dcg += gain[r] * discounts[r]
            out[m, half[q]] += share[q] * dcg


@kernel
def weighted_hinge(scores, order, gains, query_ptr, discounts, share, gradient):
    """(sum of weights, sum of weight * h^2) over pairs with a document among the first len(discounts) of `order`, and
    its gradient (n_docs,) by the scores.

    order (n_docs,) rows, query after query, as the weights rank them; the weight of a pair is share[q] times the
    difference of its gains times that of its discounts; h = max(0, 1 - (s_i - s_j)), i the one that gains more.
    """
    c = len(discounts)
    gradient[:] = 0.0
    total, value = 0.0, 0.0
    for q in range(len(query_ptr) - 1):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        if share[q] == 0.0:
            continue
        for a in range(min(c, hi - lo)):
            i = order[lo + a]
            for b in range(lo + a + 1, hi):
                j = order[b]
                rise = gains[i] - gains[j]
                if rise == 0.0:
                    continue
                below = discounts[b - lo] if b - lo < c else 0.0
                weight = share[q] * abs(rise) * abs(discounts[a] - below)
                total += weight
                sign = 1.0 if rise > 0 else -1.0
                h = 1.0 - sign * (scores[i] - scores[j])
                if h > 0.0:
                    value += weight * h * h
                    gradient[i] -= 2.0 * weight * h * sign
                    gradient[j] += 2.0 * weight * h * sign
    return total, value


@kernel
def weighted_hinge_curvature(scores, order, gains, query_ptr, discounts, share, Z, out):
    """out (n_docs, m) = the generalised Hessian of `weighted_hinge` by the scores, times Z (n_docs, m)."""
    c = len(discounts)
    out[:] = 0.0
    for q in range(len(query_ptr) - 1):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        if share[q] == 0.0:
            continue
        for a in range(min(c, hi - lo)):
            i = order[lo + a]
            for b in range(lo + a + 1, hi):
                j = order[b]
                rise = gains[i] - gains[j]
                if rise == 0.0:
                    continue
                margin = scores[i] - scores[j] if rise > 0 else scores[j] - scores[i]
                if margin >= 1.0:
                    continue
                below = discounts[b - lo] if b - lo < c else 0.0
                weight = 2.0 * share[q] * abs(rise) * abs(discounts[a] - below)
                for k in range(Z.shape[1]):
                    step = weight * (Z[i, k] - Z[j, k])
                    out[i, k] += step
                    out[j, k] -= step
