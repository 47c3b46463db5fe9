"""Drift of one feature, in plain Python."""

import math
from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered) - 1e-9) - 1, 0)]


def share_up_to(values: Sequence[float], point: float) -> float:
    return sum(v <= point + 1e-9 for v in values) / len(values)  # interpolated quantiles are rounded


def distance(train: Sequence[float], new: Sequence[float], points: Sequence[float]) -> float:
    """The largest difference of the shares of values up to one of the points."""
    return max(abs(share_up_to(train, p) - share_up_to(new, p)) for p in points)


def outside(train: Sequence[float], new: Sequence[float]) -> float:
    return sum(not min(train) <= v <= max(train) for v in new) / len(new)


def changed(scores: Sequence[float], others: Sequence[float], qid: Sequence[object], top: int = 10) -> float:
    """Share of the queries with other documents among the first `top` by another score; equal scores keep the row
    order."""
    n = 0
    for q in dict.fromkeys(qid):
        rows = [i for i in range(len(qid)) if qid[i] == q]
        first, other = (sorted(rows, key=lambda i: -s[i])[:top] for s in (scores, others))
        n += set(first) != set(other)
    return n / len(set(qid))


def independent(lengths: Sequence[float], correlation: float) -> float:
    """1 over the variance of the mean of values of variance 1, of which two of one query have this correlation."""
    n = sum(lengths)
    pairs = sum(length * (length - 1) for length in lengths)
    return n**2 / (n + correlation * pairs)


def correlation(kinds: Sequence[Sequence[bool]], qid: Sequence[object]) -> float:
    """The correlation within queries with which the variance of the shares of each kind is, in sum, that of the sums
    over queries."""
    queries = list(dict.fromkeys(qid))
    lengths = [sum(q == own for own in qid) for q in queries]
    n, alone, spread = len(qid), 0.0, 0.0
    for kind in kinds:
        share = sum(kind) / n
        alone += share * (1 - share)
        for q in queries:
            spread += sum(has - share for has, own in zip(kind, qid, strict=True) if own == q) ** 2
    variance = spread / n**2 * len(queries) / (len(queries) - 1)
    pairs = sum(length * (length - 1) for length in lengths)
    return min(max((variance / alone - 1 / n) * n**2 / pairs, 0.0), 1.0)


def all_new(k: int, n_before: int, n_new: int) -> float:
    """Probability that k of all queries, drawn at random, are all new."""
    return math.comb(n_new, k) / math.comb(n_before + n_new, k)
