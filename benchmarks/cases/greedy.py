"""Greedy RankRLS against RankRLS refitted for every candidate, all varying features of MQ2008 fold 1; then its growth.

Everybody has one thread, starts from centred data, and must choose the same features in the same order.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.competitors.refitted_rls import WAYS, RefittedRls
from benchmarks.datasets import published_absent, published_train
from benchmarks.measure import isolated, measure
from benchmarks.report import Verdict, figure, megabytes, seconds, table

LAM = 1.0
FEW = 10  # steps of a small model, shown beside the whole search
TARGET = 20.0
DOCS = 40  # per query of the synthetic data
# (queries, features, selected): a factor of 8 each; X is 10 MB or more where documents grow, so that no size fits a
# cache
GROWTH = {
    "selected": [(500, 64, k) for k in (5, 10, 20, 40)],
    "documents": [(n, 32, 5) for n in (1000, 2000, 4000, 8000)],
    "features": [(1000, n, 8) for n in (16, 32, 64, 128)],
}
EXPONENT_TARGET = 1.2
MEMORY_TARGET = 4.0  # peak / X


@dataclass(frozen=True)
class Outcome:
    """Features in order, the error after each step, seconds until each (n_steps,)."""

    features: list[int]
    errors: list[float]
    until_s: np.ndarray
    peak_bytes: int
    finished: bool

    @property
    def bound(self) -> str:
        return "" if self.finished else ">= "

    def cells(self, ours: Outcome) -> list[str]:
        n, few = len(self.features), ["", ""]
        if n >= FEW:
            few = [seconds(self.until_s[FEW - 1]), f"{figure(_ratio(self, ours, FEW - 1))}x"]
        same = self.features == ours.features[:n]
        off = max(abs(a / b - 1.0) for a, b in zip(self.errors, ours.errors, strict=False))
        return [
            *few,
            self.bound + seconds(self.until_s[-1]),
            f"{self.bound}{figure(_ratio(self, ours, -1))}x",
            megabytes(self.peak_bytes),
            f"{n}, {'the same' if same else 'OTHERS'}",
            f"{off:.1e}",
        ]


@dataclass(frozen=True)
class Grown:
    time_s: float
    peak_bytes: int
    bytes_X: int

    @property
    def share(self) -> float:
        return self.peak_bytes / self.bytes_X


def run() -> list[Verdict]:
    absent = published_absent()
    if absent:
        print(f"MQ2008 declined: {absent}\n")
    return [*([] if absent else _race()), *_growth()]


def _race() -> list[Verdict]:
    ours = isolated(_search, "ours")
    refitted = {way: isolated(_search, way) for way in WAYS}
    rows = [[name, *o.cells(ours)] for name, o in {"ours": ours, **refitted}.items()]
    print(
        table(
            ["", f"{FEW} steps", "/ ours", "all steps", "/ ours", "memory", "features", "errors differ by"],
            rows,
        )
    )
    for way, o in refitted.items():
        assert o.features == ours.features[: len(o.features)], f"{way} chose other features"
    print(f"\nlam = {LAM:g}; ratios to be met are those of all steps\n")
    return [
        Verdict("greedy", f"faster than refitting, {way}", _ratio(o, ours, -1), TARGET, bound=o.bound)
        for way, o in refitted.items()
    ]


def _ratio(one: Outcome, other: Outcome, step: int) -> float:
    return float(one.until_s[step] / other.until_s[step])


def _search(name: str) -> Outcome:
    from sparserank.papers.rls.centring import centre
    from sparserank.papers.rls.greedy import greedy_search

    data = published_train("MQ2008")
    centred = centre(data)
    n_varying = int(centred.varying.sum())
    runs: list[list[float]] = []

    def search(data=data, centred=centred, k=n_varying) -> tuple[list[int], list[float]]:  # type: ignore[no-untyped-def]
        until: list[float] = []
        began = time.perf_counter()

        def progress(done: int, total: int) -> None:
            until.append(time.perf_counter() - began)

        runs.append(until)
        if name != "ours":
            return RefittedRls(name).search(data, centred, LAM, k, progress)
        steps = greedy_search(centred, LAM, k, n_threads=1, progress=progress)
        return list(steps[-1].features), [s.leave_query_out_error for s in steps]

    few = data.take_queries(np.arange(20))
    search(few, centre(few), 2)  # compilation, outside the clock
    runs.clear()
    measured = measure(search)
    features, errors = measured.result
    return Outcome(features, errors, np.median(runs, axis=0), measured.peak_bytes, len(features) == n_varying)


def _growth() -> list[Verdict]:
    rows, verdicts = [], []
    for name, sizes in GROWTH.items():
        grown = [isolated(_grow, *size) for size in sizes]
        factors = [float(np.prod(size)) / float(np.prod(sizes[0])) for size in sizes]
        exponent = _slope(factors, [g.time_s for g in grown])
        for size, g in zip(sizes, grown, strict=True):
            of_memory = [megabytes(g.bytes_X), megabytes(g.peak_bytes), f"{g.share:.2f}x"]
            rows.append([name, size[0] * DOCS, *size[1:], seconds(g.time_s), *of_memory, ""])
        rows[-1][-1] = f"{exponent:.2f}"
        verdicts.append(Verdict("greedy", f"exponent of time in {name}", exponent, EXPONENT_TARGET, False, unit=""))
        if name == "documents":
            of_peak = _slope(factors, [g.peak_bytes for g in grown])
            verdicts.append(
                Verdict("greedy", f"exponent of memory in {name}", of_peak, EXPONENT_TARGET, False, unit="")
            )
            verdicts.append(
                Verdict(
                    "greedy", "peak / X as documents grow, largest", max(g.share for g in grown), MEMORY_TARGET, False
                )
            )
    print(table(["growing", "documents", "features", "selected", "time", "X", "peak", "peak / X", "exponent"], rows))
    return verdicts


def _slope(sizes: Sequence[float], values: Sequence[float]) -> float:
    """Least squares slope of log value over log size."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _grow(n_queries: int, n_features: int, k: int) -> Grown:
    from sparserank.datasets import make_ranking
    from sparserank.papers.rls.centring import centre
    from sparserank.papers.rls.greedy import greedy_search

    greedy_search(centre(make_ranking(20, DOCS, n_features).data), LAM, 2, n_threads=1)  # compilation
    data = centre(make_ranking(n_queries, DOCS, n_features).data)
    measured = measure(lambda: greedy_search(data, LAM, k, n_threads=1))
    return Grown(measured.time_s, measured.peak_bytes, data.X.nbytes)
