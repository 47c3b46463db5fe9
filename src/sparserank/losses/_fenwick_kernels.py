"""Fenwick trees over relevance ranks: sums over all lower ranks in O(log n), of numbers or of rows."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from sparserank._kernel_cache import kernel


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
    """`add` of a weight to count (size,), and of weight times row (k,) to sums (size, k)."""
    i = at + 1
    while i < len(count):
        count[i] += weight
        for f in range(len(row)):
            sums[i, f] += weight * row[f]
        i += i & -i


@kernel
def add_partners(count, sums, at, weight, row, out):
    """out (k,) += weight (c row - s), c and s the sums of count and sums over positions 0..at - 1."""
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


@kernel
def clear_row(count, sums, at):
    """Set to 0 every entry that `add_row` at this position changes."""
    i = at + 1
    while i < len(count):
        count[i] = 0.0
        for f in range(sums.shape[1]):
            sums[i, f] = 0.0
        i += i & -i


@kernel
def add_remaining_partners(count, sums, left_count, left_sums, at, weight, row, out):
    """`add_partners` for the difference of two trees: documents added to the first and not to the second."""
    i = at
    while i > 0:
        c = count[i] - left_count[i]
        for f in range(len(row)):
            out[f] += weight * (c * row[f] - (sums[i, f] - left_sums[i, f]))
        i -= i & -i
