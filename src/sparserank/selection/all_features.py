"""The models of every size compared with all features: what a reader measures everything by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sparserank.crossval.choice import Candidate, Choice
from sparserank.crossval.rivals import Rival, Rivals


@dataclass(frozen=True)
class Against:
    """A model minus all features, in units of the metric.

    difference   of the means, both corrected for having been picked; NaN: unknown
    low, high    two-sided interval of the difference before that correction; those of all candidates hold together;
                 infinite: too few queries
    """

    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class AllFeatures:
    """mean: of the best dense model, corrected for having been picked among dense ones; chosen, sizes: the chosen model
    and the best of each size against it."""

    n_features: int
    mean: float
    chosen: Against
    sizes: tuple[Against, ...]

    def percent(self, difference: float) -> float:
        """A difference relative to all features."""
        return 100.0 * difference / (abs(self.mean) or 1.0)


def against_all_features(choice: Choice, dense: Candidate, by_size: Sequence[Candidate]) -> AllFeatures:
    """dense: the best dense candidate; the intervals hold for whichever of the dense ones it is."""
    others = choice.candidates[choice.n_sparse :]
    rivals = Rivals(choice, [Rival(c.label, c.n_features, c.values) for c in others])
    column, row = others.index(dense), {c: i for i, c in enumerate(choice.candidates)}
    full = choice.corrected(dense) if choice.is_corrected else dense.mean
    full = full if math.isfinite(full) else dense.mean  # several dense ones with the same highest mean

    def against(c: Candidate, mean: float) -> Against:
        low, high = rivals.intervals.interval(row[c], column)
        return Against(mean - full, *((low, high) if math.isfinite(high - low) else (-math.inf, math.inf)))

    chosen = choice.corrected_chosen if choice.is_corrected else choice.chosen.mean
    sizes = tuple(against(c, choice.corrected(c) if choice.is_corrected else c.mean) for c in by_size)
    return AllFeatures(dense.n_features, full, against(choice.chosen, chosen), sizes)
