"""The models of every size compared with all features: what a reader measures everything by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sparserank.crossval.choice import Candidate, Choice
from sparserank.crossval.rivals import Beside, Rival, Rivals


@dataclass(frozen=True)
class AllFeatures:
    """mean: of the best dense model; chosen, sizes: the chosen model and that of each size minus all features, with
    intervals that hold together, infinite where there are too few queries."""

    n_features: int
    mean: float
    chosen: Beside
    sizes: tuple[Beside, ...]

    def percent(self, difference: float) -> float:
        """A difference relative to all features."""
        return 100.0 * difference / (abs(self.mean) or 1.0)


def against_all_features(choice: Choice, dense: Candidate, by_size: Sequence[Candidate]) -> AllFeatures:
    """dense: the best dense candidate, or the named formula; the intervals hold for whichever of these it is."""
    others = dict.fromkeys([*choice.candidates[choice.n_sparse :], dense])
    everything = [Rival(c.label, c.n_features, c.values) for c in others]
    rivals = Rivals(choice, everything)
    full = next(r for r in everything if r.values is dense.values)

    def against(c: Candidate) -> Beside:
        b = rivals.beside(c, full)
        return b if math.isfinite(b.high - b.low) else Beside(b.difference, -math.inf, math.inf)

    return AllFeatures(dense.n_features, dense.mean, against(choice.chosen), tuple(map(against, by_size)))
