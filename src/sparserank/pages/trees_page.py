"""Pages of what was compared with trees, or judged by them, with their pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sparserank import __version__
from sparserank.crossval.choice import Candidate
from sparserank.pages.claims import heading
from sparserank.pages.comparison_tables import comparison_table, cost_table, difference_table
from sparserank.pages.selection_figures import PAGE_SIZE, limits_of, ring
from sparserank.pages.selection_tables import comparison_rows
from sparserank.pages.trees_tables import kept_table, list_table
from sparserank.reporting.colours import ACCENT, INK, SERIES, SOFT
from sparserank.reporting.document import Picture, Section, figure, first_names
from sparserank.reporting.plots import keep_within, legend_below, new_axes, to_svg
from sparserank.reporting.render import to_html
from sparserank.selection.comparison import ALL, CHOICE, ComparedSystem, ComparisonResult
from sparserank.selection.for_trees import TreesSelection
from sparserank.selection.statements import counted

LEGEND = len(SERIES)  # makers of ours in a picture; more would hide each other


def comparison_picture(result: ComparisonResult) -> str:
    """Quality against the number of features: ours in colour, trees in grey, what has no size as lines across."""
    drawn, axes = _quality_axes(result.metric)
    draw_comparison(result, axes)
    return _finished(drawn, axes, limits_of(result.metric), "Quality against number of features, ours and trees")


def draw_comparison(result: ComparisonResult, axes: Any) -> None:
    """Means by number of features: ours in colour, trees in grey, what has no size as lines across."""
    ours = [n for n in result.names if not n.startswith("trees")]
    best_first = sorted(ours, key=lambda n: -max(s.mean for s in result.of(n).values()))[:LEGEND]
    for name, colour in zip(best_first, SERIES, strict=False):
        _line(axes, name, result.of(name), color=colour, marker="o", markersize=3, linewidth=1.5)
    of_trees = [n for n in result.names if n.startswith("trees")]
    for name, style in zip(of_trees, ("-", "--", "-.", ":", (0, (1, 3))), strict=False):
        _line(axes, name, result.of(name), color=SOFT, linestyle=style, linewidth=1.3)
    axes.axhline(result.all_features.mean, color=INK, linewidth=1.0, label=ALL)
    axes.axhline(result.choice.mean, color=ACCENT, linewidth=1.0, linestyle="--", label=f"{CHOICE} ({result.span})")


def _quality_axes(metric: str) -> tuple[Figure, Any]:
    return new_axes("number of features", f"mean {metric}, out of fold", PAGE_SIZE)


def _line(axes: Any, name: str, by_size: Mapping[Any, ComparedSystem | Candidate], **style: Any) -> None:
    """The means of a system by its number of features."""
    axes.plot(sorted(by_size), [by_size[k].mean for k in sorted(by_size)], label=name, **style)


def _finished(drawn: Figure, axes: Any, limits: tuple[float, float], title: str) -> str:
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    keep_within(axes, limits)
    legend_below(drawn)
    return to_svg(drawn, title)


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
        "contains the values."
    )


def comparison_page(result: ComparisonResult) -> str:
    """One self-contained HTML document."""
    section = replace(comparison_section(result, "Quality by number of features", "comparison"), text="")
    first, *sure = result.sentences()
    title = f"{counted(result.span)} or trees on all {result.n_features}"
    return to_html(title, first, [section], closing=[f"sparserank {__version__}"], sure=sure)


def lists_page(result: TreesSelection) -> str:
    """One self-contained HTML document."""
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
        sections.append(Section("Test", "", [comparison_rows(result.test, result.plan.confidence)]))
    return to_html(
        heading(result.choice, len(result.feature_names)),
        f"{result.headline}.",
        sections,
        closing=[f"sparserank {__version__}"],
        names=first_names(result.features),
        sure=result.sentences,
    )


def _lists_picture(result: TreesSelection) -> str:
    drawn, axes = _quality_axes(result.metric)
    lists = [c for c in result.choice.candidates if c is not result.all_features]
    for name, colour in zip(dict.fromkeys(c.penalty for c in lists), SERIES, strict=False):
        own = {c.k: c for c in lists if c.penalty == name}
        _line(axes, name, own, color=colour, marker="o", markersize=3, linewidth=1.5)
    axes.axhline(result.all_features.mean, color=INK, linewidth=1.0, label=result.all_features.penalty)
    ring(axes, result.chosen.k, result.chosen.mean, f"chosen: {counted(result.chosen.n_features)}")
    return _finished(drawn, axes, result.plan.metric.limits, "LightGBM on lists of features")
