"""Independent pieces of work, in processes or threads, handed back as they finish; nothing outlives the caller.

Processes are for many short solves, where Python's own lock would leave threads waiting. They are plain children that talk
through pipes: no semaphores to leak, no import of the caller's script, and they are not in the terminal's process group, so
that an interrupt reaches the caller alone.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sparserank.errors import RunDirectoryError
from sparserank.runs.frames import read_frame, write_frame

LOST_WORKER = (
    "a worker process ended unexpectedly (out of memory?); finished work is kept. "
    "Run the same command again, with --threads 1 if memory is short."
)

_workers: set[subprocess.Popen[bytes]] = set()


@dataclass(frozen=True)
class Outcome:
    """What became of piece `index`: its result or its exception, and the seconds it took."""

    index: int
    result: Any
    error: Exception | None
    seconds: float


def run_pieces(
    task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], n_workers: int, *, processes: bool
) -> Iterator[Outcome]:
    """`task(*arguments[i])` for every i, each outcome as soon as it is there, in any order.

    With processes, `task` (a picklable object) goes to each worker once; arguments and results go every time. Closing the
    iterator, or an exception in the loop around it, ends what is still running: processes at once, threads when their
    piece is done.

    Raises
        RunDirectoryError   a worker process was lost
    """
    n_workers = min(n_workers, len(arguments))
    if n_workers == 0:
        return iter(())
    return _in_processes(task, arguments, n_workers) if processes else _in_threads(task, arguments, n_workers)


def kill_workers() -> None:
    """End every worker process of this process at once."""
    for process in list(_workers):
        process.kill()


def _in_threads(task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], n_workers: int) -> Iterator[Outcome]:
    def run(index: int) -> Outcome:
        began = time.perf_counter()
        try:
            result, error = task(*arguments[index]), None
        except Exception as problem:
            result, error = None, problem
        return Outcome(index, result, error, time.perf_counter() - began)

    pool = ThreadPoolExecutor(n_workers)
    try:
        for future in as_completed([pool.submit(run, i) for i in range(len(arguments))]):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _in_processes(task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], n_workers: int) -> Iterator[Outcome]:
    packed = pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL)
    waiting = deque(range(len(arguments)))
    outcomes: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()
    workers = [_start() for _ in range(n_workers)]
    feeders = [
        threading.Thread(target=_feed, args=(process, packed, arguments, waiting, outcomes), daemon=True)
        for process in workers
    ]
    try:
        for feeder in feeders:
            feeder.start()
        for _ in range(len(arguments)):
            outcome = outcomes.get()
            if outcome is None:
                raise RunDirectoryError(LOST_WORKER)
            yield outcome
    finally:
        for process in workers:
            process.kill()
        for process, feeder in zip(workers, feeders, strict=True):
            process.wait()
            _workers.discard(process)
            if feeder.is_alive():
                feeder.join()  # the pipes are closed at the other end, so it ends at once
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):  # what was not yet sent has nobody to go to
                    stream.close()  # type: ignore[union-attr]


def _start() -> subprocess.Popen[bytes]:
    begin = f"import sys; sys.path[:] = {sys.path!r}; from sparserank.runs.worker import main; main()"
    options: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}
    process = subprocess.Popen([sys.executable, "-c", begin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
    _workers.add(process)
    return process


def _feed(
    process: subprocess.Popen[bytes],
    packed: bytes,
    arguments: Sequence[tuple[Any, ...]],
    waiting: deque[int],
    outcomes: queue.SimpleQueue[Outcome | None],
) -> None:
    """Hand one worker its task and piece after piece; None among the outcomes says that it was lost."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        write_frame(process.stdin, packed)
        while True:
            try:
                index = waiting.popleft()
            except IndexError:
                return
            write_frame(process.stdin, pickle.dumps(arguments[index]))
            reply = read_frame(process.stdout)
            if reply is None:
                break
            done, content, seconds = pickle.loads(reply)
            outcomes.put(Outcome(index, content if done else None, None if done else content, seconds))
    except OSError:
        pass
    outcomes.put(None)
