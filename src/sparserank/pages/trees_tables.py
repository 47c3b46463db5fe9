"""What trees should keep, as tables."""

from __future__ import annotations

from sparserank.evaluation.statistics import as_percent
from sparserank.pages.selection_tables import size_rows
from sparserank.reporting.document import Table
from sparserank.selection.for_trees import TreesSelection


def list_table(result: TreesSelection) -> Table:
    """The best list of each length, then all features, with bounds that hold for all of them at once."""
    choice, shown = result.choice, [*result.by_size, result.all_features]
    head, rows = size_rows(choice, shown, result.plan, "list")
    return Table(
        f"LightGBM on the best list of each {'cost' if choice.by_cost else 'length'}, out of fold over "
        f"{result.n_queries} queries (simultaneous bounds, "
        f"{as_percent(result.plan.confidence)})",
        head,
        rows,
        words=(head.index("list"),),
        strong=tuple(i for i, c in enumerate(shown) if c is result.chosen),
    )


def kept_table(result: TreesSelection) -> Table:
    """The chosen features and their share of the gain."""
    rows = [[f, f"{g:.1%}"] for f, g in zip(result.features, result.gains.tolist(), strict=True)]
    return Table("Features to keep", ["feature", "share of the gain"], rows)
