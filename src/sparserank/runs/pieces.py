"""Finished pieces of work on disk: each piece is complete and undamaged, or it is computed again."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from sparserank.bounded import read_regular
from sparserank.errors import DataError, DataWarning
from sparserank.files import atomic_write

RECORDS = "pieces"
MAX_RECORD_BYTES, MAX_BYTES = 1 << 20, 1 << 34


class PieceStore:
    """Named pieces below a folder. A piece consists of files and of a record of their checksums, written after them.

    Names must include all that a piece depends on (`identity.name_of`). The folder must be locked (`RunDirectory`).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, name: str, files: Mapping[str, bytes]) -> None:
        """Save a piece; `files` by their path inside the folder."""
        for inside, content in files.items():
            self._write(self.folder / inside, content)
        record = {inside: hashlib.sha256(content).hexdigest() for inside, content in files.items()}
        self._write(self._record(name), (json.dumps(record, indent=1) + "\n").encode())

    def load(
        self, name: str, files: Collection[str], read: Callable[[dict[str, bytes]], Any] = lambda content: content
    ) -> Any:
        """What `read` makes of the files of a piece, which must be these; None if it has to be computed. A damaged
        piece is forgotten, with a warning that names it.

        Whoever made the folder also wrote the checksums, so `read` checks the content: it raises ValueError, KeyError
        or DataError for what cannot be a result.

        Warns
            DataWarning   a file of the piece, or its record, differs from what was written, or `read` refuses it
        """
        record = self._record(name)
        try:
            written = json.loads(read_regular(record, MAX_RECORD_BYTES))
            if set(written) != set(files):
                raise ValueError("the record does not match its files")
            content = {inside: read_regular(self.folder / inside, MAX_BYTES) for inside in written}
            for inside, digest in written.items():
                if hashlib.sha256(content[inside]).hexdigest() != digest:
                    raise ValueError(f"{inside} does not match its checksum")
            return read(content)
        except (OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError, DataError) as error:
            if record.exists():  # else the piece was never finished
                self._forget(
                    record, f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
                )
            return None

    def drop(self, name: str, files: Collection[str]) -> None:
        """Remove a piece, its record first; do nothing if there is none."""
        self._record(name).unlink(missing_ok=True)
        for inside in files:
            (self.folder / inside).unlink(missing_ok=True)

    def clear(self) -> None:
        """Forget every piece; the files stay, without meaning, until they are written again."""
        for record in (self.folder / RECORDS).glob("*.json"):
            record.unlink(missing_ok=True)

    def _forget(self, record: Path, why: str) -> None:
        warnings.warn(f"{record}: a damaged piece ({why}); it will be computed again.", DataWarning, stacklevel=4)
        record.unlink(missing_ok=True)

    def _record(self, name: str) -> Path:
        return self.folder / RECORDS / f"{name}.json"

    def _write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, "wb") as out:
            out.write(content)
