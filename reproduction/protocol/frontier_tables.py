"""Quality against size in an experiment, as sections and as rows for CSV."""

from __future__ import annotations

from typing import Any

from reproduction.protocol.results import Results
from reproduction.protocol.summary import frontier
from reproduction.systems import SYSTEMS
from sparserank.report.document import Picture, Section, Table
from sparserank.text import figure

SCREEN_SIZES = (1, 2, 3, 4, 5, 8, 10, 15)


def frontier_sections(results: Results, *, pictures: bool) -> list[Section]:
    """Test quality of every system with at most k features."""
    out = []
    for dataset in results.datasets:
        tables = []
        drawn = []
        for metric in results.plan.choose_by:
            rows = frontier(results, dataset, metric)
            if not rows:
                continue
            sizes = sorted({r["k"] for r in rows})
            at = {(r["system"], r["k"]): r for r in rows}
            lines = []
            for s in dict.fromkeys(r["system"] for r in rows):
                line = [SYSTEMS[s].title]
                for k in sizes:
                    r = at.get((s, k))
                    line.append(
                        "-" if r is None else figure(r["mean"]) + ("*" if r["best"] == s else "-" if r["below"] else "")
                    )
                lines.append(line)
            best = [next(r for r in rows if r["k"] == k and r["best"] == r["system"]) for k in sizes]
            lines.append(["interval of the best", *(f"{r['low']:.3f}-{r['high']:.3f}" for r in best)])
            tables.append(
                Table(
                    f"{dataset}: test {metric} ({results.plan.convention}) with at most k features",
                    ["system", *map(str, sizes)],
                    lines,
                    "The model of each k is chosen on the validation queries. * marks the largest mean at this k; a "
                    "trailing - marks a mean significantly below it (one-sided paired t test over queries, Holm's "
                    "correction over the systems at this k, 5%). A missing mark does not prove equality, and the "
                    "largest mean was picked on the test queries themselves. sparserank select also trains on the "
                    "validation queries and is not a reference.",
                    screen=(0, *(1 + i for i, k in enumerate(sizes) if k in SCREEN_SIZES)),
                )
            )
            if pictures:
                from reproduction.published.figures import frontier_figure

                svg = frontier_figure(results, dataset, metric)
                drawn.append(
                    Picture(f"frontier-{dataset}-{metric.replace('@', '')}", f"{dataset}, {metric} against size", svg)
                )
        out.append(Section(f"Sparsity-quality frontier: {dataset}", tables=tables, pictures=drawn))
    verdicts = _verdicts(frontier_rows(results))
    return [*out, Section("Sparsity-quality frontier: overall", tables=[verdicts])] if verdicts.rows else out


def _verdicts(rows: list[dict[str, Any]]) -> Table:
    """Per system: comparisons in which it has a model, is the best or is significantly below the best, and where."""
    lines = []
    for system in dict.fromkeys(r["system"] for r in rows):
        own = [r for r in rows if r["system"] == system]
        below = [r for r in own if r["below"]]
        sizes: dict[str, list[int]] = {}
        for r in below:
            sizes.setdefault(f"{r['dataset']} {r['metric']}", []).append(r["k"])
        where = "; ".join(f"{what}: k = {', '.join(map(str, ks))}" for what, ks in sizes.items())
        n_best = sum(r["best"] == system for r in own)
        lines.append([SYSTEMS[system].title, str(len(own)), str(n_best), str(len(below)), where or "nowhere"])
    return Table(
        "Comparisons in which each system is the best, or significantly below the best",
        ["system", "comparisons", "best", "below", "where below"],
        sorted(lines, key=lambda line: int(line[3])),
        "One comparison per data set, metric and k for which the system has a model of at most k features. Marks are "
        "as above.",
    )


def frontier_rows(results: Results) -> list[dict[str, Any]]:
    return [r for d in results.datasets for m in results.plan.choose_by for r in frontier(results, d, m)]
