"""A comparison with trees as a table and a picture."""

from __future__ import annotations

from matplotlib.ticker import MaxNLocator

from sparserank.compare.result import ALL, CHOICE, ComparisonResult
from sparserank.evaluation.statistics import as_percent
from sparserank.reports.document import Picture, Section, Table, figure
from sparserank.reports.figures import ACCENT, INK, SERIES, SOFT, new_axes, to_svg

LEGEND = len(SERIES)  # makers of ours in a picture; more would hide each other


def comparison_table(result: ComparisonResult) -> Table:
    """Means by size, a system a row; the best of each size in words below it would be chance, so the rows are ordered by maker."""
    sizes = result.sizes
    rows = []
    for name in result.names:
        own = result.of(name)
        rows.append([name, *(figure(own[k].mean) if k in own else "-" for k in sizes)])
    note = (
        f"{ALL} ({result.n_features}): {figure(result.all_features.mean)}; {CHOICE} ({_span(result.n_chosen)} features): "
        f"{figure(result.choice.mean)}. Ours at each size: the best of shrunken, half and fully refitted models of at most that size; like our choice it is "
        "taken by the values shown, which flatters it a little. Features of trees are chosen inside each fold; those on ours are of the maker of our choice."
    )
    repeats = "" if result.repeats == 1 else f", {result.repeats} times over"
    return Table(
        f"Mean {result.metric} out of fold by number of features ({result.n_queries} queries, {result.n_folds} folds{repeats})",
        ["system", *map(str, sizes)], rows, note,
    )  # fmt: skip


def difference_table(result: ComparisonResult) -> Table:
    """What each system and size gains or loses against the trees on all features."""
    rows = [
        [r["system"], "-" if r["features"] is None else str(r["features"]), figure(r["mean"]), figure(r["difference"], signed=True),
         f"[{figure(r['low'], signed=True)}, {figure(r['high'], signed=True)}]"]
        for r in result.rows()
        if "difference" in r
    ]  # fmt: skip
    return Table(
        f"Differences to {ALL}, with {as_percent(result.confidence)} intervals that hold for all sizes of a system at once",
        ["system", "features", result.metric, "difference", "interval"], rows, folded=True,
    )  # fmt: skip


def cost_table(result: ComparisonResult) -> Table:
    """What the trees cost, and our whole search."""
    c, t = result.costs, result.trees
    return Table(
        "Costs (means over folds, this machine)",
        ["", ""],
        [
            [f"fitting {t.n_trees} trees of {t.n_leaves} leaves on all features, one thread", f"{c.fitting:.2f} s"],
            ["all our paths, folds, refits and looks", f"{c.ours:.1f} s"],
            ["scoring a document with the trees", f"{1e6 * c.scoring:.1f} us"],
            ["their model file", f"{c.n_bytes / 1000:.0f} kB"],
        ],
    )


def comparison_picture(result: ComparisonResult) -> str:
    """Quality against the number of features: ours in colour, trees in grey, what has no size as lines across."""
    axes_of = new_axes("number of features", f"mean {result.metric}, out of fold")
    drawn, axes = axes_of
    ours = [n for n in result.names if not n.startswith("trees")]
    best_first = sorted(ours, key=lambda n: -max(s.mean for s in result.of(n).values()))[:LEGEND]
    for i, name in enumerate(best_first):
        own = result.of(name)
        axes.plot(
            sorted(own), [own[k].mean for k in sorted(own)], color=SERIES[i % len(SERIES)], marker="o", markersize=3,
            linewidth=1.5, label=name,
        )  # fmt: skip
    for name, style in zip(
        [n for n in result.names if n.startswith("trees")], ("-", "--", "-.", ":", (0, (1, 3))), strict=False
    ):
        own = result.of(name)
        axes.plot(
            sorted(own), [own[k].mean for k in sorted(own)], color=SOFT, linestyle=style, linewidth=1.3, label=name
        )
    axes.axhline(result.all_features.mean, color=INK, linewidth=1.0, label=ALL)
    axes.axhline(
        result.choice.mean, color=ACCENT, linewidth=1.0, linestyle="--", label=f"{CHOICE} ({_span(result.n_chosen)})"
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, fontsize=7, loc="best", ncols=2)
    return to_svg(drawn, "Quality against number of features, ours and trees")


def comparison_section(result: ComparisonResult, title: str, name: str) -> Section:
    return Section(
        title,
        " ".join(result.sentences()),
        [comparison_table(result), difference_table(result), cost_table(result)],
        [Picture(name, f"{title}: quality against the number of features", comparison_picture(result))],
    )


def _span(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
