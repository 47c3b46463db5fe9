"""Pages of what was compared with trees, or judged by them, with their pictures."""

from __future__ import annotations

from matplotlib.ticker import MaxNLocator

from sparserank import __version__
from sparserank.compare.judged import JudgedSelection
from sparserank.compare.result import ALL, CHOICE, ComparisonResult
from sparserank.reports.comparison import comparison_table, cost_table, difference_table, span
from sparserank.reports.document import Picture, Section
from sparserank.reports.figures import ACCENT, INK, SERIES, SOFT, new_axes, to_svg
from sparserank.reports.judged import kept_table, list_table
from sparserank.reports.render import to_html
from sparserank.reports.selection import comparison_rows

LEGEND = len(SERIES)  # makers of ours in a picture; more would hide each other


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
        result.choice.mean, color=ACCENT, linewidth=1.0, linestyle="--", label=f"{CHOICE} ({span(result.n_chosen)})"
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


def judged_page(result: JudgedSelection) -> str:
    """One self-contained HTML document."""
    picture = Picture("lists", "LightGBM on lists of features", _lists_picture(result))
    sections = [
        Section("Quality against number of features", "", [list_table(result)], [picture]),
        Section("Features to keep", "", [kept_table(result)]),
    ]
    if result.test is not None:
        sections.append(Section("Test queries", "", [comparison_rows(result.test, result.plan.confidence)]))
    title = f"{result.chosen.n_features} of {len(result.feature_names)} features for trees"
    return to_html(title, result.sentence, sections, closing=[f"sparserank {__version__}"])


def _lists_picture(result: JudgedSelection) -> str:
    drawn, axes = new_axes("number of features", f"mean {result.metric}, out of fold")
    lists = [c for c in result.choice.candidates if c is not result.all_features]
    for i, name in enumerate(dict.fromkeys(c.penalty for c in lists)):
        own = sorted((c for c in lists if c.penalty == name), key=lambda c: c.k)
        axes.plot(
            [c.k for c in own], [c.mean for c in own], color=SERIES[i], marker="o", markersize=3, linewidth=1.5, label=name
        )  # fmt: skip
    axes.axhline(result.all_features.mean, color=INK, linewidth=1.0, label=result.all_features.penalty)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, fontsize=7, loc="best")
    return to_svg(drawn, "LightGBM on lists of features")
