"""What a report is made of: sections of tables and pictures, which the renderers print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_NAMES = 40  # below the title of a page
LONGEST_LISTED = 60  # characters of a name among others


@dataclass(frozen=True)
class Table:
    """screen: the columns that a terminal shows (default all), the other renderers show everything; strong: rows that
    stand out; words: columns of words beside the first, which wrap; folded: a page shows the title alone until it is
    opened.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""
    screen: tuple[int, ...] = ()
    strong: tuple[int, ...] = ()
    words: tuple[int, ...] = ()
    folded: bool = False

    def on_screen(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows for a terminal."""
        keep = self.screen or tuple(range(len(self.columns)))
        return [self.columns[i] for i in keep], [[row[i] for i in keep] for row in self.rows]


@dataclass(frozen=True)
class Picture:
    """caption: its title, shown below; description: what it shows, for those who cannot see it."""

    name: str
    caption: str
    svg: str
    description: str = ""


@dataclass(frozen=True)
class Section:
    title: str
    text: str = ""
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


def figure(value: Any, digits: int = 4, signed: bool = False) -> str:
    """A number for people; '-' for what does not exist."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names for people: 'a, b and 3 more'; '-' for none; very long ones by their beginnings."""
    shown = (
        ", ".join(
            name if len(name) <= LONGEST_LISTED else name[: LONGEST_LISTED - 1] + "\u2026" for name in names[:most]
        )
        or "-"
    )
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def first_names(names: Sequence[str]) -> list[str]:
    """Names one by one, as many as stand below a title, and how many more there are."""
    return [*names[:MAX_NAMES], *([f"{len(names) - MAX_NAMES} more"] if len(names) > MAX_NAMES else [])]


def p_text(value: Any) -> str:
    """A p value for people."""
    return "<0.0001" if value is not None and value < 0.00005 else figure(value)
