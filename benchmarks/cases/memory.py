"""Incremental peak memory of one fit, relative to the bytes of X (in memory, contiguous, of the fitted dtype)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.competitors import COMPETITORS, Problem
from benchmarks.datasets import mslr_shaped, td2003_shaped
from benchmarks.measure import isolated, measure
from benchmarks.quality import alpha_max
from benchmarks.report import Verdict, megabytes, seconds, table

THREADS = (1, 2)
DATA = {
    "TD2003-shaped, float64": lambda: td2003_shaped()[0],
    "MSLR-shaped, float64": lambda: mslr_shaped()[0],
    "MSLR-shaped, float32": lambda: mslr_shaped(dtype=np.float32)[0],
}
TARGET = 0.1
LARGE = 100e6  # bytes of X from which the target holds


@dataclass(frozen=True)
class Outcome:
    bytes_X: int
    peak_bytes: int
    time_s: float
    note: str

    def cells(self) -> list[str]:
        share = f"{self.peak_bytes / self.bytes_X:.3f}x"
        return [megabytes(self.bytes_X), megabytes(self.peak_bytes), share, seconds(self.time_s), self.note]


def run() -> list[Verdict]:
    outcomes = {(name, t): isolated(_fit, name, t, threads=t) for name in DATA for t in THREADS}
    print(
        table(
            ["data", "threads", "X", "peak above it", "peak / X", "time of the fit", "setting"],
            [[name, threads, *o.cells()] for (name, threads), o in outcomes.items()],
        )
    )
    return [
        Verdict("memory", f"{n}, {t} thread{'s' * (t > 1)}: peak / X", o.peak_bytes / o.bytes_X, TARGET, False)
        for (n, t), o in outcomes.items()
        if o.bytes_X > LARGE
    ]


def _fit(name: str, threads: int) -> Outcome:
    data = DATA[name]()
    largest = alpha_max(data, threads)
    problem = Problem(data, 0.01 * largest, largest, threads)
    ours = COMPETITORS["ours"]
    ours.fit(problem.small(), ours.tolerances[0])
    fitted = measure(lambda: ours.fit(problem, ours.tolerances[0]), repeats=1)
    return Outcome(data.X.nbytes, fitted.peak_bytes, fitted.time_s, fitted.result.note)
