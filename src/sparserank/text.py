"""Text for people: names of features, documents and files, which are untrusted; numbers; differences in percent of a
reference, with bounds rounded outwards."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Any

_HIDDEN = (
    "Cc",
    "Cs",
    "Zl",
    "Zp",
)  # controls (terminal escapes among them), lone surrogates, line and paragraph separators
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # these reorder what stands around them
MAX_LISTED = 60  # characters of a name among others


def visible(text: object) -> str:
    """The text on one line; characters that act instead of being shown become escapes (\\x1b, \\n, \\u202e)."""
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(_escaped(c) if c in _BIDI or unicodedata.category(c) in _HIDDEN else c for c in shown)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names for people: 'a, b and 3 more'; '-' for none; very long names are cut."""
    shown = ", ".join(n if len(n) <= MAX_LISTED else f"{n[: MAX_LISTED - 1]}\u2026" for n in names[:most]) or "-"
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def figure(value: Any, digits: int = 4, signed: bool = False) -> str:
    """A number for people; '-' for a missing one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def signed(value: Any, digits: int = 4) -> str:
    """As `figure`, with its sign."""
    return figure(value, digits, signed=True)


def p_text(value: Any) -> str:
    """A p value for people."""
    return "<0.0001" if value is not None and value < 0.00005 else figure(value)


def percent(share: float) -> str:
    """'+1.4%', '-0.3%', '0.0%', '-' for a missing value."""
    return "-" if math.isnan(share) else _signed(round(100.0 * share, 1))


def change(value: float, reference: float) -> str:
    """A value against a reference: '-2.1%'."""
    return percent((value - reference) / (abs(reference) or 1.0))


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
