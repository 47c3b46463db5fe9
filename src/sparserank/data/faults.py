"""Messages about faults in data of any kind, one sentence each. `place`: the name of a file, frame or row in them."""

from __future__ import annotations

import os
from typing import Any

from sparserank.errors import DataFormatError
from sparserank.options import option
from sparserank.quoting import brief


def choices() -> str:
    """The possible replacements for a missing value."""
    return f"choose a replacement: zero, min, median, query-min or a number ({option('missing', 'zero')})"


def no_such_file(path: str | os.PathLike) -> DataFormatError:
    place = str(path)
    return DataFormatError(f"{brief(place) if chr(0) in place else place}: no such file; check the path.")


def no_rows(place: str, expected: str = "") -> str:
    return f"{place}: no data rows{f'; expected {expected}' if expected else ''}."


def nothing_left(place: str) -> str:
    return f"{place}: every label is -1 (unjudged); no row is left after dropping them."


def unjudged_label(place: str) -> str:
    return f"{place}: label -1 means unjudged; choose {option('unjudged', 'drop')} or {option('unjudged', 'zero')}."


def missing_value(place: str, what: Any) -> str:
    return f"{place}: missing or infinite feature value ({what}); {choices()}."


def too_large(place: str, value: Any, dtype: Any) -> str:
    return f"{place}: feature value {value} is too large for {dtype}; read it as float64."


def column_twice(place: str, name: str) -> str:
    return f"{place}: column {brief(name)} appears twice; rename or drop one."
