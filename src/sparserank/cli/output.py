"""Output of a command: text for people, or one JSON document or one CSV table for programs.
Every command has the same three options."""

from __future__ import annotations

import csv
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any, get_args, get_type_hints

import typer

from sparserank.cli.commands import FLAGS
from sparserank.cli.given import typed
from sparserank.errors import ParameterError
from sparserank.options.spelling import command_line, flag_of
from sparserank.text import visible

TEXT, JSON, CSV = "text", "json", "csv"
FORMATS = (TEXT, JSON, CSV)
PANEL = "Output"

Format = Annotated[
    str,
    typer.Option(
        "--format", help="Format of standard output: text or, for programs, json or csv.", rich_help_panel=PANEL
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print only results, warnings and errors: no progress, no notes.", rich_help_panel=PANEL
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Print each finished piece of work, the versions, and tracebacks of errors.",
        rich_help_panel=PANEL,
    ),
]


@dataclass
class Answer:
    """Output of a command, collected while it runs. sentences and tables replace the document of a command that makes
    none."""

    format: str = TEXT
    quiet: bool = False
    verbose: bool = False
    sentences: list[str] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    document: Any = None
    rows: Sequence[Mapping[str, Any]] | None = None
    exact: bool = False  # whether texts of the rows are content that must stay what it is

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


def answering(command: Callable[..., None]) -> Callable[..., None]:
    """Add --format, --quiet and --verbose to a command."""

    @wraps(command)
    def run(*args: Any, format: str = TEXT, quiet: bool = False, verbose: bool = False, **options: Any) -> None:
        if format not in FORMATS:
            raise typer.BadParameter(f"must be one of {', '.join(FORMATS)}; got {format!r}.", param_hint="--format")
        if quiet and verbose:
            raise typer.BadParameter("cannot be combined with --verbose.", param_hint="--quiet")
        answer.__dict__.update(Answer(format, quiet, verbose).__dict__)
        if verbose:
            print(_versions(), file=sys.stderr, flush=True)
        with command_line(flags):
            try:
                command(*args, **options)
            except ParameterError as error:
                raise typer.BadParameter(typed(error.message), param_hint=flag_of(error.parameter, flags)) from error
        answer.print()

    own = inspect.signature(command).parameters.values()
    hints = get_type_hints(command, include_extras=True)
    flags = FLAGS | {name: flag for name, kind in hints.items() if (flag := _declared(kind))}
    added = {"format": (Format, TEXT), "quiet": (Quiet, False), "verbose": (Verbose, False)}
    parameters = [p.replace(annotation=hints[p.name]) for p in own]
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in added.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _declared(kind: Any) -> str:
    """The flag that a command declares for an option, by which its messages call it; "" for arguments."""
    names = (
        n for m in get_args(kind)[1:] for n in (getattr(m, "default", None), *(getattr(m, "param_decls", None) or ()))
    )
    return next((n for n in names if isinstance(n, str) and n.startswith("--")), "").partition("/")[0]


def _versions() -> str:
    """The versions in use, for error reports."""
    from sparserank.execution import available_cores
    from sparserank.selection.origin import versions

    return f"{', '.join(f'{name} {number}' for name, number in versions().items())}, {available_cores()} cores"


def _visible(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value
