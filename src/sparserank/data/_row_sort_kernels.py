"""Bring the features of one row into ascending order, in time n log n whatever order they stand in."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sort_row(
    indices: np.ndarray, values: np.ndarray, lo: int, hi: int, slow: np.ndarray, first_slow: int, n_slow: int
) -> int:
    """Sort indices[lo:hi] ascending, values[lo:hi] with them; returns the smallest index that repeats, or -1.

    Positions in slow[first_slow:n_slow, 0], all of this row, follow their values. A key holds the index in its upper 32 bits
    and the position in its lower ones, so that one array is sorted.
    """
    m = hi - lo
    keys = np.empty(m, dtype=np.int64)
    other = np.empty(m, dtype=np.int64)
    for k in range(m):
        keys[k] = (np.int64(indices[lo + k]) << 32) | k
    width = 1
    while width < m:
        _merge_runs(keys, other, width)
        keys, other = other, keys
        width *= 2
    unsorted = values[lo:hi].copy()
    place = other
    for k in range(m):
        position = keys[k] & 0xFFFFFFFF
        indices[lo + k] = keys[k] >> 32
        values[lo + k] = unsorted[position]
        place[position] = lo + k
    for s in range(first_slow, n_slow):
        slow[s, 0] = place[slow[s, 0] - lo]
    for k in range(lo + 1, hi):
        if indices[k] == indices[k - 1]:
            return indices[k]
    return -1


@njit(cache=True, nogil=True)
def _merge_runs(source: np.ndarray, target: np.ndarray, width: int) -> None:
    """Merge neighbouring sorted runs of `width` from source into target."""
    m = len(source)
    lo = 0
    while lo < m:
        mid = min(lo + width, m)
        hi = min(lo + 2 * width, m)
        a = lo
        b = mid
        for k in range(lo, hi):
            if a < mid and (b >= hi or source[a] <= source[b]):
                target[k] = source[a]
                a += 1
            else:
                target[k] = source[b]
                b += 1
        lo = hi
