"""The log penalty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.errors import ParameterError
from sparserank.penalties._scalar_prox import LOG
from sparserank.penalties.base import Penalty
from sparserank.penalties.rules import RULES


@dataclass(frozen=True, repr=False)
class Log(Penalty):
    """The log penalty, alpha * sum_j weights_j log(1 + |w_j| / eps).

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
    eps : float, default 0.1
        Shape parameter; smaller values make the penalty more concave.

    References
    ----------
    Laporte et al. (2014), Table II; eps = 0.1 there.

    Examples
    --------
    >>> import numpy as np
    >>> from sparserank.penalties import Log
    >>> round(Log(1.0).value(np.array([0.1])), 6)  # log 2
    0.693147
    """

    eps: float = 0.1

    name = "log"
    kind = LOG
    respects = RULES

    def _check(self) -> None:
        if not self.eps > 0:
            raise ParameterError("eps", f"must be positive; got {self.eps}.", owner="Log")

    def shape(self) -> tuple[float, float]:
        return self.eps, 0.0

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * np.log1p(t / self.eps)

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas / (self.eps + t)

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return -alphas / (self.eps + t) ** 2
