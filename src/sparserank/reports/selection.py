"""What a selection says, as tables: the screen and the page show the same ones."""

from __future__ import annotations

import math
from typing import Any

from sparserank.data.transforms import NONE
from sparserank.evaluation import Comparison
from sparserank.evaluation.statistics import as_percent
from sparserank.reports.document import Table, figure, p_text
from sparserank.selection.choice import Candidate
from sparserank.selection.result import SelectionResult
from sparserank.selection.statements import share


def where(result: SelectionResult) -> str:
    return "out of fold" if result.plan.protocol == "cv" else "on validation"


def penalty_table(result: SelectionResult) -> Table:
    """The smallest model of each penalty within the margin, with the certificate of its path."""
    rows = []
    for label, path in result.paths.items():
        c = path.certificate()
        gap = "-" if c.gap is None else f"{c.gap:.0e}"
        certificate = [c.status, f"{c.kkt_violation:.0e}", gap, figure(c.time_s, 1)]
        found = result.by_penalty.get(label)
        if label not in result.by_penalty:
            dense = max((d for d in result.choice.candidates if d.penalty == label), key=lambda d: d.mean)
            rows.append(
                [
                    label.replace("ridge", "dense (ridge)", 1),
                    str(dense.n_features),
                    figure(dense.mean),
                    _bound(result, dense),
                    *certificate,
                ]
            )
        elif found is None:
            rows.append([label, "none", "-", "-", *certificate])
        else:
            rows.append([found.label, str(found.n_features), figure(found.mean), _bound(result, found), *certificate])
    return Table(
        f"{'Cheapest' if result.choice.by_cost else 'Smallest'} model shown to lose at most {share(result.choice.margin, result.choice)} ({result.metric} {where(result)}, "
        f"{result.n_queries} queries)",
        ["penalty", "features", result.metric, "loses at most", "path", "worst kkt", "gap", "s"],
        rows,
    )


def size_table(result: SelectionResult, most: int | None = None) -> Table:
    """The best model of each number of features, or of each cost (up to `most`, the chosen one and the best in any case), with bounds that hold for all of them
    at once; the chosen one stands out."""
    choice = result.choice
    sizes = [
        c
        for i, c in enumerate(result.by_size)
        if most is None or (i < most if choice.by_cost else c.n_features <= most) or c in (result.chosen, result.best)
    ]
    costed = result.plan.costs is not None or choice.by_cost
    rows = [
        [str(c.n_features), *([f"{c.cost:g}"] if costed else []), c.label, figure(c.mean), figure(choice.loss(c)), _bound(result, c)]
        for c in sizes
    ]  # fmt: skip
    return Table(
        f"Best model of each {'cost' if choice.by_cost else 'size'} (all bounds hold at once, {as_percent(result.plan.confidence)})",
        ["features", *(["cost"] if costed else []), "penalty", result.metric, "below the best", "loses at most"], rows, folded=True,
        strong=tuple(i for i, c in enumerate(sizes) if c is result.chosen),
    )  # fmt: skip


def _bound(result: SelectionResult, c: Candidate) -> str:
    return share(result.choice.bound(c), result.choice) if math.isfinite(result.choice.bound(c)) else "-"


def feature_table(result: SelectionResult) -> Table:
    """The selected features, largest weight first, and what each is worth."""
    metrics = [repr(m) for m in result.plan.metrics]
    rows = []
    for d in result.drops:
        costs = [figure(d[m]["cost"], signed=True) for m in metrics]
        kept = [] if result.stability is None else [f"{firmness(result, d):.0%}"]
        rows.append([shaped_name(d), figure(d["coef"]), *kept, *costs, interval(d[result.metric], signed=True)])
    share = as_percent(result.plan.confidence)
    return Table(
        f"Selected features, and what dropping each costs {where(result)} (weight set to 0, no refit)"
        + ("" if result.stability is None else "; kept: by how many half-samples"),
        [
            "feature",
            "weight",
            *(["kept"] if result.stability is not None else []),
            *[f"{m} cost" for m in metrics],
            f"{share} interval ({result.metric})",
        ],
        rows,
    )


def group_table(result: SelectionResult) -> Table:
    """The groups in use, the dearest first, and what each is worth."""
    metrics = [repr(m) for m in result.plan.metrics]
    rows = [
        [
            d["group"],
            f"{d['group_cost']:g}",
            str(len(d["features"])),
            *[figure(d[m]["cost"], signed=True) for m in metrics],
            interval(d[result.metric], signed=True),
        ]
        for d in result.group_drops
    ]
    share = as_percent(result.plan.confidence)
    return Table(
        f"Groups in use, and what dropping each costs {where(result)} (all its weights set to 0, no refit)",
        ["group", "cost", "features", *[f"{m} cost" for m in metrics], f"{share} interval ({result.metric})"],
        rows,
    )


def shaped_name(row: dict[str, Any]) -> str:
    """The feature of a row of `drops` as it enters the model: curve(log(name))."""
    name = row["feature"] if row["transform"] == NONE else f"{row['transform']}({row['feature']})"
    return name if row["shape"] == "linear" else f"{row['shape']}({name})"


def firmness(result: SelectionResult, row: dict[str, Any]) -> float:
    """The share of half-samples that keep the feature of a row of `drops`."""
    assert result.stability is not None
    return float(result.stability.frequency[result.model.feature_names.index(row["feature"])])


def test_table(result: SelectionResult) -> Table:
    """The chosen model beside its rivals on the test queries."""
    assert result.test is not None
    return comparison_rows(result.test, result.plan.confidence)


def comparison_rows(test: Comparison, confidence: float) -> Table:
    """Systems on test queries beside the first, the chosen one."""
    share = as_percent(confidence)
    rows = []
    for r in test.rows(confidence):
        row = [r["system"], r["metric"], figure(r["mean"]), interval(r)]
        if "difference" in r:
            against = interval({"low": r["difference_low"], "high": r["difference_high"]}, signed=True)
            row += [figure(r["difference"], signed=True), against, p_text(r["p_holm"])]
        else:
            row += ["", "", ""]
        rows.append(row)
    return Table(
        f"Test queries: means; differences to the chosen model with {share} intervals, paired t test, Holm-corrected p",
        ["system", "metric", "mean", f"{share} interval", "difference", f"{share} interval", "p (Holm)"],
        rows,
        screen=(0, 1, 2, 4, 5, 6),
    )


def interval(row: dict[str, Any], signed: bool = False) -> str:
    return f"[{figure(row['low'], signed=signed)}, {figure(row['high'], signed=signed)}]"
