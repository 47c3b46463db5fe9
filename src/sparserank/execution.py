"""Threads: map-reduce over blocks of whole queries, BLAS limits, available cores."""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, lru_cache
from threading import Lock, local
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

SHARD_BYTES = 128 << 20  # of features; a shard is placed as a unit: in memory, on disk or on a worker
BLOCK_BYTES = 4 << 20  # below this, handing a block to a thread costs more than its work
T = TypeVar("T")
_blas_lock = Lock()
_blas_users = 0
_blas_before: list[tuple[Any, int]] = []
_depth = local()


def split_queries(query_ptr: np.ndarray, row_bytes: float, minimum_bytes: float = 0.0) -> np.ndarray:
    """Query offsets of consecutive blocks with about BLOCK_BYTES (at least `minimum_bytes`) of features.

    Parameters
        query_ptr   (n_queries + 1,)
        row_bytes   average bytes of features per document
    Returns
        (n_blocks + 1,) int64: block b contains queries offsets[b]:offsets[b + 1]
    """
    n_queries = len(query_ptr) - 1
    total = float(query_ptr[-1]) * row_bytes
    n_blocks = max(1, min(n_queries, round(total / max(BLOCK_BYTES, minimum_bytes))))
    targets = np.linspace(0, query_ptr[-1], n_blocks + 1)[1:-1]
    inner = np.searchsorted(query_ptr, targets)
    return np.unique(np.concatenate([[0], inner, [n_queries]])).astype(np.int64)


def shard_end(ends: np.ndarray, until: np.ndarray, at: int, n_bytes: int) -> int:
    """The row after the shard that begins at row `at`: the first end of a query at which the shard has at least n_bytes
    of features.

    ends    row after each query, ascending; the last one is the number of rows
    until   (n_docs + 1,) bytes of features before each row
    The same rule applies to data in memory and in stores, so that both are summed in the same order.
    """
    full = np.searchsorted(until, until[at] + n_bytes)
    return int(ends[min(np.searchsorted(ends, full), len(ends) - 1)])


@lru_cache(maxsize=8)
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="sparserank")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: it starts none inside ours, and its sums do not depend on the machine or the thread.

    If BLAS has one pool for all threads, the limit applies to the process: the first user sets it, the last lifts it.
    """
    global _blas_users, _blas_before
    _depth.value = getattr(_depth, "value", 0) + 1
    try:
        if _depth.value == 1:
            with _blas_lock:
                libraries = [c for c in _controller().lib_controllers if c.user_api == "blas"]
                if _blas_users == 0:
                    _blas_before = [(c, c.num_threads) for c in libraries]
                _blas_users += 1
                for library in libraries:
                    _set_threads(library, 1)
        yield
    finally:
        _depth.value -= 1
        if _depth.value == 0:
            with _blas_lock:
                _blas_users -= 1
                for library, n_threads in _blas_before:
                    if _blas_users == 0 or library.threading_layer == "openmp":  # OpenMP has a limit per thread
                        _set_threads(library, n_threads)


def _set_threads(library: Any, n_threads: int) -> None:
    """Set the limit directly: threadpoolctl changes OpenBLAS only in the first thread that ever set a limit. We count
    users of the limit ourselves."""
    getattr(library, "_real_set_num_threads", library.set_num_threads)(n_threads)


def _after_fork() -> None:
    """Reset pools and locks in a forked child, which has none of the threads that would release them."""
    global _blas_lock, _blas_users
    _pool.cache_clear()
    # After a fork, only the thread that forked exists, so it is the only possible user.
    _blas_lock = Lock()
    _blas_users = int(getattr(_depth, "value", 0) > 0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class BlockExecutor:
    """Maps a function over blocks. Results come in block order, so sums do not depend on the number of threads.

    The function must release the GIL in its heavy part and must not call the executor itself.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads or available_cores()

    def map(self, function: Callable[[int], T], n_blocks: int) -> list[T]:
        if self.n_threads == 1 or n_blocks == 1:
            return [function(b) for b in range(n_blocks)]
        return list(_pool(self.n_threads).map(function, range(n_blocks)))

    def few_at_once(self, function: Callable[[int], T], n_blocks: int) -> Iterator[T]:
        """The results of `map` in block order, with at most two per thread in memory at a time:
        for large results."""
        if self.n_threads == 1 or n_blocks == 1:
            yield from map(function, range(n_blocks))
            return
        pending: deque[Future[T]] = deque()
        for b in range(n_blocks):
            pending.append(_pool(self.n_threads).submit(function, b))
            if len(pending) == 2 * self.n_threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def share(self, works: Sequence[tuple[Callable[[int, int], object], int]]) -> None:
        """For each (function, n_blocks) in works, call `function(start, step)` in every thread, for the blocks start,
        start + step, ... Each thread gets its work once, not per block or function. Blocks are dealt to threads in
        turn, also across functions. After an error, no thread begins another function; the error is raised when all
        threads have ended."""
        total = sum(n_blocks for _, n_blocks in works)
        step = max(min(self.n_threads, total), 1)
        failed: list[int] = []

        def run(thread: int) -> None:
            before = 0
            try:
                for function, n_blocks in works:
                    if failed:
                        return
                    function((thread - before) % step, step)
                    before += n_blocks
            except BaseException:
                failed.append(thread)
                raise

        others = [_pool(self.n_threads).submit(run, thread) for thread in range(1, step)]
        try:
            run(0)
        finally:
            wait(others)
        for other in others:
            other.result()


@cache
def available_cores() -> int:
    """Cores allowed by affinity and container limits, at least 1."""
    from joblib import cpu_count

    return max(int(cpu_count()), 1)


def return_freed_memory() -> None:
    """Return freed memory to the system, where the C library offers it (glibc); elsewhere nothing happens.

    glibc allocates arrays below 32 MB among small objects, and keeps their memory for reuse when they are freed. After
    many such arrays, it can hold as much memory as is in use. Takes milliseconds.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library; TypeError: Windows
        return
    trim(0)
