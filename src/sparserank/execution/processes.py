"""Independent pieces of work in processes: for many short solves, where Python's own lock would leave threads waiting."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

WATCH_INTERVAL_S = 0.5
LOST_WORKER = (
    "a worker process ended unexpectedly (out of memory?); finished work is kept. "
    "Run the same command again, with --threads 1 if memory is short."
)

_task: Callable[..., Any] | None = None


def _begin(task: Callable[..., Any], parent: int) -> None:
    global _task
    _task = task
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    """End this process when the parent is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(WATCH_INTERVAL_S)
    os._exit(1)


def _run(*arguments: Any) -> Any:
    assert _task is not None
    return _task(*arguments)


def open_pool(task: Callable[..., Any], n_workers: int, processes: bool) -> tuple[Executor, Callable[..., Any]]:
    """An executor, and what to submit to it so that it calls `task`.

    With processes, `task` (a picklable object) is sent to each worker once; its arguments and results every time.
    """
    if not processes:
        return ThreadPoolExecutor(n_workers), task
    pool = ProcessPoolExecutor(n_workers, get_context("spawn"), initializer=_begin, initargs=(task, os.getpid()))
    return pool, _run
