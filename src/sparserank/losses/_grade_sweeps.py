"""Pairwise squared hinge of one sorted query with few grades: running sums per grade, no pair is stored.

Conventions
    scores (m,) float64 and levels (m,) of one query; levels are relevance ranks from 0.
    order (m,) int32: documents by descending score; it comes in as a guess (the last permutation) and is
    corrected in place. table (K, K): the weight of a pair of levels, table[upper, lower], and 0 elsewhere.
    doc_weight (m,) multiplies the weight of a pair by that of its upper document; None for 1, which compiles to
    nothing. Pair (i, j), levels[i] > levels[j], is active iff scores[i] - scores[j] < 1.0: one predicate, on the raw
    floats, in every sweep. Both sweeps only add documents, never remove one: on a separated list the sums stay
    exactly 0. Plain loops replace array expressions, each of which costs 0.3 to 1 s of compile time. Positions in the
    sums, and levels, are unsigned, because a signed index may be negative and is therefore checked at every access.

Compared with a slow version in tests/losses/test_losses.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.losses._sizes import AT_ONCE
from sparserank.losses._sorting_kernels import sort_descending

# number of sums per document: one of weights, and one of weights times score, for each level of a round
SUMS = 2 * AT_ONCE
_AT_ONCE = np.uint64(AT_ONCE)  # levels per round, a power of two
_LAST = np.uint64(AT_ONCE - 1)  # i & _LAST is i if i < _AT_ONCE, and a valid index in any case


@kernel
def sweep(scores, levels, n_levels, table, doc_weight, order, gradient, work):
    """(loss of one query, sum of phi'^2 / 4: the same number); its gradient by scores is written to `gradient` (m,).

    With r_i = sum of h_ij over the active lower partners of i, the loss is sum_i r_i + gradient . (scores - one of
    them) / 2: linear in the scores, so a spread of 1e6 costs 1e-10 of accuracy where C u^2 + 2 u A + B costs 1e-4.
    Documents of level 0 are never the upper one of a pair, so the others, half or a twentieth of all documents, are in
    a separate list. One merge finds where the active partners of each document begin and end; after it, only addresses
    depend on the data. A document is added to the sums of every level with which it forms pairs, four levels at a time.
    work (WORK_ROWS, more than m) float64, C-ordered, is scratch: an allocation per query would cost a quarter of the
    sweep. It is small, because X evicts it from the first-level cache, and reloading it is slow.
    """
    m = len(scores)
    ranked, slope, sums = work[0], work[1], work[2 : 2 + SUMS].reshape((work.shape[1], SUMS))
    begins, ends, level = work[2 + SUMS].view(np.uint32), work[3 + SUMS].view(np.uint32), work[4 + SUMS].view(np.uint32)
    raised, upper, upper_level = work[5 + SUMS], work[6 + SUMS].view(np.uint32), work[7 + SUMS].view(np.uint32)
    sort_descending(scores, order, ranked)
    # List the documents that can be upper ones: those above level 0.
    n = 0  # number of uppers; upper[u]: position of the u-th in the ranking, raised[u]: its score
    for a in range(m):
        its_level = np.uint32(levels[order[a]])
        level[a] = its_level
        raised[n], upper[n], upper_level[n] = ranked[a], a, its_level
        n += its_level > 0
        slope[a] = 0.0
    _partners(ranked, m, raised, n, begins, ends)
    # Scores relative to a local origin keep their digits under a large offset.
    origin = ranked[m // 2]
    for a in range(m):
        ranked[a] -= origin
    for u in range(n):
        raised[u] -= origin
    loss = 0.0
    # Each round covers the upper levels first + 1 .. first + 4 and the lower levels first .. first + 3.
    for first in range(0, n_levels - 1, AT_ONCE):  # other levels add nothing in this round
        # r_u, the sum of h over the active lower partners, is their count times 1 - s_u plus the sum of their scores.
        # They are among the first ends[u] documents (theory.md section 0: a pair is active iff its margin is < 1).
        _lower_sums(ranked, level, m, table, first, sums)
        for u in range(n):
            i = np.uint64(upper_level[u]) - np.uint64(first + 1)
            k, there = i & _LAST, sums[ends[u]]
            r = there[k] * (1.0 - raised[u]) + there[_AT_ONCE + k] if i < _AT_ONCE else 0.0
            if doc_weight is not None:
                r *= doc_weight[order[upper[u]]]
            slope[upper[u]] -= 2.0 * r
            loss += r
        # The same over the active upper partners, which begin at begins[a] in the list of uppers.
        _upper_sums(raised, upper, upper_level, n, table, first, doc_weight, order, sums)
        for a in range(m):
            j = np.uint64(level[a]) - np.uint64(first)
            k, there = j & _LAST, sums[begins[a]]
            slope[a] += 2.0 * (there[k] * (1.0 + ranked[a]) - there[_AT_ONCE + k] if j < _AT_ONCE else 0.0)
    for a in range(m):
        gradient[order[a]] = slope[a]
    # sum h_ij^2 = sum_i r_i + gradient . (scores - origin) / 2, because h_ij = 1 - (s_i - s_j).
    loss += 0.5 * _dot(slope, ranked, m)
    return loss, loss


@kernel(fastmath={"reassoc", "contract"})
def _dot(a, b, m):
    """Dot product with reassociation: several partial sums hide the latency of the additions."""
    total = 0.0
    for i in range(m):
        total += a[i] * b[i]
    return total


@kernel(inline="always")
def _partners(ranked, m, raised, n, begins, ends):
    """Find the active pairs by one merge. ends[u]: the active lower partners of upper u are among the first ends[u]
    documents; begins[p]: the active upper partners of document p are among the uppers from begins[p] on."""
    p = 0
    for u in range(n):
        s = raised[u]
        while p < m and s - ranked[p] < 1.0:
            begins[p] = u
            p += 1
        ends[u] = p
    for rest in range(p, m):
        begins[rest] = n


@kernel(inline="always")
def _lower_sums(ranked, level, m, table, first, sums):
    """Prefix sums by descending score. sums[p, c]: weights of the first p documents in pairs with an upper of level
    first + 1 + c; sums[p, AT_ONCE + c]: the same times their scores."""
    c0 = c1 = c2 = c3 = 0.0
    t0 = t1 = t2 = t3 = 0.0
    for c in range(SUMS):
        sums[0, c] = 0.0
    for p in range(m):
        x, at, to = ranked[p], level[p], sums[p + 1]
        w0, w1, w2, w3 = table[first + 1, at], table[first + 2, at], table[first + 3, at], table[first + 4, at]
        c0, c1, c2, c3 = c0 + w0, c1 + w1, c2 + w2, c3 + w3
        t0, t1, t2, t3 = t0 + w0 * x, t1 + w1 * x, t2 + w2 * x, t3 + w3 * x
        to[0], to[1], to[2], to[3] = c0, c1, c2, c3
        to[4], to[5], to[6], to[7] = t0, t1, t2, t3


@kernel(inline="always")
def _upper_sums(raised, upper, upper_level, n, table, first, doc_weight, order, sums):
    """Suffix sums: sums[u, c] of the uppers from u on, in pairs with a lower document of level first + c."""
    c0 = c1 = c2 = c3 = 0.0
    t0 = t1 = t2 = t3 = 0.0
    for c in range(SUMS):
        sums[n, c] = 0.0
    for u in range(n - 1, -1, -1):
        x, weight, to = raised[u], table[upper_level[u]], sums[u]
        w0, w1, w2, w3 = weight[first], weight[first + 1], weight[first + 2], weight[first + 3]
        if doc_weight is not None:
            dw = doc_weight[order[upper[u]]]
            w0, w1, w2, w3 = w0 * dw, w1 * dw, w2 * dw, w3 * dw
        c0, c1, c2, c3 = c0 + w0, c1 + w1, c2 + w2, c3 + w3
        t0, t1, t2, t3 = t0 + w0 * x, t1 + w1 * x, t2 + w2 * x, t3 + w3 * x
        to[0], to[1], to[2], to[3] = c0, c1, c2, c3
        to[4], to[5], to[6], to[7] = t0, t1, t2, t3


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
    count = np.zeros(n_levels)
    sums = np.zeros((n_levels, k))
    # First sweep, by descending score: row i gets 2 (count z_i - sum of z_j) over its active lower partners, by level.
    p = 0
    for a in range(m):
        i = order[a]
        level = np.int64(levels[i])
        if level == 0:
            continue
        while p < m and ranked[a] - ranked[p] < 1.0:
            j = order[p]
            p += 1
            if levels[j] < n_levels - 1:  # no document is above the top level, so its sums are never read
                count[levels[j]] += 1.0
                for f in range(k):
                    sums[levels[j], f] += Z[j, f]
        for lower in range(level):
            weight = 2.0 * table[level, lower]
            if doc_weight is not None:
                weight *= doc_weight[i]
            for f in range(k):
                out[i, f] += weight * (count[lower] * Z[i, f] - sums[lower, f])
    # Second sweep, by ascending score: row j gets the same over its active upper partners.
    for level in range(n_levels):
        count[level] = 0.0
        for f in range(k):
            sums[level, f] = 0.0
    p = m - 1
    for a in range(m - 1, -1, -1):
        j = order[a]
        level = np.int64(levels[j])
        if level == n_levels - 1:
            continue
        while p >= 0 and ranked[p] - ranked[a] < 1.0:
            i = order[p]
            p -= 1
            if levels[i] > 0:
                weight = 1.0 if doc_weight is None else doc_weight[i]
                count[levels[i]] += weight
                for f in range(k):
                    sums[levels[i], f] += weight * Z[i, f]
        for upper in range(level + 1, n_levels):
            weight = 2.0 * table[upper, level]
            for f in range(k):
                out[j, f] += weight * (count[upper] * Z[j, f] - sums[upper, f])
