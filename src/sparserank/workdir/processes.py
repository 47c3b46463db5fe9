"""Run independent pieces of work in processes or threads, and return them as they finish. Nothing outlives the caller.

Processes are for many short solves, in which threads would wait for Python's global lock. They are plain children that
communicate through pipes, without semaphores to leak and without importing the caller's script. They are not in the
terminal's process group, so an interrupt reaches only the caller. A job keeps its processes from one stage to the next
(`kept_workers`), because each new process imports everything again.

The protocol: the caller sends a task, then (index, arguments) for each piece, then None; another task may follow. The
worker replies to each piece with an `Outcome`. Tasks, arguments and outcomes travel as bytes inside these messages, so
that data which cannot be unpickled cause an error of their piece, not of the connection.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from typing import IO, Any

from sparserank.errors import ConvergenceWarning, DataWarning, RunDirectoryError, SparserankError, warn_caller
from sparserank.options import option
from sparserank.options.spelling import spelled_as_here

Worker = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Outcome:
    """The outcome of piece `index`: its result or its exception, the seconds it took, and its warnings, if it ran in
    another process."""

    index: int
    result: Any
    error: Exception | None
    seconds: float
    warnings: Sequence[tuple[type[Warning], str]] = ()


class _Job(threading.local):
    idle: list[Worker] | None = None  # the workers that a job of this thread keeps, None outside of jobs


_workers: dict[Worker, threading.Thread] = {}  # all worker processes, and the thread that communicates with each
_job = _Job()


def run_pieces(
    task: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], n_workers: int, *, processes: bool
) -> Generator[Outcome, None, None]:
    """Run `task(*arguments[i])` for every i, and yield each outcome as soon as it is available, in any order.

    With processes, `task` (a picklable object) is sent to each worker once; arguments and results are sent every time.
    Warnings of the workers are issued here. Tasks that a script defines run in threads, because no other process can
    import them. Closing the iterator, or an exception in the loop around it, ends the remaining pieces: processes at
    once, threads when their piece is done.

    Raises
        RunDirectoryError   a worker process was lost
    """
    packed = b""
    if processes:
        packed = pickle.dumps(spelled_as_here(task), protocol=pickle.HIGHEST_PROTOCOL)
        from_script = b"__main__" in packed  # other processes cannot import what a script defines
        with suppress(Exception):  # arguments that cannot be pickled are reported when their piece is tried
            from_script |= b"__main__" in pickle.dumps(arguments)
        processes = not from_script
    idle = _job.idle
    waiting = deque(range(len(arguments)))
    outcomes: SimpleQueue[Outcome | BaseException] = SimpleQueue()
    workers: list[Worker] = []

    def work(worker: Worker | None) -> None:
        """The body of a thread: take pieces until none is left, and run them in the worker or, without one, here."""
        try:
            if worker is not None:
                _send(worker.stdin, packed)
            while True:
                index = waiting.popleft()
                run = partial(_run, task) if worker is None else partial(_ask, worker)
                outcomes.put(run(index, arguments[index]))
        except IndexError:  # no piece is left
            return
        except BaseException as error:  # an OSError means that the worker is gone
            outcomes.put(error)

    try:
        for _ in range(min(n_workers, len(arguments))):
            worker = _next_worker(idle) if processes else None
            thread = threading.Thread(target=copy_context().run, args=(work, worker), daemon=processes)
            if worker is not None:
                _workers[worker] = thread
                workers.append(worker)
            thread.start()
        for _ in range(len(arguments)):
            outcome = outcomes.get()
            if isinstance(outcome, OSError):
                raise RunDirectoryError(
                    "a worker process ended unexpectedly (out of memory?); finished work is kept. Run it again, "
                    f"with {option('n_threads', 1)} if memory is short."
                ) from outcome
            if isinstance(outcome, BaseException):
                raise outcome
            for category, message in outcome.warnings:
                if issubclass(category, ConvergenceWarning | DataWarning):
                    warn_caller(message, category)
                else:  # of another package, which users see only if they ask for it
                    warnings.warn(message, category, stacklevel=2)
            yield outcome
        # All pieces are done. A job keeps the workers that can be told to forget the task.
        if idle is not None:
            for worker in workers.copy():
                _workers[worker].join()  # no piece is left to hand over
                with suppress(OSError):
                    _send(worker.stdin, None)
                    workers.remove(worker)
                    idle.append(worker)
    finally:
        waiting.clear()  # threads end when their piece is done
        _end(workers)


def _run(task: Callable[..., Any], index: int, arguments: tuple[Any, ...]) -> Outcome:
    began = time.perf_counter()
    try:
        return Outcome(index, task(*arguments), None, time.perf_counter() - began)
    except Exception as error:
        return Outcome(index, None, error, time.perf_counter() - began)


@contextmanager
def kept_workers() -> Iterator[None]:
    """Inside the context, idle worker processes wait for the next `run_pieces` of this thread. They end with the
    outermost context. While idle, they hold none of the data that they worked on."""
    if _job.idle is not None:
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
    for worker in list(_workers):
        worker.kill()


def _after_fork() -> None:
    """Forget the workers in a forked child: they belong to the parent."""
    _workers.clear()
    _job.idle = None


# End the workers of an unclosed `run_pieces`, before Python stops threads in the middle of reading from a pipe.
atexit.register(lambda: _end(list(_workers)))
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _next_worker(idle: list[Worker] | None) -> Worker:
    """A worker that the job has kept, if one is still alive, or a new one."""
    while idle:
        worker = idle.pop()
        if worker.poll() is None:
            return worker
        _end([worker])
    path = [p for p in sys.path if isinstance(p, str)]
    program = f"import sys; sys.path[:] = {path!r}; from sparserank.workdir.processes import serve; serve()"
    command = [sys.executable, "-c", program]
    pipe = subprocess.PIPE
    # The worker gets its own process group: by a flag on Windows, by `process_group` on other systems.
    flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, process_group=0, creationflags=flags)


def _ask(worker: Worker, index: int, arguments: tuple[Any, ...]) -> Outcome:
    """The outcome of one piece; raise OSError if the worker is gone."""
    try:
        _send(worker.stdin, (index, pickle.dumps(arguments)))
        outcome: Outcome = pickle.loads(_receive(worker.stdout))
        return outcome
    except OSError:
        raise
    except Exception as error:  # arguments or a result that cannot be pickled
        return Outcome(index, None, error, 0.0)


def _end(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.kill()
    for worker in workers:
        if (thread := _workers.pop(worker, None)) is not None:
            thread.join()  # the pipes are closed at the other end, so it ends at once
        with suppress(OSError), worker:  # close the pipes and wait; data not yet sent are lost
            pass


def _send(stream: IO[bytes] | None, message: Any) -> None:
    """Send bytes, or a number and bytes. A pickle marks its own end, so messages need no other framing."""
    assert stream is not None
    pickle.dump(message, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()


def _receive(stream: IO[bytes] | None) -> Any:
    """The next message; raise BrokenPipeError if the other side is gone."""
    assert stream is not None
    try:
        return pickle.load(stream)
    except (EOFError, pickle.UnpicklingError) as error:
        raise BrokenPipeError from error


# -- in a worker process ----------------------------------------------------------------------------------------------


def serve() -> None:
    """Work on one task after another until the parent ends. However that happens, the pipe that the reading thread
    waits on is then closed, and this thread ends the process, even in the middle of a piece."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of a task must not mix with the replies
    requests: SimpleQueue[Any] = SimpleQueue()

    def receive() -> None:
        try:
            while True:
                requests.put(_receive(sys.stdin.buffer))
        finally:
            os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    while True:
        _work_on(requests.get(), requests, replies)


