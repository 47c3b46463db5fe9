"""Lists of names on a command line."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence


def split_names(given: str) -> list[str]:
    """Split names at commas; a name that contains a comma is in double quotes."""
    try:
        rows = list(csv.reader([given], strict=True))
    except csv.Error:  # a quote that does not end, or that a name goes on behind, is one of the name
        return given.split(",")
    return rows[0] if len(rows) == 1 and rows[0] else given.split(",")


def joined_names(names: Sequence[str]) -> str:
    """Join names into a text that `split_names` splits."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(names)  # what ends lines is quoted
    return "" if list(names) == [""] else out.getvalue().removesuffix("\r\n")
