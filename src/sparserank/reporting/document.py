"""The parts of a report: sections of tables and pictures, which the renderers print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

MAX_NAMES = 40  # below the title of a page
LONGEST_LISTED = 60  # characters of a name among others


@dataclass(frozen=True)
class Table:
    """screen: the columns that a terminal shows (default all); the other renderers show all columns. strong:
    highlighted rows. words: columns of text after the first, which wrap. folded: a page shows only the title until it
    is opened."""

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
    """caption: its title, shown below; description: alternative text, for screen readers."""

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
    """A number for people; '-' for a missing one."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names for people: 'a, b and 3 more'; '-' for none; very long names are cut."""
    shown = (
        ", ".join(
            name if len(name) <= LONGEST_LISTED else name[: LONGEST_LISTED - 1] + "\u2026" for name in names[:most]
        )
        or "-"
    )
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def first_names(names: Sequence[str]) -> list[str]:
    """The names that fit below a title, one by one, and the number of others."""
    return [*names[:MAX_NAMES], *([f"{len(names) - MAX_NAMES} more"] if len(names) > MAX_NAMES else [])]


def p_text(value: Any) -> str:
    """A p value for people."""
    return "<0.0001" if value is not None and value < 0.00005 else figure(value)
