"""What a selection says of the rankers that it was compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sparserank.crossval.rivals import Rivals
from sparserank.crossval.tree_rivals import LeftOut


@dataclass(frozen=True)
class ComparedRival:
    """A rival beside the chosen model, on the queries that candidates are judged on.

    mean          of the metric; n_features: that the rival reads
    difference    of the means, chosen minus rival, less what that of the chosen model owes to having been chosen
    low, high     of the difference before that; those of all candidates and rivals hold together; infinite: too few
                  queries
    on_chosen     mean of the same kind of ranker on the features of the chosen model, for trees that are shown better;
                  chosen_mean: of the chosen model, not corrected either
    """

    name: str
    n_features: int
    mean: float
    difference: float
    low: float
    high: float
    on_chosen: float | None = None
    chosen_mean: float | None = None

    @property
    def shown(self) -> str:
        """What the interval shows of the rival: 'better', 'worse', or '' where it holds 0."""
        return "better" if self.high < 0 else "worse" if self.low > 0 else ""

    @property
    def percents(self) -> tuple[str, str, str]:
        """difference, low and high relative to the mean: '-2.8%'; bounds rounded outwards, '' where infinite."""
        unit = abs(self.mean) or 1.0
        difference = f"{100 * self.difference / unit + 0.0:+.1f}%"
        if math.isinf(self.low):
            return difference, "", ""
        return difference, _tenth(self.low / unit, math.floor), _tenth(self.high / unit, math.ceil)


@dataclass(frozen=True)
class RivalReport:
    """compared: n_in_use that rank today, then trees; left_out: which were not, and why."""

    compared: tuple[ComparedRival, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    n_in_use: int = 0

    @property
    def trees(self) -> tuple[ComparedRival, ...]:
        """Of those compared, the trees, the best first."""
        return tuple(sorted(self.compared[self.n_in_use :], key=lambda r: -r.mean))

    @property
    def better(self) -> ComparedRival | None:
        """The best of the trees that are shown better than the chosen model, or None."""
        return next((r for r in self.trees if r.shown == "better"), None)

    def with_chosen_features(self, name: str, on_chosen: float, chosen_mean: float) -> RivalReport:
        """The same, with what trees of this name are worth on the features of the chosen model."""
        return replace(
            self,
            compared=tuple(
                replace(r, on_chosen=on_chosen, chosen_mean=chosen_mean) if r.name == name else r for r in self.compared
            ),
        )

    def sentences(self, metric: str, confidence: str, chosen: int) -> list[str]:
        """To be read aloud; chosen: the number of features of the chosen model."""
        strongest = self.better or next(iter(self.trees), None)
        said = [] if strongest is None else [self._beside(strongest, metric, confidence, chosen)]
        reasons = dict.fromkeys(r.reason for r in self.left_out)
        for reason in reasons:
            names = [r.name for r in self.left_out if r.reason == reason]
            said.append(f"{' and '.join(names)} {'was' if len(names) == 1 else 'were'} not compared: {reason}.")
        return said

    def _beside(self, r: ComparedRival, metric: str, confidence: str, chosen: int) -> str:
        text = f"{r.name} on {r.n_features} features has {metric} {r.mean:.4f} on the same folds; the chosen model is "
        difference, low, high = r.percents
        text += f"{difference[1:]} {'below' if difference.startswith('-') else 'above'}"
        if low:
            shown = f"{r.name} is shown {r.shown}" if r.shown else "no difference is shown"
            text += f" (between {low} and {high}, {confidence}: {shown})"
        if r.on_chosen is not None and r.chosen_mean is not None:
            text += (
                f". On the same {chosen} features trees have {r.on_chosen:.4f} and the chosen model {r.chosen_mean:.4f}"
                "; to choose features for trees: --for-model lightgbm, in Python select_for_trees"
            )
        return f"{text}."


def report_of(rivals: Rivals | None, n_in_use: int, left_out: Sequence[LeftOut]) -> RivalReport:
    """rivals: compared, the first n_in_use of them what ranks today."""
    if rivals is None:
        return RivalReport((), tuple(left_out))
    beside = [(r, rivals.beside(r)) for r in rivals.rivals]
    compared = [ComparedRival(r.name, r.n_features, r.mean, b.difference, b.low, b.high) for r, b in beside]
    return RivalReport(tuple(compared), tuple(left_out), n_in_use)


def _tenth(share: float, rounded: Callable[[float], int]) -> str:
    """A share as percent to one digit, with its sign."""
    return f"{rounded(1000 * share) / 10 + 0.0:+.1f}%"
