"""What a column of values holds, and how well one orders pairs, by loops over Python objects."""

from collections.abc import Sequence
from typing import Any


def facts(values: Sequence[Any], *, missing_is_a_value: bool = False) -> dict[str, Any]:
    """Counts of a column; None, NaN and "" are missing. missing_is_a_value:
    the mistake of counting them among the values."""
    known, n_missing, n_infinite = [], 0, 0
    for value in values:
        if value is None or value != value or value == "":
            n_missing += 1
            if missing_is_a_value:
                known.append("missing")
        elif isinstance(value, float) and value in (float("inf"), float("-inf")):
            n_infinite += 1
        else:
            known.append(value)
    distinct: list[Any] = []
    for value in known:
        if value not in distinct:
            distinct.append(value)
    numbers = [v for v in known if not isinstance(v, str)]
    return {
        "n_missing": n_missing,
        "n_infinite": n_infinite,
        "n_distinct": len(distinct),
        "low": min(numbers) if numbers else None,
        "high": max(numbers) if numbers else None,
        "whole": bool(numbers) and all(v == int(v) for v in numbers),
    }


def share_in_order(
    values: Sequence[float], relevance: Sequence[float], queries: Sequence[Any], *, tie: float = 0.5
) -> float:
    """Share of the preferred pairs that the values order right; tie: what a tied pair counts."""
    right, n = 0.0, 0
    for i in range(len(values)):
        for j in range(len(values)):
            if queries[i] == queries[j] and relevance[i] > relevance[j]:
                n += 1
                right += 1.0 if values[i] > values[j] else tie if values[i] == values[j] else 0.0
    return right / n
