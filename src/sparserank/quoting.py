"""Quote values from users in messages: never long, and without errors."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Sequence
from typing import Any

LONGEST = 60
MAX_NAMES = 10_000  # that are compared with a mistyped one
MAX_BITS = 1000  # of an integer that is written out


def brief(value: Any) -> str:
    """repr(value) on one line, cut to LONGEST characters, whatever the size, depth and type of `value`."""
    # NumPy's scalars have the type's name in their repr. What is no scalar of NumPy can raise anything when asked.
    is_scalar = any(kind.__module__ == "numpy" and kind.__name__ == "generic" for kind in type(value).__mro__)
    text = _SHORT.repr(value.item() if is_scalar else value)
    if "\n" in text:  # of an array or frame
        text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def no_such(name: Any, known: Sequence[str], what: str) -> str:
    """What follows the name of something that does not exist: the name that was probably meant, or what exists.

    `what` completes the sentence: 'feature' makes 'the features are a ... z'.
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
