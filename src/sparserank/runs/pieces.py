"""Finished pieces of work on disk: each piece is complete and undamaged, or it is computed again."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path

from sparserank.errors import DataWarning
from sparserank.files import atomic_write

RECORDS = "pieces"


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

    def load(self, name: str, files: Collection[str]) -> dict[str, bytes] | None:
        """The files of a piece, which must be these; None if it has to be computed. A damaged piece is forgotten, with
        a warning that names it.

        Warns
            DataWarning   a file of the piece, or its record, differs from what was written
        """
        record = self._record(name)
        try:
            written = json.loads(record.read_bytes())
            if set(written) != set(files):
                raise ValueError("the record does not match its files")
            content = {inside: (self.folder / inside).read_bytes() for inside in written}
            for inside, digest in written.items():
                if hashlib.sha256(content[inside]).hexdigest() != digest:
                    raise ValueError(f"{inside} does not match its checksum")
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            if record.exists():  # else the piece was never finished
                self._forget(
                    record, f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
                )
            return None
        return content

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
