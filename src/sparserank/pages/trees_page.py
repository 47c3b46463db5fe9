"""Pages of what was compared with trees, or judged by them, with their pictures."""

from __future__ import annotations

from dataclasses import replace

from matplotlib.ticker import MaxNLocator

from sparserank import __version__
from sparserank.pages.comparison_tables import comparison_table, cost_table, difference_table
from sparserank.pages.selection_figures import PAGE_SIZE, limits_of
from sparserank.pages.selection_tables import comparison_rows
from sparserank.pages.trees_tables import kept_table, list_table
from sparserank.reporting.colours import ACCENT, INK, SERIES, SOFT
from sparserank.reporting.document import Picture, Section, figure, first_names
from sparserank.reporting.plots import keep_within, legend_below, new_axes, to_svg
from sparserank.reporting.render import to_html
from sparserank.selection.comparison import ALL, CHOICE, ComparisonResult
from sparserank.selection.for_trees import JudgedSelection
from sparserank.selection.statements import counted

LEGEND = len(SERIES)  # makers of ours in a picture; more would hide each other


def comparison_picture(result: ComparisonResult) -> str:
    """Quality against the number of features: ours in colour, trees in grey, what has no size as lines across."""
    drawn, axes = new_axes("number of features", f"mean {result.metric}, out of fold", PAGE_SIZE)
    ours = [n for n in result.names if not n.startswith("trees")]
    best_first = sorted(ours, key=lambda n: -max(s.mean for s in result.of(n).values()))[:LEGEND]
    for i, name in enumerate(best_first):
        own = result.of(name)
        axes.plot(
            sorted(own),
            [own[k].mean for k in sorted(own)],
            color=SERIES[i % len(SERIES)],
            marker="o",
            markersize=3,
            linewidth=1.5,
            label=name,
        )
    for name, style in zip(
        [n for n in result.names if n.startswith("trees")], ("-", "--", "-.", ":", (0, (1, 3))), strict=False
    ):
        own = result.of(name)
        axes.plot(
            sorted(own), [own[k].mean for k in sorted(own)], color=SOFT, linestyle=style, linewidth=1.3, label=name
        )
    axes.axhline(result.all_features.mean, color=INK, linewidth=1.0, label=ALL)
    axes.axhline(result.choice.mean, color=ACCENT, linewidth=1.0, linestyle="--", label=f"{CHOICE} ({result.span})")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    keep_within(axes, limits_of(result.metric))
    legend_below(drawn)
    return to_svg(drawn, "Quality against number of features, ours and trees")


def comparison_section(result: ComparisonResult, title: str, name: str) -> Section:
    return Section(
        title,
        " ".join(result.sentences()),
        [comparison_table(result), difference_table(result), cost_table(result)],
        [
            Picture(
                name, f"{title}: mean {result.metric}, ours and trees", comparison_picture(result), _compared(result)
            )
        ],
    )


def _compared(result: ComparisonResult) -> str:
    """The picture in words."""
    best = {name: max(result.of(name).items(), key=lambda own: own[1].mean) for name in result.names}
    each = "; ".join(f"{name} at most {figure(s.mean)}, with {k} features" for name, (k, s) in best.items())
    return (
        f"{each}; {ALL} {figure(result.all_features.mean)}; {CHOICE} {figure(result.choice.mean)}. The table below "
        "holds the values."
    )


def comparison_page(result: ComparisonResult) -> str:
    """One self-contained HTML document."""
    section = replace(comparison_section(result, "Quality by number of features", "comparison"), text="")
    return to_html(result.headline, result.sentences(), [section], closing=[f"sparserank {__version__}"])


def judged_page(result: JudgedSelection) -> str:
    """One self-contained HTML document."""
    best = (
        f"The best list of each length; chosen: {result.chosen.n_features} features with {figure(result.chosen.mean)}; "
        f"all: {figure(result.all_features.mean)}."
    )
    picture = Picture("lists", f"LightGBM on lists of features: mean {result.metric}", _lists_picture(result), best)
    sections = [
        Section("Features to keep", "", [kept_table(result)]),
        Section("Quality by number of features", "", [list_table(result)], [picture]),
    ]
    if result.test is not None:
        sections.append(Section("Test", "", [comparison_rows(result.test, result.plan.confidence)]))
    return to_html(
        result.headline,
        result.sentences,
        sections,
        closing=[f"sparserank {__version__}"],
        names=first_names(result.features),
    )


def _lists_picture(result: JudgedSelection) -> str:
    drawn, axes = new_axes("number of features", f"mean {result.metric}, out of fold", PAGE_SIZE)
    lists = [c for c in result.choice.candidates if c is not result.all_features]
    for i, name in enumerate(dict.fromkeys(c.penalty for c in lists)):
        own = sorted((c for c in lists if c.penalty == name), key=lambda c: c.k)
        axes.plot(
            [c.k for c in own],
            [c.mean for c in own],
            color=SERIES[i],
            marker="o",
            markersize=3,
            linewidth=1.5,
            label=name,
        )
    axes.axhline(result.all_features.mean, color=INK, linewidth=1.0, label=result.all_features.penalty)
    chosen = result.chosen
    axes.plot(
        [chosen.k],
        [chosen.mean],
        marker="o",
        markersize=11,
        markerfacecolor="none",
        markeredgewidth=2.2,
        color=ACCENT,
        linestyle="none",
        label=f"chosen: {counted(chosen.n_features)}",
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    keep_within(axes, result.plan.metric.limits)
    legend_below(drawn)
    return to_svg(drawn, "LightGBM on lists of features")
