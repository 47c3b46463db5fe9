"""Intervals and paired tests over queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from sparserank.errors import ParameterError
from sparserank.options.selection import MAX_CONFIDENCE
from sparserank.text import brief


@dataclass(frozen=True)
class Paired:
    """A paired comparison over queries: mean difference, its interval, and a two-sided p value."""

    difference: float
    low: float
    high: float
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
    if n == 0:
        return float("nan"), float("nan"), float("nan")
    mean = float(values.mean())
    if n == 1:
        return mean, float("nan"), float("nan")
    half = float(stdtrit(n - 1, 0.5 + confidence / 2) * values.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def paired_comparison(a: np.ndarray, b: np.ndarray, confidence: float = 0.95) -> Paired:
    """Paired t test and interval of a - b, over the queries where both have a value."""
    difference = (a - b)[np.isfinite(a) & np.isfinite(b)]
    mean, low, high = mean_interval(difference, confidence)
    n = len(difference)
    spread = float(difference.std(ddof=1)) if n > 1 else float("nan")
    if n < 2:
        return Paired(mean, low, high, float("nan"))
    if spread == 0:
        return Paired(mean, low, high, 1.0 if mean == 0 else 0.0)
    t = mean / (spread / np.sqrt(n))
    return Paired(mean, low, high, float(2 * stdtr(n - 1, -abs(t))))


def holm(p_values: np.ndarray) -> np.ndarray:
    """Holm's step-down correction: adjusted p values, in the input order; NaN stays NaN."""
    p_values = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(len(p_values), np.nan)
    known = np.flatnonzero(np.isfinite(p_values))
    running = 0.0
    for k, i in enumerate(known[np.argsort(p_values[known], kind="stable")]):
        running = max(running, min((len(known) - k) * p_values[i], 1.0))
        adjusted[i] = running
    return adjusted
