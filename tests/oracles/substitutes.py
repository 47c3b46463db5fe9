"""What other models use in a feature's place: explicit sets."""

from fractions import Fraction


def substitutes(sets: set[frozenset[int]], chosen: frozenset[int], feature: int) -> set[int]:
    """The features outside the chosen set whose share among the sets without `feature` exceeds most that among the sets
    with it."""
    with_it, without = [s for s in sets if feature in s], [s for s in sets if feature not in s]
    if not without:
        return set()
    more = {}
    for other in set().union(*sets) - chosen:
        share = [Fraction(sum(other in s for s in some), len(some)) for some in (with_it, without)]
        more[other] = share[1] - share[0]
    most = max(more.values(), default=Fraction(0))
    return {other for other, m in more.items() if m == most and m > 0}


# -- wrong variants ----------------------------------------------------------------------------------------------------


def substitutes_by_how_often(sets: set[frozenset[int]], chosen: frozenset[int], feature: int) -> set[int]:
    """What is used most often without the feature, whether or not it is used as often with it."""
    without = [s for s in sets if feature not in s]
    count = {o: sum(o in s for s in without) for o in set().union(*sets) - chosen}
    most = max(count.values(), default=0)
    return {o for o, n in count.items() if n == most and n > 0}
