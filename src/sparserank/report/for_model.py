"""The output of `select --for-model`: the text on the screen and the page."""

from __future__ import annotations

from sparserank import __version__
from sparserank.crossval.choice import Candidate
from sparserank.evaluation.statistics import as_percent
from sparserank.report.document import Picture, Section, Table
from sparserank.report.html import to_html
from sparserank.report.screen import aligned, wrapped
from sparserank.report.svg import INK, PAGE_SIZE, SERIES, keep_within, legend_below, new_axes, ring, to_svg
from sparserank.report.tables import columns_of_sizes, comparison_table, evenly, sizes_against
from sparserank.selection.claims import BELOW, FIRST, counted, heading, on_test
from sparserank.selection.lists import ALL, TreesSelection
from sparserank.text import change, figure, visible

MAX_FEATURES, MAX_SIZES = 8, 6
MAX_CHIPS = 40  # names below the title of the page
MAX_NAMES = 40  # characters of the names of further features in a line
BAR = 10  # characters of the largest gain


def screen_of_lists(result: TreesSelection) -> list[str]:
    """The lines about the list that trees should keep."""
    chosen = result.chosen
    everything = result.all_features

    def row(name: str, of: Candidate) -> list[str]:
        against = "" if of is everything else change(of.mean, everything.mean)
        return [name, str(of.n_features), figure(of.mean), against]

    rows = [["", "features", result.metric, "against all"], row("trees, all features", everything)]
    rows += [row("trees, chosen list", chosen)] if chosen is not everything else []
    test = result.test
    return [
        *wrapped(claim.text for claim in result.claims if claim.rank == FIRST),
        "",
        *aligned(rows, "<", ">", ">", ">"),
        "",
        *wrapped(claim.text for claim in result.claims if claim.rank == BELOW),
        *([] if test is None else [on_test(test, result.metric, result.plan.confidence, (ALL,), "all features")]),
        "",
        *_gains(result),
        "",
        *_sizes(result),
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


def _gains(result: TreesSelection) -> list[str]:
    """The chosen features, those with the largest gain first."""
    rows = result.facts["features"]
    top = max([row["gain"] for row in rows], default=0.0) or 1.0
    lines = [["feature", "gain", ""]]
    for row in rows[:MAX_FEATURES]:
        lines.append([visible(row["feature"]), f"{row['gain']:.1%}", "=" * round(BAR * row["gain"] / top)])
    rest = rows[MAX_FEATURES:]
    if rest:
        names = ", ".join(visible(row["feature"]) for row in rest)
        more = names if len(names) <= MAX_NAMES else f"{len(rest)} more"
        lines.append([more, f"{sum(row['gain'] for row in rest):.1%}", ""])
    return aligned(lines, "<", ">", "<")


def _sizes(result: TreesSelection) -> list[str]:
    """At most MAX_SIZES evenly spaced lengths, including the first, the last and the chosen one."""
    chosen = next((i for i, c in enumerate(result.by_size) if c is result.chosen), 0)
    shown = [result.by_size[i] for i in evenly(len(result.by_size), MAX_SIZES, chosen)]
    sizes, changes = sizes_against(shown, result.chosen, result.all_features.mean)
    lines = [["features", *sizes], ["trees against all features", *changes]]
    return aligned(lines, "<", *[">"] * len(sizes))


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
