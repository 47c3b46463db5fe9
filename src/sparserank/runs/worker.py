"""A worker process. It receives a task, then arguments for it, and returns results; then another task may follow. It
ends when its parent ends.

It imports only the standard library, so that within milliseconds of its start a worker notices when its parent is gone.
However the parent ends, its end closes the pipe that the reading thread waits on.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
import time
import warnings
from typing import IO, Any

LENGTH_BYTES = 8
# Messages are a length, then that many bytes: a task, arguments for it as often as needed, the end of the task, and
# then perhaps the next task.
END_OF_TASK = b""


def main() -> None:
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a task prints must not come between the messages
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, requests), daemon=True).start()
    while True:
        _work_on(requests.get(), requests, replies)


def _work_on(packed_task: bytes | None, requests: queue.SimpleQueue[bytes], replies: IO[bytes]) -> None:
    """Work on one task, for one set of arguments after another; nothing of it stays in memory afterwards."""
    task: Any = None
    while (packed_arguments := requests.get()) != END_OF_TASK:
        began = time.perf_counter()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                if packed_task is not None:
                    task, packed_task = pickle.loads(packed_task), None
                outcome = (True, task(*pickle.loads(packed_arguments)))
            except Exception as error:
                outcome = (False, error)
        remarks = [(w.category, str(w.message)) for w in said]
        write_frame(replies, _packed(outcome, time.perf_counter() - began, remarks))


def _receive(stream: IO[bytes], requests: queue.SimpleQueue[bytes]) -> None:
    while (frame := read_frame(stream)) is not None:
        requests.put(frame)
    os._exit(0)


def _packed(outcome: tuple[bool, Any], seconds: float, remarks: list[tuple[type[Warning], str]]) -> bytes:
    """(done, result or exception, seconds, warnings); an exception that cannot be pickled is replaced by its text."""
    try:
        packed = pickle.dumps((*outcome, seconds, remarks), protocol=pickle.HIGHEST_PROTOCOL)
        if not outcome[0]:
            pickle.loads(packed)
        return packed
    except Exception as error:
        from sparserank.errors import SparserankError

        what = error if outcome[0] else outcome[1]
        plain = SparserankError if isinstance(what, SparserankError) else RuntimeError
        words = str(what) if plain is SparserankError else f"{type(what).__name__}: {what}"
        return pickle.dumps((False, plain(words), seconds, []))


def write_frame(stream: IO[bytes], content: bytes) -> None:
    stream.write(len(content).to_bytes(LENGTH_BYTES, "little"))
    stream.write(content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next message, or None if the other side is gone."""
    head = stream.read(LENGTH_BYTES)
    if len(head) < LENGTH_BYTES:
        return None
    size = int.from_bytes(head, "little")
    content = stream.read(size)
    return content if len(content) == size else None
