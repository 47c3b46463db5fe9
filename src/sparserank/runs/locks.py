"""Locks of open files, which the system releases when the process ends, however that happens.

The only module that asks for `fcntl` or `msvcrt`. Packages of file locks fall back to a lock file where the system has
no locks, and a killed process leaves that behind; here such a file system has no locks.
"""

from __future__ import annotations

import os

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # all others
    msvcrt = None  # type: ignore[assignment]

PLACE = 1 << 30  # of the byte that Windows locks: beyond the content, which others may read


def is_locked_elsewhere(handle: int) -> bool:
    """Lock an open file until it is closed; True if another process has locked it."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            _lock_byte(handle)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    return False


def _lock_byte(handle: int) -> None:
    """Raise BlockingIOError if another process has locked the byte."""
    place = os.lseek(handle, 0, os.SEEK_CUR)
    os.lseek(handle, PLACE, os.SEEK_SET)
    try:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except PermissionError as error:
        raise BlockingIOError from error
    finally:
        os.lseek(handle, place, os.SEEK_SET)
