"""What people see: tables on standard output, progress and notes on standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

QUIET_INTERVAL_S = 5.0


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """A table; the first column is text, the others are figures."""
    out = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        show_edge=False,
        pad_edge=False,
        box=None,
        padding=(0, 2, 0, 0),
    )
    for k, column in enumerate(columns):
        out.add_column(column, justify="left" if k == 0 else "right", overflow="fold")
    for row in rows:
        out.add_row(*row)
    width = None if sys.stdout.isatty() else 160
    Console(width=width, highlight=False).print(out)
    print()


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def number(value: Any, digits: int = 4, signed: bool = False) -> str:
    if value is None or value != value:
        return "-"
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int, str], None]]:
    """A callback (done, total, what): a bar with time left on a terminal, a line now and then elsewhere."""
    if sys.stderr.isatty():
        columns = [
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TextColumn("left"), TimeRemainingColumn(), TextColumn("{task.fields[what]}"),
        ]  # fmt: skip
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(title, total=None, what="")
            yield lambda done, total, what: bar.update(task, completed=done, total=total, what=what)
        return
    began = last = time.monotonic()
    first_done: list[int] = []

    def report(done: int, total: int, what: str) -> None:
        nonlocal last
        if not first_done:
            first_done.append(done)
            if done:
                note(f"{title}: {done} of {total} pieces found from an earlier run")
        now = time.monotonic()
        fresh = done - first_done[0]
        if now - last < QUIET_INTERVAL_S or fresh == 0:
            return
        last = now
        note(f"{title}: {done} of {total}, about {(now - began) / fresh * (total - done):.0f} s left ({what})")

    yield report


@contextmanager
def slow_start_note() -> Iterator[None]:
    """Says once that code is being compiled when a step that is usually instant takes over a second."""
    timer = threading.Timer(1.0, note, ["compiling numerical kernels (first use after installation only) ..."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
