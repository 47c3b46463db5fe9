"""How alike sets are, set by set. Imports nothing from the package."""

from __future__ import annotations

from itertools import combinations


def kuncheva(first: set[int], second: set[int], d: int) -> float:
    """Kuncheva (2007): the share of common elements, corrected for chance; sets of one size k."""
    k = len(first)
    r = len(first & second)
    return (r * d - k * k) / (k * (d - k))


def nogueira(sets: list[set[int]], d: int) -> float:
    """Nogueira et al. (2018), definition 4: one minus the mean unbiased variance of being selected over that of random
    sets."""
    m = len(sets)
    total = 0.0
    for f in range(d):
        p = sum(f in s for s in sets) / m
        total += m / (m - 1) * p * (1 - p)
    k = sum(len(s) for s in sets) / m
    return 1 - (total / d) / (k / d * (1 - k / d))


def mean_of_all_pairs(sets: list[set[int]], d: int) -> float:
    """For sets of one size Nogueira's index is the mean of Kuncheva's over all pairs."""
    values = [kuncheva(a, b, d) for a, b in combinations(sets, 2)]
    return sum(values) / len(values)
