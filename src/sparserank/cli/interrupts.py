"""Interrupts end the process at once, with one sentence, no half-written file and no worker left behind.

Finished work is already on disk, so an interrupt needs no orderly shutdown. Waiting for one (for threads inside
compiled kernels, for an import) looks like a hang.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from sparserank.text import visible  # not in the handler, which may interrupt this very import

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
UNDONE = (("sparserank.workdir.processes", "kill_workers"), ("sparserank.files", "discard_unfinished"))
SHOW_CURSOR = "\x1b[?25h"  # progress bars hide it

_advice = ""


def leave_on_signals() -> None:
    """Make SIGINT and SIGTERM end the process with one sentence; for the command line only."""
    for number, code in CODES.items():
        # a script's background jobs ignore signals, and continue to do so
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_, code=code: leave(code))


@contextmanager
def resumable(place: object, *, restart: bool = False) -> Iterator[None]:
    """Make an interrupt report that finished work is kept in `place` and, after --restart, how not to discard it."""
    global _advice
    again = "Run the same command again without --restart" if restart else "Run the same command again"
    _advice = f"finished work is kept in {place}. {again} to resume."
    try:
        yield
    except KeyboardInterrupt:
        leave(CODES[signal.SIGINT])
    finally:
        _advice = ""


def leave(code: int) -> NoReturn:
    for module, undo in UNDONE:
        # The interrupt may have come during the import of either module, before there was anything to undo.
        getattr(sys.modules.get(module), undo, lambda: None)()
    if sys.stderr is not None:
        line = visible("interrupted; " + _advice if _advice else "interrupted.")
        # The interrupt may have come in the middle of a line on the same stream, or the stream may be closed.
        with suppress(RuntimeError, OSError):
            print((SHOW_CURSOR if sys.stderr.isatty() else "") + f"\n{line}", file=sys.stderr, flush=True)
    os._exit(code)
