"""The figures of a selection as plain rows, built once; screen, page, JSON, frames and notebooks pick their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sparserank.crossval.choice import Candidate, Choice
from sparserank.data.categories import sources_of
from sparserank.metrics import Metric
from sparserank.transforms import NONE

if TYPE_CHECKING:
    from sparserank.selection.result import SelectionResult

Row = dict[str, Any]

SUBSTITUTE = ("substitute", "substitute_difference", "substitute_correlation")
FRAME = ("feature", "weight", "transform", "selection_frequency", "folds", *SUBSTITUTE)
FEATURE = ("name", *FRAME[:3], "steps", *FRAME[3:], "cost", "zeroed", "loss")
SIZE = ("n_features", "penalty", "relax", "cost", "mean")


def facts_of(result: SelectionResult) -> dict[str, list[Row]]:
    """Rows by subject.

    features        the selected features, largest weight first; `name` is the feature as it enters the model
    feature_groups  the groups in use, the most expensive first
    sizes           the best model of at most each size, with its ablation and the features that `enter` and `leave`
    stability       the features that half-samples select, the most frequent first, and whether the model uses them
    substitutes     of the selected features

    Features and groups have the ablation `cost` and the cost of being `zeroed`, each by metric, and their `loss`: the
    cost by the deciding metric in percent of the chosen model's mean, None where it is not known.
    """
    return {
        "features": [_feature(result, row) for row in result.worth.features],
        "feature_groups": [{**row, "loss": _loss(result, row)} for row in result.worth.feature_groups],
        "sizes": _sizes(result),
        "stability": _stability(result),
        "substitutes": list(map(asdict, result.worth.substitutes)),
    }


def _feature(result: SelectionResult, row: Row) -> Row:
    substitute = result.worth.substitute(row["feature"])
    halves = result.stability
    instead = (
        (None, None, None) if substitute is None else (substitute.other, substitute.difference, substitute.correlation)
    )
    values = {**row, "weight": row["coef"], "name": _transformed(row["feature"], row["transform"])}
    flag = result.model.flag_of(row["feature"])
    values["name"] += "" if flag is None else f" (missing: {flag:+.3f})"
    values |= {"loss": _loss(result, row), **dict(zip(SUBSTITUTE, instead, strict=True))}
    if halves is not None:
        values["selection_frequency"] = float(halves.frequency[result.model.columns[row["feature"]]].max())
    return {name: values[name] for name in FEATURE if name in values}


def _transformed(feature: str, transform: str) -> str:
    """A feature as it enters the model: log(name)."""
    return feature if transform == NONE else f"{transform}({feature})"


def _loss(result: SelectionResult, row: Row) -> float | None:
    if row["cost"] is None:
        return None
    return float(100.0 * row["cost"][result.metric]["cost"] / (abs(result.chosen.mean) or 1.0))


def _sizes(result: SelectionResult) -> list[Row]:
    choice = result.choice
    rows = []
    for c, (enter, leave), ablation in zip(result.by_size, result.moves(), result.size_costs, strict=True):
        moved = {"enter": list(enter), "leave": list(leave), "ablation": ablation}
        rows.append({"label": c.label, **model_row(choice, c, SIZE), "chosen": c is result.chosen, **moved})
    return rows


def model_row(choice: Choice, c: Candidate, fields: Sequence[str]) -> Row:
    """A row for a candidate: some of its fields, its estimated loss against the best, and the bound on that loss."""
    return {**{name: getattr(c, name) for name in fields}, "loss": choice.loss(c), "bound": choice.bound(c)}


def _stability(result: SelectionResult) -> list[Row]:
    if result.stability is None:
        return []
    names = sources_of(result.model.derived, result.model.feature_names)
    share = result.stability.frequency
    often: dict[str, float] = {}
    for j in result.stability.often():
        often.setdefault(names[j], float(share[j]))
    chosen = result.model.columns
    return [{"feature": f, "selection_frequency": frequency, "in_model": f in chosen} for f, frequency in often.items()]


def without(rows: Sequence[Row], *columns: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in columns} for row in rows]


def costed(rows: Sequence[Row], metrics: Sequence[Metric], columns: Sequence[str]) -> list[Row]:
    """The rows with some of their columns, and with columns for the cost by each metric and for its interval."""
    out = []
    for row in rows:
        flat = {name: row[name] for name in columns if name in row}
        for m in map(repr, metrics):
            cost = (row["cost"] or {}).get(m, dict.fromkeys(("cost", "low", "high")))
            flat |= {f"{m} cost": cost["cost"], f"{m} cost low": cost["low"], f"{m} cost high": cost["high"]}
        out.append(flat)
    return out
