"""Figures of a selection as SVG text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sparserank.evaluation.statistics import as_percent
from sparserank.penalties.rules import ALPHA, SIZE
from sparserank.report.svg import (
    FAINT,
    GRID,
    INK,
    PAGE_SIZE,
    SERIES,
    SOFT,
    axes_of_user,
    cut,
    dress,
    labelled,
    legend_below,
    new_figure,
    to_svg,
)

if TYPE_CHECKING:
    from sparserank.paths import PathResult
    from sparserank.selection.result import SelectionResult

BARS = 20  # features in the picture of costs
ACROSS = {ALPHA: "strength of the penalty, relative to the start of the path", SIZE: "number of features"}
LABELLED = 11  # coefficient curves named at the side; more would overprint each other


def plot_path(path: PathResult, axes: Any = None) -> Any:
    """Coefficients against the strength of the penalty, on axes of matplotlib; the features of the last point are
    coloured, the others are grey."""
    axes = axes_of_user(axes)
    along = path.penalty.along
    fraction = path.alphas / path.alpha_max if along == ALPHA else path.nnz
    selected = path.support(len(fraction) - 1)
    features, weights = path.weights()
    of = dict(zip(features.tolist(), weights.T, strict=True))
    strongest = sorted(selected.tolist(), key=lambda j: -abs(of[j][-1]))
    for j in features.tolist():
        if j not in selected:
            axes.plot(fraction, of[j], color=FAINT, linewidth=0.9, zorder=1)
    for rank, j in enumerate(strongest):
        label = cut(path.feature_names[j % len(path.feature_names)]) if rank < LABELLED else None
        style = {"color": SERIES[rank % len(SERIES)], "linestyle": "-" if rank < len(SERIES) else "--"}
        axes.plot(fraction, of[j], linewidth=1.5, label=label, zorder=2, **style)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if along == ALPHA:
        axes.invert_xaxis()
    axes.axhline(0, color=SOFT, linewidth=0.8)
    return labelled(axes, ACROSS[along], "weight (scaled)" if path.width == 1 else "size of the feature's steps")


def worth_of_features(result: SelectionResult, costs: Mapping[str, Mapping[str, float]]) -> str:
    """The cost of leaving out each selected feature, in percent of the mean of the chosen model, with its interval; the
    most costly first. costs: {feature: its cost, low and high}."""
    rows = sorted(costs.items(), key=lambda row: -row[1]["cost"])[:BARS]
    unit = (abs(result.chosen.mean) or 1.0) / 100.0
    cost, low, high = (np.array([c[end] for _, c in rows]) / unit for end in ("cost", "low", "high"))
    # A horizontal bar for each feature, the first on top.
    figure = new_figure((PAGE_SIZE[0], 0.7 + 0.24 * len(rows)))
    axes: Any = figure.add_subplot()
    place = np.arange(len(rows))
    axes.set_yticks(place, [cut(name) for name, _ in rows])
    axes.invert_yaxis()
    dress(axes)
    axes.barh(place, cost, height=0.62, color=SERIES[0])
    known = np.isfinite(high - low)
    ends = np.stack([cost - low, high - cost])[:, known]
    label = f"{as_percent(result.plan.confidence)} interval of this {result.noun} alone"
    style = {"fmt": "none", "ecolor": INK, "elinewidth": 1.2, "capsize": 2.5}
    axes.errorbar(cost[known], place[known], xerr=ends, label=label, **style)
    axes.axvline(0.0, color=SOFT, linewidth=0.8)
    axes.set_xlabel(f"loss of {result.metric} without it, %", color=INK)
    legend_below(figure, 1)
    return to_svg(figure, f"Loss without each {result.noun}")


def steps_picture(row: Mapping[str, Any]) -> str:
    """The contribution of a feature to the score, above a histogram of its training values."""
    steps = row["steps"]
    name = row["feature"]
    figure = new_figure((4.2, 3.4))
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    at = np.array(steps["at"])
    values = np.array(steps["values"])
    margin = 0.06 * (at[-1] - at[0])
    across = [at[0] - margin, *at, at[-1] + margin]
    up = [values[0], *values, values[-1]]
    axes.plot(across, up, color=SERIES[0], linewidth=1.8)
    axes.set_ylabel("contribution to the score", color=INK)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    edges = np.array(steps["edges"])
    counts = np.array(steps["counts"])
    below.bar(edges[:-1], counts / max(counts.sum(), 1), width=np.diff(edges), align="edge", color=SOFT, linewidth=0)
    below.set_ylabel("share", color=INK)
    below.set_xlabel(cut(name), color=INK)
    for panel in (axes, below):
        dress(panel)
    return to_svg(figure, f"Steps of {name}")
