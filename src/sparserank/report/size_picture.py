"""Quality against size: the best model of at most each size, with horizontal lines for other rankers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparserank.crossval.choice import Candidate
from sparserank.evaluation.statistics import as_percent
from sparserank.report.document import Picture
from sparserank.report.svg import (
    ACCENT,
    BAND,
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
    ring,
    to_svg,
)
from sparserank.selection.claims import counted
from sparserank.selection.rivals import ComparedRival
from sparserank.text import listed, percent, relative

if TYPE_CHECKING:
    from sparserank.selection.result import ChoiceResult

MAIN = 10.0  # percent below the highest value shown: the range of the main panel
ROOM = 0.06  # margin above and below the values of an axis, as a fraction of its range
MAX_LINEAR = 40  # features; above this, the axis is logarithmic
MAX_LINES = 5  # rankers with a line
BELOW = 1.1  # height of the second panel in inches
LABEL_GAP = 0.09  # least distance of two labels at the side, as a fraction of the axis height
LABEL = 22  # characters of a ranker's name at the side


def size_picture(result: ChoiceResult) -> Picture:
    """Quality against size, with a description in words."""
    heights = _Heights(result)
    reference = result.reference.name
    first = result.by_size[0]
    last = result.by_size[-1]
    across = "cost" if result.choice.by_cost else f"number of {result.noun}s"

    def quality_with(c: Candidate) -> str:
        return f"{percent(heights.percent(c.mean) / 100.0)} with {counted(c.n_features, result.noun)}"

    levels = listed([f"{name} {percent(height / 100.0)}" for name, height in heights.levels])
    return Picture(
        "quality",
        f"{result.metric} by {across}, compared with {reference}",
        quality_against_size(result),
        f"The best model of at most each size, compared with {reference}: {quality_with(first)}, {quality_with(last)}. "
        f"Chosen: {quality_with(result.chosen)}. Lines: {levels}. The table of sizes contains the values.",
    )


def quality_against_size(result: ChoiceResult) -> str:
    """The picture, with a second panel for sizes that lie far below."""
    heights, (across, up) = _Heights(result), _labels(result)
    figure, axes = new_axes(across, up, PAGE_SIZE)
    if heights.far:
        axes.remove()
        figure.set_figheight(PAGE_SIZE[1] + BELOW)
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(PAGE_SIZE[1], BELOW))
        for panel in (axes, below):
            dress(panel)
            panel.grid(axis="y", color=GRID, linewidth=0.8)
        axes.set_ylabel(up, color=INK)
        below.set_xlabel(across, color=INK)
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(bottom=False, labelbottom=False)
        heights.draw(below, main=False)
    heights.draw(axes)
    legend_below(figure, 1)
    return to_svg(figure, f"{result.metric} against {'cost' if result.choice.by_cost else f'number of {result.noun}s'}")


def _labels(result: ChoiceResult) -> tuple[str, str]:
    """The labels of the axes."""
    across = result.choice.rule.cost if result.choice.by_cost else f"number of {result.noun}s"
    return across, f"{result.metric} against {result.reference.name}, %"


def plot_sizes(result: ChoiceResult, axes: Any = None) -> Any:
    """Plot the best model of at most each size, with its interval, and the chosen one, in percent of the reference, on
    matplotlib axes; only values within MAIN percent of the best are shown."""
    axes = axes_of_user(axes)
    _Heights(result).draw(axes)
    return labelled(axes, *_labels(result))


def lines_of(result: ChoiceResult) -> list[ComparedRival]:
    """The rivals with a line in the picture: the best one with a single feature, then the others by descending mean."""
    by_mean = sorted(result.rivals.compared, key=lambda r: -r.mean)
    single, others = ([r for r in by_mean if (r.n_features == 1) is one] for one in (True, False))
    return [*single[:1], *others][:MAX_LINES]


class _Heights:
    """The values of the picture, in percent of the reference."""

    def __init__(self, result: ChoiceResult) -> None:
        self.result = result
        self.by_cost = result.choice.by_cost
        self.name = result.reference.name
        self.mean = result.reference.mean
        self.unit = abs(self.mean) or 1.0
        by_size = result.by_size
        # Only the chosen model may be worse than a smaller one.
        means = [c.mean for c in by_size]
        self.best_until = [int(np.argmax(means[: i + 1])) for i in range(len(means))]
        self.sizes = [self.size(c) for c in by_size]
        self.heights = [self.percent(means[i]) for i in self.best_until]
        self.chosen = self.percent(result.chosen.mean)
        dense = [] if result.change is None else [result.against_all]
        self.levels = [(r.name, self.percent(r.mean)) for r in (*lines_of(result), *dense, result.reference)]
        shown = [*self.heights, self.chosen, *(height for _, height in self.levels)]
        self.floor = max(shown) - MAIN
        self.far = [h for h in shown if h < self.floor]
        # Include the interval of the chosen size, as far as there is room.
        ends = [min(max(end, self.floor), max(shown) + 0.3 * MAIN) for end in self.interval if math.isfinite(end)]
        self.within = [*(h for h in shown if h >= self.floor), *ends]

    def percent(self, mean: float) -> float:
        return 100.0 * (mean - self.mean) / self.unit

    def size(self, c: Candidate) -> float:
        return c.cost if self.by_cost else c.n_features

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the chosen model compared with the reference, in percent; infinite: unknown."""
        at = self.result.reference
        return 100.0 * at.low / self.unit, 100.0 * at.high / self.unit

    def ends(self) -> np.ndarray:
        """(2, n_sizes) ends of the interval of each size; infinite where only the chosen size is compared."""
        sizes = [self.result.reference.sizes[i] for i in self.best_until]
        return np.array([[b.low for b in sizes], [b.high for b in sizes]]) * 100.0 / self.unit

    def draw(self, axes: Any, *, main: bool = True) -> None:
        """Draw on the main axes, for values close to the best, or on the second axes, for the others."""
        self._limit(axes, self.within if main else [*self.far, self.floor], top=main)
        # The last step extends to the end of the axis: more features are not better.
        right = axes.get_xlim()[1]
        sizes = [*self.sizes, right]
        heights = [*self.heights, self.heights[-1]]
        ends = self.ends()
        if np.isfinite(ends).all():
            low, high = np.append(ends, ends[:, -1:], axis=1)
            confidence = as_percent(self.result.plan.confidence)
            label = f"{confidence} interval of the difference, all sizes at once" if main else None
            axes.fill_between(sizes, low, high, step="post", color=BAND, linewidth=0, label=label)
        label = f"best model of at most this {'cost' if self.by_cost else 'size'}" if main else None
        axes.plot(sizes, heights, color=SERIES[0], drawstyle="steps-post", linewidth=1.6, label=label)
        axes.plot(self.sizes, self.heights, color=SERIES[0], marker="o", markersize=4, linestyle="none")
        chosen = self.result.chosen
        r = self.result.reference
        known = math.isfinite(r.high - r.low)
        if (self.chosen >= self.floor) is main:
            against = f", {relative(r.difference, r.low, r.high, r.mean, shown=False)}" if known else ""
            label_of_chosen = f"chosen: {counted(chosen.n_features, self.result.noun)}{against}"
            ring(axes, self.size(chosen), self.chosen, label_of_chosen)
        if known:
            axes.plot([self.size(chosen)] * 2, self.interval, color=ACCENT, linewidth=1.6, zorder=1.5)
        self._lines(axes, [level for level in self.levels if (level[1] >= self.floor) is main])

    def _limit(self, axes: Any, shown: Sequence[float], *, top: bool) -> None:
        low = min(shown)
        high = max(shown)
        room = max(ROOM * (high - low), 0.3)
        least, most = (self.percent(value) for value in self.result.plan.metric.limits)
        axes.set_ylim(max(low - room, least), min(high + room, most) if top else high)
        largest = max(*self.sizes, self.size(self.result.chosen))
        if self.by_cost or largest <= MAX_LINEAR:
            axes.set_xlim(0.0 if self.by_cost else 0.5, 1.05 * largest)
            axes.xaxis.get_major_locator().set_params(integer=not self.by_cost)
        else:
            axes.set_xscale("log")
            axes.set_xlim(0.9 * min(self.sizes), 1.1 * largest)
            ticks = [t * 10**e for e in range(6) for t in (1, 2, 5) if min(self.sizes) <= t * 10**e <= largest]
            axes.set_xticks(ticks, [str(t) for t in ticks])
            axes.minorticks_off()

    def _lines(self, axes: Any, levels: Sequence[tuple[str, float]]) -> None:
        """Horizontal lines for (name, height), with names at the right that do not overlap."""
        low, high = axes.get_ylim()
        rising = sorted(levels, key=lambda level: level[1])
        at = [(height - low) / (high - low) for _, height in rising]
        for (name, height), true_place, place in zip(rising, at, spread(at, LABEL_GAP), strict=True):
            zero = name == self.name
            colour, style = (INK, "-") if zero else (SOFT, (0, (4, 2)))
            axes.axhline(height, color=colour, linewidth=1.1, linestyle=style, zorder=1)
            text = cut(name, LABEL) if zero else f"{cut(name, LABEL)} {percent(height / 100.0)}"
            axes.plot(
                [1.0, 1.025], [true_place, place], color=colour, linewidth=0.7, transform=axes.transAxes, clip_on=False
            )
            axes.text(1.035, place, text, transform=axes.transAxes, va="center", fontsize=9.5, color=colour)


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Ascending positions, moved as little as necessary to be at least `gap` apart."""
    out: list[float] = []
    for place in places:
        out.append(max(place, out[-1] + gap) if out else place)
    # Move positions that were pushed up back by half of the shift, where there is room.
    for i in reversed(range(len(out))):
        lower = 0.5 * (places[i] + out[i])
        above = out[i + 1] - gap if i + 1 < len(out) else math.inf
        out[i] = min(max(lower, out[i - 1] + gap if i else -math.inf), above)
    return out
