"""A model as a sum of terms, one per selected feature: every export writes this sum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from sparserank.curves import Curve, StepCurve
from sparserank.data.derived import Derived
from sparserank.data.missing import HUGE
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from sparserank.model.training_record import lowest_score
from sparserank.options import option
from sparserank.text import brief
from sparserank.transforms import LOG, NONE, Transform

MISSING_FROM = f"{HUGE:g}".replace("+", "")  # magnitudes from here on are missing, as are infinity and NaN
FINE_SCALE = 1e-4  # for smaller ranges of t, its rounding near 0 (1e-16) exceeds 1e-12 of the term
AUTO = "auto"
MAX_OFFSET = 1e6  # beyond it, engines in single precision give many documents the same score
ROOM = 1.0  # least distance from 0 to the lowest training score: other documents may score lower


@dataclass(frozen=True)
class Term:
    """slope * t(x), or curve(t(x)), of a feature x.

    index     number of the feature, from 0
    kind      kind of t: 'none', 'log' (sign(x) log(1 + |x|)) or 'asinh' (asinh(x / constant))
    slope     weight of the unscaled t(x): the weight divided by the scale
    coef, center, scale   the same without folding: coef * (t(x) - center) / scale
    curve     as a function of t, slope included; None: linear
    fill      replaces a missing x; None: the model refuses missing values
    fine      whether t must keep its digits near 0
    derived   the column that x, which is 0 or 1, is made from; None: x is a number of its own
    """

    name: str
    index: int
    kind: str
    constant: float
    slope: float
    coef: float
    center: float
    scale: float
    curve: Curve | StepCurve | None
    fill: float | None = None
    fine: bool = True
    derived: Derived | None = None

    @property
    def source(self) -> str:
        """The name of the input: of the feature, or of the column that it is made from."""
        return self.name if self.derived is None else self.derived.source

    @property
    def ends(self) -> tuple[float, float]:
        """The contributions of a derived feature, if it is 0 and if it is 1."""
        low, high = (0.0, self.slope) if self.curve is None else self.curve.values.tolist()
        return low, high

    @property
    def rise(self) -> float:
        """What a derived feature adds to the score if it is 1."""
        return self.ends[1] - self.ends[0]

    @property
    def is_linear(self) -> bool:
        """Whether the term is a weight times the raw feature."""
        return self.kind == NONE and self.curve is None

    @property
    def shown(self) -> str:
        """The transformed feature in messages: curve(log(name))."""
        of = self.name if self.kind == NONE else f"{self.kind}({self.name})"
        return of if self.curve is None else f"{'steps' if isinstance(self.curve, StepCurve) else 'curve'}({of})"

    @property
    def in_units(self) -> Term:
        """The same term with a slope of 1."""
        curve = None if self.curve is None else replace(self.curve, values=self.curve.values / self.slope)
        return replace(self, slope=1.0, coef=1.0, center=0.0, scale=1.0, curve=curve)

    @property
    def filled(self) -> float | None:
        """Contribution to the score if x is missing; None: the model refuses missing values."""
        if self.fill is None:
            return None
        t = Transform((self.kind,), np.array([self.constant]))(np.array([[self.fill]]))[:, 0]
        added = self.slope * float(t[0]) if self.curve is None else float(self.curve(t)[0])
        _refuse_infinite(self.name, added)
        return added

    def pieces(self) -> list[tuple[float, float, float]]:
        """(from, to, slope) of the segments of the curve that are not flat: the curve
        is its first value plus the sum over these of slope * (clip(t, from, to) - from)."""
        assert isinstance(self.curve, Curve)
        knots, values = self.curve.knots, self.curve.values
        with np.errstate(all="ignore"):
            slopes = np.diff(values) / np.diff(knots)
        _refuse_infinite(self.name, *slopes.tolist())
        return [
            (a, b, s)
            for a, b, s in zip(knots[:-1].tolist(), knots[1:].tolist(), slopes.tolist(), strict=True)
            if s != 0.0
        ]


@dataclass(frozen=True)
class Sum:
    """score = intercept + terms; the intercept changes no order. names: of all features;
    index_base: number of the first feature in text."""

    terms: tuple[Term, ...]
    intercept: float
    names: tuple[str, ...]
    index_base: int = 1

    @property
    def n_features(self) -> int:
        return len(self.names)

    @property
    def constant(self) -> float:
        """The intercept and the first values of the curves, to which their `pieces` are added."""
        return self.intercept + sum(float(t.curve.values[0]) for t in self.terms if t.curve is not None)


def sum_of(model: RankingModel) -> Sum:
    """The model as a sum, with its scaling folded in.

    Raises
        DataError   the model scales within each query, or uses no feature
    """
    scaling = model.scaling
    if scaling.per_query:
        raise DataError(
            "this model scales features within each query, which is impossible for one document at a time. Train with "
            f"{option('scaling', 'within-query-std')}."
        )
    if len(model.support) == 0:
        raise DataError("this model uses no features; there is nothing to export.")
    if scaling.logarithmic and (model.transform is not None or model.curves):
        raise DataError(
            "this model applies logarithms in its scaling and also has transforms or curves. Fit it with "
            f"{option('transform', 'log')} instead."
        )
    terms, intercept = [], 0.0
    for j in model.support.tolist():
        coef = float(model.coef[j])
        center, scale = (0.0, 1.0) if scaling.method == "none" else (float(scaling.center[j]), float(scaling.scale[j]))
        slope, curve = coef / scale, model.curves.get(j)
        _refuse_infinite(model.feature_names[j], slope, slope * center)
        kind = LOG if scaling.logarithmic else NONE if model.transform is None else model.transform.kinds[j]
        constant = 1.0 if model.transform is None else float(model.transform.constants[j])
        if curve is not None:
            curve = curve.times(slope)
        intercept -= slope * center
        known = model.fill_values is not None and not np.isnan(model.fill_values[j])
        fill = float(model.fill_values[j]) if known else None  # type: ignore[index]
        fine = _spread(scaling.method, scale, curve) < FINE_SCALE
        term = Term(model.feature_names[j], j, kind, constant, slope, coef, center, scale, curve, fill, fine)
        derived = model.derived_of(j)
        if derived is not None:
            term, at_0 = _of_zero_and_one(replace(term, derived=derived))
            intercept += at_0
        terms.append(term)
    for term in terms:
        if isinstance(term.curve, Curve):
            term.pieces()  # refuses slopes that overflow
    return Sum(tuple(terms), intercept, model.feature_names, model.index_base)


def _of_zero_and_one(term: Term) -> tuple[Term, float]:
    """(a term of the same values for the x 0 and 1: one step, or a slope; what it lacks)"""
    if isinstance(term.curve, StepCurve):
        return replace(term, curve=StepCurve(np.array([0.5]), term.curve(np.array([0.0, 1.0])))), 0.0
    t = Transform((term.kind,), np.array([term.constant]))(np.array([[0.0], [1.0]]))[:, 0]
    low, high = (term.slope * t if term.curve is None else term.curve(t)).tolist()
    center = term.center / float(t[1])
    slope = high - low
    return replace(
        term, kind=NONE, constant=1.0, slope=slope, coef=slope * term.scale, center=center, curve=None, fine=False
    ), low


def _spread(method: str, scale: float, curve: Curve | StepCurve | None) -> float:
    """Range of t over which the term changes: its fitted scale, or the range of the curve over its steepest slope;
    0 if unknown."""
    if not isinstance(curve, Curve):
        return 0.0 if method == "none" else scale
    with np.errstate(all="ignore"):
        steepest = float(np.abs(np.diff(curve.values) / np.diff(curve.knots)).max())
    return float(np.ptp(curve.values)) / steepest if steepest else math.inf


def _refuse_infinite(name: str, *numbers: float) -> None:
    if not all(map(math.isfinite, numbers)):
        raise DataError(
            f"feature {brief(name)} cannot be exported: its weight in units of the feature overflows. Scale the "
            "feature first."
        )


def offset_of(model: RankingModel, offset: float | str) -> float:
    """The given offset, or with 'auto' the smallest integer that keeps training scores at least ROOM above 0.

    Raises
        DataError   not a number from -MAX_OFFSET to MAX_OFFSET; 'auto' for a model without a recorded lowest score
    """
    if isinstance(offset, str) and offset == AUTO:
        lowest = lowest_score(model)
        if lowest is None:
            why = "scores of this model depend on the candidate list, so there is no lowest score. Give a number."
            again = "Give an offset as a number, or train the model again with select or fit."
            unknown = f"this model does not contain the lowest score of its training documents. {again}"
            raise DataError(why if model.per_query else unknown)
        return max(0.0, math.ceil(-lowest) + ROOM)
    try:
        added = float(offset) if isinstance(offset, Real) and not isinstance(offset, bool | np.bool_) else math.nan
    except OverflowError:
        added = math.nan
    if not abs(added) <= MAX_OFFSET:
        raise DataError(f"offset must be a finite number or {AUTO}; got {brief(str(offset))} (usable: -1e6 to 1e6).")
    return added
