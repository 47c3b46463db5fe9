"""Sort one query by score, starting from the permutation of the last pass; and Fenwick trees over relevance ranks: sums
over all lower ranks in O(log n), of numbers or of rows.

Compared with a slow version in tests/losses/test_losses.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel


@kernel
def sort_descending(scores, order, ranked):
    """Sort `order` by descending score, ties by row: the result does not depend on the initial permutation; linear time
    if that is nearly sorted.

    ranked[a] (at least m) becomes the score at position a. It is sorted too, so each score is looked up once.
    """
    m = len(order)
    budget = 12 * m
    last = np.inf
    for a in range(m):
        d = order[a]
        s = scores[d]
        if s < last:  # already in place, like nearly all documents on a path: one comparison is enough
            ranked[a] = last = s
            continue
        b = a
        while b > 0:
            before = ranked[b - 1]
            if not (before < s or (before == s and order[b - 1] > d)):
                break
            ranked[b] = before
            order[b] = order[b - 1]
            b -= 1
        ranked[b] = s
        order[b] = d
        last = ranked[a]
        budget -= a - b
        if budget < 0:
            _merge_sort(scores, order)
            for c in range(m):
                ranked[c] = scores[order[c]]
            return


@kernel
def _merge_sort(scores, order):
    """Bottom-up merge sort by descending score, ties by row."""
    m = len(order)
    source, target = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
    for k in range(m):
        source[k] = order[k]
    width = 1
    while width < m:
        _merge_runs(scores, source, target, width)
        source, target = target, source
        width *= 2
    for k in range(m):
        order[k] = source[k]


@kernel
def _precedes(scores, i, j):
    return scores[i] > scores[j] or (scores[i] == scores[j] and i < j)


@kernel
def _merge_runs(scores, source, target, width):
    m = len(source)
    lo = 0
    while lo < m:
        mid = min(lo + width, m)
        hi = min(lo + 2 * width, m)
        a = lo
        b = mid
        for k in range(lo, hi):
            if a < mid and (b >= hi or _precedes(scores, source[a], source[b])):
                target[k] = source[a]
                a += 1
            else:
                target[k] = source[b]
                b += 1
        lo = hi


@kernel
def add(tree, size, at, value):
    """Add a value at position `at`, from 0; tree (>= size,) with size - 1 positions, entry 0 unused."""
    i = at + 1
    while i < size:
        tree[i] += value
        i += i & -i


@kernel
def sum_below(tree, at):
    """Sum over positions 0..at - 1."""
    total = 0.0
    i = at
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total


@kernel
def add_row(count, sums, at, weight, row):
    """Add a weight to `count` (size,), and the weight times row (k,) to `sums` (size, k), as `add` does."""
    i = at + 1
    while i < len(count):
        count[i] += weight
        for f in range(len(row)):
            sums[i, f] += weight * row[f]
        i += i & -i


@kernel
def add_partners(count, sums, at, weight, row, out):
    """out (k,) += weight (c row - s), where c and s are the sums of `count` and `sums` over positions 0..at - 1."""
    i = at
    while i > 0:
        for f in range(len(row)):
            out[f] += weight * (count[i] * row[f] - sums[i, f])
        i -= i & -i


@kernel
def clear(tree, size, at):
    """Set to 0 every entry that `add` at this position changes."""
    i = at + 1
    while i < size:
        tree[i] = 0.0
        i += i & -i
