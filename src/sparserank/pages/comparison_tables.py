"""A comparison with trees, as tables."""

from __future__ import annotations

from sparserank.evaluation.statistics import as_percent
from sparserank.pages.selection_tables import interval
from sparserank.reporting.document import Table, figure
from sparserank.selection.comparison import ALL, CHOICE, ComparisonResult


def comparison_table(result: ComparisonResult) -> Table:
    """Means by size, a system a row; the best of each size in words below it would be chance,
    so the rows are ordered by maker."""
    sizes = result.sizes
    rows = []
    for name in result.names:
        own = result.of(name)
        rows.append([name, *(figure(own[k].mean) if k in own else "-" for k in sizes)])
    note = (
        f"{ALL} ({result.n_features}): {figure(result.all_features.mean)}; {CHOICE} ({result.span} features): "
        f"{figure(result.choice.mean)}. Our model at each size is the best shrunken or relaxed model of at most that "
        "size. These models and our choice are optimistically biased, because the queries shown were used to choose "
        "them. Trees on their own gain use features that are chosen inside each fold; trees on our features use "
        "those of our choice."
    )
    repeats = "" if result.repeats == 1 else f", drawn {result.repeats} times"
    return Table(
        f"Mean {result.metric} out of fold by number of features ({result.n_queries} queries, {result.n_folds} "
        f"folds{repeats})",
        ["system", *map(str, sizes)],
        rows,
        note,
    )


def difference_table(result: ComparisonResult) -> Table:
    """What each system and size gains or loses against the trees on all features."""
    rows = [
        [
            r["system"],
            "-" if r["features"] is None else str(r["features"]),
            figure(r["mean"]),
            figure(r["difference"], signed=True),
            interval(r, signed=True),
        ]
        for r in result.rows()
        if "difference" in r
    ]
    return Table(
        f"Differences from {ALL}, with {as_percent(result.confidence)} intervals that are valid for all sizes of a "
        "system at once",
        ["system", "features", result.metric, "difference", "interval"],
        rows,
        folded=True,
    )


def cost_table(result: ComparisonResult) -> Table:
    """What the trees cost, and our whole search."""
    c, t = result.costs, result.trees
    return Table(
        "Costs (means over folds, on this machine)",
        ["", ""],
        [
            [f"fitting {t.n_trees} trees of {t.n_leaves} leaves on all features, one thread", f"{c.fitting:.2f} s"],
            ["all our paths, folds, refits and transforms", f"{c.ours:.1f} s"],
            ["scoring a document with the trees", f"{1e6 * c.scoring:.1f} us"],
            ["their model file", f"{c.n_bytes / 1000:.0f} kB"],
        ],
    )
