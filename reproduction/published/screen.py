"""Screen of `python -m reproduction published` without --verbose: at most 25 lines, one row per table of the papers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from reproduction.protocol.results import Results
from reproduction.published.cells import TABLES, ComparedCell, PublishedTable, compare
from sparserank.errors import DataError
from sparserank.metrics import parse_metric
from sparserank.report.document import Table


def published_lines(results: Results) -> list[str | Table]:
    """Number of published values that are reproduced, and means of those that can be compared."""
    rows: list[list[str]] = []
    absent: dict[str, list[str]] = {}
    for _, group in groupby(TABLES, key=_family):
        tables = list(group)
        cells = [c for t in tables for c in compare(t, results) if c.cell.dataset in (*results.datasets, "Mean")]
        judged = [c for c in cells if c.agrees is not None]
        if judged:
            rows.append([tables[0].paper, _numbers(tables), _title(tables), _equal(judged), *_means(judged)])
        else:
            absent.setdefault(tables[0].paper, []).append(_numbers(tables))
    lacking = "; ".join(f"{paper}, {', '.join(numbers)}" for paper, numbers in absent.items())
    said = [f"We have no values for these tables: {lacking}."] if absent else []
    return [
        f"Published tables and ours: {', '.join(results.datasets)}",
        Table(
            "",
            ["paper", "table", "values", "equal as printed", "mean published | ours", "mean difference"],
            rows,
            words=(2,),
        ),
        *said,
        "Values are equal if the printed digits agree or, in comparisons with the best, if the verdicts agree. "
        "--verbose shows all.",
    ]


def _family(table: PublishedTable) -> tuple[str, str]:
    """The key of a row: tables of one metric each, on the same data, share one row."""
    metric, _, data = table.title.partition(", ")
    try:
        parse_metric(metric)
    except DataError:
        return table.source, table.table
    return table.source, data


def _numbers(tables: Sequence[PublishedTable]) -> str:
    return tables[0].table if len(tables) == 1 else f"{tables[0].table}-{tables[-1].table}"


def _title(tables: Sequence[PublishedTable]) -> str:
    if len(tables) == 1:
        return tables[0].title
    metrics = [t.title.partition(", ")[0] for t in tables]
    return f"{', '.join(metrics)}, {tables[0].title.partition(', ')[2]}"


def _equal(judged: Sequence[ComparedCell]) -> str:
    return f"{sum(bool(c.agrees) for c in judged)} of {len(judged)}"


def _means(judged: Sequence[ComparedCell]) -> tuple[str, str]:
    """(mean published | ours, mean absolute difference) of metrics and shares; '' for other values."""
    if any(not isinstance(c.value, float) or math.isnan(c.difference) for c in judged):
        return "", ""
    ours = np.array([c.value for c in judged], dtype=float)
    printed = ours - [c.difference for c in judged]
    if max(np.abs(ours).max(), np.abs(printed).max()) > 1:
        return "", ""
    return f"{printed.mean():.4f} | {ours.mean():.4f}", f"{np.abs(ours - printed).mean():.4f}"
