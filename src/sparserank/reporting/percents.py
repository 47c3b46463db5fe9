"""Differences in percent of a reference, with bounds rounded outwards."""

from __future__ import annotations

import math


def percent(share: float) -> str:
    """'+1.4%', '-0.3%', '0.0%', '-' for a missing value."""
    return "-" if math.isnan(share) else _signed(round(100.0 * share, 1))


def lower(share: float) -> str:
    """As `percent`, rounded down."""
    return _signed(math.floor(1000.0 * share) / 10.0)


def upper(share: float) -> str:
    """As `percent`, rounded up."""
    return _signed(math.ceil(1000.0 * share) / 10.0)


def _signed(value: float) -> str:
    return f"{value:+.1f}%" if value else "0.0%"


def relative(difference: float, low: float, high: float, reference: float, *, shown: bool = True, sign: int = 1) -> str:
    """'-0.9% (-4.6 to +3.7%)', with 'better' or 'worse' if the interval shows it. low, high: of the difference,
    infinite if unknown; shown: whether another test shows it too; sign: -1 if lower is better."""
    size = abs(reference) or 1.0
    if not math.isfinite(high - low):
        return percent(difference / size)
    side = sign * (int(low > 0) - int(high < 0)) if shown else 0
    word = {1: " better", -1: " worse", 0: ""}[side]
    return f"{percent(difference / size)} ({lower(low / size).removesuffix('%')} to {upper(high / size)}){word}"
