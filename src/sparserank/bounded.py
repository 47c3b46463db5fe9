"""Read files that somebody else names or made: up to a limit, and only regular ones where nothing else is meant."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import IO


@contextmanager
def open_regular(path: str | os.PathLike, *, links: bool = False) -> Iterator[BufferedReader]:
    """A regular file, open for reading; links: whether the path may be a link to one.

    Raises
        OSError      the file cannot be read
        ValueError   it is a link, or a device, a pipe or a folder
    """
    if not links and os.path.islink(path):  # said here, because O_NOFOLLOW is not known everywhere
        raise ValueError("it is a link")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | (0 if links else getattr(os, "O_NOFOLLOW", 0)))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError("it is not a regular file")
    with open(descriptor, "rb") as content:
        yield content


def read_regular(path: str | os.PathLike, max_bytes: int, *, links: bool = False) -> bytes:
    """The whole of a regular file, unless it is too large.

    Raises
        OSError, ValueError   as `open_regular`, or it is larger than max_bytes
    """
    with open_regular(path, links=links) as file:
        return _whole(file, max_bytes)


def read_bounded(path: str | os.PathLike, max_bytes: int) -> bytes:
    """The whole file, unless it is too large; a device or pipe has no size and is read up to the limit.

    Raises
        OSError      the file cannot be read
        ValueError   it is larger than max_bytes
    """
    with open(path, "rb") as file:
        return _whole(file, max_bytes)


def _whole(file: IO[bytes], max_bytes: int) -> bytes:
    parts, n_read = [], 0
    size = os.fstat(file.fileno()).st_size
    while max(size, n_read) <= max_bytes and (part := file.read(2**20)):
        parts.append(part)
        n_read += len(part)
    if max(size, n_read) > max_bytes:
        raise ValueError(f"it is larger than {max_bytes // 2**20} MB")
    return b"".join(parts)
