"""Read a whole file that somebody else names, but never more of it than a limit."""

from __future__ import annotations

import os


def read_bounded(path: str | os.PathLike, max_bytes: int) -> bytes:
    """The whole file, unless it is too large; a device or pipe has no size and is read up to the limit.

    Raises
        OSError      the file cannot be read
        ValueError   it is larger than max_bytes
    """
    parts, n_read = [], 0
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        while max(size, n_read) <= max_bytes and (part := file.read(2**20)):
            parts.append(part)
            n_read += len(part)
    if max(size, n_read) > max_bytes:
        raise ValueError(f"it is larger than {max_bytes // 2**20} MB")
    return b"".join(parts)
