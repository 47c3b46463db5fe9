"""Read files up to a size limit, and only regular ones; write files completely or not at all, through links, with the
mode of the existing file, and never over an input."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from typing import IO, Any

from sparserank.errors import RunDirectoryError

StrPath = str | os.PathLike  # in annotations, and for isinstance
PART = ".sparserank-*.part"  # name of unfinished files, unlike those of any other program
HEAD_BYTES = 10_000  # of an existing file, from which its kind is recognised
MAX_LINKS = 40  # in a chain; the usual limit of operating systems
_DESCRIPTOR = re.compile(rf"/(?:dev|proc/(?:self|{os.getpid()}))/fd/(\d+)")
_unfinished: set[str] = set()


@contextmanager
def open_regular(path: StrPath, *, links: bool = False) -> Iterator[BufferedReader]:
    """A regular file, open for reading; links: whether the path may be a link to one.

    Raises
        OSError      the file cannot be read
        ValueError   it is a link, or a device, a pipe or a folder
    """
    if not links and os.path.islink(path):  # checked here, because not every system has O_NOFOLLOW
        raise ValueError("it is a link")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | (0 if links else getattr(os, "O_NOFOLLOW", 0)))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError("it is not a regular file")
    with open(descriptor, "rb") as content:
        yield content


def read_regular(path: StrPath, max_bytes: int, *, links: bool = False) -> bytes:
    """The whole of a regular file, unless it is too large.

    Raises
        OSError, ValueError   as `open_regular`, or it is larger than max_bytes
    """
    with open_regular(path, links=links) as file:
        return _whole(file, max_bytes)


def read_bounded(path: StrPath, max_bytes: int) -> bytes:
    """The whole file, unless it is too large; a device or pipe has no size and is read up to the limit.

    Raises
        OSError      the file cannot be read
        ValueError   it is larger than max_bytes
    """
    with open(path, "rb") as file:
        return _whole(file, max_bytes)


def _whole(file: IO[bytes], max_bytes: int) -> bytes:
    parts = []
    n_read = 0
    size = os.fstat(file.fileno()).st_size
    while max(size, n_read) <= max_bytes and (part := file.read(2**20)):
        parts.append(part)
        n_read += len(part)
    if max(size, n_read) > max_bytes:
        raise ValueError(f"it is larger than {max_bytes // 2**20} MB")
    return b"".join(parts)


@contextmanager
def atomic_write(path: StrPath, mode: str = "w") -> Iterator[IO[Any]]:
    """A file handle whose content appears under `path` only if the block succeeds.

    Links are followed. An existing file keeps its mode (and its owner, if that is allowed); a new file follows the
    user's umask. Devices, pipes, sockets and open descriptors (/dev/stdout) are written to, not replaced: data written
    to them before an error stay written.

    Raises
        RunDirectoryError   the path cannot be written or the disk is full
    """
    options: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    part = None
    try:
        old = _existing(path)
        descriptor = _open_descriptor(path)
        if descriptor is not None or (old is not None and not stat.S_ISREG(old.st_mode)):
            with open(path if descriptor is None else os.dup(descriptor), mode, **options) as stream:
                yield stream
            return
        target = os.path.realpath(path)
        part = _part_in(os.path.dirname(target))
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        with os.fdopen(handle, mode, **options) as stream:
            if old is not None and hasattr(os, "fchown"):  # not so on Windows
                with suppress(OSError):  # some file systems and users cannot
                    os.fchmod(handle, stat.S_IMODE(old.st_mode))
                    os.fchown(handle, old.st_uid, old.st_gid)
            yield stream
            stream.flush()
            os.fsync(handle)
        os.replace(part, target)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if part is not None:
            _discard(part)


def refuse_inputs(out: StrPath, inputs: Iterable[StrPath]) -> None:
    """Refuse an output file that would overwrite an input, or that cannot be written, before anything is read.

    Raises
        RunDirectoryError   `out` is one of `inputs`, under this or another name, or `atomic_write` cannot write it
    """
    for source in inputs:
        with suppress(OSError):  # a file that cannot be examined cannot be overwritten either
            if stat.S_ISREG(os.stat(out).st_mode) and os.path.samefile(out, source):
                raise RunDirectoryError(f"{out}: is also an input ({source}); choose another output file.")
    try:
        old = _existing(out)
        # Devices, pipes and sockets are written to, not replaced.
        if _open_descriptor(out) is None and (old is None or stat.S_ISREG(old.st_mode) or stat.S_ISDIR(old.st_mode)):
            if os.path.isdir(out):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            try_to_create_in(os.path.dirname(os.path.realpath(out)))
    except OSError as error:
        raise _unwritable(out, error) from error


def refuse_foreign(out: StrPath, is_ours: Callable[[bytes], bool], what: str) -> None:
    """Refuse to overwrite a file that this package cannot have written.

    Parameters
        is_ours   whether a file that begins with these HEAD_BYTES can be ours; what: how to describe one that cannot
    Raises
        RunDirectoryError   the file cannot be ours
    """
    if os.path.isfile(out):
        with open(out, "rb") as old:
            head = old.read(HEAD_BYTES)
        if not is_ours(head):
            raise RunDirectoryError(f"{out}: already exists and {what}; choose another file.")


def try_to_create_in(folder: StrPath) -> None:
    """Create an empty file in a folder and remove it; raise OSError if that is not possible."""
    part = _part_in(folder)
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    finally:
        _discard(part)


def discard_unfinished() -> None:
    """Remove the unfinished files of this process when it has to end at once."""
    for part in list(_unfinished):
        _discard(part)


def _part_in(folder: StrPath) -> str:
    """A new name for an unfinished file, registered so that `discard_unfinished` removes it."""
    part = os.path.join(folder, PART.replace("*", secrets.token_hex(8)))
    _unfinished.add(part)
    return part


def _unwritable(path: StrPath, error: OSError) -> RunDirectoryError:
    return RunDirectoryError(f"{path}: cannot be written ({error.strerror or error}); choose another path.")


def _discard(part: str) -> None:
    with suppress(OSError):
        os.unlink(part)
    _unfinished.discard(part)  # last, so that after a signal in between, discard_unfinished still knows it


def _open_descriptor(path: StrPath) -> int | None:
    """The file descriptor of this process that `path` names, through at most MAX_LINKS links; None for other paths."""
    name = os.path.abspath(path)
    for _ in range(MAX_LINKS):
        found = _DESCRIPTOR.fullmatch(name)
        if found is not None:
            return int(found[1])
        if not os.path.islink(name):
            return None
        name = os.path.join(os.path.dirname(name), os.readlink(name))
    return None


def _existing(path: StrPath) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None
