"""Running sums that begin anew with each segment, compiled."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def sums_before(values, is_first, out):
    """out[i] = the sum of values (n, d) before row i since the last row with is_first[i]: what is in another segment takes no digit."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = 0.0 if is_first[i] else out[i - 1, j] + values[i - 1, j]
