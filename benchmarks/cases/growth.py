"""Growth curves: time of one pass and memory of an l1 fit against documents, list length, features, non-zeros, grades
and threads, with the exponent fitted over each series. The picture is docs/scale.svg.

Time per pass is the median of bursts; memory is the peak of the fit above what is resident before it, X itself not
counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.measure import in_bursts, isolated, measure
from benchmarks.report import Verdict, megabytes, seconds, table

PICTURE = Path(__file__).parents[2] / "docs/scale.svg"
SMALL = {"documents": 400, "list length": 40}
BASE = {"documents": 30_000, "list length": 100, "features": 100, "non-zeros": 0, "grades": 5, "threads": 1}
SERIES: dict[str, list[int]] = {
    "documents": [7_500, 15_000, 30_000, 60_000, 120_000],
    "list length": [10, 100, 1000, 10_000, 30_000],
    "features": [25, 50, 100, 200, 400],
    "non-zeros": [5, 20, 80],  # per row of 20,000 features
    "grades": [2, 5, 10, 100],
    "threads": [1, 2],
}
WIDE = 20_000


@dataclass(frozen=True)
class Outcome:
    pass_s: float
    peak_bytes: int
    fit_s: float


def run() -> list[Verdict]:
    curves = {
        name: [isolated(_measured, {**BASE, name: v}, threads=max(SERIES["threads"])) for v in values]
        for name, values in SERIES.items()
    }
    rows = []
    for name, outcomes in curves.items():
        values = SERIES[name]
        grown = _exponent(values, [o.pass_s for o in outcomes])
        for i, (value, o) in enumerate(zip(values, outcomes, strict=True)):
            shown = f"{grown:+.2f}" if i == len(values) - 1 else ""
            rows.append(
                [name if i == 0 else "", value, seconds(o.pass_s), shown, seconds(o.fit_s), megabytes(o.peak_bytes)]
            )
    print(table(["varied", "to", "one pass", "exponent", "l1 fit", "memory of the fit"], rows))
    base = ", ".join(f"{v} {k}" for k, v in BASE.items() if v)
    print(f"\nAll else as: {base}; float32. Non-zeros: CSR rows of {WIDE:,} features.")
    _draw(curves)
    print(f"Picture: docs/{PICTURE.name}")
    return []


def _exponent(values: list[int], times: list[float]) -> float:
    return float(np.polyfit(np.log(values), np.log(times), 1)[0])


def _measured(setting: dict[str, int]) -> Outcome:
    import sparserank as sr

    ranker = sr.SparseRanker(alpha_ratio=0.5, scaling="none", tol=1e-4, n_threads=setting["threads"])
    ranker.fit_dataset(_data({**setting, **SMALL}))  # compilation, outside the clock
    data = _data(setting)
    objective = sr.solvers.PairwiseObjective(data, n_threads=setting["threads"])
    w = 0.05 * np.random.default_rng(1).standard_normal(data.n_features)
    pass_s = in_bursts([lambda: objective.value_and_gradient(w)], rounds=2)[0]
    fitted = measure(lambda: ranker.fit_dataset(data), repeats=1)
    return Outcome(pass_s, fitted.peak_bytes, fitted.time_s)


def _data(setting: dict[str, int]) -> Any:
    import sparserank as sr

    rng = np.random.default_rng(0)
    n, m = setting["documents"], setting["list length"]
    if setting["non-zeros"]:
        k = setting["non-zeros"]
        columns = np.sort(rng.integers(0, WIDE, (n, k)), axis=1).astype(np.int32)
        X = sp.csr_matrix(
            (rng.random(n * k, dtype=np.float32), columns.ravel(), np.arange(0, n * k + 1, k)), shape=(n, WIDE)
        )
        X.sum_duplicates()
        signal = np.asarray(X[:, :2000].sum(axis=1)).ravel()
    else:
        X = rng.standard_normal((n, setting["features"]), dtype=np.float32)
        signal = X[:, :10].sum(axis=1)
    noisy = signal + 2 * signal.std() * rng.standard_normal(n)
    grade = np.searchsorted(np.quantile(noisy, np.linspace(0, 1, setting["grades"] + 1)[1:-1]), noisy).astype(float)
    return sr.RankingDataset(X, grade, np.arange(n) // m)


def _draw(curves: dict[str, list[Outcome]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "sparserank"
    figure, axes = plt.subplots(2, len(curves), figsize=(15, 5.2), sharey="row", layout="constrained")
    quantities: list[tuple[str, Callable[[Outcome], float]]] = [
        ("one pass, ms", lambda o: 1e3 * o.pass_s),
        ("memory of an l1 fit beyond X, MB", lambda o: o.peak_bytes / 1e6),
    ]
    for row, (label, of) in zip(axes, quantities, strict=True):
        for axis, (name, outcomes) in zip(row, curves.items(), strict=True):
            values = SERIES[name]
            axis.loglog(values, [max(of(o), 0.1) for o in outcomes], "o-", color="#1f5f99")
            axis.set_xlabel("non-zeros per row (CSR)" if name == "non-zeros" else name)
            axis.set_xticks(values, [f"{v:,}" for v in values], fontsize=7, rotation=30)
            axis.minorticks_off()
            axis.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
            axis.grid(True, which="major", color="#dddddd", linewidth=0.6)
            if of is quantities[0][1]:
                axis.set_title(
                    f"grows with exponent {_exponent(values, [o.pass_s for o in outcomes]):+.2f}", fontsize=9
                )
        row[0].set_ylabel(label)
    figure.savefig(PICTURE, metadata={"Date": None})
