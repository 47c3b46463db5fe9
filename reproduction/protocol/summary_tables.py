"""Summary of an experiment, as sections and as rows for CSV."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from reproduction.protocol.results import Results, Row
from reproduction.protocol.summary import system_table
from reproduction.systems import SYSTEMS
from sparserank.report.document import Section, Table
from sparserank.text import figure, p_text

SHOWN = ("map", "ndcg@10", "p@10")


def summary_sections(results: Results) -> list[Section]:
    """Per data set: systems compared for each metric of choice, and FenchelRank's gaps."""
    out = []
    for dataset in results.datasets:
        tables = []
        for by in results.plan.choose_by:
            rows = sorted(system_table(results, dataset, by), key=lambda r: -r[by])
            if not rows:
                continue
            shown = [m for m in dict.fromkeys([by, *SHOWN]) if m in results.plan.metric_names]
            best = next(r["title"] for r in rows if r["is_best"])
            tables.append(
                Table(
                    f"{dataset}, chosen by validation {by} ({results.plan.convention}); p: tests against {best}",
                    [
                        "system",
                        *shown,
                        "SR",
                        "SR varying",
                        "p (t)",
                        "p (Holm)",
                        "p (folds)",
                        "p (random.)",
                        "s/fit",
                        "grid",
                        "features per fold",
                        "often",
                    ],
                    [
                        [
                            r["title"],
                            *(figure(r[m]) for m in shown),
                            figure(r["sparsity_all"], 3),
                            figure(r["sparsity_varying"], 3),
                            p_text(r.get("p_query")),
                            p_text(r.get("p_holm")),
                            p_text(r.get("p_fold")),
                            p_text(r.get("p_randomisation")),
                            f"{r['time_s']:.3f}",
                            f"{r['grid']:.0f}",
                            " ".join(map(str, r["features"])) or "-",
                            " ".join(map(str, r["frequent"])) or "-",
                        ]
                        for r in rows
                    ],
                    "Values are means over folds of test means. SR is the number of remaining features divided by "
                    "that of all features, or by that of the features that vary within queries. p comes from "
                    "one-sided paired tests against the best mean: a t test over queries, with Holm's correction, a "
                    "t test over folds, and a randomisation test over queries. s/fit is the mean over the grid, "
                    "without work that grid points share (similarities, decompositions, FSMRank before FSMSVM). "
                    "often lists the five features chosen in most folds. sparserank select also trains on the "
                    "validation queries and is not a reference. " + _notes(results, dataset, by, rows),
                    screen=(
                        0,
                        *range(1, 1 + len(shown)),
                        1 + len(shown),
                        4 + len(shown),
                        9 + len(shown),
                        10 + len(shown),
                    ),
                )
            )
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


def _notes(results: Results, dataset: str, by: str, rows: list[dict[str, Any]]) -> str:
    shown = {r["system"] for r in rows}
    left_out = [SYSTEMS[s].title for s in results.systems(dataset) if s not in shown]
    tied = [f"{r['title']} ({r['tied']} folds)" for r in rows if r["tied"]]
    words = []
    if left_out:
        words.append(f"These systems are left out, because no model was chosen in some fold: {', '.join(left_out)}.")
    if tied:
        words.append(f"For these systems, all candidates tie on validation, so the first is taken: {', '.join(tied)}.")
    return " ".join(words)


def fenchel_table(results: Results, dataset: str) -> Table:
    """For each radius: the folds where the published rule stops before the optimum, and the results of the optimum."""
    rows = _by_radius(results, dataset, "fenchel_rank")
    exact = _by_radius(results, dataset, "fenchel_exact")
    if results.folds(dataset, "fenchel_exact") != results.folds(dataset, "fenchel_rank"):
        exact = {}
    epsilon = float(results.plan.grid("fenchel_rank")["epsilon"][0])
    metrics = results.headline
    lines = []
    for radius in sorted(rows):
        mine = rows[radius]
        line = [
            f"{radius:g}",
            f"{sum(r['gap'] > epsilon for r in mine)} of {len(mine)}",
            f"{max(r['gap'] for r in mine):.2g}",
            figure(np.mean([r["n_features"] for r in mine]), 1),
            *(figure(results.test_mean(list(mine), m)) for m in metrics),
            f"{np.mean([r['time_s'] for r in mine]):.2f}",
        ]
        if radius in exact:
            best = exact[radius]
            excess = [a["loss"] - b["loss"] for a, b in zip(mine, best, strict=True)]
            line += [
                f"{max(excess):.1e}",
                f"{max(b['gap'] for b in best):.0e}",
                figure(np.mean([b["n_features"] for b in best]), 1),
                *(figure(results.test_mean(list(best), m)) for m in metrics),
                f"{np.mean([b['time_s'] for b in best]):.2f}",
            ]
        else:
            line += ["-"] * (4 + len(metrics))
        lines.append(line)
    short = sum(any(r["gap"] > epsilon for r in mine) for mine in rows.values())
    return Table(
        f"{dataset}, FenchelRank as published against the exact optimum: {short} of {len(rows)} radii are not optimal "
        "in some fold",
        [
            "radius",
            f"gap > {epsilon:g}",
            "worst gap",
            "features",
            *metrics,
            "s",
            "loss above optimum",
            "gap, exact",
            "features",
            *metrics,
            "s",
        ],
        lines,
        f"The published rule stops at epsilon = {epsilon:g}, or after "
        f"{results.plan.grid('fenchel_rank')['max_iter'][0]} iterations. Values are means of test metrics over folds.",
    )


