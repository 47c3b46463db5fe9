"""The papers' tables next to ours, as sections and as rows for CSV."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reproduction.protocol.results import Results
from reproduction.published.best_sets import best_set_sections
from reproduction.published.cells import TABLES, ComparedCell, PublishedTable, compare
from sparserank.report.document import Picture, Section, Table
from sparserank.text import figure


def published_sections(results: Results, *, pictures: bool) -> list[Section]:
    """Every table of the papers next to ours, the tables derived from them, and the figures."""
    sections = []
    for source in dict.fromkeys(t.source for t in TABLES):
        mine = [t for t in TABLES if t.source == source]
        present = [t for t in mine if any(c.dataset in results.datasets for c in t.cells)]
        absent = [t for t in mine if t not in present]
        notes = [
            f"Table{'s' * (len(ts) > 1)} {', '.join(t.table for t in ts)}: {n}"
            for n, ts in _by_note(present).items()
            if n
        ]
        if absent:
            names = ", ".join(dict.fromkeys(c.dataset for t in absent for c in t.cells))
            notes.append(
                f"Not available, because data are missing ({names}): tables {', '.join(t.table for t in absent)}."
            )
        tables = [published_table(t, results) for t in present]
        if source == "laporte2014":
            tables.insert(2, _laporte_means(results))
        sections.append(Section(mine[0].paper, " ".join(notes), tables))
        if source == "pahikkala2010":
            sections += best_set_sections(results)
    if pictures:
        from reproduction.published.figures import published_figures

        drawn = [Picture(name.replace("@", ""), caption, svg) for name, caption, svg in published_figures(results)]
        sections.append(Section("Figures of the papers", pictures=drawn))
    return sections


def _by_note(tables: list[PublishedTable]) -> dict[str, list[PublishedTable]]:
    out: dict[str, list[PublishedTable]] = {}
    for t in tables:
        out.setdefault(t.note, []).append(t)
    return out


def _laporte_means(results: Results) -> Table:
    """Table IV, averaged over the available data sets, for published values and ours."""
    (table,) = (t for t in TABLES if (t.source, t.table) == ("laporte2014", "IV"))
    rows: dict[str, list[tuple[float, float]]] = {}
    for c in compare(table, results):
        if isinstance(c.value, float) and c.cell.dataset in results.datasets:
            rows.setdefault(c.cell.row, []).append((float(c.printed), c.value))
    lines = [[name, *(figure(m, 3) for m in np.mean(pairs, axis=0))] for name, pairs in rows.items()]
    return Table(f"Table IV, mean of {', '.join(results.datasets)}", ["sparsity ratio", "published", "ours"], lines)


def published_table(table: PublishedTable, results: Results) -> Table:
    """A table with 'published | ours' in every cell; the note names data sets without results."""
    cells = compare(table, results)
    columns = list(dict.fromkeys(c.cell.column for c in cells))
    lines: dict[tuple[str, str], dict[str, str]] = {}
    absent: dict[str, None] = {}
    for c in cells:
        if c.cell.dataset not in results.datasets:
            if c.cell.dataset != "Mean":
                absent[c.cell.dataset] = None
            continue
        lines.setdefault((c.cell.dataset, c.cell.row), {})[c.cell.column] = _beside(c)
    judged = [c for c in cells if c.agrees is not None]
    title = f"{table.label}: {table.title}"
    if judged:
        verdicts = any("~" in (c.printed, c.value) for c in judged)
        how = "same verdict against the best" if verdicts else "equal as printed"
        title += f" ({sum(bool(c.agrees) for c in judged)} of {len(judged)} {how}"
        differences = [] if verdicts else [abs(c.difference) for c in judged if not math.isnan(c.difference)]
        title += f", mean difference {np.mean(differences):.4f})" if differences and max(differences) < 1 else ")"
    rows = [[f"{d} {r}".strip(), *(row.get(c, "") for c in columns)] for (d, r), row in lines.items()]
    note = f"Not available here: {', '.join(absent)}." if absent else ""
    return Table(title, ["published | ours", *columns], rows, note)


def _beside(c: ComparedCell) -> str:
    if c.value is None:
        return f"{c.printed} | -"
    if isinstance(c.value, str):
        text = c.value
    elif c.printed.startswith("2^"):
        text = f"2^{math.log2(c.value):.0f}"
    else:
        digits = len(c.printed.partition(".")[2]) if "." in c.printed else 0 if c.value == round(c.value) else 4
        text = f"{c.value:.{digits}f}"
    return f"{c.printed} | {text}" + (" =" if c.agrees else "")


def published_rows(results: Results) -> list[dict[str, Any]]:
    """One row per printed cell for CSV."""
    return [
        {
            "source": c.cell.source,
            "table": c.cell.table,
            "dataset": c.cell.dataset,
            "row": c.cell.row,
            "column": c.cell.column,
            "published": c.printed,
            "ours": "not available" if c.value is None else c.value,
            "difference": "" if math.isnan(c.difference) else c.difference,
            "equal": "" if c.agrees is None else c.agrees,
        }
        for t in TABLES
        for c in compare(t, results)
    ]
