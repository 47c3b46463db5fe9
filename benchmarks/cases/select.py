"""`select` on MSLR-10K-shaped data (6,000 lists, 720,000 x 136 float32): 5 folds, l1 + log + MCP, 40 alphas, two
threads; and as it is by default, without trees, on raw features (1,500 lists, 180,000 x 136): transforms, refits,
half-samples. Itself before, where a checkout of an earlier commit is given (`--before`)."""

from __future__ import annotations

import os

from benchmarks.jobs import BEFORE, Cost, cost
from benchmarks.report import Verdict, megabytes, seconds, table

N_QUERIES = 6000
X_BYTES = 720_000 * 136 * 4
PEAK = 1.5 * X_BYTES + 500e6
N_BY_DEFAULT, CPU_BY_DEFAULT, PEAK_BY_DEFAULT = 1500, 120.0, 900e6


def run() -> list[Verdict]:
    costs: dict[str, Cost] = {"now": cost("select", N_QUERIES, "float32")}
    costs["by default, now"] = cost("select_default", N_BY_DEFAULT, "float32")
    if os.environ.get(BEFORE):
        costs["before"] = cost("select", N_QUERIES, "float32", before=True)
        costs["by default, before"] = cost("select_default", N_BY_DEFAULT, "float32", before=True)
    print(
        table(
            ["", "time", "CPU", "peak of all processes", "result"],
            [
                [name, seconds(c.time_s), seconds(c.cpu_s), megabytes(c.peak_bytes), c.result]
                for name, c in costs.items()
            ],
        )
    )
    now, default = costs["now"], costs["by default, now"]
    verdicts = [
        Verdict("select", "peak of all processes, MB", now.peak_bytes / 1e6, PEAK / 1e6, False, unit=""),
        Verdict("select", "by default, CPU s", default.cpu_s, CPU_BY_DEFAULT, False, unit=""),
        Verdict("select", "by default, MB", default.peak_bytes / 1e6, PEAK_BY_DEFAULT / 1e6, False, unit=""),
    ]
    if "before" in costs:
        share = now.cpu_s / costs["before"].cpu_s
        verdicts.append(Verdict("select", "CPU seconds over those before", share, 1 / 3, False))
    return verdicts