def _work_on(packed_task: bytes | None, requests: SimpleQueue[Any], replies: IO[bytes]) -> None:
    """Work on the pieces of one task. Nothing of it stays in memory afterwards."""
    task: Any = None

    def call(packed_arguments: bytes) -> Any:
        nonlocal task, packed_task
        if packed_task is not None:
            task = pickle.loads(packed_task)
            packed_task = None
        return task(*pickle.loads(packed_arguments))

    while (request := requests.get()) is not None:
        index, packed_arguments = request
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outcome = _run(call, index, (packed_arguments,))
        _send(replies, _packed(replace(outcome, warnings=[(w.category, str(w.message)) for w in caught])))


def _packed(outcome: Outcome) -> bytes:
    """An outcome for the caller; an exception that cannot be pickled is replaced by its text."""
    try:
        packed = pickle.dumps(outcome, protocol=pickle.HIGHEST_PROTOCOL)
        if outcome.error is not None:
            pickle.loads(packed)
        return packed
    except Exception as error:
        problem = error if outcome.error is None else outcome.error
        known = isinstance(problem, SparserankError)
        plain = SparserankError(str(problem)) if known else RuntimeError(f"{type(problem).__name__}: {problem}")
        return pickle.dumps(Outcome(outcome.index, None, plain, outcome.seconds))
