"""A model as a sum of terms, one per selected feature: every export writes this sum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparserank.bins import StepFunction
from sparserank.data.missing import HUGE
from sparserank.errors import DataError, ParameterError
from sparserank.model.feature import Feature
from sparserank.model.ranking_model import RankingModel
from sparserank.model.training_record import BOOLEANS, lowest_score
from sparserank.number_checks import as_real
from sparserank.options import option
from sparserank.text import brief
from sparserank.transforms import LOG, NONE, Transform

MISSING_FROM = f"{HUGE:g}".replace("+", "")  # values of at least this magnitude count as missing, like infinity and NaN
FINE_SCALE = 1e-4  # for smaller scales of t, its rounding near 0 (1e-16) exceeds 1e-12 of the term
AUTO = "auto"
MAX_OFFSET = 1e6  # beyond it, engines in single precision give many documents the same score
ROOM = 1.0  # least distance from 0 to the lowest training score: other documents may score lower


@dataclass(frozen=True)
class Sum:
    """A model as a sum: score = intercept + terms. A term is the contribution of a feature without its mean; the
    intercept changes no order. names: of all features; index_base: number of the first feature in text; booleans: names
    of the features that were boolean columns of the training table."""

    terms: tuple[Feature, ...]
    intercept: float
    names: tuple[str, ...]
    index_base: int = 1
    booleans: tuple[str, ...] = ()

    @property
    def n_features(self) -> int:
        return len(self.names)

    @property
    def constant(self) -> float:
        """The intercept and the first values of the steps, to which their jumps are added."""
        return self.intercept + sum(float(t.heights.values[0]) for t in self.terms if t.heights is not None)


def sum_of(model: RankingModel) -> Sum:
    """The model as a sum, with its scaling folded in.

    Raises
        DataError   the model scales within each query, or uses no feature
    """
    if model.per_query:
        raise DataError(
            "this model scales features within each query, which is impossible for one document at a time. Train with "
            f"{option('scaling', 'within-query-std')}."
        )
    if not model.features:
        raise DataError("this model uses no features; there is nothing to export.")
    if model.logarithmic and any(f.kind != NONE for f in model.features):
        raise DataError(
            "this model applies logarithms in its scaling and also has transforms or steps. Fit it with "
            f"{option('transform', 'log')} instead."
        )
    terms = []
    intercept = 0.0
    for feature in model.features:
        term = feature._replace(mean=0.0, scale=1.0) if model.scaling == NONE else feature
        _refuse_infinite(term.name, term.slope, term.slope * term.mean)
        intercept -= term.slope * term.mean
        term = term._replace(transform=LOG) if model.logarithmic else term
        terms.append(term if term.derived is None or term.kind == NONE else _of_zero_and_one(term))
    booleans = model.metadata.get(BOOLEANS)
    booleans = tuple(booleans) if isinstance(booleans, list | tuple) else ()
    return Sum(tuple(terms), intercept, model.feature_names, model.index_base, booleans)


def _of_zero_and_one(term: Feature) -> Feature:
    """A term with the same values at x = 0 and x = 1, as one step or a slope."""
    if term.steps is not None:
        return term._replace(steps=StepFunction(np.array([0.5]), term.steps(np.array([0.0, 1.0]))))
    at_1 = _transformed(term, 1.0)
    return term._replace(transform=NONE, constant=1.0, coef=term.slope * at_1, scale=1.0, mean=term.mean / at_1)


def _transformed(term: Feature, x: float) -> float:
    t = Transform((term.transform,), np.array([term.constant]))(np.array([[x]]))
    return float(t[0, 0])


def ends(term: Feature) -> tuple[float, float]:
    """The contributions of a feature that is made from a column, at x = 0 and at x = 1."""
    if term.heights is None:
        return 0.0, term.slope
    low, high = term.heights.values.tolist()
    return low, high


def rise(term: Feature) -> float:
    """The contribution of a feature that is made from a column at x = 1, minus that at x = 0."""
    low, high = ends(term)
    return high - low


def is_fine(term: Feature) -> bool:
    """Whether the transform must keep its digits near 0: the scale is small, or the values are not scaled."""
    return term.scale < FINE_SCALE or term.scale == 1.0


def shown(term: Feature) -> str:
    """The transformed feature as messages name it: log(name)."""
    return term.name if term.kind == NONE else f"{term.kind}({term.name})"


def where_missing(term: Feature) -> float | None:
    """Contribution to the score if x is missing; None: the model refuses missing values."""
    return None if term.missing is None else contribution(term, term.missing)


def contribution(term: Feature, x: float) -> float:
    """Contribution to the score of a value."""
    t = _transformed(term, x)
    added = term.slope * t if term.heights is None else float(term.heights(np.array(t)))
    _refuse_infinite(term.name, added)
    return added


def _refuse_infinite(name: str, *numbers: float) -> None:
    if not all(map(math.isfinite, numbers)):
        raise DataError(
            f"feature {brief(name)} cannot be exported: its weight in units of the feature overflows. Scale the "
            "feature first."
        )


def offset_of(model: RankingModel, offset: float | str) -> float:
    """The offset as a number. 'auto' becomes the smallest integer that keeps training scores at least ROOM above 0.

    Raises
        ParameterError   not a number from -MAX_OFFSET to MAX_OFFSET
        DataError        'auto' for a model without a recorded lowest score
    """
    if isinstance(offset, str) and offset == AUTO:
        lowest = lowest_score(model)
        if lowest is None:
            why = "scores of this model depend on the candidate list, so there is no lowest score. Give a number."
            again = "Give an offset as a number, or train the model again with select or fit."
            unknown = f"this model does not contain the lowest score of its training documents. {again}"
            raise DataError(why if model.per_query else unknown)
        return max(0.0, math.ceil(-lowest) + ROOM)
    added = as_real(offset)
    if not abs(added) <= MAX_OFFSET:
        usable = f"must be a finite number or {AUTO}; got {brief(str(offset))} (usable: -1e6 to 1e6)."
        raise ParameterError("offset", usable)
    return added
