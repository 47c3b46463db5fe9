"""What can be wrong with data of any kind, in one sentence each. `place`: what messages call a file, frame or row."""

from __future__ import annotations

import os
from typing import Any

from sparserank.errors import DataFormatError
from sparserank.options import option
from sparserank.quoting import brief


def choices() -> str:
    """What may be done about a missing value."""
    return f"choose what it becomes: zero, min, median, query-min or a number ({option('missing', 'zero')})"


def no_such_file(path: str | os.PathLike) -> DataFormatError:
    place = str(path)
    return DataFormatError(f"{brief(place) if chr(0) in place else place}: no such file; check the path.")


def no_rows(place: str, expected: str = "") -> str:
    return f"{place}: no data rows{f'; expected {expected}' if expected else ''}."


def nothing_left(place: str) -> str:
    return f"{place}: every label is -1 (unjudged); nothing is left after dropping them."


def unjudged_label(place: str) -> str:
    return f"{place}: label -1 means unjudged; choose {option('unjudged', 'drop')} or {option('unjudged', 'zero')}."


def missing_value(place: str, what: Any) -> str:
    return f"{place}: missing or infinite feature value ({what}); {choices()}."


def too_large(place: str, value: Any, dtype: Any) -> str:
    return f"{place}: feature value {value} is too large for {dtype}; read it as float64."


def column_twice(place: str, name: str) -> str:
    return f"{place}: column {brief(name)} appears twice; rename or drop one."
