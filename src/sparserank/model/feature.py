"""The record of a feature in a model, and the transforms and scaling of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparserank.bins import StepFunction
from sparserank.data.categories import Derived
from sparserank.data.filling import fill_known
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import NONE, STEPS, Transform


class Feature(NamedTuple):
    """A selected feature, which contributes coef * (t(x) - mean) / scale to a score.

    Parameters
    ----------
    index : int
        Its number among all features, from 0.
    name : str
        Its name among all features.
    coef, mean, scale : float
        Weight, and what is subtracted from t(x) and divides it.
    transform : str
        The kind of t: 'none', 'log' (sign(x) log(1 + |x|)) or 'asinh' (asinh(x / constant)).
    constant : float
        The constant of the transform, 1 where none is needed.
    steps : StepFunction, optional
        Is t; the transform is then 'none'.
    missing, median : float, optional
        Replacement for a missing x (NaN, infinite or 1.797e308), None: a missing value is rejected; and the median of
        the training values, None: unknown.
    derived : Derived, optional
        The column of a table, and its level, that x is made from: 1 where the column has the level, or is missing, else
        0. None: x is a number.
    """

    index: int  # type: ignore[assignment]  # hides a method of tuples
    name: str
    coef: float
    mean: float = 0.0
    scale: float = 1.0
    transform: str = NONE
    constant: float = 1.0
    steps: StepFunction | None = None
    missing: float | None = None
    median: float | None = None
    derived: Derived | None = None

    @property
    def source(self) -> str:
        """The column of a table: the name of the feature, or the column that it is made from."""
        return self.name if self.derived is None else self.derived.source

    @property
    def level(self) -> str:
        """The level of a category for which x is 1; 'missing' if x says whether a value is missing; "" for a number."""
        return "" if self.derived is None else self.derived.level or "missing"

    @property
    def kind(self) -> str:
        """The kind of the function t: 'none', 'log', 'asinh' or 'steps'."""
        return self.transform if self.steps is None else STEPS

    @property
    def slope(self) -> float:
        """The weight of the unscaled t(x): coef / scale."""
        return self.coef / self.scale

    @property
    def heights(self) -> StepFunction | None:
        """The steps in units of the score: the contribution of the feature except for a constant; None without
        steps."""
        return None if self.steps is None else self.steps.times(self.slope)


@dataclass(frozen=True, eq=False)
class Shaping:
    """Transforms, steps and scaling of the columns of some features; the weights of a model apply to the result. fills:
    the replacements for missing values, NaN where a feature has none."""

    transform: Transform
    steps: dict[int, StepFunction]
    scaling: FeatureScaling
    fills: np.ndarray

    @classmethod
    def of(cls, features: Sequence[Feature], method: str) -> Shaping:
        """Collect the shaping of some features. method: the name of the scaling."""
        transform = Transform(tuple(f.transform for f in features), numbers(features, "constant"))
        steps = {k: f.steps for k, f in enumerate(features) if f.steps is not None}
        scaling = FeatureScaling(method, numbers(features, "mean"), numbers(features, "scale"))
        return cls(transform, steps, scaling, numbers(features, "missing"))

    def filled(self, columns: np.ndarray) -> np.ndarray:
        """Columns (n_docs, n_features) with missing values replaced, for features that have a replacement."""
        return columns if np.isnan(self.fills).all() else fill_known(columns, self.fills)

    def __call__(self, columns: np.ndarray, query_ptr: np.ndarray | None) -> np.ndarray:
        """Columns (n_docs, n_features) after transforms, steps and scaling; only scaling per query needs
        `query_ptr`."""
        shaped = self.transform(columns)
        if self.steps:
            shaped = shaped.copy()
        for k, steps in self.steps.items():
            shaped[:, k] = steps(shaped[:, k])
        return np.asarray(self.scaling.transform(shaped, query_ptr))


def numbers(features: Sequence[Feature], field: str) -> np.ndarray:
    """(n_features,) one field of all features, NaN where it is None."""
    return np.array([getattr(f, field) for f in features], dtype=np.float64)
