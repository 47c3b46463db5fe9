"""What an experiment says, as sections of tables and figures; the renderers know nothing of experiments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparserank.experiments.published import TABLES, ComparedCell, PublishedTable, compare
from sparserank.experiments.results import Results, Row
from sparserank.experiments.summary import frontier, system_table
from sparserank.experiments.systems import SYSTEMS

SHOWN = ("map", "ndcg@10", "p@10")


@dataclass(frozen=True)
class Table:
    title: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    name: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Section:
    title: str
    text: str = ""
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


def figure(value: Any, digits: int = 4) -> str:
    """A number for people; '-' for what does not exist."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:.{digits}f}"


def _p(value: Any) -> str:
    return "-" if value is None or math.isnan(value) else ("<0.001" if value < 0.001 else f"{value:.3f}")


def summary_sections(results: Results) -> list[Section]:
    """Per data set: systems compared for each metric of choice, FenchelRank's gaps, the frontier."""
    out = []
    for dataset in results.datasets:
        tables = []
        for by in results.plan.choose_by:
            rows = system_table(results, dataset, by)
            rows.sort(key=lambda r: -r[by])
            shown = [m for m in dict.fromkeys([by, *SHOWN]) if m in results.plan.metric_names]
            best = next(r["title"] for r in rows if r["is_best"])
            tables.append(
                Table(
                    f"{dataset}, chosen by validation {by}; p: is {best} better?",
                    ["system", *shown, "SR", "SR varying", "p (t)", "p (Holm)", "p (folds)", "p (random.)", "s/fit", "grid", "features per fold", "often"],
                    [
                        [r["title"], *(figure(r[m]) for m in shown), figure(r["sparsity_all"], 3), figure(r["sparsity_varying"], 3),
                         _p(r.get("p_query")), _p(r.get("p_holm")), _p(r.get("p_fold")), _p(r.get("p_randomisation")),
                         f"{r['time_s']:.3f}", f"{r['grid']:.0f}", " ".join(map(str, r["features"])) or "-", " ".join(map(str, r["frequent"])) or "-"]
                        for r in rows
                    ],
                    "Means over folds of test means. SR: features that remain / all features, / features that vary within "
                    "queries. p: one-sided paired tests against the best mean: t over queries, with Holm's correction; t over "
                    "folds; randomisation over queries. s/fit: mean over the grid. often: features chosen in most folds.",
                )
            )  # fmt: skip
        if results.has(dataset, "fenchel_rank"):
            tables.append(fenchel_table(results, dataset))
        tables += [
            t
            for t in (
                ablation_table(results, dataset),
                timing_table(results, dataset),
                penalty_timing_table(results, dataset),
            )
            if t.rows
        ]
        tables += sensitivity_tables(results, dataset)
        out.append(Section(dataset, tables=tables))
    return out


def fenchel_table(results: Results, dataset: str) -> Table:
    """For each radius: folds where the published rule stops short of the optimum, and what the optimum gives."""
    rows, exact = _by_radius(results, dataset, "fenchel_rank"), _by_radius(results, dataset, "fenchel_exact")
    lines = []
    for radius in sorted(rows):
        mine = rows[radius]
        line = [
            f"{radius:g}", f"{sum(r['gap'] > 1e-3 for r in mine)} of {len(mine)}", f"{max(r['gap'] for r in mine):.2g}",
            figure(np.mean([r["n_features"] for r in mine]), 1), figure(results.test_mean(list(mine), "map")),
            figure(results.test_mean(list(mine), "ndcg@10")), f"{np.mean([r['time_s'] for r in mine]):.2f}",
        ]  # fmt: skip
        if radius in exact:
            best = exact[radius]
            excess = [m["loss"] - b["loss"] for m, b in zip(mine, best, strict=True)]
            line += [
                f"{max(excess):.1e}", f"{max(b['gap'] for b in best):.0e}", figure(np.mean([b["n_features"] for b in best]), 1),
                figure(results.test_mean(list(best), "map")), figure(results.test_mean(list(best), "ndcg@10")),
                f"{np.mean([b['time_s'] for b in best]):.2f}",
            ]  # fmt: skip
        else:
            line += ["-"] * 6
        lines.append(line)
    short = sum(any(r["gap"] > 1e-3 for r in mine) for mine in rows.values())
    return Table(
        f"{dataset}, FenchelRank as published against the exact optimum: {short} of {len(rows)} radii are not optimal in some fold",
        ["radius", "gap > 1e-3", "worst gap", "features", "map", "ndcg@10", "s",
         "loss above optimum", "gap, exact", "features", "map", "ndcg@10", "s"],
        lines,
        "Published: epsilon = 1e-3, at most 1000 iterations. Means over folds, test metrics.",
    )  # fmt: skip


