"""Growth: twice the queries, and lists twice as long, with the features fixed."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.competitors import COMPETITORS, Problem
from benchmarks.datasets import mslr_shaped
from benchmarks.measure import in_bursts, isolated, measure
from benchmarks.quality import alpha_max, certify
from benchmarks.report import Verdict, seconds, table

N_QUERIES, DOCS = 1500, 120
SIZES = {"base": (N_QUERIES, DOCS), "queries x2": (2 * N_QUERIES, DOCS), "list length x2": (N_QUERIES, 2 * DOCS)}
TARGET = 2.2


@dataclass(frozen=True)
class Outcome:
    n_docs: int
    n_pairs: int
    pass_s: float
    fit_s: float
    kkt: float
    note: str

    def cells(self, base: Outcome) -> list[str]:
        grown_pass, grown_fit = f"{self.pass_s / base.pass_s:.2f}x", f"{self.fit_s / base.fit_s:.2f}x"
        return [seconds(self.pass_s), grown_pass, seconds(self.fit_s), grown_fit, f"{self.kkt:.1e}", self.note]


def run() -> list[Verdict]:
    outcomes = {name: isolated(_grow, *size) for name, size in SIZES.items()}
    base = outcomes["base"]
    print(
        table(
            ["", "documents", "pairs", "one pass", "/ base", "one fit", "/ base", "KKT / alpha_max", "setting"],
            [[name, o.n_docs, o.n_pairs, *o.cells(base)] for name, o in outcomes.items()],
        )
    )
    verdicts = []
    for name, o in outcomes.items():
        if o is not base:
            verdicts.append(Verdict("scaling", f"{name}: pass", o.pass_s / base.pass_s, TARGET, False))
            verdicts.append(Verdict("scaling", f"{name}: fit", o.fit_s / base.fit_s, TARGET, False))
    return verdicts


def _grow(n_queries: int, docs: int) -> Outcome:
    from sparserank.objective import PairwiseObjective

    data, _ = mslr_shaped(n_queries, docs)
    largest = alpha_max(data)
    problem = Problem(data, 0.01 * largest, largest)
    ours = COMPETITORS["ours"]
    ours.fit(problem.small(), ours.tolerances[0])
    fitted = measure(lambda: ours.fit(problem, ours.tolerances[0]), repeats=3)
    w = fitted.result.coefficients
    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=1)
    pass_s = in_bursts([lambda: objective.value_and_gradient(w)])[0]
    kkt = certify(problem, w).kkt
    return Outcome(len(data.X), data.n_pairs, pass_s, fitted.time_s, kkt, fitted.result.note)
