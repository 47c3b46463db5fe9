"""The parts of a report: sections of tables and pictures."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """screen: the columns shown on a terminal (default all); other renderers show all columns. strong:
    highlighted rows. words: text columns after the first, which wrap. folded: a page shows only the title until it
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
