"""Clock, peak memory, fresh processes."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Generic, TypeVar

from benchmarks.environment import pin_threads

T = TypeVar("T")
REPEATS = 7
LONG_S = 2.0  # a run of this length is not repeated
PAUSE_S = 0.2


@dataclass(frozen=True)
class Measured(Generic[T]):
    """Median time of the repeats, incremental peak memory of the first run, the last result."""

    time_s: float
    peak_bytes: int
    result: T


def isolated(function: Callable[..., T], *args: object, threads: int = 1) -> T:
    """function(*args) in a fresh process whose thread pools are pinned before any library is loaded."""
    pin_threads(threads)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def measure(function: Callable[[], T], repeats: int = REPEATS) -> Measured[T]:
    """Run `function` once with its memory watched, then up to `repeats` times in all for the clock.

    What must stay outside the clock (imports, compilation) has to have happened before.
    """
    gc.collect()
    reset_peak()
    before = resident_bytes()
    began = time.perf_counter()
    result = function()
    times = [time.perf_counter() - began]
    peak = max(peak_bytes() - before, 0)
    while len(times) < repeats and times[0] < LONG_S:
        began = time.perf_counter()
        result = function()
        times.append(time.perf_counter() - began)
    return Measured(median(times), peak, result)


def in_bursts(functions: list[Callable[[], object]], rounds: int = 3, burst: int = 4) -> list[float]:
    """Median seconds of each function over `rounds` of bursts in turn, so that a noisy neighbour hits all of them
    alike.

    The pause lets the threads of a BLAS call go to sleep (they spin for a while, on the cores of whoever comes next);
    the first call of a burst is not counted.
    """
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, series in zip(functions, times, strict=True):
            time.sleep(PAUSE_S)
            function()
            for _ in range(burst):
                began = time.perf_counter()
                function()
                series.append(time.perf_counter() - began)
    return [median(series) for series in times]


def reset_peak() -> None:
    """Hand freed memory back to the system, so that reusing it counts, and start the peak anew (Linux)."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def resident_bytes() -> int:
    return _status("VmRSS")


def peak_bytes() -> int:
    return _status("VmHWM")


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}; memory is measured on Linux only.")
