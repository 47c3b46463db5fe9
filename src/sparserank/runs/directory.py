"""A directory for results: made or marked by this program, and used by one process at a time."""

from __future__ import annotations

import json
import os
import stat
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from sparserank.bounded import read_regular
from sparserank.errors import RunDirectoryError
from sparserank.files import atomic_write, discard_parts, try_to_create_in
from sparserank.options import option
from sparserank.runs.locks import is_locked_elsewhere

MARK = ".sparserank-run"
MAX_JSON_BYTES = 1 << 26


def refuse_unusable(path: str | os.PathLike | None, kind: str) -> None:
    """Refuse what `RunDirectory` would refuse or could not create, before anything is read; nothing is left behind.

    Raises
        RunDirectoryError   as in `RunDirectory`
    """
    if path is None:
        return
    place = Path(path)
    try:
        if os.path.lexists(place / MARK):
            _refuse_links(place)
            with open(place / MARK, "rb") as mark:
                _refuse_kind(place, mark.read(100), kind)
        elif place.is_dir():
            _refuse_foreign(place)
    except OSError as error:
        raise _no_directory(place, error) from error
    refuse_uncreatable(place)


def refuse_uncreatable(place: Path) -> None:
    """Refuse a directory, existing or new, in which no file can be created."""
    try:
        try_to_create_in(next(p for p in (place, *place.absolute().parents) if os.path.lexists(p)))
    except OSError as error:
        raise _no_directory(place, error) from error


def _refuse_links(path: Path) -> None:
    """The directory itself may be a link; what is in it is written to and read, and may be somebody else's."""
    for place, folders, files in os.walk(path):
        for file in (Path(place, name) for name in (*folders, *files)):
            with suppress(FileNotFoundError):  # a file of a run that is writing there now
                mode = file.lstat().st_mode
                if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                    what = "a link" if stat.S_ISLNK(mode) else "a device, a pipe or a socket"
                    raise RunDirectoryError(
                        f"{file}: is {what}, which a run neither reads nor replaces; remove it, or choose another "
                        f"{option('out')}."
                    )


class RunDirectory:
    """A directory that this process may write to until `close`, the end of a `with` block, or the end of the process.

    It is new, empty, or marked by an earlier run of the same kind. The system releases its lock when the process ends,
    however that happens. Partly written files of a killed run are removed.

    Parameters
        kind   kind of run: 'select', 'for_model', 'experiment' or 'demo'
    Raises
        RunDirectoryError   it cannot be created, contains foreign files, links or a run of another kind, or is in use
    """

    def __init__(self, path: str | os.PathLike, kind: str) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            mark = self.path / MARK
            if os.path.lexists(mark):
                _refuse_links(self.path)
            else:
                _refuse_foreign(self.path)
            handle = os.open(
                mark, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o666
            )
        except OSError as error:
            raise _no_directory(self.path, error) from error
        self.close = weakref.finalize(self, os.close, handle)
        try:
            self._lock(handle)
            self._claim(handle, kind)
        except OSError as error:
            self.close()
            raise RunDirectoryError(f"{self.path}: cannot be written ({error.strerror or error}).") from error
        except RunDirectoryError:
            self.close()
            raise
        for folder in (self.path, *(p for p in self.path.iterdir() if p.is_dir() and not p.is_symlink())):
            if folder == self.path or not (folder / MARK).exists():  # a run of its own has a lock of its own
                discard_parts(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

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
        try:
            with open(self.path / "log.jsonl", "a", encoding="utf-8") as out:
                out.write(json.dumps(event) + "\n")
        except OSError as error:
            raise RunDirectoryError(f"{self.path}: cannot be written ({error.strerror or error}).") from error

    def _lock(self, handle: int) -> None:
        if is_locked_elsewhere(handle):
            raise RunDirectoryError(
                f"{self.path}: another sparserank run is writing there; wait for it, or choose another {option('out')}."
            )

    def _claim(self, handle: int, kind: str) -> None:
        known = os.read(handle, 100)
        os.lseek(handle, 0, os.SEEK_SET)
        if not known.endswith(b"\n"):  # made just now, or by a run that was killed, or had no space left, at this point
            _refuse_foreign(self.path)
            with open(handle, "wb", closefd=False) as mark:
                mark.write(f"{kind}\n".encode())
        _refuse_kind(self.path, known, kind)


def _no_directory(path: Path, error: OSError) -> RunDirectoryError:
    return RunDirectoryError(f"{path}: cannot be created ({error.strerror or error}); choose another {option('out')}.")


def _refuse_foreign(path: Path) -> None:
    first = min((name for name in os.listdir(path) if name != MARK), default=None)
    if first is not None:
        raise RunDirectoryError(
            f"{path}: contains files that no sparserank run has written (such as {first}); "
            f"choose a new or empty directory for {option('out')}."
        )


def _refuse_kind(path: Path, known: bytes, kind: str) -> None:
    """Refuse a directory whose mark names a run of another kind; a mark that is cut names none."""
    if known.endswith(b"\n") and known != f"{kind}\n".encode():
        held = known.decode(errors="replace").strip()
        raise RunDirectoryError(f"{path}: contains a '{held}' run, not a '{kind}' run; choose another {option('out')}.")
