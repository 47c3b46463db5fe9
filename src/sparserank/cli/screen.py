"""Output for people: results on standard output, progress and notes on standard error.
Text is escaped here; for programs, it is escaped in `output`."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable
from rich.text import Text

from sparserank._kernel_cache import tell_once
from sparserank.cli.output import answer
from sparserank.report.document import Cells, Table
from sparserank.text import FIRST_LOOK, visible

QUIET_INTERVAL_S = 5.0
WORTH_A_LOOK_S = 3.0
WIDTH_ELSEWHERE = 160  # width of tables in files and pipes
MAX_UNBROKEN = 24  # up to this length, cells after the first are not wrapped, however narrow the terminal


def prepare_streams() -> None:
    """Escape output that cannot be encoded. A closed standard output refuses what is printed, as a full disk does; a
    closed standard error ignores it, because there is nowhere to report it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # The null device also occupies the descriptor of the stream, which a result file would get otherwise.
            access = os.O_RDONLY if name == "stdout" else os.O_WRONLY
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), "w", encoding="utf-8", errors="backslashreplace"))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def table(title: str, columns: list[str], rows: Cells) -> None:
    """Print a table; the first column contains texts, the others numbers."""
    if not answer().is_text:
        # two columns may have the heading ""
        keys = [column + " " * columns[:i].count(column) for i, column in enumerate(columns)]
        named = [dict(zip(keys, row, strict=True)) for row in rows]
        answer().tables.append({"title": title, "columns": columns, "rows": named})
        return
    out = RichTable(show_edge=False, pad_edge=False, box=None, padding=(0, 2, 0, 0))
    shown = [[visible(cell) for cell in row] for row in rows]
    for k, column in enumerate(columns):
        widest = max((len(row[k]) for row in shown), default=0)
        # Figures are never wrapped: a heading is as wide as its column, and the first column shrinks.
        heading = _broken(visible(column), widest)
        out.add_column(
            Text(heading),
            justify="left" if k == 0 else "right",
            overflow="fold",
            no_wrap=k > 0 and widest <= MAX_UNBROKEN,
        )
    for row in shown:
        out.add_row(*map(Text, row))
    width = None if sys.stdout.isatty() else WIDTH_ELSEWHERE
    console = Console(width=width, highlight=False)
    if title:
        console.print(Text(visible(title)), style="bold")
    console.print(out)
    print()


def _broken(heading: str, width: int) -> str:
    """Break a heading into lines of about the width of its column."""
    words = heading.split(" ")
    return "\n".join(
        textwrap.wrap(heading, max(width, *map(len, words), 1), break_long_words=False, break_on_hyphens=False)
    )


def show_all(lines: Sequence[str | Table]) -> None:
    """Print lines and tables, one below the other; a terminal shows only a part of a long table."""
    for one in lines:
        if isinstance(one, Table):
            table(one.title, *one.on_screen())
            if one.note and answer().is_text:
                print(f"{visible(one.note)}\n")
        elif one:
            say(one)
        else:
            gap()


def say(text: str) -> None:
    """Print one line of the result."""
    if not answer().is_text:
        answer().sentences.append(text)
        return
    print(visible(text))


def width_of_screen() -> int:
    """Width of the terminal in columns; elsewhere, more than the length of any line."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH_ELSEWHERE


def gap() -> None:
    """Print an empty line."""
    if answer().is_text:
        print()


def note(text: str) -> None:
    """Print one line about the progress of the work."""
    if not answer().quiet:
        _on_stderr(text)


def warn(text: str) -> None:
    """Print one line about a possible problem."""
    _on_stderr(f"warning: {text}")


def error_line(text: str) -> None:
    """Print an error."""
    _on_stderr(f"error: {text}")


def _on_stderr(text: str) -> None:
    print(visible(text), file=sys.stderr, flush=True)


def announce_compiling() -> None:
    """Print one line when this command first compiles a kernel, and nothing if all of them come from the disk cache."""

    quiet = answer().quiet  # read here, because another thread that compiles would get a new, empty answer

    def announce(is_cached: bool) -> None:
        only = " (first use after installation only)" if is_cached else ""
        if not quiet:
            _on_stderr(f"compiling numerical kernels{only} ...")

    tell_once[:] = [announce]


def duration(seconds: float) -> str:
    """A time in words: '40 s', '12 min', '3.5 h'."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int, str, float | None], None]]:
    """Yield a callback (done, total, what, seconds left): a bar on a terminal, an occasional line elsewhere. With
    --verbose, it prints a line whenever a piece ends, but none for reports of pieces that are still running."""
    current = answer()  # read here, because another thread that reports would get a new, empty answer
    bar = Progress(
        "{task.description}",
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        "{task.fields[left]}",
        TextColumn("{task.fields[what]}", markup=False),
        console=Console(stderr=True),
    )
    task = bar.add_task(title, total=None, what="", left="")
    has_bar = sys.stderr.isatty() and not current.quiet and not current.verbose
    last = time.monotonic()
    ended = 0
    begun = False

    def tell(text: str) -> None:
        if has_bar:
            bar.console.print(Text(visible(text)))
        elif not current.quiet:
            _on_stderr(text)

    def report(done: int, total: int, what: str, left: float | None) -> None:
        nonlocal last, ended, begun
        ready = "" if left is None else f"about {duration(left)}"
        if has_bar:
            bar.start()  # only once there is work, so that an earlier error is a single line
        if what.startswith(FIRST_LOOK):
            # Tell the first look, unless the remaining work takes less time than reading it.
            if left is None or left >= WORTH_A_LOOK_S:
                since = f"after {duration(time.monotonic() - current.began)}: {what.removeprefix(FIRST_LOOK)}"
                tell(f"{since}: {ready} more" if ready else since)
            return
        if has_bar:
            bar.update(task, completed=done, total=total, what=visible(what), left=f"{ready} left" if ready else "")
            return
        if what == "resumed":
            tell(f"{title}: {done} of {total} pieces reused from an earlier run")
        elif not begun and done == 0 and left is None and what != "start":  # `what` describes the work
            tell(f"{title}: {what}")
        now = time.monotonic()
        begun = True
        is_further = done > ended
        ended = done
        if not (current.verbose and is_further) and (left is None or now - last < QUIET_INTERVAL_S):
            return
        last = now
        tell(f"{title}: {done} of {total}{f', {ready} left' if ready else ''} ({what})")

    try:
        yield report
    finally:
        if has_bar:
            bar.stop()


@contextmanager
def counting_documents() -> Iterator[Callable[[int, str], None]]:
    """Yield a callback (number so far, current activity) for work of unknown length; it prints an occasional line."""
    began = last = time.monotonic()
    first = 0

    def report(n: int, doing: str) -> None:
        nonlocal last, first
        now = time.monotonic()
        if doing == "resumed":
            first = n
            note(f"{n} documents reused from an earlier run")
        elif now - last >= QUIET_INTERVAL_S:
            last = now
            note(f"{n} documents {doing}, {(n - first) / (now - began):.0f} per second")

    yield report
