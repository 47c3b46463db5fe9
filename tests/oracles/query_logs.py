"""The query-normalised logarithm by explicit loops over queries, features and documents."""

from __future__ import annotations

import math
from collections.abc import Sequence


def signed_log(x: float) -> float:
    return math.log1p(x) if x >= 0 else -math.log1p(-x)


def query_log(
    rows: Sequence[Sequence[float | None]], qid: Sequence[object], fill: Sequence[float | None]
) -> list[list[float | None]]:
    """rows[i][j] None: missing; it becomes fill[j], which moves neither minimum nor maximum. None out: unknown."""
    out: list[list[float | None]] = [[None] * len(row) for row in rows]
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            own = [signed_log(rows[k][j]) for k in range(len(rows)) if qid[k] == qid[i] and rows[k][j] is not None]
            value = fill[j] if x is None else x
            if value is None:
                continue
            if not own or min(own) == max(own):
                out[i][j] = 0.0
            else:
                t = (signed_log(value) - min(own)) / (max(own) - min(own))
                out[i][j] = min(max(t, 0.0), 1.0)
    return out
