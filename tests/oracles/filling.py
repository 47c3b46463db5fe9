"""What missing values become, value by value; nothing from the package."""

from __future__ import annotations

import math
import statistics


def learned(rows, rule):
    """The fill value of each feature from training rows, lists of floats in which NaN and infinities are missing."""
    out = []
    for column in zip(*rows, strict=True):
        known = [v for v in column if math.isfinite(v)]
        if rule == "min":
            out.append(min(known) if known else 0.0)
        elif rule == "median":
            out.append(statistics.median(known) if known else 0.0)
        else:
            out.append(0.0 if rule == "zero" else float(rule))
    return out


def filled(rows, values):
    """The rows with those values in the place of what is missing."""
    return [[v if math.isfinite(v) else values[j] for j, v in enumerate(row)] for row in rows]
