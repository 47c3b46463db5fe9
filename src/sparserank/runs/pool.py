"""Run independent pieces of work in processes or threads, and return them as they finish. Nothing outlives the caller.

Processes are for many short solves, in which threads would wait for Python's global lock. They are plain children that
communicate through pipes, without semaphores to leak and without importing the caller's script. They are not in the
terminal's process group, so an interrupt reaches only the caller. A job keeps its processes from one stage to the next
(`kept_workers`), because each new process imports everything again.
"""

from __future__ import annotations

import atexit
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from sparserank.errors import RunDirectoryError
from sparserank.options import option
from sparserank.options.spelling import spelled_as_here
from sparserank.runs.worker import END_OF_TASK, read_frame, write_frame

Worker = subprocess.Popen[bytes]

EXIT_S = 5.0  # at most, that a thread may take to notice that its worker is gone

_workers: set[Worker] = set()
_feeders: weakref.WeakSet[threading.Thread] = weakref.WeakSet()  # the threads that communicate with them
_job = threading.local()  # .idle: the workers that a job of this thread keeps, None outside of jobs


@dataclass(frozen=True)
class Outcome:
    """The outcome of piece `index`: its result or its exception, the seconds it took,
    and its warnings from another process."""

    index: int
    result: Any
    error: Exception | None
    seconds: float
    warnings: Sequence[tuple[type[Warning], str]] = ()


def run_pieces(
    task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], n_workers: int, *, processes: bool
) -> Generator[Outcome, None, None]:
    """Run `task(*arguments[i])` for every i, and yield each outcome as soon as it is there, in any order.

    With processes, `task` (a picklable object) is sent to each worker once; arguments and results are sent every time.
    Warnings of the workers are issued here. Tasks that a script defines run in threads, because no other process can
    import them. Closing the iterator, or an exception in the loop around it, ends the remaining pieces: processes at
    once, threads when their piece is done.

    Raises
        RunDirectoryError   a worker process was lost
    """
    n_workers = min(n_workers, len(arguments))
    if n_workers == 0:
        return
    packed = pickle.dumps(spelled_as_here(task), protocol=pickle.HIGHEST_PROTOCOL) if processes else b""
    if b"__main__" in packed or (processes and b"__main__" in _packed_if_possible(arguments)):
        processes = False  # what a script defines itself, another process cannot import
    with closing(
        _in_processes(packed, arguments, n_workers) if processes else _in_threads(task, arguments, n_workers)
    ) as finished:
        for outcome in finished:
            for category, message in outcome.warnings:
                warnings.warn(message, category, stacklevel=2)
            yield outcome


def _packed_if_possible(arguments: Sequence[tuple[Any, ...]]) -> bytes:
    try:
        return pickle.dumps(arguments)
    except Exception:  # said when the piece is tried
        return b""


@contextmanager
def kept_workers() -> Iterator[None]:
    """Inside the context, idle worker processes wait for the next `run_pieces` of this thread. They end with the
    outermost context. In between they keep none of the data that they worked on."""
    if getattr(_job, "idle", None) is not None:
        yield
        return
    idle: list[Worker] = []
    _job.idle = idle
    try:
        yield
    finally:
        _job.idle = None
        _end(idle)


def kill_workers() -> None:
    """End every worker process of this process at once."""
    for process in list(_workers):
        process.kill()


def _after_fork() -> None:
    """Forget the workers in a forked child: they belong to the parent."""
    _workers.clear()
    _job.idle = None


def _end_at_exit() -> None:
    """End what an unclosed `run_pieces` left, before Python stops threads in the middle of reading from a pipe."""
    kill_workers()
    for feeder in list(_feeders):
        feeder.join(timeout=EXIT_S)


atexit.register(_end_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _in_threads(
    task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], n_workers: int
) -> Generator[Outcome, None, None]:
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


def _in_processes(
    packed: bytes, arguments: Sequence[tuple[Any, ...]], n_workers: int
) -> Generator[Outcome, None, None]:
    waiting = deque(range(len(arguments)))
    outcomes: queue.SimpleQueue[Outcome | None] = queue.SimpleQueue()
    idle: list[Worker] | None = getattr(_job, "idle", None)
    workers: list[Worker] = []
    feeders: list[threading.Thread] = []
    try:
        for _ in range(n_workers):
            workers.append(_waiting_one(idle) or _start())
            feed = (workers[-1], packed, arguments, waiting, outcomes)
            feeders.append(threading.Thread(target=_feed, args=feed, daemon=True))
            feeders[-1].start()
            _feeders.add(feeders[-1])
        for _ in range(len(arguments)):
            outcome = outcomes.get()
            if outcome is None:
                raise RunDirectoryError(
                    "a worker process ended unexpectedly (out of memory?); finished work is kept. Run it again, "
                    f"with {option('n_threads', 1)} if memory is short."
                )
            yield outcome
        if idle is not None:
            for feeder in feeders:
                feeder.join()  # there is nothing left to hand over
            released = [w for w in workers if _is_released(w)]
            idle += released
            workers = [w for w in workers if w not in released]
    finally:
        _end(workers, feeders)


def _waiting_one(idle: list[Worker] | None) -> Worker | None:
    """A worker that the job has kept, if one is still alive."""
    while idle:
        worker = idle.pop()
        if worker.poll() is None:
            return worker
        _end([worker])
    return None


def _is_released(worker: Worker) -> bool:
    """Tell a worker to forget its task; False if it is gone."""
    assert worker.stdin is not None
    try:
        write_frame(worker.stdin, END_OF_TASK)
        return True
    except OSError:
        return False


def _end(workers: Sequence[Worker], feeders: Sequence[threading.Thread] = ()) -> None:
    """End workers. feeders: the threads that communicate with them."""
    for process in workers:
        process.kill()
    for feeder in feeders:
        feeder.join()  # the pipes are closed at the other end, so it ends at once
    for process in workers:
        process.wait()
        _workers.discard(process)
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not yet sent has nobody to go to
                stream.close()  # type: ignore[union-attr]


def _start() -> Worker:
    begin = (
        f"import sys; sys.path[:] = {[p for p in sys.path if isinstance(p, str)]!r}; from sparserank.runs.worker "
        "import main; main()"
    )
    apart: dict[str, Any] = {"process_group": 0}
    if os.name == "nt":
        apart = {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    process = subprocess.Popen([sys.executable, "-c", begin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **apart)
    _workers.add(process)
    return process


def _feed(
    process: Worker,
    packed: bytes,
    arguments: Sequence[tuple[Any, ...]],
    waiting: deque[int],
    outcomes: queue.SimpleQueue[Outcome | None],
) -> None:
    """Pass one worker its task and piece after piece; None as an outcome means that it was lost."""
    try:
        assert process.stdin is not None
        write_frame(process.stdin, packed)
        while (index := _next_of(waiting)) is not None:
            outcomes.put(_ask(process, index, arguments[index]))
    except OSError:
        outcomes.put(None)


def _next_of(waiting: deque[int]) -> int | None:
    try:
        return waiting.popleft()
    except IndexError:
        return None


def _ask(process: Worker, index: int, arguments: tuple[Any, ...]) -> Outcome:
    """The outcome of one piece; OSError if the worker is gone."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        write_frame(process.stdin, pickle.dumps(arguments))
        reply = read_frame(process.stdout)
        if reply is None:
            raise BrokenPipeError
        done, content, seconds, remarks = pickle.loads(reply)
    except OSError:
        raise
    except Exception as error:  # arguments or a result that cannot travel
        return Outcome(index, None, error, 0.0)
    return Outcome(index, content if done else None, None if done else content, seconds, remarks)
