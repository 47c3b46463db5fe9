"""The page of what trees should keep, with its picture."""

from __future__ import annotations

from matplotlib.ticker import MaxNLocator

from sparserank import __version__
from sparserank.pages.claims import heading
from sparserank.pages.for_model_screen import kept_table, list_table
from sparserank.pages.selection_figures import PAGE_SIZE, ring
from sparserank.pages.selection_tables import comparison_rows
from sparserank.reporting.colours import INK, SERIES
from sparserank.reporting.document import Picture, Section, figure, first_names
from sparserank.reporting.plots import keep_within, legend_below, new_axes, to_svg
from sparserank.reporting.render import to_html
from sparserank.selection.for_model import TreesSelection
from sparserank.selection.statements import counted


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
    """Quality against the number of features, a line for each kind of list."""
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
