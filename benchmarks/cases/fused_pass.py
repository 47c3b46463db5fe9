"""One fused pass (loss and gradient of all pairs) against one `X @ w`, the least that any method has to do."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.datasets import mslr_shaped
from benchmarks.jobs import BEFORE, N_PASSES, cost
from benchmarks.measure import in_bursts, isolated
from benchmarks.report import Verdict, figure, seconds, table

SETTINGS = [(dtype, threads) for dtype in ("float64", "float32") for threads in (1, 2)]
TARGETS = {"float64": 1.6, "float32": 2.0}
STEP = 0.01  # relative change of w between two passes, as between late iterates


@dataclass(frozen=True)
class Outcome:
    product_s: float
    same_s: float
    moved_s: float
    bytes_X: int

    def cells(self) -> list[str]:
        product, same, moved = self.product_s, self.same_s, self.moved_s
        rate = f"{figure(self.bytes_X / product / 1e9)} GB/s"
        return [seconds(product), rate, *(t for s in (same, moved) for t in (seconds(s), f"{s / product:.2f}x"))]


def run() -> list[Verdict]:
    outcomes = {s: isolated(_passes, *s, threads=s[1]) for s in SETTINGS}
    print(
        table(
            ["dtype", "threads", "X @ w", "of X", "pass, same w", "ratio", f"pass, w moved {STEP:.0%}", "ratio"],
            [[dtype, threads, *o.cells()] for (dtype, threads), o in outcomes.items()],
        )
    )
    losses = isolated(_losses, threads=1)
    plain = losses["squared_hinge", "none"]
    print(
        table(
            ["loss, float32, 1 thread", "document weights", "pass, same w", "over the plain squared hinge"],
            [[*key, seconds(s), f"{s / plain:.2f}x"] for key, s in losses.items()],
        )
    )
    if os.environ.get(BEFORE):
        costs = {d: (cost("fused_pass", 6000, d), cost("fused_pass", 6000, d, before=True)) for d in TARGETS}
        rows = [
            [d, *(seconds(c.cpu_s / N_PASSES) for c in pair), *(c.result for c in pair)] for d, pair in costs.items()
        ]
        print("\n" + table(["a pass, w moving, 2 threads", "CPU now", "CPU before", "value now", "value before"], rows))
    return [
        Verdict("fused_pass", f"{d}, {t} thread{'s' * (t > 1)}, over X @ w", o.same_s / o.product_s, TARGETS[d], False)
        for (d, t), o in outcomes.items()
    ]


def _passes(dtype: str, threads: int) -> Outcome:
    from sparserank.objective import PairwiseObjective
    from sparserank.penalties import L1
    from sparserank.solvers import ProxNewton, solve

    data, _ = mslr_shaped(dtype=np.dtype(dtype).type)
    few = data.queries(0, 300)
    objective = PairwiseObjective(few.X, few.relevance, few.query_ptr, n_threads=threads)
    w = solve(ProxNewton(), objective, L1(0.01 * float(np.abs(objective.gradient_at_zero).max()))).w
    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=threads)
    objective.value_and_gradient(w)  # sorts, and loads everything once
    v = w.astype(dtype)
    other = [w + STEP * np.abs(w) * np.random.default_rng(0).standard_normal(len(w)), w]

    def move() -> None:
        objective.value_and_gradient(other[0])
        other.reverse()

    product_s, same_s, moved_s = in_bursts([lambda: data.X @ v, lambda: objective.value_and_gradient(w), move])
    return Outcome(product_s, same_s, moved_s, data.X.nbytes)


def _losses() -> dict[tuple[str, str], float]:
    """Seconds of a pass for every loss, with and without document weights."""
    from sparserank.losses import LOSSES
    from sparserank.objective import PairwiseObjective

    data, _ = mslr_shaped(n_queries=2000, dtype=np.float32)
    rng = np.random.default_rng(0)
    w = rng.standard_normal(data.X.shape[1]) / data.X.shape[1]
    docs = rng.uniform(0.2, 5.0, len(data.relevance))
    keys = [(name, weights) for name in LOSSES for weights in ("none", "given")]
    objectives = [
        PairwiseObjective(
            data.X,
            data.relevance,
            data.query_ptr,
            loss=LOSSES[name](),
            doc_weight=None if weights == "none" else docs,
            n_threads=1,
        )
        for name, weights in keys
    ]
    passes: list[Callable[[], object]] = [partial(o.value_and_gradient, w) for o in objectives]
    return dict(zip(keys, in_bursts(passes), strict=True))
