"""Products with the ramps of piecewise linear curves, which are never written out: a value is stored as a segment and
the fraction of it that is passed.

Ramp b of a feature is 0 before segment b, the fraction within it, and 1 after it. Columns of feature j are j m .. j m +
m - 1.

Compared with a slow version in tests/shards/test_curves.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.shards._instructions import LINE_BYTES, add_at, prefetch

AHEAD = 4  # prefetch distance of the scores, in documents


@kernel
def heights(w, m, used, out):
    """For the features with a weight, write their numbers to `used` and the heights (m + 1) of their curves before each
    column and at the end to `out`; return the number of these features."""
    n = 0
    for j in range(len(w) // m):
        any_weight = False
        for b in range(m):
            any_weight |= w[j * m + b] != 0.0
        if any_weight:
            used[n], out[n, 0] = j, 0.0
            for b in range(m):
                out[n, b + 1] = out[n, b] + w[j * m + b]
            n += 1
    return n


@kernel
def _score(segment, fraction, w, m, used, at_start):
    """The ramps of one document times w; the last two arguments are from `heights`."""
    total = 0.0
    for u in range(len(used)):
        j = used[u]
        b = segment[j]
        total += at_start[u, b] + fraction[j] * w[j * m + b]
    return total


@kernel
def scores(arrays, lo, hi, W, which, out):
    """out[k] = ramps[lo:hi] W[k] for k of `which`; features without a weight are not read.

    All features are prefetched AHEAD documents further, because `transposed` reads them next.
    """
    segment, fraction = arrays
    n_docs, d = segment.shape
    m = W.shape[1] // d
    used, at_start = np.empty(d, dtype=np.int64), np.empty((d, m + 1))
    for k in which:
        w = W[k]
        n = heights(w, m, used, at_start)
        for i in range(lo, hi):
            later = min(i + AHEAD, n_docs - 1)
            for j in range(0, d, LINE_BYTES // fraction.itemsize):
                prefetch(fraction, later, j)
            for j in range(0, d, LINE_BYTES // segment.itemsize):
                prefetch(segment, later, j)
            out[k, i - lo] = _score(segment[i], fraction[i], w, m, used[:n], at_start)


@kernel
def transposed(arrays, lo, hi, G, which, out):
    """out[k] += ramps[lo:hi]^T G[k], from sums per segment of g and of g * fraction.
    Two documents are processed at a time."""
    segment, fraction = arrays
    d = segment.shape[1]
    m = out.shape[1] // d
    for k in which:
        g, total = G[k], out[k]
        sums = np.zeros(2 * d * m)
        held = -1  # a document that waits for the second of its pair
        for i in range(lo, hi):
            if g[i - lo] != 0.0:
                if held < 0:
                    held = i
                else:
                    _add_two(segment[held], fraction[held], g[held - lo], segment[i], fraction[i], g[i - lo], m, sums)
                    held = -1
        if held >= 0:
            _add_two(segment[held], fraction[held], g[held - lo], segment[held], fraction[held], 0.0, m, sums)
        for j in range(d):
            beyond = 0.0
            for b in range(m - 1, -1, -1):
                c = j * m + b
                total[c] += sums[2 * c + 1] + beyond
                beyond += sums[2 * c]


@kernel
def _add_two(segment, fraction, g, segment_2, fraction_2, g_2, m, sums):
    """sums[2 c] += g, sums[2 c + 1] += g * fraction, where c is the column of each value of two documents."""
    two = np.uint64(2)
    step, at = two * np.uint64(m), np.uint64(0)
    for j in range(len(segment)):
        part, part_2 = g * fraction[j], g_2 * fraction_2[j]
        add_at(sums, at + two * np.uint64(segment[j]), (g, part))
        add_at(sums, at + two * np.uint64(segment_2[j]), (g_2, part_2))
        at += step


@kernel
def ramps(segment, fraction, m, out):
    """out (n, d * m) = the ramps of n documents, written out."""
    for i in range(segment.shape[0]):
        for j in range(segment.shape[1]):
            for b in range(m):
                c = j * m + b
                out[i, c] = 1.0 if b < segment[i, j] else (fraction[i, j] if b == segment[i, j] else 0.0)


@kernel
def differences(segment, fraction, query_ptr, queries, feature, start, rise, out):
    """out = combinations of ramps minus those of the first document of each query. Column c is a combination for
    feature[c], which is start[c, b] at the start of segment b and increases by rise[c, b] in it."""
    at = 0
    for q in queries:
        lo, hi = query_ptr[q], query_ptr[q + 1]
        for c in range(len(feature)):
            j = feature[c]
            b = segment[lo, j]
            first = start[c, b] + fraction[lo, j] * rise[c, b]
            for i in range(lo, hi):
                b = segment[i, j]
                out[at + i - lo, c] = start[c, b] + fraction[i, j] * rise[c, b] - first
        at += hi - lo


@kernel
def model_scores(segment, fraction, rows, w, out):
    """out (len(rows),) = ramps of some documents times w."""
    d = segment.shape[1]
    m = len(w) // d
    used, at_start = np.empty(d, dtype=np.int64), np.empty((d, m + 1))
    n = heights(w, m, used, at_start)
    for r in range(len(rows)):
        i = rows[r]
        out[r] = _score(segment[i], fraction[i], w, m, used[:n], at_start)


@kernel
def _weight_of(doc_weight, i):
    if doc_weight is None:
        return 1.0
    return doc_weight[i]


@kernel
def pair_grams(segment, fraction, lists, scale, m, first, last, out):
    """out[k, j - first] += sum over pairs of scale[k, q] t (r_i - r_l)(r_i - r_l)^T, where r are the ramps of feature
    j, for j of first .. last - 1.

    Documents of a query are summed by level. N, S, Q are the sums of 1, r, r r^T over a level with document weights,
    and n, s, q without them. The pairs of level a over b then add n_b Q_a + N_a q_b - S_a s_b^T - s_b S_a^T.
    """
    # Loops, because array expressions and a sort would take seconds to compile.
    query_ptr, levels, n_levels, table, doc_weight = lists
    K = scale.shape[0]
    longest = 0
    for q in range(len(n_levels)):
        longest = max(longest, query_ptr[q + 1] - query_ptr[q])
    order = np.empty(longest, dtype=np.int64)
    r = np.empty(m)
    of_query = np.empty((m, m))
    for q in range(len(n_levels)):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        counted = False
        for k in range(K):
            counted |= scale[k, q] != 0.0
        if not counted or n_levels[q] < 2:
            continue
        begins = np.zeros(n_levels[q] + 1, dtype=np.int64)  # first position of each level in `order`
        for i in range(lo, hi):
            begins[np.int64(levels[i]) + 1] += 1
        groups = 0
        level = np.empty(hi - lo, dtype=np.int64)  # level of each group
        place = np.empty(n_levels[q], dtype=np.int64)  # group of each level
        for own in range(n_levels[q]):
            if begins[own + 1] > 0:
                level[groups] = own
                place[own] = groups
                groups += 1
            begins[own + 1] += begins[own]
        group = np.empty(hi - lo, dtype=np.int64)  # group of each document in `order`
        for i in range(lo, hi):
            own = np.int64(levels[i])
            order[begins[own]] = i - lo
            group[begins[own]] = place[own]
            begins[own] += 1
        one, heavy = np.zeros(groups), np.zeros(groups)
        s, S = np.empty((groups, m)), np.empty((groups, m))
        square, Square = np.empty((groups, m, m)), np.empty((groups, m, m))
        for p in range(hi - lo):
            one[group[p]] += 1.0
            heavy[group[p]] += _weight_of(doc_weight, lo + order[p])
        for j in range(first, last):
            for g in range(groups):
                for b in range(m):
                    s[g, b] = S[g, b] = 0.0
                    for c in range(b + 1):
                        square[g, b, c] = Square[g, b, c] = 0.0
            for p in range(hi - lo):
                i = lo + order[p]
                g, own, weight = group[p], segment[i, j], _weight_of(doc_weight, i)
                for b in range(own):
                    r[b] = 1.0
                r[own] = fraction[i, j]
                for b in range(own + 1):
                    s[g, b] += r[b]
                    S[g, b] += weight * r[b]
                    for c in range(b + 1):
                        square[g, b, c] += r[b] * r[c]
                        Square[g, b, c] += weight * r[b] * r[c]
            for b in range(m):
                for c in range(b + 1):
                    of_query[b, c] = 0.0
            if table.shape[0] > 0:
                for a in range(groups):
                    for e in range(a):
                        t = table[level[a], level[e]]
                        if t != 0.0:
                            _add_pairs(t, one[e], heavy[a], s[e], S[a], square[e], Square[a], of_query)
            else:
                for a in range(groups):
                    if a > 0:  # the group before contains the sums of all lower ones
                        _add_pairs(1.0, one[a - 1], heavy[a], s[a - 1], S[a], square[a - 1], Square[a], of_query)
                        if j == first:
                            one[a] += one[a - 1]
                        for b in range(m):
                            s[a, b] += s[a - 1, b]
                            for c in range(b + 1):
                                square[a, b, c] += square[a - 1, b, c]
            for k in range(K):
                if scale[k, q] != 0.0:
                    for b in range(m):
                        for c in range(b + 1):
                            out[k, j - first, b, c] += scale[k, q] * of_query[b, c]


@kernel
def _add_pairs(t, n, N, s, S, square, Square, out):
    for b in range(len(s)):
        for c in range(b + 1):
            out[b, c] += t * (n * Square[b, c] + N * square[b, c] - S[b] * s[c] - s[b] * S[c])
