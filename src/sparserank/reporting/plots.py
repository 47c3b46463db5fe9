"""Pictures drawn by matplotlib, as SVG text."""

from __future__ import annotations

import io
import math
import warnings
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from sparserank.reporting.colours import GRID, INK
from sparserank.text import visible

LEGEND_LINE = 66  # characters of a line of the legend, six for each line that it explains


LEGEND_HEIGHT = 0.2  # inches of a line


def picture_text(name: object) -> str:
    """A name in the form that matplotlib needs: without mathematics between dollar signs,
    and with a leading underscore that legends keep."""
    text = visible(name).replace("$", r"\$")
    return "\u200b" + text if text.startswith("_") else text


def to_svg(figure: Figure, title: str) -> str:
    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "sparserank"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts draw the text, not matplotlib's
        figure.savefig(out, format="svg", metadata={"Date": None, "Title": visible(title), "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def new_axes(x_label: str, y_label: str, size: tuple[float, float] = (6.0, 4.0)) -> tuple[Figure, Any]:
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x_label, color=INK)
    axes.set_ylabel(y_label, color=INK)
    dress(axes)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    return figure, axes


def dress(axes: Any) -> None:
    """Keep two spines, and draw the axes below the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=10)
    axes.set_axisbelow(True)


def legend_below(figure: Figure, columns: int = 2) -> None:
    """Put the legend below the axes, where it hides nothing, in fewer columns if its labels are long.
    The figure grows by its lines."""
    labels = [label for axes in figure.axes for label in axes.get_legend_handles_labels()[1]]
    longest = max(map(len, labels), default=0)
    fitting = min(max(LEGEND_LINE // (longest + 6), 1), columns)
    figure.set_figheight(figure.get_figheight() + LEGEND_HEIGHT * math.ceil(len(labels) / fitting))
    figure.legend(
        loc="outside lower left",
        ncols=fitting,
        frameon=False,
        fontsize=9.5,
        labelcolor=INK,
        handlelength=1.8,
        columnspacing=1.4,
    )


def keep_within(axes: Any, limits: tuple[float, float]) -> None:
    """Limit the vertical axis to the values that the metric can take."""
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, limits[0]), min(high, limits[1]))
