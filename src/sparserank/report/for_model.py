"""The output of `select --for-model`: the text on the screen and the page."""

from __future__ import annotations

import math

from sparserank import __version__
from sparserank.crossval.choice import Candidate
from sparserank.evaluation.loss_bounds import MIN_QUERIES
from sparserank.evaluation.statistics import as_percent
from sparserank.report.document import Column, Picture, Section, Table
from sparserank.report.html import to_html
from sparserank.report.svg import INK, PAGE_SIZE, SERIES, keep_within, legend_below, new_axes, ring, to_svg
from sparserank.report.tables import columns_of_sizes, comparison_table, evenly, sizes_against
from sparserank.selection.claims import counted, estimated, heading, on_test, share
from sparserank.selection.trees_selection import ALL, TreesSelection
from sparserank.text import change, figure

MAX_FEATURES, MAX_SIZES = 8, 6
MAX_CHIPS = 40  # names below the title of the page
MAX_NAMES = 40  # characters of the names of further features in a line
BAR = 10  # characters of the largest gain


def for_model_lines(result: TreesSelection) -> list[str | Table]:
    """Lines and tables of the list that trees should keep."""
    choice, chosen, everything = result.choice, result.chosen, result.all_features

    def row(name: str, of: Candidate) -> list[str]:
        against = "" if of is everything else change(of.mean, everything.mean)
        return [name, str(of.n_features), figure(of.mean), against]

    rows = [row("trees, all features", everything)]
    rows += [row("trees, chosen list", chosen)] if chosen is not everything else []
    limit, bound, confidence = result.plan.rule.limit, choice.bound(chosen), as_percent(result.plan.confidence)
    at_most = f"{result.n_queries} queries are too few to bound it, at least {MIN_QUERIES} are needed"
    if math.isfinite(bound):
        at_most = f"with {confidence} confidence at most {share(bound, choice)}"
    rule = "" if limit is None else f"It is the best list of {limit}. "
    test = result.test
    return [
        f"Keep {chosen.n_features} of {counted(len(result.feature_names))}: {chosen.penalty}.  {result.n_queries} "
        "queries, each scored by trees not trained on it.",
        "",
        Table("", ["", "features", result.metric, "against all"], rows),
        f"{rule}Estimated loss against the best of {len(choice.candidates)} lists: {estimated(chosen, choice)}; "
        f"{at_most}.",
        *([] if test is None else [on_test(test, result.metric, result.plan.confidence, (ALL,), "all features")]),
        "",
        _gains(result),
        _sizes(result),
        *result.notes,
    ]


def list_table(result: TreesSelection) -> Table:
    """The best list of each length, then all features, with bounds that hold for all of them at once."""
    title = (
        f"LightGBM on the best list of each {'cost' if result.choice.by_cost else 'length'}, out of fold over "
        f"{result.n_queries} queries (simultaneous bounds, {as_percent(result.plan.confidence)})"
    )
    return Table.of(title, result.facts["sizes"], columns_of_sizes(result.choice, result.plan, "list"), words=["list"])


def kept_table(result: TreesSelection) -> Table:
    """The chosen features and their share of the gain."""
    columns = {"feature": "{feature}", "share of the gain": "{gain:.1%}"}
    return Table.of("Features to keep", result.facts["features"], columns)


def _gains(result: TreesSelection) -> Table:
    rows = result.facts["features"]
    top = max([row["gain"] for row in rows], default=0.0) or 1.0
    columns: dict[str, Column] = {"feature": "{feature}", "gain": "{gain:.1%}"}
    columns[""] = lambda row: ("=" * round(BAR * row["gain"] / top)).ljust(BAR)
    table, rest = Table.of("", rows[:MAX_FEATURES], columns), rows[MAX_FEATURES:]
    if rest:
        names = ", ".join(row["feature"] for row in rest)
        more = names if len(names) <= MAX_NAMES else f"{len(rest)} more"
        table.rows.append([more, f"{sum(row['gain'] for row in rest):.1%}", ""])
    return table


def _sizes(result: TreesSelection) -> Table:
    """At most MAX_SIZES evenly spaced lengths, including the first, the last and the chosen one."""
    chosen = next((i for i, c in enumerate(result.by_size) if c is result.chosen), 0)
    shown = [result.by_size[i] for i in evenly(len(result.by_size), MAX_SIZES, chosen)]
    sizes, changes = sizes_against(shown, result.chosen, result.all_features.mean)
    return Table("", ["features", *sizes], [["trees against all features", *changes]])


# -- the page ---------------------------------------------------------------------------------------------------------


def lists_page(result: TreesSelection) -> str:
    """One self-contained HTML document."""
    more = len(result.features) - MAX_CHIPS
    best = (
        f"The figure shows the best list of each length. The chosen list has {result.chosen.n_features} features and "
        f"a mean of {figure(result.chosen.mean)}; all features have {figure(result.all_features.mean)}. The means are "
        "out of fold and not corrected for the choice."
    )
    picture = Picture("lists", f"LightGBM on lists of features: mean {result.metric}", _lists_picture(result), best)
    sections = [
        Section("Features to keep", "", [kept_table(result)]),
        Section("Quality by number of features", "", [list_table(result)], [picture]),
    ]
    if result.test is not None:
        sections.append(Section("Test", "", [comparison_table(result.test, result.plan.confidence)]))
    return to_html(
        heading(result.choice, len(result.feature_names)),
        f"{result.headline}.",
        sections,
        closing=[f"sparserank {__version__}"],
        names=[*result.features[:MAX_CHIPS], *([f"{more} more"] if more > 0 else [])],
        sure=result.sentences,
    )


def _lists_picture(result: TreesSelection) -> str:
    """Quality against the number of features, a line for each kind of list."""
    from matplotlib.ticker import MaxNLocator

    drawn, axes = new_axes("number of features", f"mean {result.metric}, out of fold", PAGE_SIZE)
    lists = [c for c in result.choice.candidates if c is not result.all_features]
    for name, colour in zip(dict.fromkeys(c.penalty for c in lists), SERIES, strict=False):
        own = sorted((c.k, c.mean) for c in lists if c.penalty == name)
        axes.plot(*zip(*own, strict=True), label=name, color=colour, marker="o", markersize=3, linewidth=1.5)
    axes.axhline(result.all_features.mean, color=INK, linewidth=1.0, label=result.all_features.penalty)
    ring(axes, result.chosen.k, result.chosen.mean, f"chosen: {counted(result.chosen.n_features)}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    keep_within(axes, result.plan.metric.limits)
    legend_below(drawn)
    return to_svg(drawn, "LightGBM on lists of features")
