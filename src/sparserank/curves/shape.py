"""Fitted curves in a model: piecewise linear functions of a feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparserank.curves.knots import Knots


@dataclass(frozen=True, eq=False)
class Curve:
    """Piecewise linear function with `values` (n,) at rising `knots` (n,); flat outside."""

    knots: np.ndarray
    values: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.interp(x, self.knots, self.values)

    @property
    def is_linear(self) -> bool:
        """Whether it bends only at its ends."""
        return len(self.knots) == 2


Curves = Mapping[int, Curve]  # by feature number

STRAIGHT = 1e-9  # relative change of slope below which a curve does not bend


def curves_of(knots: Knots, increments: np.ndarray, weights: np.ndarray) -> dict[int, Curve]:
    """The curves of the features that have an increment (n_features, m), divided by weights (n_features,),
    around the value in the middle of their range."""
    out = {}
    for j in np.flatnonzero(increments.any(axis=1)).tolist():
        L = int(knots.n_segments[j])
        at, rises = knots.at[j, : L + 1], increments[j, :L] / weights[j]
        slopes = rises / np.diff(at)
        if np.abs(np.diff(slopes)).max(initial=0.0) <= STRAIGHT * np.abs(slopes).max():
            at, rises = at[[0, -1]], np.array([rises.sum()])
        values = np.concatenate([[0.0], np.cumsum(rises)])
        out[j] = Curve(at.copy(), values - 0.5 * (values.min() + values.max()))
    return out
