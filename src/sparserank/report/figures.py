"""Figures of a selection as SVG text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparserank.evaluation.statistics import as_percent
from sparserank.paths import PathResult
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
    new_axes,
    new_figure,
    to_svg,
)
from sparserank.selection.result import SelectionResult
from sparserank.selection.statements import MIN_FREQUENCY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BARS = 20  # features in the picture of half-samples
ACROSS = {ALPHA: "strength of the penalty, relative to the start of the path", SIZE: "number of features"}
LABELLED = 11  # coefficient curves named at the side; more would overprint each other


def coefficient_path(result: SelectionResult) -> str:
    """Coefficients of the chosen penalty's path against alpha; a line at the chosen point, its features in colour."""
    path = result.paths[result.chosen.penalty]
    at = result.chosen.index
    if path.penalty.along == ALPHA:  # the point of the path at which the chosen model lies, or of which it is a refit
        at = int(np.argmin(np.abs(path.alphas / path.alpha_max - result.model.parameters["alpha_fraction"])))
    figure, axes = new_axes(*_path_labels(path), PAGE_SIZE)
    _draw_path(path, axes, at)
    legend_below(figure, 3)
    return to_svg(figure, "Coefficient path")


def plot_path(path: PathResult, axes: Any = None) -> Any:
    """Coefficients against the strength of the penalty, on axes of matplotlib."""
    axes = axes_of_user(axes)
    _draw_path(path, axes)
    return labelled(axes, *_path_labels(path))


def _path_labels(path: PathResult) -> tuple[str, str]:
    of_features = "weight (scaled)" if path.width == 1 else "size of the feature's steps"
    return ACROSS[path.penalty.along], of_features


def _draw_path(path: PathResult, axes: Any, at: int | None = None) -> None:
    """Coefficients against what varies along the path; the features in use at point `at` (default: the last point) are
    coloured, the others are grey."""
    along, names = path.penalty.along, path.feature_names
    fraction = path.alphas / path.alpha_max if along == ALPHA else path.nnz
    selected = path.support(len(fraction) - 1 if at is None else at)
    features, weights = path.weights()
    of = dict(zip(features.tolist(), weights.T, strict=True))
    strongest = sorted(selected.tolist(), key=lambda j: -abs(of[j][-1 if at is None else at]))
    for j in features.tolist():
        if j not in selected:
            axes.plot(fraction, of[j], color=FAINT, linewidth=0.9, zorder=1)
    for rank, j in enumerate(strongest):
        label = cut(names[j % len(names)]) if rank < LABELLED else None
        style = {"color": SERIES[rank % len(SERIES)], "linestyle": "-" if rank < len(SERIES) else "--"}
        axes.plot(fraction, of[j], linewidth=1.5, label=label, zorder=2, **style)
    if at is not None:
        axes.axvline(fraction[at], color=INK, linewidth=1.2, linestyle=":", zorder=3, label="chosen model")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if along == ALPHA:
        axes.invert_xaxis()
    axes.axhline(0, color=SOFT, linewidth=0.8)


def kept_by_halves(result: SelectionResult) -> str:
    """Selection frequencies in half-samples: selected features are coloured, the most frequent of the others grey."""
    assert result.stability is not None
    rows = result.facts["stability"][:BARS]
    often = np.array([row["selection_frequency"] for row in rows])
    figure, axes, place = _named_bars([row["feature"] for row in rows])
    for inside, colour, label in ((True, SERIES[0], "in the model"), (False, FAINT, "left out")):
        own = [i for i, row in enumerate(rows) if row["in_model"] is inside]
        if own:
            axes.barh(place[own], often[own], height=0.62, color=colour, label=label)
    axes.axvline(MIN_FREQUENCY, color=SOFT, linestyle="--", linewidth=1.2, label=f"{MIN_FREQUENCY:.0%}")
    axes.set_xlim(0.0, 1.0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel(f"share of {result.stability.n_samples} half-samples", color=INK)
    legend_below(figure, 3)
    return to_svg(figure, f"Selection frequency of each {result.noun} in half-samples")


def worth_of_features(result: SelectionResult, costs: Mapping[str, Mapping[str, float]]) -> str:
    """The cost of leaving out each selected feature, in percent of the mean of the chosen model, with its interval; the
    most costly first. costs: {feature: its cost, low and high}."""
    rows = sorted(costs.items(), key=lambda row: -row[1]["cost"])[:BARS]
    unit = (abs(result.chosen.mean) or 1.0) / 100.0
    cost, low, high = (np.array([c[end] for _, c in rows]) / unit for end in ("cost", "low", "high"))
    figure, axes, place = _named_bars([name for name, _ in rows])
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


def _named_bars(names: Sequence[str]) -> tuple[Figure, Any, np.ndarray]:
    """(figure, axes, places) for horizontal bars with these names, the first on top."""
    figure = new_figure((PAGE_SIZE[0], 0.7 + 0.24 * len(names)))
    axes = figure.add_subplot()
    place = np.arange(len(names))
    axes.set_yticks(place, [cut(name) for name in names])
    axes.invert_yaxis()
    dress(axes)
    return figure, axes, place


def steps_picture(row: Mapping[str, Any]) -> str:
    """The contribution of a feature to the score, above a histogram of its training values."""
    steps, name = row["steps"], row["feature"]
    figure = new_figure((4.2, 3.4))
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    at, values = np.array(steps["at"]), np.array(steps["values"])
    margin = 0.06 * (at[-1] - at[0])
    across, up = [at[0] - margin, *at, at[-1] + margin], [values[0], *values, values[-1]]
    axes.plot(across, up, color=SERIES[0], linewidth=1.8)
    axes.set_ylabel("contribution to the score", color=INK)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    edges, counts = np.array(steps["edges"]), np.array(steps["counts"])
    below.bar(edges[:-1], counts / max(counts.sum(), 1), width=np.diff(edges), align="edge", color=SOFT, linewidth=0)
    below.set_ylabel("share", color=INK)
    below.set_xlabel(cut(name), color=INK)
    for each in (axes, below):
        dress(each)
    return to_svg(figure, f"Steps of {name}")
