"""A run directory: created or marked by this program, and used by one process at a time.

Its lock belongs to an open file, so the operating system releases it when the process ends, however that happens. On
file systems without locks, packages for file locks fall back to a lock file, which a killed process leaves behind. This
module does not lock at all there.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from sparserank.errors import RunDirectoryError
from sparserank.files import PART, StrPath, atomic_write, read_regular, try_to_create_in
from sparserank.options import option

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # all others
    msvcrt = None  # type: ignore[assignment]

MARK = ".sparserank-run"  # contains the kind of work, and is the file that is locked
PLAN = "plan.json"
LOG = "log.jsonl"
MAX_MARK_BYTES = 100
MAX_JSON_BYTES = 1 << 26
LOCKED_BYTE = 1 << 30  # the byte that Windows locks: beyond the content, which others may read


def refuse_unusable(path: StrPath | None, kind: str) -> None:
    """Refuse a directory that `WorkDirectory` would refuse or could not create, before data are read; create nothing.

    Raises
        RunDirectoryError   as in `WorkDirectory`
    """
    if path is None:
        return
    place = Path(path)
    with _reported(place, "created"):
        _refuse_content(place)
        if os.path.lexists(place / MARK):
            with open(place / MARK, "rb") as mark:
                _refuse_kind(place, mark.read(MAX_MARK_BYTES), kind)
    refuse_uncreatable(place)


def refuse_uncreatable(place: Path) -> None:
    """Refuse a directory, existing or new, in which no file can be created."""
    with _reported(place, "created"):
        try_to_create_in(next(p for p in (place, *place.absolute().parents) if os.path.lexists(p)))


class WorkDirectory:
    """A directory that this process may write to until `close`, the end of a `with` block, or the end of the process.

    It is new, empty, or marked by earlier work of the same kind. Files that a killed process left unfinished are
    removed. If a `with` block fails before any work is finished, a directory that was made for it is removed again.

    Parameters
        kind   kind of work: 'select', 'for_model', 'experiment', 'demo' and others
    Raises
        RunDirectoryError   it cannot be created, contains foreign files, links or work of another kind, or is in use
    """

    def __init__(self, path: StrPath, kind: str) -> None:
        self.path = Path(path)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        # Foreign content is refused before the mark is created: a refused directory stays as it was.
        with _reported(self.path, "created"):
            self._created = [place for place in (self.path, *self.path.parents) if not place.exists()]
            self.path.mkdir(parents=True, exist_ok=True)
            _refuse_content(self.path)
            handle = os.open(self.path / MARK, flags, 0o666)
        self.close = weakref.finalize(self, os.close, handle)
        try:
            with _reported(self.path, "written"):
                self._lock_and_claim(handle, kind)
        except RunDirectoryError:
            self.close()
            raise
        # Nobody else can write here now, so unfinished files are those of a process that was killed. A marked
        # directory inside this one has its own lock, and may be in use.
        for folder in (self.path, *(p for p in self.path.iterdir() if p.is_dir() and not p.is_symlink())):
            if folder == self.path or not (folder / MARK).exists():
                for part in folder.glob(PART):
                    part.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        if any(error) and self._created and {MARK, PLAN, LOG}.issuperset(os.listdir(self.path)):
            with suppress(OSError):  # the first error matters more
                shutil.rmtree(self.path)
                for place in self._created[1:]:
                    place.rmdir()

    def read_json(self, name: str) -> Any:
        """The content of a JSON file in this directory; None if it is absent or damaged."""
        try:
            return json.loads(read_regular(self.path / name, MAX_JSON_BYTES))
        except (OSError, ValueError, RecursionError):
            return None

    def write_json(self, name: str, content: Any) -> None:
        with atomic_write(self.path / name) as out:
            out.write(json.dumps(content, indent=1) + "\n")

    def log(self, event: dict[str, Any]) -> None:
        """Append one line to log.jsonl."""
        with _reported(self.path, "written"), open(self.path / LOG, "a", encoding="utf-8") as out:
            out.write(json.dumps(event) + "\n")

    def _lock_and_claim(self, handle: int, kind: str) -> None:
        """Lock the mark; write the kind into a new mark, or compare it with the kind in an old one."""
        if is_locked_elsewhere(handle):
            raise RunDirectoryError(
                f"{self.path}: another sparserank run is writing there; wait for it, or choose another {option('out')}."
            )
        known = os.read(handle, MAX_MARK_BYTES)
        _refuse_kind(self.path, known, kind)
        # An incomplete mark is new, or its process was killed or had no space left at this point. The content is
        # checked again, because another process may have written other files since.
        if not known.endswith(b"\n"):
            _refuse_foreign(self.path)
            os.lseek(handle, 0, os.SEEK_SET)
            with open(handle, "wb", closefd=False) as mark:
                mark.write(f"{kind}\n".encode())


def is_locked_elsewhere(handle: int) -> bool:
    """Lock an open file until it is closed; True if another process has locked it."""
    place = os.lseek(handle, 0, os.SEEK_CUR)
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            os.lseek(handle, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError as error:  # any other error means a file system without locks
        return isinstance(error, BlockingIOError if fcntl is not None else PermissionError)
    finally:
        os.lseek(handle, place, os.SEEK_SET)
    return False


@contextmanager
def _reported(path: Path, task: str) -> Iterator[None]:
    """Turn an OSError into 'cannot be created' or 'cannot be written'."""
    try:
        yield
    except OSError as error:
        advice = f"; choose another {option('out')}" if task == "created" else ""
        raise RunDirectoryError(f"{path}: cannot be {task} ({error.strerror or error}){advice}.") from error


def _refuse_content(path: Path) -> None:
    """Refuse links in a marked directory, and any file in an unmarked one.

    The directory itself may be a link. Its files are read and written, and a link may lead to somebody else's file.
    """
    if not os.path.lexists(path / MARK):
        if path.is_dir():
            _refuse_foreign(path)
        return
    for place, folders, files in os.walk(path):
        for file in (Path(place, name) for name in (*folders, *files)):
            with suppress(FileNotFoundError):  # another process that is writing there may have removed it
                mode = file.lstat().st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    what = "a link" if stat.S_ISLNK(mode) else "a device, a pipe or a socket"
                    raise RunDirectoryError(
                        f"{file}: is {what}, which a run neither reads nor replaces; remove it, or choose another "
                        f"{option('out')}."
                    )


def _refuse_foreign(path: Path) -> None:
    first = min((name for name in os.listdir(path) if name != MARK), default=None)
    if first is not None:
        raise RunDirectoryError(
            f"{path}: contains files that no sparserank run has written (such as {first}); "
            f"choose a new or empty directory for {option('out')}."
        )


def _refuse_kind(path: Path, known: bytes, kind: str) -> None:
    """Refuse a directory whose mark names another kind of work; an incomplete mark names none."""
    if known.endswith(b"\n") and known != f"{kind}\n".encode():
        other = known.decode(errors="replace").strip()
        raise RunDirectoryError(
            f"{path}: contains a '{other}' run, not a '{kind}' run; choose another {option('out')}."
        )
