"""Run one function over all blocks, serially or in threads, and hand the results back in block order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from sparserank.execution.cores import available_cores

T = TypeVar("T")


@lru_cache(maxsize=8)
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="sparserank")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


_blas_lock = Lock()
_blas_users = 0
_blas_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS must not start threads of its own inside ours, and its sums must not depend on the machine.

    The limit is the process's: the first user sets it, the last one lifts it.
    """
    global _blas_users, _blas_limit
    with _blas_lock:
        if _blas_users == 0:
            _blas_limit = _controller().limit(limits=1, user_api="blas")
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limit.restore_original_limits()


def _after_fork() -> None:
    """A forked child has the parent's pools but none of their threads, and locks that nobody will release."""
    global _blas_lock, _blas_users, _blas_limit
    _pool.cache_clear()
    _blas_lock, _blas_users, _blas_limit = Lock(), 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class BlockExecutor:
    """Maps a function over blocks; results come in block order, so sums do not depend on the number of threads.

    The function must release the GIL in its heavy part and must not call the executor itself.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = n_threads or available_cores()

    def map(self, function: Callable[[int], T], n_blocks: int) -> list[T]:
        if self.n_threads == 1 or n_blocks == 1:
            return [function(b) for b in range(n_blocks)]
        return list(_pool(self.n_threads).map(function, range(n_blocks)))
