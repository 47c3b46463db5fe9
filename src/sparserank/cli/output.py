"""Output of a command: text for people, or one JSON document or one CSV table for programs."""

from __future__ import annotations

import csv
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparserank.text import visible

TEXT, JSON, CSV = "text", "json", "csv"
FORMATS = (TEXT, JSON, CSV)


@dataclass
class Answer:
    """Output of a command, collected while it runs. sentences and tables are the output for programs if the
    command gives no document."""

    format: str = TEXT
    quiet: bool = False
    verbose: bool = False
    sentences: list[str] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    document: Any = None
    rows: Sequence[Mapping[str, Any]] | None = None
    exact: bool = False  # whether texts in the rows must not be escaped
    began: float = field(default_factory=time.monotonic)  # about when the command started

    def print(self) -> None:
        """Print the document or the rows; nothing in text format, which is printed while the command runs."""
        if self.format == JSON:
            found = self.document
            if found is None:
                found = {"sentences": self.sentences, "tables": self.tables}
            from sparserank.strict_json import plain

            print(json.dumps(plain(found), indent=1, allow_nan=False))
        elif self.format == CSV:
            rows = self.rows
            if rows is None:
                rows = [r for t in self.tables[:1] for r in t["rows"]] or [{"message": s} for s in self.sentences]
            columns = list(dict.fromkeys(k for r in rows for k in r))
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerow(map(visible, columns))
            shown = (lambda v: v) if self.exact else _visible
            writer.writerows([shown(r.get(k)) for k in columns] for r in rows)


answer = Answer()


def give(document: Any, rows: Sequence[Mapping[str, Any]], *, exact: bool = False) -> None:
    """Set the result for programs: the document for json, the rows for csv; `exact` leaves texts unescaped."""
    answer.document, answer.rows, answer.exact = document, rows, exact


def versions_in_use() -> str:
    """The versions in use, for error reports."""
    from sparserank.execution import available_cores
    from sparserank.selection.origin import versions

    return f"{', '.join(f'{name} {number}' for name, number in versions().items())}, {available_cores()} cores"


def _visible(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value
