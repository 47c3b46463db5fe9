"""A model as a sum of terms, one per selected feature: every export writes this sum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np

from sparserank.bins import StepFunction
from sparserank.data.derived import Derived
from sparserank.data.missing import HUGE
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from sparserank.model.training_record import booleans_of, lowest_score
from sparserank.options import option
from sparserank.text import brief
from sparserank.transforms import LOG, NONE, Transform

MISSING_FROM = f"{HUGE:g}".replace("+", "")  # magnitudes from here on are missing, as are infinity and NaN
FINE_SCALE = 1e-4  # for smaller scales of t, its rounding near 0 (1e-16) exceeds 1e-12 of the term
AUTO = "auto"
MAX_OFFSET = 1e6  # beyond it, engines in single precision give many documents the same score
ROOM = 1.0  # least distance from 0 to the lowest training score: other documents may score lower


@dataclass(frozen=True)
class Term:
    """slope * t(x), or steps(x), of a feature x.

    index     number of the feature, from 0
    kind      kind of t: 'none', 'log' (sign(x) log(1 + |x|)) or 'asinh' (asinh(x / constant))
    slope     weight of the unscaled t(x): the weight divided by the scale
    coef, center, scale   the same without folding: coef * (t(x) - center) / scale
    steps     as a function of x, slope included; None: linear
    fill      replaces a missing x; None: the model refuses missing values
    fine      whether t must keep its digits near 0
    derived   the column that x, which is 0 or 1, is made from; None: x is a number of its own
    boolean   whether x was a boolean column of the training table
    """

    name: str
    index: int
    kind: str
    constant: float
    slope: float
    coef: float
    center: float
    scale: float
    steps: StepFunction | None
    fill: float | None = None
    fine: bool = True
    derived: Derived | None = None
    boolean: bool = False

    @property
    def source(self) -> str:
        """The name of the input: of the feature, or of the column that it is made from."""
        return self.name if self.derived is None else self.derived.source

    @property
    def ends(self) -> tuple[float, float]:
        """The contributions of a derived feature, if it is 0 and if it is 1."""
        low, high = (0.0, self.slope) if self.steps is None else self.steps.values.tolist()
        return low, high

    @property
    def rise(self) -> float:
        """What a derived feature adds to the score if it is 1."""
        return self.ends[1] - self.ends[0]

    @property
    def is_linear(self) -> bool:
        """Whether the term is a weight times the raw feature."""
        return self.kind == NONE and self.steps is None

    @property
    def shown(self) -> str:
        """The transformed feature in messages: log(name)."""
        if self.steps is not None:
            return f"steps({self.name})"
        return self.name if self.kind == NONE else f"{self.kind}({self.name})"

    @property
    def in_units(self) -> Term:
        """The same term with a slope of 1."""
        steps = None if self.steps is None else replace(self.steps, values=self.steps.values / self.slope)
        return replace(self, slope=1.0, coef=1.0, center=0.0, scale=1.0, steps=steps)

    @property
    def filled(self) -> float | None:
        """Contribution to the score if x is missing; None: the model refuses missing values."""
        return None if self.fill is None else self.at(self.fill)

    def at(self, x: float) -> float:
        """Contribution to the score of a value."""
        t = Transform((self.kind,), np.array([self.constant]))(np.array([[x]]))[:, 0]
        added = self.slope * float(t[0]) if self.steps is None else float(self.steps(t)[0])
        _refuse_infinite(self.name, added)
        return added


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
        """The intercept and the first values of the steps, to which their jumps are added."""
        return self.intercept + sum(float(t.steps.values[0]) for t in self.terms if t.steps is not None)


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
    if scaling.logarithmic and (model.transform is not None or model.steps):
        raise DataError(
            "this model applies logarithms in its scaling and also has transforms or steps. Fit it with "
            f"{option('transform', 'log')} instead."
        )
    terms, intercept, booleans = [], 0.0, booleans_of(model)
    for j in model.support.tolist():
        coef = float(model.coef[j])
        center, scale = (0.0, 1.0) if scaling.method == "none" else (float(scaling.center[j]), float(scaling.scale[j]))
        slope, steps = coef / scale, model.steps.get(j)
        _refuse_infinite(model.feature_names[j], slope, slope * center)
        kind = LOG if scaling.logarithmic else NONE if model.transform is None else model.transform.kinds[j]
        constant = 1.0 if model.transform is None else float(model.transform.constants[j])
        if steps is not None:
            steps = steps.times(slope)
        intercept -= slope * center
        known = model.fill_values is not None and not np.isnan(model.fill_values[j])
        fill = float(model.fill_values[j]) if known else None  # type: ignore[index]
        fine = scaling.method == "none" or scale < FINE_SCALE
        term = Term(model.feature_names[j], j, kind, constant, slope, coef, center, scale, steps, fill, fine)
        derived = model.derived_of(j)
        if derived is not None:
            term, at_0 = _of_zero_and_one(replace(term, derived=derived))
            intercept += at_0
        terms.append(replace(term, boolean=derived is None and term.name in booleans))
    return Sum(tuple(terms), intercept, model.feature_names, model.index_base)


def _of_zero_and_one(term: Term) -> tuple[Term, float]:
    """(a term of the same values for the x 0 and 1: one step, or a slope; what it lacks)"""
    if term.steps is not None:
        return replace(term, steps=StepFunction(np.array([0.5]), term.steps(np.array([0.0, 1.0])))), 0.0
    t = Transform((term.kind,), np.array([term.constant]))(np.array([[0.0], [1.0]]))[:, 0]
    low, high = (term.slope * t).tolist()
    center = term.center / float(t[1])
    slope = high - low
    coef = slope * term.scale
    return replace(term, kind=NONE, constant=1.0, slope=slope, coef=coef, center=center, fine=False), low


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
