"""Figures of a selection as SVG text."""

from __future__ import annotations

import io
import warnings
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from sparserank.evaluation.statistics import as_percent
from sparserank.selection.choice import Candidate
from sparserank.selection.result import SelectionResult
from sparserank.selection.statements import share
from sparserank.text import visible

INK, SOFT, ACCENT, BAND = "#1c2330", "#8a93a3", "#c2410c", "#dbe4f3"
SERIES = ["#1d4ed8", "#0f766e", "#9333ea", "#b45309", "#be185d", "#4d7c0f"]
LONGEST_NAME = 36  # characters of a feature's name under its curve
LABELLED = 12  # coefficient curves named at the side; more would overprint each other


def picture_text(name: object) -> str:
    """A name as matplotlib must be given it: no mathematics between dollar signs, and legends that keep a leading underscore."""
    text = visible(name).replace("$", r"\$")
    return "\u200b" + text if text.startswith("_") else text


def to_svg(figure: Figure, title: str) -> str:
    out = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "sparserank"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts draw the text, not matplotlib's
        figure.savefig(out, format="svg", metadata={"Date": None, "Title": visible(title), "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def new_axes(x_label: str, y_label: str) -> tuple[Figure, Any]:
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(x_label, color=INK)
    axes.set_ylabel(y_label, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=10)
    axes.grid(axis="y", color="#e5e8ee", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def quality_against_size(result: SelectionResult) -> str:
    """Best quality of each number of features with the interval of its loss against the best, and the chosen point."""
    metric = repr(result.plan.metric)
    best, choice = result.best, result.choice
    figure, axes = new_axes("total cost" if choice.by_cost else "number of features", f"mean {metric}")

    def size(c: Candidate) -> float:
        return c.cost if choice.by_cost else c.n_features

    sizes, means = [size(c) for c in result.by_size], [c.mean for c in result.by_size]
    low = [max(best.mean - choice.bound(c), 0.0) for c in result.by_size]
    axes.fill_between(
        sizes, low, means, color=BAND, linewidth=0,
        label=f"down to the bound on the loss ({as_percent(result.plan.confidence)}, all sizes at once)",
    )  # fmt: skip
    axes.plot(
        sizes,
        means,
        color=SERIES[0],
        marker="o",
        markersize=4,
        linewidth=1.6,
        label=f"best model of each {'cost' if choice.by_cost else 'size'}",
    )
    floor = best.mean - choice.margin
    axes.axhline(
        floor, color=SOFT, linestyle="--", linewidth=1.2, label=f"margin: {share(choice.margin, choice)} below the best"
    )
    axes.plot([size(result.dense)], [result.dense.mean], marker="s", color=INK, linestyle="none", label="dense RankSVM")
    chosen = result.chosen
    axes.plot(
        [size(chosen)], [chosen.mean], marker="o", markersize=11, markerfacecolor="none", markeredgewidth=2.2,
        color=ACCENT, linestyle="none", label=f"chosen: {chosen.n_features} features",
    )  # fmt: skip
    lowest = min([floor, *means])
    span = max(best.mean, *means) - lowest
    axes.set_ylim(lowest - max(0.6 * span, 1e-3), max(best.mean, *means) + max(0.6 * span, 1e-3))
    axes.xaxis.get_major_locator().set_params(integer=not choice.by_cost)
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    return to_svg(figure, f"Quality against {'cost' if choice.by_cost else 'number of features'}")


def coefficient_path(result: SelectionResult) -> str:
    """Coefficients of the chosen penalty's path against alpha; the chosen point as a line, its features coloured."""
    chosen = result.chosen
    path, names = result.paths[chosen.penalty], result.model.feature_names
    # The point that the chosen model is, or is a refit of.
    at = int(np.argmin(np.abs(path.alphas / path.alpha_max - result.model.parameters["alpha_fraction"])))
    of_features = "weight (scaled features)" if path.width == 1 else "size of the feature's curve"
    figure, axes = new_axes("alpha / alpha at the start of the path", of_features)
    fraction = path.alphas / path.alpha_max
    selected = path.support(at)
    features, weights = path.weights()
    of = dict(zip(features.tolist(), weights.T, strict=True))
    strongest = sorted(selected.tolist(), key=lambda j: -abs(of[j][at]))
    for j in features.tolist():
        if j not in selected:
            axes.plot(fraction, of[j], color="#cfd4dd", linewidth=0.9, zorder=1)
    for rank, j in enumerate(strongest):
        label = picture_text(names[j % len(names)]) if rank < LABELLED else None
        style = "-" if rank < len(SERIES) else "--"
        axes.plot(
            fraction,
            of[j],
            color=SERIES[rank % len(SERIES)],
            linestyle=style,
            linewidth=1.5,
            label=label,
            zorder=2,
        )
    axes.axvline(fraction[at], color=ACCENT, linewidth=1.4, zorder=3)
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.axhline(0, color=SOFT, linewidth=0.8)
    axes.legend(frameon=False, fontsize=9, loc="upper left", ncols=2)
    return to_svg(figure, "Coefficient path")


def curve_picture(row: dict[str, Any], name: str) -> str:
    """What a feature adds to the score, and how its training values are spread, beneath."""
    curve = row["curve"]
    figure = Figure(figsize=(4.2, 3.4), layout="constrained")
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    knots, values = np.array(curve["knots"]), np.array(curve["values"])
    margin = 0.06 * (knots[-1] - knots[0])
    axes.plot(
        [knots[0] - margin, *knots, knots[-1] + margin],
        [values[0], *values, values[-1]],
        color=SERIES[0],
        linewidth=1.8,
    )
    axes.plot(knots, values, marker="o", markersize=3.5, linestyle="none", color=SERIES[0])
    axes.set_ylabel("adds to the score", color=INK)
    axes.grid(axis="y", color="#e5e8ee", linewidth=0.8)
    edges, counts = np.array(curve["edges"]), np.array(curve["counts"])
    below.bar(edges[:-1], counts / max(counts.sum(), 1), width=np.diff(edges), align="edge", color=SOFT, linewidth=0)
    below.set_ylabel("share", color=INK)
    shown = picture_text(name)
    below.set_xlabel(shown if len(shown) <= LONGEST_NAME else shown[: LONGEST_NAME - 1] + "\u2026", color=INK)
    for each in (axes, below):
        each.spines[["top", "right"]].set_visible(False)
        each.tick_params(colors=INK, labelsize=9)
    return to_svg(figure, f"Curve of {name}")
