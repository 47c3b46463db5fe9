"""Comparisons of a selection with its rivals, and the sentences about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparserank.crossval.choice import Candidate
from sparserank.crossval.rivals import RivalDifference, Rivals
from sparserank.crossval.tree_rivals import LIGHTGBM, WITHOUT, LeftOut
from sparserank.options import option
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

    @property
    def handicap(self) -> str:
        """A sentence on a rival that lacks features; '' if there is none."""
        r = next((r for r in self.compared if r.lacks), None)
        if r is None:
            return ""
        trees, _, lacking = r.name.rpartition(WITHOUT)
        return f"{trees} is handicapped: it is trained without {lacking}, which the table does not have."

    def advice(self, r: ComparedRival) -> str:
        """What to do if a rival is shown to be better."""
        if not r.for_model:
            return ""
        bends = self.straight and (r.on_chosen is None or r.chosen_mean is None or r.on_chosen > r.chosen_mean)
        steps = f"{option('penalties', 'steps')} may close the gap; " if bends else ""
        return f"{steps}to choose features for it, use {option('for_model', r.for_model)}"

    def with_chosen_features(self, name: str, on_chosen: float, chosen_mean: float) -> RivalReport:
        """The report with the mean of the trees of this name on the features of the chosen model."""
        return replace(
            self,
            compared=tuple(
                replace(r, on_chosen=on_chosen, chosen_mean=chosen_mean) if r.name == name else r for r in self.compared
            ),
        )

    def headline(self) -> str:
        """The part of the headline on a rival with a higher mean than the chosen model, shown or not, with advice if it
        is shown to be better; '' if there is none."""
        r = self.better or self.above
        if r is None:
            return ""
        difference, low, high = r.percents
        between = f" ({low.removesuffix('%')} to {high}{'' if r.shown else ', no difference shown'})" if low else ""
        if not r.shown:
            return f"{r.title} is above the chosen model, which is {difference} against it{between}"
        advice = f"{self.advice(r)}; " if self.advice(r) else ""
        return f"{r.title} is shown to be better; {advice}the chosen model is {difference} against it{between}"

    def sentences(self, metric: str, confidence: str) -> list[str]:
        """Sentences on the strongest rival and on those that were not compared."""
        strongest = self.strongest
        said = [] if strongest is None else [_beside(strongest, metric, confidence)]
        if self.better is not None:
            advice = self.advice(self.better)
            said[0] = f"{said[0].removesuffix('.')}; {advice}." if advice else said[0]
        said += [self.handicap] if self.handicap else []
        for reason in dict.fromkeys(r.reason for r in self.left_out):
            names = [r.name for r in self.left_out if r.reason == reason]
            said.append(f"{' and '.join(names)} {'was' if len(names) == 1 else 'were'} not compared: {reason}.")
        return said


def _beside(r: ComparedRival, metric: str, confidence: str) -> str:
    difference, low, high = r.percents
    text = (
        f"{r.title} has {metric} {r.mean:.4f} on the same queries; the chosen model is "
        f"{difference.lstrip('+-')} {'lower' if difference.startswith('-') else 'higher'}"
    )
    if low:
        shown = f"{r.name} is shown to be {r.shown}" if r.shown else "no difference is shown"
        text += f" ({confidence} interval: {low} to {high}; {shown})"
    if r.on_chosen is not None and r.chosen_mean is not None:
        text += (
            f". On the features of the chosen model, such trees reach {r.on_chosen:.4f} and the model itself "
            f"{r.chosen_mean:.4f}"
        )
    return f"{text}."


def report_of(
    rivals: Rivals | None,
    left_out: Sequence[LeftOut],
    straight: bool,
    chosen: Candidate,
    by_size: Sequence[Candidate] = (),
) -> RivalReport:
    """The report on rivals; None: none finished."""
    if rivals is None:
        return RivalReport((), tuple(left_out), straight)
    compared = []
    for r in rivals.rivals:
        b = rivals.beside(chosen, r)
        sizes = tuple(rivals.beside(c, r) for c in by_size)
        compared.append(
            ComparedRival(
                *(r.name, r.n_features, r.mean, b.difference, b.low, b.high, r.for_model),
                sizes=sizes,
                lacks=r.lacks,
            )
        )
    return RivalReport(tuple(compared), tuple(left_out), straight)
