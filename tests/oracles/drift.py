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
