"""Writing files so that nothing half-written is ever left under the final name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from sparserank.errors import RunDirectoryError


@contextmanager
def atomic_write(path: str | os.PathLike, mode: str = "w") -> Iterator[IO[Any]]:
    """A file handle whose content appears under `path` only when the block ends well.

    Raises
        RunDirectoryError   the place cannot be written or the disk is full
    """
    target = Path(path)
    name = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        options: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
        with os.fdopen(handle, mode, **options) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(name, 0o644)
        os.replace(name, target)
        name = None
    except OSError as error:
        raise RunDirectoryError(
            f"{target}: cannot be written ({error.strerror or error}); choose another place."
        ) from error
    finally:
        if name is not None and os.path.exists(name):
            os.unlink(name)
