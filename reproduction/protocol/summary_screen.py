"""Screen of an experiment without --verbose: at most 25 lines, one row per system, two columns per choice."""

from __future__ import annotations

import math

import numpy as np

from reproduction.protocol.results import Results
from reproduction.protocol.summary import system_table
from reproduction.systems import SYSTEMS
from sparserank.report.document import Table
from sparserank.text import figure

MAX_CHOICES = 4  # data sets times metrics of choice that fit beside each other


def summary_lines(results: Results) -> list[str | Table]:
    """The mean over folds of the metric of choice on the test queries, and of the number of features."""
    choices = [(d, by) for d in results.datasets for by in results.plan.choose_by]
    tables = {c: {r["system"]: r for r in system_table(results, *c)} for c in choices[:MAX_CHOICES]}
    columns = ["system"]
    found = {}
    for (dataset, by), rows in tables.items():
        columns += [f"{dataset} {by}", "features"]
        best = max((r[by] for r in rows.values()), default=math.nan)
        for s, r in rows.items():
            mark = "*" if r[by] == best else ""
            size = f"{np.mean(r['features']):.1f}" if r["features"] else "-"
            found[s, dataset, by] = [f"{figure(r[by])}{mark}", size]
    systems = [s for s in results.plan.systems if any((s, *c) in found for c in tables)]
    first = next(iter(tables), None)
    if first is not None:
        systems.sort(key=lambda s: -tables[first][s][first[1]] if s in tables[first] else math.inf)
    cells = [[SYSTEMS[s].title, *(x for c in tables for x in found.get((s, *c), ["-", "-"]))] for s in systems]
    head = f"Test queries, means over folds; each size chosen on validation queries ({results.plan.convention}); * best"
    more = len(choices) - len(tables)
    others = f"{more} more choices, " if more else ""
    return [
        head,
        Table("", columns, cells),
        f"--verbose shows {others}significance tests, other metrics, sizes and frequent features.",
    ]
