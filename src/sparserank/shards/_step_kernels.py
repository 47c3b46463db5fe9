"""Products with steps, and sums of a boosting round by bin (docs/theory.md section 9).

A value is stored as the number of its bin. Step b of a feature is 0 up to bin b and 1 beyond; columns of feature j are
j m .. j m + m - 1, so that the bins 0 .. m have the heights of a cumulative sum of weights.

Compared with a slow version in tests/shards/test_steps.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import math

import numpy as np

from sparserank._kernel_cache import kernel
from sparserank.shards._instructions import add_at

BINS = 64  # of a feature, at most
SUMS = 4  # by bin: gradient, curvature, number of documents; and one that stays 0, so that they are one vector
BELOW = 20  # a pair counts if one of its documents ranks within the cut-off or BELOW ranks beyond
FEATURES_AT_ONCE = 16  # whose sums fit into the first-level cache
NEAR = 0.01  # added to the difference of scores by which the weight of a pair is divided
MAX_INSERTED = 32  # documents of a list that is sorted by insertion
STRIDE = np.uint64(0x9E3779B97F4A7C15)  # between the states of a random sequence
MIN_EXPONENT = -300.0  # scores further below the first count as this far, so that no exponential is 0


@kernel
def heights(w, m, used, out):
    """For the features with a weight, write their numbers to `used` and the heights (m + 1) of their bins to `out`;
    return the number of these features."""
    n = 0
    for j in range(len(w) // m):
        any_weight = False
        for b in range(m):
            any_weight |= w[j * m + b] != 0.0
        if any_weight:
            used[n] = j
            out[n, 0] = 0.0
            for b in range(m):
                out[n, b + 1] = out[n, b] + w[j * m + b]
            n += 1
    return n


@kernel
def scores(arrays, lo, hi, W, which, out):
    """out[k] = steps[lo:hi] W[k] for k of `which`."""
    (bins,) = arrays
    d = bins.shape[1]
    m = W.shape[1] // d
    used = np.empty(d, dtype=np.int64)
    height = np.empty((d, m + 1))
    for k in which:
        n = heights(W[k], m, used, height)
        for i in range(lo, hi):
            total = 0.0
            for u in range(n):
                total += height[u, bins[i, used[u]]]
            out[k, i - lo] = total


@kernel
def transposed(arrays, lo, hi, G, which, out):
    """out[k] += steps[lo:hi]^T G[k], from sums of g per bin."""
    (bins,) = arrays
    d = bins.shape[1]
    m = out.shape[1] // d
    for k in which:
        sums = np.zeros((d, m + 1))
        for i in range(lo, hi):
            g = G[k, i - lo]
            if g != 0.0:
                for j in range(d):
                    sums[j, bins[i, j]] += g
        for j in range(d):
            beyond = 0.0
            for b in range(m - 1, -1, -1):
                beyond += sums[j, b + 1]
                out[k, j * m + b] += beyond


@kernel
def write_gains(relevance, query_ptr, cutoff, gains, ideal):
    """Write the gains 2^y - 1 of the documents (2^y - 2^lowest if a query has relevance below 0) and the DCG at the
    cut-off of the ideal ranking of each query, both divided by 2^(largest y of the query), so that neither overflows.
    """
    for q in range(len(query_ptr) - 1):
        lo = query_ptr[q]
        hi = query_ptr[q + 1]
        lowest = largest = 0.0
        for i in range(lo, hi):
            lowest = min(lowest, relevance[i])
            largest = max(largest, relevance[i])
        for i in range(lo, hi):
            gains[i] = 2.0 ** (relevance[i] - largest) - 2.0 ** (lowest - largest)
        best = np.sort(gains[lo:hi])[::-1]
        ideal[q] = 0.0
        for r in range(min(hi - lo, cutoff)):
            ideal[q] += best[r] / math.log2(2.0 + r)


@kernel
def random_numbers(seed, out):
    """Write the mixed numbers seed, seed + STRIDE, seed + 2 STRIDE, ... to out (n,) uint64."""
    state = seed - STRIDE
    for i in range(len(out)):
        state, out[i] = _next(state)


@kernel
def _next(state):
    """The next state of a random sequence, and a number from it (splitmix64)."""
    state = state + STRIDE
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@kernel
def ranking(scores, seed, order):
    """Write the documents to `order` by decreasing score; tied ones in an order shuffled by the seed."""
    n = len(scores)
    state = seed
    for i in range(n):
        order[i] = i
    for i in range(n - 1, 0, -1):
        state, number = _next(state)
        j = np.int64(((number >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]
    if n <= MAX_INSERTED:  # insertion: faster for short lists
        for a in range(1, n):
            i = order[a]
            b = a
            while b > 0 and scores[order[b - 1]] < scores[i]:
                order[b] = order[b - 1]
                b -= 1
            order[b] = i
        return
    shuffled = np.empty(n)
    for i in range(n):
        shuffled[i] = -scores[order[i]]
    place = np.argsort(shuffled, kind="mergesort")
    before = order.copy()
    for i in range(n):
        order[i] = before[place[i]]


@kernel(error_model="numpy")
def _pairs_with(a, n, S, E, gain, weight, discount, near, slope, curvature):
    """Write slope and curvature of each pair of rank a and a rank below it. Documents of equal gain have slope 0. The
    loop has no branch and no sum, so that it runs on vectors."""
    score = S[a]
    e = E[a]
    gain_of_a = gain[a]
    w = weight[a]
    d = discount[a]
    for b in range(np.uint64(a + 1), np.uint64(n)):
        ahead = gain_of_a - gain[b]
        both = e + E[b]
        apart = near + (score - S[b])
        inverse = 1.0 / (both * apart)
        # The probability of the wrong order, 1 / (1 + e^(s_i - s_j)), is E_j / (E_i + E_j).
        numerator = w * E[b] if ahead > 0.0 else weight[b] * e
        slope[b] = ahead * (d - discount[b]) * numerator * inverse
        curvature[b] = abs(slope[b]) * (e if ahead > 0.0 else E[b]) * apart * inverse


@kernel
def pair_gradients(s, gains, order, discount, ideal, cutoff, doc_weight, g, h, work):
    """Gradients and curvatures of the documents of one query, whose scores are s, ranked by `order`.

    The logistic loss of each pair has the weight |delta NDCG| / (NEAR + |difference of scores|), and all of them the
    factor log2(1 + t) / t, where t is the sum of the absolute gradients of pairs, in both directions. Weights of
    documents are relative to their mean. work (8, n) is scratch.
    """
    n = len(s)
    S = work[0]
    E = work[1]
    gain = work[2]
    weight = work[3]
    slope = work[4]
    curvature = work[5]
    G = work[6]
    H = work[7]
    unit = 1.0 if doc_weight is None else doc_weight.mean()
    for a in range(n):
        i = order[a]
        S[a] = s[i]
        E[a] = math.exp(max(s[i] - s[order[0]], MIN_EXPONENT))
        gain[a] = gains[i]
        weight[a] = 1.0 if doc_weight is None else doc_weight[i]
        G[a] = 0.0
        H[a] = 0.0
    near = NEAR if S[0] > S[n - 1] else 1.0
    total = 0.0
    for a in range(min(n, cutoff + BELOW) if unit > 0.0 else 0):
        _pairs_with(
            a,
            n,
            S,
            E,
            gain,
            weight,
            discount,
            near,
            slope,
            curvature,
        )
        slope_of_a = 0.0
        curvature_of_a = 0.0
        for b in range(np.uint64(a + 1), np.uint64(n)):
            G[b] += slope[b]
            H[b] += curvature[b]
        for b in range(np.uint64(a + 1), np.uint64(n)):
            slope_of_a += slope[b]
            curvature_of_a += curvature[b]
            total += abs(slope[b])
        G[a] -= slope_of_a
        H[a] += curvature_of_a
    total *= 2.0 / (ideal * unit) if total > 0.0 else 1.0
    factor = math.log1p(total) / math.log(2.0) / total / (ideal * unit) if total > 0.0 else 0.0
    for a in range(n):
        g[order[a]] = factor * G[a]
        h[order[a]] = factor * H[a]


@kernel
def bin_sums(bins, features, used, height, gains, ideal, doc_weight, query_ptr, scale, seeds, cutoff, lo, hi, out):
    """Sums by bin of a round over the queries lo..hi - 1 with a scale and a seed that are not 0.

    features    columns of `bins` whose sums are wanted
    used, height   features of the present model, and the heights of their bins
    scale       (n_queries,) factor of a query's gradients
    out         (n_features * BINS * SUMS,)
    """
    longest = 1
    for q in range(lo, hi):
        longest = max(longest, query_ptr[q + 1] - query_ptr[q])
    discount = np.empty(longest)
    for r in range(longest):
        discount[r] = 1.0 / math.log2(2.0 + r)
    order = np.empty(longest, dtype=np.int64)
    S = np.empty(longest)
    work = np.empty((8, longest))
    # Gradients and curvatures of all documents of the queries that count.
    n_rows = 0
    most = query_ptr[hi] - query_ptr[lo]
    rows = np.empty(most, dtype=np.int64)
    G = np.empty(most)
    H = np.empty(most)
    for q in range(lo, hi):
        first = query_ptr[q]
        last = query_ptr[q + 1]
        n = last - first
        if scale[q] == 0.0 or seeds[q] == 0 or ideal[q] == 0.0 or n < 2:
            continue
        s = S[:n]
        g = G[n_rows : n_rows + n]
        h = H[n_rows : n_rows + n]
        for i in range(n):
            total = 0.0
            for u in range(len(used)):
                total += height[u, bins[first + i, used[u]]]
            s[i] = total
        ranking(s, seeds[q], order[:n])
        dw = None if doc_weight is None else doc_weight[first:last]
        factor = scale[q]
        if dw is not None:  # in the normalisation they count relative to their mean
            factor *= dw.mean()
        pair_gradients(
            s,
            gains[first:last],
            order[:n],
            discount,
            ideal[q],
            cutoff,
            dw,
            g,
            h,
            work,
        )
        for i in range(n):
            rows[n_rows + i] = first + i
            g[i] *= factor
            h[i] *= factor
        n_rows += n
    # Few features at a time, whose sums stay in the first-level cache.
    for begin in range(0, len(features), FEATURES_AT_ONCE):
        some = features[begin : begin + FEATURES_AT_ONCE]
        for r in range(n_rows):
            i = rows[r]
            at = np.uint64(begin * BINS * SUMS)
            values = G[r], H[r], 1.0, 0.0
            for u in range(len(some)):
                b = np.uint64(bins[i, some[u]])
                add_at(out, at + b * np.uint64(SUMS), values)
                at += np.uint64(BINS * SUMS)
