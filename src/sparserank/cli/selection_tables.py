"""The result of `sparserank select` on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparserank.cli.output import give
from sparserank.cli.screen import gap, say, show
from sparserank.pages.selection_tables import (
    feature_table,
    group_table,
    penalty_table,
    rival_table,
    size_table,
    test_table,
)
from sparserank.selection.result import SelectionResult

MOST_SIZES = (
    20  # features of the largest model in the table of sizes, or rows of the table of costs; the report has all
)


def show_selection(result: SelectionResult) -> None:
    """The choice first; then sizes, penalties with certificates, selected features with costs, comparison on test."""
    give(result.to_json(), [_flat(row) for row in result.drops])
    for sentence in result.sentences:
        say(sentence)
    for text in result.notes:
        say(f"note: {text}")
    gap()
    show(size_table(result, most=MOST_SIZES))
    if result.rivals.compared:
        show(rival_table(result))
    show(penalty_table(result))
    show(feature_table(result))
    if result.group_drops:
        show(group_table(result))
    if result.test is not None:
        show(test_table(result))
    if result.constant_features:
        say(f"constant within every query, never used: {', '.join(result.constant_features)}")


def _flat(drop: Mapping[str, Any]) -> dict[str, Any]:
    """A selected feature as one row: what dropping it costs, metric by metric."""
    out = {"feature": drop["feature"], "weight": drop["coef"], "transform": drop["transform"], "shape": drop["shape"]}
    for metric, cost in drop.items():
        if isinstance(cost, dict) and "cost" in cost:
            out |= {f"{metric} {name}": value for name, value in cost.items()}
    return out