def _by_radius(results: Results, dataset: str, system: str) -> dict[float, list[dict[str, Any]]]:
    out: dict[float, list[dict[str, Any]]] = {}
    for fold in results.folds(dataset, system):
        for r in results.rows[dataset, system, fold]:
            out.setdefault(r["params"]["radius"], []).append(r)
    return out


def ablation_table(results: Results, dataset: str) -> Table:
    """FSMRank with one of its two measures at a time."""
    names = [s for s in ("fsm_rank", "fsm_s1", "fsm_spc", "fsm_ai", "fsm_apc") if results.has(dataset, s)]
    lines = [
        [SYSTEMS[s].title, *(figure(results.mean(dataset, s, by, m)) for by in results.plan.choose_by for m in ("map", "ndcg@10")),
         *(figure(results.sparsity(dataset, s, by, varying=True), 3) for by in results.plan.choose_by)]
        for s in names
    ]  # fmt: skip
    columns = [f"{m}, by {by}" for by in results.plan.choose_by for m in ("map", "ndcg@10")]
    columns += [f"SR varying, by {by}" for by in results.plan.choose_by]
    return Table(f"{dataset}, FSMRank's measures one at a time", ["system", *columns], lines if len(names) > 1 else [])


def timing_table(results: Results, dataset: str) -> Table:
    """Lai 2012's Table 6 on this data set: TGRank at C_sum = 0.1, then FenchelRank and the exact optimum at its norm."""
    lines = []
    for fold in results.folds(dataset, "lai2012_timing"):
        by = {r["params"]["method"]: r for r in results.rows[dataset, "lai2012_timing", fold]}
        line = [f"fold {fold}", figure(by["FenchelRank"]["params"]["radius"], 2)]
        for method in ("TGRank", "FenchelRank", "exact"):
            line += [f"{by[method]['time_s']:.2f}", figure(by[method]["n_features"] / by[method]["n_features_all"], 3)]
        lines.append(line)
    return Table(
        f"{dataset}, training time as in Lai 2012, Table 6",
        ["", "r", "TGRank s", "SR", "FenchelRank s", "SR", "exact optimum s", "SR"],
        lines,
        "TGRank at C_sum = 0.1, 1000 steps; the others on the l1 ball of its norm r.",
    )


def penalty_timing_table(results: Results, dataset: str) -> Table:
    """Laporte's future work: computing time of each penalty, published algorithms against ours."""
    folds = results.folds(dataset, "laporte_timing")
    rows = [r for f in folds for r in results.rows[dataset, "laporte_timing", f]]
    lines = []
    for penalty in dict.fromkeys(r["params"]["penalty"] for r in rows):
        sides = [
            [r for r in rows if (r["params"]["penalty"], r["params"]["published"]) == (penalty, p)]
            for p in (True, False)
        ]
        published, mine = (float(np.mean([r["time_s"] for r in side])) for side in sides)
        largest = max(abs(a["loss"] - b["loss"]) for a, b in zip(*sides, strict=True))
        line = [penalty, f"{published:.2f}", f"{mine:.3f}", f"{published / mine:.0f}x", f"{largest:.0e}"]
        lines.append([*line, *(" ".join(str(r["n_features"]) for r in side) for side in sides)])
    return Table(
        f"{dataset}, computing time of the penalties",
        ["penalty", "published s", "ours s", "ratio", "losses differ by", "features, published", "features, ours"],
        lines,
        "One strength (0.03 alpha_max), KKT 1e-4 alpha_max, one thread, means over folds. Published: Algorithms 1 "
        "and 2 with FISTA and the paper's Lipschitz constant; ours: the same problems with proximal Newton inside.",
    )


def sensitivity_tables(results: Results, dataset: str) -> list[Table]:
    """Laporte's future work: quality and sparsity for each value of a shape parameter, chosen by validation MAP."""
    tables = []
    for system, parameter in (("log_eps", "eps"), ("lp_p", "p"), ("mcp_gamma", "gamma")):
        if not results.has(dataset, system):
            continue
        folds = results.folds(dataset, system)
        values = dict.fromkeys(r["params"][parameter] for r in results.rows[dataset, system, folds[0]])
        lines = []
        for value in values:
            best = [_with_value(results, dataset, system, f, parameter, value) for f in folds]
            found = [r for r in best if r is not None]
            time_s = np.mean(
                [
                    r["time_s"]
                    for f in folds
                    for r in results.rows[dataset, system, f]
                    if r["params"][parameter] == value
                ]
            )
            lines.append(
                [f"{value:g}", figure(results.test_mean(best, "map")), figure(results.test_mean(best, "ndcg@10")),
                 figure(np.mean([r["n_features"] / r["n_features_varying"] for r in found]), 3),
                 " ".join(str(r["n_features"]) for r in found), f"{time_s:.3f}"]
            )  # fmt: skip
        tables.append(
            Table(
                f"{dataset}, sensitivity of {SYSTEMS[system].title.partition(',')[0]} to {parameter}",
                [parameter, "map", "ndcg@10", "SR varying", "features per fold", "s/fit"],
                lines,
            )
        )
    return tables


