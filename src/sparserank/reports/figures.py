"""Figures of a selection as SVG text."""

from __future__ import annotations

import io
import warnings
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from sparserank.evaluation.statistics import as_percent
from sparserank.paths.sizes import point_within
from sparserank.selection.result import SelectionResult
from sparserank.selection.statements import share
from sparserank.text import visible

INK, SOFT, ACCENT, BAND = "#1c2330", "#8a93a3", "#c2410c", "#dbe4f3"
SERIES = ["#1d4ed8", "#0f766e", "#9333ea", "#b45309", "#be185d", "#4d7c0f"]
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
    figure, axes = new_axes("number of features", f"mean {metric}")
    best, choice = result.best, result.choice
    sizes, means = [c.n_features for c in result.by_size], [c.mean for c in result.by_size]
    low = [max(best.mean - choice.bound(c), 0.0) for c in result.by_size]
    axes.fill_between(
        sizes, low, means, color=BAND, linewidth=0,
        label=f"down to the bound on the loss ({as_percent(result.plan.confidence)}, all sizes at once)",
    )  # fmt: skip
    axes.plot(sizes, means, color=SERIES[0], marker="o", markersize=4, linewidth=1.6, label="best model of each size")
    floor = best.mean - choice.margin
    axes.axhline(
        floor, color=SOFT, linestyle="--", linewidth=1.2, label=f"margin: {share(choice.margin, choice)} below the best"
    )
    axes.plot(
        [result.dense.n_features], [result.dense.mean], marker="s", color=INK, linestyle="none", label="dense RankSVM"
    )
    chosen = result.chosen
    axes.plot(
        [chosen.n_features], [chosen.mean], marker="o", markersize=11, markerfacecolor="none", markeredgewidth=2.2,
        color=ACCENT, linestyle="none", label=f"chosen: {chosen.n_features} features",
    )  # fmt: skip
    lowest = min([floor, *means])
    span = max(best.mean, *means) - lowest
    axes.set_ylim(lowest - max(0.6 * span, 1e-3), max(best.mean, *means) + max(0.6 * span, 1e-3))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    return to_svg(figure, "Quality against number of features")


def coefficient_path(result: SelectionResult) -> str:
    """Coefficients of the chosen penalty's path against alpha; the chosen point as a line, its features coloured."""
    chosen = result.chosen
    path, names = result.paths[chosen.penalty], result.model.feature_names
    at = point_within(path.nnz, path.losses, chosen.k)  # the point that the chosen model is, or is a refit of
    assert at is not None
    figure, axes = new_axes("alpha / alpha at the start of the path", "weight (scaled features)")
    fraction = path.alphas / path.alpha_max
    selected = path.support(at)
    strongest = selected[np.argsort(-np.abs(path.scaled_coef(at)[selected]), kind="stable")]
    coefs = path.sparse_coefs.tocsc()
    for j in np.flatnonzero(np.diff(coefs.indptr)):
        if j not in selected:
            axes.plot(fraction, coefs[:, [j]].toarray(), color="#cfd4dd", linewidth=0.9, zorder=1)
    for rank, j in enumerate(strongest):
        label = picture_text(names[j % len(names)]) if rank < LABELLED else None
        style = "-" if rank < len(SERIES) else "--"
        axes.plot(
            fraction,
            coefs[:, [j]].toarray(),
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