def _by_radius(results: Results, dataset: str, system: str) -> dict[float, list[dict[str, Any]]]:
    out: dict[float, list[dict[str, Any]]] = {}
    for fold in results.folds(dataset, system):
        for r in results.rows[dataset, system, fold]:
            out.setdefault(r["params"]["radius"], []).append(r)
    return out


def ablation_table(results: Results, dataset: str) -> Table:
    """FSMRank with one of its two measures at a time."""
    measured = ["fsm_rank", "fsm_s1", "fsm_spc", "fsm_ai", "fsm_apc"]
    names = [s for s in measured if all(results.complete(dataset, by, [s]) for by in results.plan.choose_by)]
    lines = [
        [
            SYSTEMS[s].title,
            *(figure(results.mean(dataset, s, by, m)) for by in results.plan.choose_by for m in results.headline),
            *(figure(results.sparsity(dataset, s, by, varying=True), 3) for by in results.plan.choose_by),
        ]
        for s in names
    ]
    columns = [f"{m}, by {by}" for by in results.plan.choose_by for m in results.headline]
    columns += [f"SR varying, by {by}" for by in results.plan.choose_by]
    return Table(f"{dataset}, FSMRank's measures one at a time", ["system", *columns], lines if len(names) > 1 else [])


def timing_table(results: Results, dataset: str) -> Table:
    """Lai 2012, Table 6, on this data set: TGRank at C_sum = 0.1,
    then FenchelRank and the exact optimum at its norm."""
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
        "TGRank takes 1000 steps at C_sum = 0.1; the other systems are fitted on the l1 ball of radius r, the norm "
        "of its weights.",
    )


def penalty_timing_table(results: Results, dataset: str) -> Table:
    """Future work of Laporte: computing time of each penalty, published algorithms against ours."""
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
        "Times are means over folds at one strength (0.03 alpha_max), to a KKT violation of 1e-4 alpha_max, on one "
        "thread. The published solvers are Algorithms 1 and 2 with FISTA and the paper's Lipschitz constant; ours "
        "solve the same problems with proximal Newton as inner solver.",
    )


def sensitivity_tables(results: Results, dataset: str) -> list[Table]:
    """Future work of Laporte: quality and sparsity for each value of a shape parameter, chosen by validation MAP."""
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
                [
                    f"{value:g}",
                    *(figure(results.test_mean(best, m)) for m in results.headline),
                    figure(np.mean([r["n_features"] / r["n_features_varying"] for r in found]), 3),
                    " ".join(str(r["n_features"]) for r in found),
                    f"{time_s:.3f}",
                ]
            )
        tables.append(
            Table(
                f"{dataset}, sensitivity of {SYSTEMS[system].title.partition(',')[0]} to {parameter}",
                [parameter, *results.headline, "SR varying", "features per fold", "s/fit"],
                lines,
            )
        )
    return tables


def _with_value(results: Results, dataset: str, system: str, fold: int, parameter: str, value: float) -> Row | None:
    return results.best_of(dataset, system, fold, results.plan.choose_by[0], lambda r: r["params"][parameter] == value)


def summary_rows(results: Results) -> list[dict[str, Any]]:
    """One row per data set, metric of choice and system for CSV."""
    rows = [r for d in results.datasets for by in results.plan.choose_by for r in system_table(results, d, by)]
    return [{k: json.dumps(v) if isinstance(v, list) else v for k, v in r.items()} for r in rows]
