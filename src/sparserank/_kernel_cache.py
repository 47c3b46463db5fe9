"""Compilation of kernels, and their disk cache, which belongs to one state of the sources.

Numba compares a cache file with the source of the kernel itself, but not with the sources of what the kernel inlines:
after an upgrade, an unchanged kernel would run with an old copy of what it calls. The name of each cache file therefore
contains a hash of all kernel files (`_*.py`) of this package. A change to any of them leads to other cache files, in
whatever folder Numba keeps them, and also while a process with the old sources is still running.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any


def kernel(function: Callable | None = None, **options: Any) -> Any:
    """Compile a function at its first call, without the GIL, or load it from the disk cache: `@kernel`.

    Parameters
        options   further options of `numba.njit`, such as fastmath: `@kernel(fastmath={"contract"})`
    """
    if function is None:
        return partial(kernel, **options)
    from numba import njit  # slow to import; the command line asks `is_compiled` without it

    function.__qualname__ += f"_{sources_hash()}"  # Numba names the cache file by it
    compiled = njit(cache=True, nogil=True, **options)(function)
    if hasattr(compiled, "stats"):  # not so with NUMBA_DISABLE_JIT
        _remove_outdated(compiled.stats.cache_path)
    return compiled


@cache
def sources_hash(root: Path = Path(__file__).parent) -> str:
    """Hash of all kernel files below `root`: their paths and contents."""
    digest = hashlib.sha256()
    for file in sorted(root.rglob("_[!_]*.py")):
        digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@cache
def _remove_outdated(folder: str) -> None:
    """Remove the cache files of other states of the sources. A process that still uses them compiles again."""
    with suppress(OSError):
        for file in Path(folder).glob("*.nb[ic]"):
            if sources_hash() not in file.name:
                file.unlink(missing_ok=True)


def is_compiled(kernel: Any) -> bool:
    """True if the disk cache contains the kernel, or if nothing is compiled at all."""
    if not hasattr(kernel, "stats"):  # NUMBA_DISABLE_JIT
        return True
    return any(Path(kernel.stats.cache_path).glob(f"*.{kernel.py_func.__qualname__}-*.nbi"))
