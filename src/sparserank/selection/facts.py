"""The figures of a selection as plain rows, built once; screen, page, JSON, frames and notebooks pick their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sparserank.crossval.choice import Candidate, Choice
from sparserank.data.categories import sources_of
from sparserank.lazy import cached_property
from sparserank.metrics import Metric
from sparserank.transforms import NONE

if TYPE_CHECKING:
    from sparserank.selection.result import SelectionResult

Row = dict[str, Any]

SUBSTITUTE = ("substitute", "substitute_difference", "substitute_correlation")
FRAME = ("feature", "weight", "transform", "selection_frequency", "folds", *SUBSTITUTE)
FEATURE = ("name", *FRAME[:3], "steps", *FRAME[3:], "cost", "zeroed", "loss")
SIZE = ("n_features", "penalty", "relax", "cost", "mean")


class Facts:
    """Rows by subject, each made on first use.

    features        the selected features, largest weight first; `name` is the feature as it enters the model
    feature_groups  the groups in use, the most expensive first
    sizes           the best model of at most each size, with its ablation and the features that `enter` and `leave`
    stability       the features that half-samples select, the most frequent first, and whether the model uses them
    substitutes     of the selected features

    Features and groups have the ablation `cost` and the cost of being `zeroed`, each by metric, and their `loss`: the
    cost by the deciding metric in percent of the chosen model's mean, None where it is not known.
    """

    def __init__(self, result: SelectionResult) -> None:
        self._result = result

    @cached_property
    def features(self) -> list[Row]:
        return [_feature(self._result, row) for row in self._result.worth.features]

    @cached_property
    def feature_groups(self) -> list[Row]:
        return [{**row, "loss": _loss(self._result, row)} for row in self._result.worth.feature_groups]

    @cached_property
    def sizes(self) -> list[Row]:
        result = self._result
        rows = []
        for c, (enter, leave), ablation in zip(result.by_size, result.moves(), result.size_costs, strict=True):
            moved = {"enter": list(enter), "leave": list(leave), "ablation": ablation}
            row = {"label": c.label, **model_row(result.choice, c, SIZE), "chosen": c is result.chosen}
            rows.append(row | moved)
        return rows

    @cached_property
    def stability(self) -> list[Row]:
        halves, model = self._result.stability, self._result.model
        if halves is None:
            return []
        names = sources_of(model.derived, model.feature_names)
        often: dict[str, float] = {}
        for j in halves.often():
            often.setdefault(names[j], float(halves.frequency[j]))
        chosen = model.columns
        return [{"feature": f, "selection_frequency": share, "in_model": f in chosen} for f, share in often.items()]

    @cached_property
    def substitutes(self) -> list[Row]:
        return list(map(asdict, self._result.worth.substitutes))


def _feature(result: SelectionResult, row: Row) -> Row:
    substitute = result.worth.substitute(row["feature"])
    halves = result.stability
    instead = (
        (None, None, None) if substitute is None else (substitute.other, substitute.difference, substitute.correlation)
    )
    values = {**row, "weight": row["coef"], "name": row["feature"]}
    if row["transform"] != NONE:  # as it enters the model: log(name)
        values["name"] = f"{row['transform']}({row['feature']})"
    flag = result.model.flag_of(row["feature"])
    values["name"] += "" if flag is None else f" (missing: {flag:+.3f})"
    values |= {"loss": _loss(result, row), **dict(zip(SUBSTITUTE, instead, strict=True))}
    if halves is not None:
        values["selection_frequency"] = float(halves.frequency[result.model.columns[row["feature"]]].max())
    return {name: values[name] for name in FEATURE if name in values}


def _loss(result: SelectionResult, row: Row) -> float | None:
    if row["cost"] is None:
        return None
    return float(100.0 * row["cost"][result.metric]["cost"] / (abs(result.chosen.mean) or 1.0))


def model_row(choice: Choice, c: Candidate, fields: Sequence[str]) -> Row:
    """A row for a candidate: some of its fields, its estimated loss against the best, and the bound on that loss."""
    return {**{name: getattr(c, name) for name in fields}, "loss": choice.loss(c), "bound": choice.bound(c)}


def without(rows: Sequence[Row], *columns: str) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in columns} for row in rows]


def costed(rows: Sequence[Row], metrics: Sequence[Metric], columns: Sequence[str]) -> list[Row]:
    """Flat rows: these columns of each row, then three for each metric, with the cost of leaving the feature out and
    the interval of that cost."""
    out = []
    for row in rows:
        flat = {name: row[name] for name in columns if name in row}
        for m in map(repr, metrics):
            cost = (row["cost"] or {}).get(m, dict.fromkeys(("cost", "low", "high")))
            flat |= {f"{m} cost": cost["cost"], f"{m} cost low": cost["low"], f"{m} cost high": cost["high"]}
        out.append(flat)
    return out
