"""Messages between a parent and its workers: a length, then that many bytes. A worker receives a task, arguments for it
as often as needed, and the end of the task; then the next task may follow."""

from __future__ import annotations

from typing import IO

LENGTH_BYTES = 8
END_OF_TASK = b""


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
