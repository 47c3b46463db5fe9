"""Compile kernels, and cache them on disk for one state of the sources.

Numba checks a cache file against the source of the kernel itself, but not against those of the functions it inlines, so
after an upgrade an unchanged kernel would still run old copies of them. The name of each cache file therefore contains
a hash of all kernel files (`_*.py`) of this package. A change to any of them leads to new cache files, in whatever
folder Numba keeps them, even while a process with the old sources is still running.
"""

from __future__ import annotations

import hashlib
import warnings
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
    from numba import njit  # slow to import

    _listen()
    function.__qualname__ += f"_{sources_hash()}"  # Numba uses it in the name of the cache file
    compile_lazily = partial(njit, nogil=True, **options)
    try:
        compiled = compile_lazily(cache=True)(function)
    except RuntimeError as error:
        if "no locator" not in str(error):  # Numba's error if no folder for cache files is writable
            raise
        _warn_of_no_cache()
        return compile_lazily()(function)
    if hasattr(compiled, "stats"):  # absent with NUMBA_DISABLE_JIT
        _remove_outdated(compiled.stats.cache_path)
    return compiled


# Called, and removed, when this process next compiles a kernel, with whether the disk cache will keep it.
tell_once: list[Callable[[bool], None]] = []


@cache
def _listen() -> None:
    """Follow what Numba compiles; it does not report what it loads from the disk cache."""
    from numba.core import event

    class Compiling(event.Listener):
        def on_start(self, event: Any) -> None:
            while tell_once:
                tell_once.pop()(event.data["dispatcher"].stats.cache_path is not None)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Compiling())


@cache
def _warn_of_no_cache() -> None:
    warnings.warn(  # not `warn_caller`: this file imports nothing of the package
        "no folder is writable for compiled functions, so that every process compiles them again; set NUMBA_CACHE_DIR "
        "to a writable folder.",
        stacklevel=4,
    )


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
    folder = kernel.stats.cache_path
    return folder is not None and any(Path(folder).glob(f"*.{kernel.py_func.__qualname__}-*.nbi"))
