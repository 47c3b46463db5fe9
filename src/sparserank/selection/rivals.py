"""Comparisons of a selection with its rivals."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sparserank.crossval.choice import Candidate, Choice
from sparserank.crossval.rivals import Rival, RivalDifference, Rivals
from sparserank.crossval.tree_rivals import LIGHTGBM, WITHOUT, LeftOut
from sparserank.text import percents, relative

SAME_RELATIVE = 1e-12  # relative to a mean; smaller differences count as none


@dataclass(frozen=True)
class ComparedRival:
    """A rival compared with the chosen model, on the queries on which candidates are evaluated.

    mean          of the metric; n_features: number of features that the rival reads
    difference    of the means, chosen minus rival
    low, high     interval of the difference, simultaneous over all candidates and rivals; infinite: too few queries
    for_model     value of `--for-model` that chooses features for this rival; '': there is none
    on_chosen     for a rival shown to be better: mean of the same kind of trees on the features of the chosen model;
                  chosen_mean: mean of the chosen model
    sizes         the best model of each size minus the rival, smallest first
    lacks         features that the rival would read if the table had them
    """

    name: str
    n_features: int
    mean: float
    difference: float
    low: float
    high: float
    for_model: str = LIGHTGBM
    on_chosen: float | None = None
    chosen_mean: float | None = None
    sizes: tuple[RivalDifference, ...] = ()
    lacks: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its name, and how many features it was trained on: 'LightGBM on 46 features', 'RRF'."""
        comma = "," if WITHOUT in self.name else ""
        return f"{self.name}{comma} on {self.n_features} features" if self.for_model else self.name

    @property
    def shown(self) -> str:
        """What the interval shows about the rival: 'better', 'worse', or '' if it contains 0."""
        return "better" if self.high < 0 else "worse" if self.low > 0 else ""

    def against(self, *, shown: bool = True) -> str:
        """The chosen model relative to it: '-0.9% (-4.6 to +3.7%)', with 'better' or 'worse' if that is `shown`."""
        return relative(self.difference, self.low, self.high, self.mean, shown=shown)

    @property
    def percents(self) -> tuple[str, str, str]:
        """difference, low and high relative to the mean: '-2.8%'; bounds rounded outwards, '' where infinite."""
        unit = abs(self.mean) or 1.0
        return percents(self.difference / unit, self.low / unit, self.high / unit)


@dataclass(frozen=True)
class RivalReport:
    """compared: the rivals that finished; left_out: rivals that were not compared, and why; straight: no steps were
    tried, so that they remain an option."""

    compared: tuple[ComparedRival, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    straight: bool = True

    @property
    def strongest(self) -> ComparedRival | None:
        """The best rival that is shown to be better, or else the one with the highest mean; None: none was compared."""
        return self.better or max(self.compared, key=lambda r: r.mean, default=None)

    @property
    def better(self) -> ComparedRival | None:
        """The best rival that is shown to be better than the chosen model, or None."""
        return max((r for r in self.compared if r.shown == "better"), key=lambda r: r.mean, default=None)

    @property
    def above(self) -> ComparedRival | None:
        """The rival with the highest mean, if that is above the mean of the chosen model, or None."""
        highest = max(self.compared, key=lambda r: r.mean, default=None)
        return highest if highest is not None and highest.difference < -SAME_RELATIVE * abs(highest.mean) else None


def compared(rivals: Rivals, r: Rival, choice: Choice) -> ComparedRival:
    """The chosen candidate, and that of each size, compared with a rival."""

    def against(c: Candidate) -> RivalDifference:
        b = rivals.compare(c, r)
        return b if math.isfinite(b.high - b.low) else RivalDifference(b.difference, -math.inf, math.inf)

    b, *sizes = map(against, (choice.chosen, *choice.by_size))
    return ComparedRival(
        r.name, r.n_features, r.mean, b.difference, b.low, b.high, r.for_model, sizes=tuple(sizes), lacks=r.lacks
    )
