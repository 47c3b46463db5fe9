"""Intervals and paired tests over queries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from sparserank.errors import ParameterError
from sparserank.options.selection import MAX_CONFIDENCE
from sparserank.text import brief

Row = dict[str, Any]
Rows = list[Row]
SAME_ABSOLUTE = 1e-12  # smaller differences of a metric on a query count as none


class Paired(NamedTuple):
    """A paired comparison over queries: mean difference, its interval, and a two-sided p value."""

    difference: float
    difference_low: float
    difference_high: float
    p_value: float


def as_percent(confidence: float) -> str:
    """0.95 -> '95%', 0.995 -> '99.5%'."""
    return f"{100 * confidence:.6g}%"


def check_confidence(confidence: float) -> None:
    """Raise ParameterError unless simultaneous bounds can have this confidence: > 0.5 and <= MAX_CONFIDENCE."""
    if not 0.5 < confidence <= MAX_CONFIDENCE:
        raise ParameterError("confidence", f"must be > 0.5 and <= {MAX_CONFIDENCE:g}; got {brief(confidence)}.")


def mean_interval(values: np.ndarray, confidence: float = 0.95) -> tuple[float, float, float]:
    """Mean over queries and its two-sided t interval; NaN is ignored."""
    values = values[np.isfinite(values)]
    n = len(values)
    mean = float(values.mean()) if n else float("nan")
    if n < 2:
        return mean, float("nan"), float("nan")
    half = float(stdtrit(n - 1, 0.5 + confidence / 2) * values.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def paired_comparison(a: np.ndarray, b: np.ndarray, confidence: float = 0.95) -> Paired:
    """Paired t test and interval of a - b, over the queries where both have a value."""
    difference = a - b
    difference = difference[np.isfinite(difference)]
    mean, low, high = mean_interval(difference, confidence)
    n = len(difference)
    spread = float(difference.std(ddof=1)) if n > 1 else float("nan")
    if spread == 0:
        return Paired(mean, low, high, float(mean == 0))
    t = mean / (spread / np.sqrt(n))
    return Paired(mean, low, high, float(2 * stdtr(n - 1, -abs(t))))


def most_apart(
    queries: Sequence[Any] | np.ndarray, a: np.ndarray, b: np.ndarray, names: tuple[str, str], most: int
) -> Rows:
    """The queries on which a and b are furthest apart, `most` at most: their id, and the values by these names. Queries
    on which they are equal, or one has no value, are left out."""
    apart = np.abs(np.nan_to_num(b - a))
    order = np.argsort(-apart, kind="stable")[:most].tolist()
    return [{"query": str(queries[q]), names[0]: a[q], names[1]: b[q]} for q in order if apart[q] > SAME_ABSOLUTE]


def queries_needed(n: int, half: float, size: float) -> float:
    """Number of queries whose intervals have half the length `size`, if those of n queries have `half`."""
    return math.ceil(n * (half / size) ** 2)


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Holm's step-down correction: adjusted p values, in the input order; NaN stays NaN."""
    p_values = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(np.isfinite(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    times = len(order) - np.arange(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(times * p_values[order], 1.0))
    return adjusted
