"""What a selection says, as tables: the screen and the page show the same ones."""

from __future__ import annotations

from typing import Any

from sparserank.reports.document import Table, figure, p_text
from sparserank.selection.choice import Verdict
from sparserank.selection.result import SelectionResult
from sparserank.statistics import as_percent


def where(result: SelectionResult) -> str:
    return "out of fold" if result.plan.protocol == "cv" else "on validation"


def penalty_table(result: SelectionResult) -> Table:
    """The smallest model of each penalty, with the certificate of its path."""
    metric = result.metric

    def size(verdict: Verdict | None) -> list[str]:
        if verdict is None:
            return ["none", "-", "-"]
        c = verdict.candidate
        return [str(c.n_features), figure(c.mean), figure(verdict.bound, signed=True)]

    rows = []
    for label, path in result.paths.items():
        c = path.certificate()
        gap = "-" if c.gap is None else f"{c.gap:.0e}"
        certificate = [c.status, f"{c.kkt_violation:.0e}", gap, figure(c.time_s, 1)]
        if label in result.by_own:
            rows.append([label, *size(result.by_penalty[label]), *size(result.by_own[label])[:2], *certificate])
        else:
            dense = result.dense
            rows.append(["dense (ridge)", str(dense.n_features), figure(dense.mean), "", "", "", *certificate])
    return Table(
        f"Smallest model within {result.plan.margin:.1%} of the best ({metric} {where(result)}, {result.n_queries} queries), "
        "against the best of all and of its own path",
        ["penalty", "features", metric, "bound", "own: features", metric, "path", "worst kkt", "gap", "s"],
        rows,
    )


def size_table(result: SelectionResult) -> Table:
    """The best model of each number of features; the chosen one stands out."""
    best, chosen = result.best.mean, result.chosen.candidate
    rows = [[str(c.n_features), c.penalty, figure(c.mean), figure(best - c.mean)] for c in result.by_size]
    return Table(
        "Best model of each size", ["features", "penalty", result.metric, "below the best"], rows, folded=True,
        strong=tuple(i for i, c in enumerate(result.by_size) if c is chosen),
    )  # fmt: skip


def feature_table(result: SelectionResult) -> Table:
    """The selected features, largest weight first, and what each is worth."""
    metrics = [repr(m) for m in result.plan.metrics]
    rows = []
    for d in result.drops:
        costs = [figure(d[m]["cost"], signed=True) for m in metrics]
        rows.append([d["feature"], figure(d["coef"]), *costs, interval(d[result.metric], signed=True)])
    share = as_percent(result.plan.confidence)
    return Table(
        f"Selected features, and what dropping each costs {where(result)} (weight set to 0, no refit)",
        ["feature", "weight", *[f"{m} cost" for m in metrics], f"{share} interval ({result.metric})"],
        rows,
    )


def test_table(result: SelectionResult) -> Table:
    """The chosen model beside its rivals on the test queries."""
    assert result.test is not None
    share = as_percent(result.plan.confidence)
    rows = []
    for r in result.test.rows(result.plan.confidence):
        row = [r["system"], r["metric"], figure(r["mean"]), interval(r)]
        if "difference" in r:
            against = interval({"low": r["difference_low"], "high": r["difference_high"]}, signed=True)
            row += [figure(r["difference"], signed=True), against, p_text(r["p_holm"])]
        else:
            row += ["", "", ""]
        rows.append(row)
    return Table(
        f"Test queries: means with {share} intervals; differences to the chosen model, paired t test, Holm-corrected p",
        ["system", "metric", "mean", f"{share} interval", "difference", f"{share} interval", "p (Holm)"],
        rows,
    )


def interval(row: dict[str, Any], signed: bool = False) -> str:
    return f"[{figure(row['low'], signed=signed)}, {figure(row['high'], signed=signed)}]"
