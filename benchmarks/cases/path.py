"""A 100-alpha l1 path on MSLR-10K-shaped data against one LightGBM lambdarank fit and one XGBoost gblinear fit,
two threads each."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from benchmarks.competitors import COMPETITORS, Problem, unavailable
from benchmarks.datasets import Ranking, mslr_shaped
from benchmarks.jobs import BEFORE, cost
from benchmarks.measure import isolated, measure
from benchmarks.quality import ndcg_at_10
from benchmarks.report import Verdict, figure, megabytes, seconds, table

N_THREADS = 2
N_ALPHAS = 100
ALPHA_MIN_RATIO = 1e-3
TOL = 1e-4
N_HELD_OUT = 500
RIVALS = {"lambdarank": ("over one lambdarank fit", 5.0), "gblinear": ("over one gblinear fit", 1.0)}


@dataclass(frozen=True)
class Outcome:
    name: str
    time_s: float
    peak_bytes: int
    certificate: str
    ndcg: float
    note: str

    def cells(self, unit_s: float) -> list[str]:
        ratio, ndcg = f"{figure(self.time_s / unit_s)}x", f"{self.ndcg:.4f}"
        return [self.name, seconds(self.time_s), ratio, megabytes(self.peak_bytes), self.certificate, ndcg, self.note]


def run() -> list[Verdict]:
    ours = isolated(_path, threads=N_THREADS)
    outcomes, verdicts = [ours], []
    for name, (claim, target) in RIVALS.items():
        declined = unavailable(COMPETITORS[name])
        if declined:
            print(f"{name} declined: {declined}")
            continue
        outcomes.append(isolated(_rival, name, threads=N_THREADS))
        verdicts.append(Verdict("path", claim, outcomes[-1].time_s / ours.time_s, target))
    print(
        table(
            ["", "time", "time / ours", "memory", "certificate", "NDCG@10 held out", "setting"],
            [o.cells(ours.time_s) for o in outcomes],
        )
    )
    print(
        "\nThe grades come from a linear score, which favours a linear model. NDCG is therefore shown only as a check, "
        "not to compare the rankers."
    )
    if os.environ.get(BEFORE):
        costs = {"now": cost("path", 6000, "float64"), "before": cost("path", 6000, "float64", before=True)}
        rows = [[name, seconds(c.time_s), seconds(c.cpu_s), c.result] for name, c in costs.items()]
        print("\n" + table(["the path, float64", "time", "CPU", "result"], rows))
        share = costs["now"].cpu_s / costs["before"].cpu_s
        verdicts.append(Verdict("path", "CPU seconds over those before", share, 0.5, False))
    return verdicts


def _data() -> tuple[Ranking, Ranking]:
    return mslr_shaped(n_held_out=N_HELD_OUT)


def _path() -> Outcome:
    from sparserank.objective import PairwiseObjective
    from sparserank.paths import PathResult, fit_path_on
    from sparserank.penalties import L1

    train, held_out = _data()

    def fit(data: Ranking = train) -> PathResult:
        objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=N_THREADS)
        return fit_path_on(objective, L1(), n_alphas=N_ALPHAS, alpha_min_ratio=ALPHA_MIN_RATIO, tol=TOL)

    fit(train.queries(0, 20))  # compilation, outside the clock
    measured = measure(fit, repeats=1)
    path = measured.result
    kkt = float(path.kkt_violations.max()) / path.l1_alpha_max
    gap = float((path.gaps / path.objectives).max())
    reached = sum(s == "optimal" for s in path.statuses)
    return Outcome(
        f"ours, {N_ALPHAS} alphas",
        measured.time_s,
        measured.peak_bytes,
        f"{reached} optimal; largest KKT {kkt:.1e} alpha_max, gap {gap:.1e} of the objective",
        ndcg_at_10(held_out, held_out.X @ path.coefs[-1]),
        f"{path.n_pairs} pairs, {int(path.n_iters.sum())} Newton steps, {path.nnz[-1]} features at the end",
    )


def _rival(name: str) -> Outcome:
    train, held_out = _data()
    problem, competitor = Problem(train, np.nan, np.nan, N_THREADS), COMPETITORS[name]
    tolerance = competitor.tolerances[0]
    competitor.fit(Problem(train.queries(0, 20), np.nan, np.nan, N_THREADS), tolerance)
    measured = measure(lambda: competitor.fit(problem, tolerance), repeats=1)
    fit = measured.result
    ndcg = ndcg_at_10(held_out, fit.scores(held_out.X))
    return Outcome(f"{name}, one fit", measured.time_s, measured.peak_bytes, "none exists", ndcg, fit.note)
