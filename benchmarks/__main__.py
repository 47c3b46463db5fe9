"""`python -m benchmarks [case ...]`: run the cases, then say which targets were met."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
from pathlib import Path

from benchmarks.environment import Neighbours, describe
from benchmarks.jobs import BEFORE
from benchmarks.report import Verdict, verdict_table

CASES = (
    "one_fit",
    "path",
    "fused_pass",
    "scaling",
    "memory",
    "reading",
    "greedy",
    "fsm_convergence",
    "select",
    "growth",
    "larger",
    "wide",
    "cluster",
    "coverage",
    "judged_choice",
    "judges",
    "judge_next",
    "random_labels",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"any of {', '.join(CASES)}; default all")
    parser.add_argument(
        "--before",
        metavar="DIR",
        help="a checkout of an earlier commit, to run `path`, `fused_pass` and `select` with too",
    )
    given = parser.parse_args()
    if given.before:
        os.environ[BEFORE] = str(Path(given.before).resolve())
    chosen = given.cases or CASES
    unknown = [c for c in chosen if c not in CASES]
    if unknown:
        parser.error(f"unknown case {', '.join(unknown)}; known: {', '.join(CASES)}.")
    print(describe())
    verdicts: list[Verdict] = []
    for name in chosen:
        case = importlib.import_module(f"benchmarks.cases.{name}")
        print(f"\n## {name}\n\n{str(case.__doc__).strip()}\n", flush=True)
        began, neighbours = time.perf_counter(), Neighbours()
        verdicts += case.run()
        elapsed = time.perf_counter() - began
        print(f"\n({elapsed:.0f} s; other processes kept {neighbours.cores():.2f} cores busy)", flush=True)
    print(f"\n## Targets\n\n{verdict_table(verdicts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
