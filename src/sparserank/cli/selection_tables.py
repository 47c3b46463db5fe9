"""The result of `sparserank select` on the screen."""

from __future__ import annotations

from sparserank.cli.screen import number, p_value, say, table
from sparserank.selection.choice import Verdict
from sparserank.selection.result import SelectionResult
from sparserank.statistics import as_percent


def show_selection(result: SelectionResult) -> None:
    """Penalties with certificates, the choice, selected features with costs, comparison on test."""
    metric = repr(result.plan.metric)
    where = "out of fold" if result.plan.protocol == "cv" else "on validation"
    _penalties(result, metric, where)
    say(result.chosen.sentence(metric))
    for text in result.notes:
        say(f"note: {text}")
    print()
    _features(result, metric, where)
    if result.test is not None:
        _test(result)
    if result.constant_features:
        say(f"constant within every query, never used: {', '.join(result.constant_features)}")


def _penalties(result: SelectionResult, metric: str, where: str) -> None:
    def size(verdict: Verdict | None) -> list[str]:
        if verdict is None:
            return ["none", "-", "-"]
        c = verdict.candidate
        return [str(c.n_features), number(c.mean), number(verdict.bound, signed=True)]

    rows = []
    for label, path in result.paths.items():
        c = path.certificate()
        certificate = [
            c.status,
            f"{c.kkt_violation:.0e}",
            "-" if c.gap is None else f"{c.gap:.0e}",
            number(c.time_s, 1),
        ]
        if label in result.by_own:
            rows.append([label, *size(result.by_penalty[label]), *size(result.by_own[label])[:2], *certificate])
        else:
            rows.append(
                ["dense (ridge)", str(result.dense.n_features), number(result.dense.mean), "", "", "", *certificate]
            )
    table(
        f"Smallest model within {result.plan.margin:.1%} of the best ({metric} {where}, {result.n_queries} queries), "
        "against the best of all and of its own path",
        ["penalty", "features", metric, "bound", "own: features", metric, "path", "worst kkt", "gap", "s"],
        rows,
    )


def _features(result: SelectionResult, metric: str, where: str) -> None:
    rows = []
    for d in result.drops:
        costs = [number(d[repr(m)]["cost"], signed=True) for m in result.plan.metrics]
        interval = f"[{number(d[metric]['low'], signed=True)}, {number(d[metric]['high'], signed=True)}]"
        rows.append([d["feature"], number(d["coef"]), *costs, interval])
    table(
        f"Selected features, and what dropping each costs {where} (weight set to 0, no refit)",
        [
            "feature",
            "weight",
            *[f"{m!r} cost" for m in result.plan.metrics],
            f"{as_percent(result.plan.confidence)} interval ({metric})",
        ],
        rows,
    )


def _test(result: SelectionResult) -> None:
    assert result.test is not None
    rows = []
    for r in result.test.rows(result.plan.confidence):
        row = [r["system"], r["metric"], number(r["mean"]), f"[{number(r['low'])}, {number(r['high'])}]"]
        if "difference" in r:
            interval = f"[{number(r['difference_low'], signed=True)}, {number(r['difference_high'], signed=True)}]"
            row += [number(r["difference"], signed=True), interval, p_value(r["p_holm"])]
        else:
            row += ["", "", ""]
        rows.append(row)
    table(
        f"Test queries: means with {as_percent(result.plan.confidence)} intervals; differences to the chosen model, paired t test, Holm-corrected p",
        ["system", "metric", "mean", "interval", "difference", "interval", "p (Holm)"],
        rows,
    )
