"""`select` on MSLR-10K-shaped data (6,000 lists, 720,000 x 136 float32): 5 folds, l1 + log + MCP, 40 alphas, two
threads; and as it is by default, without and with LightGBM, on raw features (1,500 lists, 180,000 x 136): transforms,
refits, half-samples. Itself before, where a checkout of an earlier commit is given (`--before`)."""

from __future__ import annotations

import os

from benchmarks.jobs import BEFORE, Cost, cost
from benchmarks.report import Verdict, megabytes, seconds, table

N_QUERIES = 6000
X_BYTES = 720_000 * 136 * 4
PEAK = 1.5 * X_BYTES + 500e6
N_BY_DEFAULT = 1500
SHARE = 0.6  # of the CPU seconds of 0.3.0, whatever the machine
BY_DEFAULT = {  # job: (what it is, CPU seconds, bytes)
    "select_default": ("by default", 110.0, 900e6),
    "select_with_rival": ("by default, with LightGBM", 250.0, 1.5e9),
}


def run() -> list[Verdict]:
    costs: dict[str, Cost] = {"now": cost("select", N_QUERIES, "float32")}
    for job, (what, _, _) in BY_DEFAULT.items():
        costs[f"{what}, now"] = cost(job, N_BY_DEFAULT, "float32")
    if os.environ.get(BEFORE):
        costs["before"] = cost("select", N_QUERIES, "float32", before=True)
        for job, (what, _, _) in BY_DEFAULT.items():
            costs[f"{what}, before"] = cost(job, N_BY_DEFAULT, "float32", before=True)
    print(
        table(
            ["", "time", "CPU", "peak of all processes", "result"],
            [
                [name, seconds(c.time_s), seconds(c.cpu_s), megabytes(c.peak_bytes), c.result]
                for name, c in costs.items()
            ],
        )
    )
    now = costs["now"]
    verdicts = [Verdict("select", "peak of all processes, MB", now.peak_bytes / 1e6, PEAK / 1e6, False, unit="")]
    for what, cpu, peak in BY_DEFAULT.values():
        found = costs[f"{what}, now"]
        verdicts.append(Verdict("select", f"{what}, CPU s", found.cpu_s, cpu, False, unit=""))
        verdicts.append(Verdict("select", f"{what}, MB", found.peak_bytes / 1e6, peak / 1e6, False, unit=""))
        if f"{what}, before" in costs:
            share = found.cpu_s / costs[f"{what}, before"].cpu_s
            verdicts.append(Verdict("select", f"{what}, CPU seconds over those before", share, SHARE, False))
    return verdicts
