"""The parts of a report: sections of tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Cells = list[list[str]]  # the texts of a table, row by row
Fact = Mapping[str, Any]  # a plain row of a result
Column = str | Callable[[Fact], str]
Columns = dict[str, Column]  # {heading: cell}


@dataclass(frozen=True)
class Table:
    """A table of a report.

    screen   the columns shown on a terminal (default all); other renderers show all columns
    strong   highlighted rows
    words    text columns after the first, which wrap
    folded   whether a page shows only the title until it is opened
    """

    title: str
    columns: list[str]
    rows: Cells
    note: str = ""
    screen: tuple[int, ...] = ()
    strong: tuple[int, ...] = ()
    words: tuple[int, ...] = ()
    folded: bool = False

    @classmethod
    def of(
        cls, title: str, rows: Sequence[Fact], columns: Mapping[str, Column], words: Sequence[str] = (), **look: Any
    ) -> Table:
        """A table of rows of a result; the chosen ones are highlighted.

        Parameters
            columns   {heading: cell}; a cell is a format such as '{weight:.4f}', or a function of the row
            words     headings of text columns
        """
        cells = [[of(row) if callable(of) else of.format_map(row) for of in columns.values()] for row in rows]
        strong = tuple(i for i, row in enumerate(rows) if row.get("chosen"))
        return cls(title, list(columns), cells, strong=strong, words=tuple(map([*columns].index, words)), **look)

    def on_screen(self) -> tuple[list[str], Cells]:
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
