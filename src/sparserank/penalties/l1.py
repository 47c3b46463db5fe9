"""l1 and weighted l1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.penalties._scalar_prox import ELASTIC
from sparserank.penalties.base import Penalty
from sparserank.penalties.rules import RULES


@dataclass(frozen=True, repr=False)
class L1(Penalty):
    """The l1 norm, alpha * sum_j weights_j |w_j|.

    Parameters
    ----------
    alpha : float, default 1.0
        Regularisation strength on the scale of the mean loss.
    weights : array_like or mapping, optional
        Feature costs, which multiply alpha. `FeatureRules` describes these and the other rules per feature.
    monotone : array_like or mapping, optional
        Sign constraints of the coefficients.
    keep, drop : sequence of int or str, optional
        Features that are always used, and features that are never used.
    feature_groups : array_like or mapping, optional
        Groups of features that enter the model together.

    References
    ----------
    Laporte et al. (2014), equation (6) and, with weights, (12).

    Examples
    --------
    >>> import numpy as np
    >>> from sparserank.penalties import L1
    >>> L1(0.5).value(np.array([1.0, -2.0, 0.0]))
    1.5
    """

    name = "l1"
    kind = ELASTIC
    is_convex = True
    respects = RULES

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * t

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * np.ones_like(t)

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return np.zeros_like(t)