def _with_value(results: Results, dataset: str, system: str, fold: int, parameter: str, value: float) -> Row | None:
    return results.best_of(dataset, system, fold, "map", lambda r: r["params"][parameter] == value)


def frontier_sections(results: Results, *, pictures: bool) -> list[Section]:
    """Test quality with at most k features, every system."""
    out = []
    for dataset in results.datasets:
        tables, drawn = [], []
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
                        "-"
                        if r is None
                        else figure(r["mean"]) + ("*" if r["best"] == s else "" if r["not_worse"] else "-")
                    )
                lines.append(line)
            best = [next(r for r in rows if r["k"] == k and r["best"] == r["system"]) for k in sizes]
            lines.append(["interval of the best", *(f"{r['low']:.3f}-{r['high']:.3f}" for r in best)])
            tables.append(
                Table(
                    f"{dataset}: test {metric} with at most k features",
                    ["system", *map(str, sizes)],
                    lines,
                    "The model of each k is chosen on validation. * best mean at this k; a trailing - : significantly below it "
                    "(95% interval of the paired difference over queries); the others cannot be told from the best.",
                )
            )
            if pictures:
                from sparserank.experiments.figures import frontier_figure

                svg = frontier_figure(results, dataset, metric)
                drawn.append(
                    Picture(f"frontier-{dataset}-{metric.replace('@', '')}", f"{dataset}, {metric} against size", svg)
                )
        out.append(Section(f"Sparsity-quality frontier: {dataset}", tables=tables, pictures=drawn))
    return out


def published_sections(results: Results, *, pictures: bool) -> list[Section]:
    """Every table of the papers beside ours, and the figures."""
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
            notes.append(f"Not available, for want of data ({names}): tables {', '.join(t.table for t in absent)}.")
        tables = [published_table(t, results) for t in present]
        if source == "laporte2014":
            tables.insert(2, _laporte_means(results))
        sections.append(Section(f"{source[:-4].capitalize()} {source[-4:]}", " ".join(notes), tables))
    if pictures:
        from sparserank.experiments.figures import published_figures

        drawn = [Picture(name.replace("@", ""), caption, svg) for name, caption, svg in published_figures(results)]
        sections.append(Section("Figures of the papers", pictures=drawn))
    return sections


def _by_note(tables: list[PublishedTable]) -> dict[str, list[PublishedTable]]:
    out: dict[str, list[PublishedTable]] = {}
    for t in tables:
        out.setdefault(t.note, []).append(t)
    return out


def _laporte_means(results: Results) -> Table:
    """Table IV, averaged over the data sets that are here, on both sides."""
    (table,) = (t for t in TABLES if (t.source, t.table) == ("laporte2014", "IV"))
    rows: dict[str, list[tuple[float, float]]] = {}
    for c in compare(table, results):
        if isinstance(c.value, float) and c.cell.dataset in results.datasets:
            rows.setdefault(c.cell.row, []).append((float(c.printed), c.value))
    lines = [[name, *(figure(m, 3) for m in np.mean(pairs, axis=0))] for name, pairs in rows.items()]
    return Table(f"Table IV, mean of {', '.join(results.datasets)}", ["sparsity ratio", "published", "ours"], lines)


def published_table(table: PublishedTable, results: Results) -> Table:
    """'published | ours' in every cell; data sets without results are named in the note."""
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
        title += f" ({sum(bool(c.agrees) for c in judged)} of {len(judged)} equal as printed"
        differences = [abs(c.difference) for c in judged if not math.isnan(c.difference)]
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
            "source": c.cell.source, "table": c.cell.table, "dataset": c.cell.dataset, "row": c.cell.row, "column": c.cell.column,
            "published": c.printed, "ours": "not available" if c.value is None else c.value,
            "difference": "" if math.isnan(c.difference) else c.difference, "equal": "" if c.agrees is None else c.agrees,
        }
        for t in TABLES
        for c in compare(t, results)
    ]  # fmt: skip


def summary_rows(results: Results) -> list[dict[str, Any]]:
    """One row per data set, metric of choice and system for CSV."""
    rows = [r for d in results.datasets for by in results.plan.choose_by for r in system_table(results, d, by)]
    return [{k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in r.items()} for r in rows]


def frontier_rows(results: Results) -> list[dict[str, Any]]:
    return [r for d in results.datasets for m in results.plan.choose_by for r in frontier(results, d, m)]


def skipped_text(skipped: dict[str, str]) -> str:
    return "" if not skipped else "Not available, skipped: " + ", ".join(skipped) + "."


def columns_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))
