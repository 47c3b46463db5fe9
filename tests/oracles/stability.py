"""How alike sets are, set by set. Imports nothing from the package."""

import random
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


def complementary(halves: list[set[int]], usable: set[int]) -> bool:
    """Whether halves 2i and 2i + 1 share nothing, are all usable queries together, and differ by at most one in
    size."""
    pairs = list(zip(halves[0::2], halves[1::2], strict=True))
    return all(not a & b and a | b == usable and abs(len(a) - len(b)) <= 1 for a, b in pairs)


# -- wrong variants ---------------------------------------------------------------------------------------------------


def kuncheva_swapped(first: set[int], second: set[int], d: int) -> float:
    """k and d change places."""
    k = len(first)
    r = len(first & second)
    return (r * k - d * d) / (d * (k - d))


def kuncheva_without_chance(first: set[int], second: set[int], d: int) -> float:
    """The share of common elements as it is."""
    return len(first & second) / len(first)


def nogueira_biased(sets: list[set[int]], d: int) -> float:
    """The variance divided by m."""
    return 1 - (1 - nogueira(sets, d)) * (len(sets) - 1) / len(sets)


def nogueira_of_kept(sets: list[set[int]], d: int) -> float:
    """Of the features that some set holds, not of all that could be."""
    return nogueira(sets, len(set().union(*sets)))


def overlapping_halves(usable: set[int], n_pairs: int, seed: int) -> list[set[int]]:
    """Each half is drawn on its own."""
    rng = random.Random(seed)
    return [set(rng.sample(sorted(usable), len(usable) // 2)) for _ in range(2 * n_pairs)]


def halves_without_the_odd_one(usable: set[int], n_pairs: int, seed: int) -> list[set[int]]:
    """Two equal halves; of an odd number of queries one is lost."""
    out: list[set[int]] = []
    for i in range(n_pairs):
        order = random.Random(seed + i).sample(sorted(usable), len(usable))
        half = len(order) // 2
        out += [set(order[:half]), set(order[half : 2 * half])]
    return out


def halves_of_all_queries(n_queries: int, n_pairs: int, seed: int) -> list[set[int]]:
    """Queries that teach nothing are split too."""
    out: list[set[int]] = []
    for i in range(n_pairs):
        order = random.Random(seed + i).sample(range(n_queries), n_queries)
        out += [set(order[: n_queries // 2]), set(order[n_queries // 2 :])]
    return out
