"""Output of a command: text or Markdown for people, or one JSON document or one CSV table for programs."""

from __future__ import annotations

import csv
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sparserank.text import visible

TEXT = "text"
MARKDOWN = "markdown"
JSON = "json"
CSV = "csv"
FORMATS = (TEXT, MARKDOWN, JSON, CSV)
FAILED_CHECK = 3  # exit code of --fail-if-worse and --fail-if-drift
MARKS = re.compile(r"[\\`*_~<>\[\]|#]")  # characters that mean something in Markdown


@dataclass
class Answer:
    """Output of a command, collected while it runs. Markdown output consists of `sentences` and `tables`; programs also
    get these if the command sets no document."""

    format: str = TEXT
    quiet: bool = False
    verbose: bool = False
    sentences: list[str] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    document: Any = None
    rows: Sequence[Mapping[str, Any]] | None = None
    exact: bool = False  # whether texts in the rows must not be escaped
    code: int = 0  # exit code of the command, unless an error ends it
    began: float = field(default_factory=time.monotonic)  # approximate start of the command

    @property
    def is_text(self) -> bool:
        """Whether the output is printed while the command runs."""
        return self.format == TEXT

    def print(self) -> None:
        """Print the document or the rows; nothing in text format, which is printed while the command runs."""
        if self.format == JSON:
            document = self.document
            if document is None:
                document = {"sentences": self.sentences, "tables": self.tables}
            from sparserank.strict_json import plain

            print(json.dumps(plain(document), indent=1, allow_nan=False))
        elif self.format == MARKDOWN:
            tables = self.tables
            if self.rows and not tables and not self.sentences:
                tables = [{"title": "Result", "rows": self.rows}]
            print("\n\n".join([*(_table(t["title"], t["rows"]) for t in tables), *map(_marked, self.sentences)]))
        elif self.format == CSV:
            rows = self.rows
            if rows is None:
                rows = [r for t in self.tables[:1] for r in t["rows"]] or [{"message": s} for s in self.sentences]
            columns = list(dict.fromkeys(k for r in rows for k in r))
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(map(visible, columns))
            for r in rows:
                values = map(r.get, columns)
                writer.writerow([visible(v) if isinstance(v, str) and not self.exact else v for v in values])


_current: ContextVar[Answer] = ContextVar("answer")


@contextmanager
def answering(started: Answer) -> Iterator[Answer]:
    """A context in which `started` collects the output of the command that runs."""
    before = _current.set(started)
    try:
        yield started
    finally:
        _current.reset(before)


def answer() -> Answer:
    """The output of the command that runs in this context; elsewhere a new one, in text format."""
    return _current.get(None) or Answer()


def give(document: Any, rows: Sequence[Mapping[str, Any]] | None = None, *, exact: bool = False) -> None:
    """Set the result for programs: the document for json, the rows for csv. By default, the rows are the document if it
    is a list, or else the document as one row. `exact` leaves texts unescaped."""
    current = answer()
    current.document = document
    current.rows = rows
    if rows is None:
        current.rows = document if isinstance(document, list) else [document]
    current.exact = exact


def refuse_other(path: Path, begins: str) -> None:
    """Refuse to overwrite a file that cannot be written, or that does not begin with `begins`."""
    from sparserank.errors import RunDirectoryError
    from sparserank.files import refuse_foreign

    if path.is_dir() or not path.parent.is_dir():
        raise RunDirectoryError(f"{path}: cannot be written; name a file in an existing directory.")
    refuse_foreign(path, lambda head: not head or head.startswith(begins.encode()), "is another kind of file")


def versions_in_use() -> str:
    """The versions in use, for error reports."""
    from sparserank.execution import available_cores
    from sparserank.selection.origin import versions

    return f"{', '.join(f'{name} {number}' for name, number in versions().items())}, {available_cores()} cores"


def _marked(text: object) -> str:
    """The text on one line, with characters escaped that have a meaning in Markdown."""
    return MARKS.sub(r"\\\g<0>", visible("" if text is None else text))


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a Markdown table, below its title."""
    columns = list(dict.fromkeys(k for r in rows for k in r))
    lines: list[list[Any]] = [columns, ["---"] * len(columns), *([r.get(k) for k in columns] for r in rows)]
    return f"**{_marked(title)}**\n\n" + "\n".join(f"| {' | '.join(map(_marked, line))} |" for line in lines)
