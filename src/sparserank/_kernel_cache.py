"""Numba's disk cache, kept true to the sources.

Numba looks at the file of a compiled function, not at the files of the functions that it inlines: after `git pull` an
unchanged kernel would run with an old copy of what it calls. So the caches of this package go when any kernel source
changes.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

_STAMP = "kernels.stamp"


def drop_stale_caches(root: Path) -> None:
    """Delete the caches below `root` unless they are of the present sources; nothing where it may not be written.

    An installation elsewhere (read-only, caches in the user's folder) is replaced whole, with new times on every file.
    """
    stamp = root / "__pycache__" / _STAMP
    digest = hashlib.sha256()
    for source in sorted([*root.glob("_*.py"), *root.glob("*/_*.py")]):
        digest.update(source.read_bytes())
    present = digest.hexdigest()
    with suppress(OSError):
        if stamp.exists() and stamp.read_text() == present:
            return
        for cache in [*root.glob("__pycache__/*.nb[ic]"), *root.glob("*/__pycache__/*.nb[ic]")]:
            cache.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(present)


def is_compiled(kernel: Any) -> bool:
    """Whether Numba's disk cache holds the kernel as it is in the source now; True where nothing is compiled at all."""
    if not hasattr(kernel, "stats"):  # NUMBA_DISABLE_JIT
        return True
    source = Path(kernel.py_func.__code__.co_filename).stat().st_mtime
    found = Path(kernel.stats.cache_path or "").glob(f"*.{kernel.__name__}-*.nbi")
    return any(index.stat().st_mtime >= source for index in found)
