"""Text for people: numbers and untrusted names and values in messages; objects as text, and back."""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import reprlib
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

_HIDDEN = (
    "Cc",
    "Cs",
    "Zl",
    "Zp",
)  # control characters (including terminal escapes), lone surrogates, line and paragraph separators
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # these reorder the text around them
MILLION = 1_000_000
MAX_LISTED = 60  # characters of a name in a list
LONGEST = 60
MIN_NAME = 12  # characters to which a name is cut at most
MAX_NAMES = 10_000  # names that are compared with a mistyped one
MAX_DECIMALS = 6  # of the ends of an interval
MAX_BITS = 1000  # bits of an integer that is written out
FIRST_LOOK = "first look: "  # begins what progress reports once the first paths are computed


class Caution(str):
    """A note that warns: the report shows it in a box."""

    warns = True


def visible(text: object) -> str:
    """The text on one line; control and bidirectional characters become escapes (\\x1b, \\n, \\u202e)."""
    shown = str(text)
    if shown.isprintable():
        return shown
    escaped = ""
    for c in shown:
        hides = c in _BIDI or unicodedata.category(c) in _HIDDEN
        escaped += c.encode("unicode_escape").decode("ascii") if hides else c
    return escaped


def shortened(name: str, most: int) -> str:
    """A name for display, cut at the end to at most `most` characters (at least MIN_NAME)."""
    shown, most = visible(name), max(most, MIN_NAME)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


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


def many(n: float, about: str = "") -> str:
    """A number of queries that would be needed: '1,200'; 'more than a million' where it is astronomic. about: the word
    before a number."""
    return f"{about}{n:,.0f}" if n < MILLION else "more than a million"


def signed(value: Any, digits: int = 4) -> str:
    """As `figure`, with its sign."""
    return figure(value, digits, signed=True)


def p_text(value: Any) -> str:
    """A p value for people."""
    return "<0.0001" if value is not None and value < 0.00005 else figure(value)


def percent(share: float, digits: int = 1) -> str:
    """A share as a signed percentage: '+1.4%', '-0.3%', '0.0%'; '-' if it is missing."""
    if math.isnan(share):
        return "-"
    value = round(100.0 * share, digits)
    return f"{value:+.{digits}f}%" if value else "0.0%"


def percents(share: float, low: float, high: float) -> tuple[str, str, str]:
    """A share and the ends of its interval, rounded outwards: ('-0.9%', '-4.6%', '+3.7%'); '' for infinite ends."""
    if not math.isfinite(high - low):
        return percent(share), "", ""
    digits = clear_of_zero(100.0 * low, 100.0 * high, 1)
    unit = 10.0 ** (digits + 2)
    return (
        percent(share, digits),
        percent(math.floor(unit * low) / unit, digits),
        percent(math.ceil(unit * high) / unit, digits),
    )


def change(value: float, reference: float) -> str:
    """The relative difference of a value from a reference: '-2.1%'."""
    return percent((value - reference) / (abs(reference) or 1.0))


def clear_of_zero(low: float, high: float, digits: int) -> int:
    """The decimals of an interval: more than `digits` if it excludes 0, but its end next to 0 would be printed as 0."""
    nearest = max(low, -high)
    if not 0.0 < nearest < 10.0**-digits:
        return digits
    return min(math.ceil(-math.log10(nearest)), MAX_DECIMALS)


def interval(low: float, high: float, shown: Callable[..., str] = figure) -> str:
    """The interval of a number, or with `signed` of a difference: '[-0.0120, +0.0031]'."""
    digits = clear_of_zero(low, high, 4)
    return f"[{shown(low, digits)}, {shown(high, digits)}]"


def relative(difference: float, low: float, high: float, reference: float, *, shown: bool = True, sign: int = 1) -> str:
    """A difference relative to a reference: '-0.9% (-4.6 to +3.7%)', with 'better' or 'worse' if the interval excludes
    0. low, high: its interval, infinite if unknown; shown: if another test confirms it; sign: -1 if lower is better."""
    size = abs(reference) or 1.0
    shown_difference, begin, end = percents(difference / size, low / size, high / size)
    if not end:
        return shown_difference
    side = sign * (int(low > 0) - int(high < 0)) if shown else 0
    word = {1: " better", -1: " worse", 0: ""}[side]
    return f"{shown_difference} ({begin.removesuffix('%')} to {end}){word}"


def brief(value: Any) -> str:
    """repr(value) on one line, cut to LONGEST characters, whatever the size, depth and type of `value`."""
    # NumPy scalars have their type in their repr, so they are converted first. Other objects may raise when inspected.
    is_scalar = any(kind.__module__ == "numpy" and kind.__name__ == "generic" for kind in type(value).__mro__)
    text = _SHORT.repr(value.item() if is_scalar else value)
    if "\n" in text:  # the repr of an array or frame
        text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def no_such(name: Any, known: Sequence[str], what: str) -> str:
    """The end of a message about an unknown name: the name that was probably meant, or the range of known names.

    `what` is the noun in it: 'feature' makes 'the features are a ... z'.
    """
    close = difflib.get_close_matches(str(name), known[:MAX_NAMES], 1)
    if close:
        return f"did you mean {brief(close[0])}?"
    return f"the {what}s are {f'{known[0]} ... {known[-1]}' if len(known) else 'none'}."


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxlong = self.maxother = LONGEST
        self.maxlevel = 3

    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > MAX_BITS:  # Python refuses to write integers of many thousand digits
            return f"<an integer of {x.bit_length()} bits>"
        return super().repr_int(x, level)


_SHORT = _Short()


def source_of(cls: type) -> str:
    """The source of a class, or an empty text if it cannot be found, as for a class defined in a console."""
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        return ""


def parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """Parse 'mcp(gamma=2.0)' into ('mcp', {'gamma': 2.0}); values are Python literals (and inf)."""
    call = ast.parse(text.strip(), mode="eval").body
    if isinstance(call, ast.Name):
        return call.id, {}
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError(text)
    names = [k.arg or "**" for k in call.keywords]
    if len(set(names)) < len(names):
        raise ValueError("a parameter appears twice")
    return call.func.id, {name: _literal(k.value) for name, k in zip(names, call.keywords, strict=True)}


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id == "inf":
        return float("inf")
    if isinstance(node, ast.Tuple):
        return tuple(_literal(n) for n in node.elts)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {_literal(k): _literal(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None}
    return ast.literal_eval(node)
