"""One l1 fit of TD2003-shaped data at 0.01 alpha_max: time, memory and certificate of each competitor.

Everybody has one thread, because liblinear has no use for a second; ours with two is shown, but no ratio is taken of
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.competitors import COMPETITORS, Fit, Problem, unavailable
from benchmarks.competitors.pairs import explicit_pairs, pair_objective
from benchmarks.datasets import td2003_shaped
from benchmarks.measure import isolated, measure
from benchmarks.quality import Certificate, alpha_max, certify, ndcg_at_10
from benchmarks.report import Verdict, figure, megabytes, seconds, table

ALPHA_FRACTION = 0.01
ACCURACY = 1e-6  # relative distance to the optimum at which a competitor that does not stop at a KKT bound is done
NAMES = [name for name in COMPETITORS if name != "lambdarank"]
THREADS = {"ours, 2 threads": 2}
# (competitors, the fastest of which counts; target)
TARGETS = [
    (("liblinear",), 50.0),
    (("fista published",), 100.0),
    (("fista tight",), 100.0),
    (("skglm anderson", "skglm newton"), 40.0),
    (("gblinear",), 15.0),
]
MEMORY_TARGET = 5.0  # liblinear's incremental memory over ours
HEADERS = (
    "",
    "time",
    "of it pairs",
    "time / ours",
    "memory",
    "memory / ours",
    "above optimum",
    "KKT / alpha_max",
    "gap",
    "features",
    "NDCG@10 held out",
    "setting",
)


@dataclass(frozen=True)
class Outcome:
    """One line of the table."""

    name: str
    time_s: float
    peak_bytes: int
    fit: Fit
    certificate: Certificate | None  # None: it minimises something else
    excess: float  # objective above the optimum, relative
    ndcg: float

    @property
    def bound(self) -> str:
        """'>= ' when it was stopped, or gave up, before it was done: its time and ratio are then lower bounds."""
        short = self.certificate is not None and self.excess > ACCURACY and self.name != "null"
        return ">= " if short or not self.fit.finished else ""

    def cells(self, ours: Outcome) -> list[str]:
        c, pairs_s = self.certificate, self.fit.pair_time_s
        return [
            self.name,
            self.bound + seconds(self.time_s),
            seconds(pairs_s) if pairs_s > 0 else "",
            f"{self.bound}{figure(self.time_s / ours.time_s)}x",
            megabytes(self.peak_bytes),
            f"{figure(self.peak_bytes / ours.peak_bytes)}x",
            *(["", "", ""] if c is None else [f"{x:.1e}" for x in (self.excess, c.kkt, c.gap)]),
            str(np.count_nonzero(self.fit.coefficients)),
            f"{self.ndcg:.4f}",
            self.fit.note,
        ]


def run() -> list[Verdict]:
    alpha, largest, optimum, disagreement = isolated(_reference)
    print(f"alpha = {ALPHA_FRACTION} alpha_max = {alpha:.6g}, optimum {optimum:.12g} (duality gap below 1e-9 of it)")
    print(f"our objective and its definition on the explicit pairs differ by {disagreement:.1e} (relative)\n")
    outcomes: dict[str, Outcome] = {}
    for name in NAMES:
        declined = unavailable(COMPETITORS[name])
        if declined:
            print(f"{name} declined: {declined}\n")
        else:
            outcomes[name] = isolated(_compete, name, alpha, largest, optimum, threads=THREADS.get(name, 1))
    print(table(HEADERS, [o.cells(outcomes["ours"]) for o in outcomes.values()]))
    return _verdicts(outcomes)


def _reference() -> tuple[float, float, float, float]:
    """alpha, alpha_max, the optimal value, and how far our objective is from the one on explicit pairs."""
    train, _ = td2003_shaped()
    largest = alpha_max(train)
    problem = Problem(train, ALPHA_FRACTION * largest, largest)
    w = COMPETITORS["ours"].fit(problem, 1e-10).coefficients
    certificate = certify(problem, w)
    assert certificate.gap <= 1e-9 * certificate.value
    defined = pair_objective(explicit_pairs(train)[0], w, problem.alpha)
    return problem.alpha, largest, certificate.value, abs(defined / certificate.value - 1.0)


def _compete(name: str, alpha: float, largest: float, optimum: float) -> Outcome:
    """Fit at each tolerance until the objective is good enough; the last fit is the one reported."""
    competitor = COMPETITORS[name]
    train, held_out = td2003_shaped()
    problem = Problem(train, alpha, largest, THREADS.get(name, 1))
    competitor.fit(problem.small(), competitor.tolerances[0])  # imports and compilation, outside the clock
    for tol in competitor.tolerances:
        measured = measure(partial(competitor.fit, problem, tol))
        certificate = certify(problem, measured.result.coefficients)
        if certificate.value <= (1.0 + ACCURACY) * optimum:
            break
    return Outcome(
        name,
        measured.time_s,
        measured.peak_bytes,
        measured.result,
        certificate if competitor.minimises_ours else None,
        certificate.value / optimum - 1.0,
        ndcg_at_10(held_out, measured.result.scores(held_out.X)),
    )


def _verdicts(outcomes: dict[str, Outcome]) -> list[Verdict]:
    ours = outcomes["ours"]
    verdicts = []
    for names, target in TARGETS:
        ran = [outcomes[n] for n in names if n in outcomes]
        if ran:
            best = min(ran, key=lambda o: o.time_s)
            ratio = best.time_s / ours.time_s
            verdicts.append(Verdict("one_fit", f"faster than {best.name}", ratio, target, bound=best.bound))
    if "liblinear" in outcomes:
        ratio = outcomes["liblinear"].peak_bytes / ours.peak_bytes
        verdicts.append(Verdict("one_fit", "less memory than liblinear", ratio, MEMORY_TARGET))
    return verdicts
