"""What trees should keep, as tables."""

from __future__ import annotations

import math

from sparserank.crossval.choice import Candidate
from sparserank.evaluation.statistics import as_percent
from sparserank.reporting.document import Table, figure
from sparserank.selection.for_trees import JudgedSelection
from sparserank.selection.statements import share


def list_table(result: JudgedSelection) -> Table:
    """The best list of each length, then all features, with bounds that hold for all of them at once."""
    choice = result.choice
    costed = result.plan.costs is not None or choice.by_cost
    shown = [*result.by_size, result.all_features]

    def bound(c: Candidate) -> str:
        return share(choice.bound(c), choice) if math.isfinite(choice.bound(c)) else "-"

    rows = [
        [
            str(c.n_features),
            *([f"{c.cost:g}"] if costed else []),
            c.penalty,
            figure(c.mean),
            figure(choice.loss(c)),
            bound(c),
        ]
        for c in shown
    ]
    return Table(
        f"LightGBM on the best list of each {'cost' if choice.by_cost else 'length'}, out of fold over "
        f"{result.n_queries} queries (all bounds hold at once, {as_percent(result.plan.confidence)})",
        ["features", *(["cost"] if costed else []), "list", result.metric, "below the best", "loses at most"],
        rows,
        words=(1 + costed,),
        strong=tuple(i for i, c in enumerate(shown) if c is result.chosen),
    )


def kept_table(result: JudgedSelection) -> Table:
    """The chosen features and their share of the gain."""
    rows = [[f, f"{g:.1%}"] for f, g in zip(result.features, result.gains.tolist(), strict=True)]
    return Table("Features to keep", ["feature", "share of the gain"], rows)
