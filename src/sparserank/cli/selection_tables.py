"""The result of `sparserank select` on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparserank.cli.output import answer, give
from sparserank.cli.screen import say, show_all, warn, width_of_screen
from sparserank.errors import SparserankError
from sparserank.model.size_models import load_model
from sparserank.report.screen import MAX_LINES, screen_lines
from sparserank.report.tables import (
    comparison_table,
    feature_table,
    gain_table,
    group_table,
    penalty_table,
    rival_table,
    size_table,
    zeroed_table,
)
from sparserank.selection.claims import counted, never_used
from sparserank.selection.lists import TreesSelection
from sparserank.selection.result import SelectionResult
from sparserank.selection.result_files import LIST_FILES

MAX_SIZES = 20  # features of the largest model in the table of sizes, or rows of the table of costs; the report has all


def show_selection(
    result: SelectionResult | TreesSelection, folder: str, most: int = MAX_LINES, *, k: bool = True
) -> None:
    """Print a summary of the result. With --verbose, print everything: sizes, penalties with certificates, selected
    features with costs, and the comparison on test data."""
    rows = []
    for row in result.facts.features:
        flat: dict[str, Any] = {name: row[name] for name in ("feature", "transform", "weight", "gain") if name in row}
        # the cost of leaving it out for each metric
        for metric, cost in row.get("zeroed", {}).items():
            known = dict.fromkeys(cost) if row["cost"] is None else row["cost"][metric]
            flat |= {f"{metric} {name}": value for name, value in known.items()}
        rows.append(flat)
    give(result.to_json(), rows)
    if answer().is_text and not answer().verbose:
        show_all(screen_lines(result, folder, most=most, width=width_of_screen(), k=k))
        return
    if isinstance(result, SelectionResult):
        tables = [
            size_table(result, most=MAX_SIZES),
            *([rival_table(result)] if result.rivals.compared else []),
            *(penalty_table(result), feature_table(result), zeroed_table(result)),
            *([group_table(result)] if result.worth.feature_groups else []),
        ]
        last = never_used(result.constant_features)
    else:
        tables = [size_table(result), gain_table(result)]
        last = [
            "trees.txt expects these features in the order of the data, and missing values unchanged (`trees.columns` "
            "and `trees.missing` in result.json)."
        ]
    test = [] if result.test is None else [comparison_table(result.test, result.plan.confidence)]
    notes = [f"note: {text}" for text in result.notes]
    show_all([*result.sentences, *notes, "", *tables, *test, *last])


def chosen_in(out: Path) -> int | None:
    """Number of features of the model, or of the list for trees, in a run directory; None if there is none."""
    if (out / LIST_FILES[0]).exists():
        return len((out / LIST_FILES[0]).read_text(encoding="utf-8").splitlines())
    try:
        return len(load_model(out / "model.json").columns)
    except SparserankError:
        return None


def say_written(out: Path, names: Sequence[str]) -> None:
    """Name the files of a run that exist."""
    say("wrote " + ", ".join(str(out / name) for name in names if (out / name).exists()))


def warn_if_replaced(out: Path, before: int | None, now: int, noun: str) -> None:
    """Warn if the directory contained the choice of another number of features (or of whatever `noun` names)."""
    if before is not None and before != now:
        warn(f"{out} contained the choice of {counted(before, noun)}; it now contains the one of {counted(now, noun)}.")
