"""A model in words: one sentence per feature, for readers who know the features but no formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparserank.model.feature import Feature
from sparserank.model.ranking_model import RankingModel
from sparserank.model.training_record import LOST, points_of
from sparserank.options.arguments import check_arguments
from sparserank.text import percent, visible
from sparserank.transforms import NONE

SMALL = 0.1  # share of the range of steps; smaller ups and downs are left out
MAX_LEVELS = 4  # largest number of levels of a category that a sentence names as raising, and as lowering, a document
EDGE = 0.05  # share of a part's change that is cut off at each of its ends


class Stretch(NamedTuple):
    """A part of a step function that rises or falls, from x = low to x = high."""

    rises: bool
    low: float
    high: float


def in_words(model: RankingModel) -> dict[str, str]:
    """Describe a model in words, as `sparserank explain --plain` does.

    Parameters
    ----------
    model : RankingModel
        The model.

    Returns
    -------
    dict
        {feature: what a larger value of it, or its level, does to a document, and the change of the metric without it},
        largest change first, or largest weight if the changes are not known, in the units of the feature. Ups and downs
        of less than a tenth of the range of steps are left out, and so is what only missing values reach.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 6, n_informative=2, n_redundant=1).data
    >>> ranker = sr.SparseRanker(k=1, penalty="mcp").fit(data.X, data.relevance, qid=data.qid)
    >>> sr.in_words(ranker.to_model())
    {'f1': 'A larger f1 raises a document.'}
    """
    check_arguments(in_words, locals())
    texts = {name: _of_source(model, name, model.sources[name]) for name in model.weights}
    lost = model.metadata.get(LOST)
    if not isinstance(lost, dict) or lost.keys() != texts.keys() or "metric" not in model.metadata:
        return texts
    without = f"Without it: {visible(model.metadata['metric'])}"
    return {name: f"{texts[name]} {without} {percent(-lost[name])}." for name in sorted(texts, key=lambda n: -lost[n])}


def _of_source(model: RankingModel, name: str, features: Sequence[Feature]) -> str:
    """The sentence for a column of the table: either a number, which may have a flag for missing values, or a category
    with its levels."""
    first = features[0]
    derived = [f for f in features if f.derived is not None]
    if first.derived is None:
        sentence = _sentence(model, first)
        low, high = _known_range(model, first)
        if derived or (first.missing is not None and not low <= first.missing <= high):
            # what the flag for missing values adds, and the replacement compared with the median
            rise = sum(map(model.rise, derived))
            if first.missing is not None and first.median is not None:
                rise += model.rise(first, first.median, first.missing)
            sentence += f" A missing value {'raises' if rise > 0 else 'lowers'} it, compared with the median."
        return sentence
    clauses = []
    for verb, sign in (("raised", 1), ("lowered", -1)):
        rises = {f.level: sign * model.rise(f) for f in derived}
        levels = sorted((level for level in rises if rises[level] > 0), key=lambda level: -rises[level])
        clauses += [f"{verb} if {name} is {_any_of(levels)}"] if levels else []
    return f"A document is {', and '.join(clauses)}." if clauses else f"{name} changes nothing."


def _any_of(levels: Sequence[str]) -> str:
    shown = [*levels[:MAX_LEVELS]]
    n_others = len(levels) - MAX_LEVELS
    shown += [f"one of {n_others} others"] if n_others > 1 else levels[MAX_LEVELS:]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _sentence(model: RankingModel, feature: Feature) -> str:
    name = feature.name
    if points_of(model, feature) == [0.0, 1.0]:
        return f"A document is {'raised' if model.rise(feature) > 0 else 'lowered'} if {name.replace('_', ' ')}."
    if feature.steps is None:
        is_log = feature.transform != NONE or model.logarithmic
        less = ", by less the further it is from 0" if is_log else ""
        compared = " within the query" if model.per_query else ""
        return f"A larger {name}{compared} {'raises' if feature.coef > 0 else 'lowers'} a document{less}."
    at = np.clip(feature.steps.begins, *_known_range(model, feature))
    heights = np.array([model.rise(feature, 0.0, x) for x in np.nextafter(at, np.inf).tolist()])
    parts = parts_of(at, heights)
    if not parts:
        return f"{name} changes nothing."
    texts = _distinct(np.array([x for p in parts for x in (p.low, p.high)]))
    clauses = [
        f"{'raises' if p.rises else 'lowers'} {'it' if i else 'a document'} "
        + (f"when it passes {texts[2 * i]}" if p.low == p.high else f"between {texts[2 * i]} and {texts[2 * i + 1]}")
        for i, p in enumerate(parts)
    ]
    return f"A larger {name} {', then '.join(clauses)}; elsewhere little changes."


def _known_range(model: RankingModel, feature: Feature) -> tuple[float, float]:
    """The smallest and the largest value of a feature in training, without missing values; infinite if they are not
    known."""
    points = points_of(model, feature)
    return (points[0], points[-1]) if points else (-np.inf, np.inf)


def parts_of(at: np.ndarray, heights: np.ndarray) -> list[Stretch]:
    """The rising and falling parts of a step function. Ups and downs of less than SMALL of its range are ignored. A
    part begins once EDGE of its change has happened and ends when only EDGE of it is left.

    at, heights   (n,) the x at which each step begins, and the height of each step
    """
    out = []
    for a, b in _between_turns(heights, SMALL * float(np.ptp(heights))):
        done = (heights[a : b + 1] - heights[a]) / (heights[b] - heights[a])
        first = a + int(np.argmax(done > EDGE))
        last = a + int(np.argmax(done >= 1.0 - EDGE))
        out.append(Stretch(bool(heights[b] > heights[a]), float(at[first]), float(at[last])))
    return out


def _between_turns(heights: np.ndarray, least: float) -> list[tuple[int, int]]:
    """(first, last) step of each part that rises or falls by more than `least` before the function turns back by as
    much."""
    parts: list[tuple[int, int]] = []
    low = high = 0  # the extremes since the last turn
    for i, height in enumerate(heights.tolist()):
        low = i if height < heights[low] else low
        high = i if height > heights[high] else high
        rises = not parts or heights[parts[-1][1]] < heights[parts[-1][0]]
        falls = not parts or not rises
        if rises and height - heights[low] > least:
            parts.append((low, i))
            low = high = i
        elif falls and heights[high] - height > least:
            parts.append((high, i))
            low = high = i
        # the part continues in the same direction
        elif parts and (height - heights[parts[-1][1]]) * (-1.0 if rises else 1.0) > 0:
            parts[-1] = (parts[-1][0], i)
            low = high = i
    return parts


def _distinct(values: np.ndarray) -> list[str]:
    """The values as text, with enough digits that rounding moves none by more than 1% of the smallest difference
    between two values."""
    different = np.unique(values)
    close = 0.01 * float(np.diff(different).min()) if len(different) > 1 else 1e-5 * float(np.abs(values).max())
    for digits in range(3, 18):
        rounded = [float(f"{x:.{digits}g}") for x in values.tolist()]
        if np.abs(np.array(rounded) - values).max() <= close:
            break
    return [f"{x:.15g}" if 1e-4 <= abs(x) < 1e15 or x == 0 else f"{x:g}" for x in rounded]
