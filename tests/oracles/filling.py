"""What missing values become, value by value; nothing from the package."""

from __future__ import annotations

import math
import statistics


def is_number(value):
    """Whether it is no missing value: NaN, infinity, or what Istella writes for "no value",
    from 1.79e308 on and with either sign."""
    return not math.isnan(value) and -1.79e308 < value < 1.79e308


def learned(rows, rule):
    """The fill value of each feature from training rows, lists of floats."""
    out = []
    for column in zip(*rows, strict=True):
        known = [v for v in column if is_number(v)]
        if rule == "min":
            out.append(min(known) if known else 0.0)
        elif rule == "median":
            out.append(statistics.median(known) if known else 0.0)
        else:
            out.append(0.0 if rule == "zero" else float(rule))
    return out


def filled(rows, values):
    """The rows with those values in the place of what is missing."""
    return [[v if is_number(v) else values[j] for j, v in enumerate(row)] for row in rows]
