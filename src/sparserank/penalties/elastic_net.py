"""Ridge and elastic net: one quadratic, with or without an l1 part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.errors import ParameterError
from sparserank.penalties._scalar_prox import ELASTIC
from sparserank.penalties.base import Penalty
from sparserank.penalties.rules import ONE_BY_ONE, RULES, plain_values, remembered


@dataclass(frozen=True, repr=False)
class ElasticNet(Penalty):
    """The elastic net, alpha * sum_j (l1_ratio weights_j |w_j| + (1 - l1_ratio) w_j^2 / 2).

    Parameters
    ----------
    alpha : float, default 1.0
        Regularisation strength on the scale of the mean loss.
    weights : array_like or mapping, optional
        Feature costs, which multiply only the l1 part. `FeatureRules` describes these and the other rules per feature.
    monotone : array_like or mapping, optional
        Sign constraints of the coefficients.
    keep, drop : sequence of int or str, optional
        Features that are always used, and features that are never used.
    feature_groups : array_like or mapping, optional
        Groups of features that enter the model together.
    l1_ratio : float, default 0.5
        Fraction of l1; the quadratic part has strength alpha (1 - l1_ratio) for every feature.

    Examples
    --------
    >>> import numpy as np
    >>> from sparserank.penalties import ElasticNet
    >>> ElasticNet(1.0, l1_ratio=0.5).value(np.array([2.0]))
    2.0
    """

    l1_ratio: float = 0.5

    name = "elastic_net"
    kind = ELASTIC
    respects = RULES  # groups only without a quadratic part, see `supports_groups`
    is_convex = True

    def _check(self) -> None:
        if not 0 < self.l1_ratio <= 1:
            must = f"must lie in (0, 1]; got {self.l1_ratio}. Use Ridge for 0."
            raise ParameterError("l1_ratio", must, owner="ElasticNet")

    @property
    def quadratic(self) -> float:
        return self.alpha * (1.0 - self.l1_ratio)

    @remembered
    def feature_alphas(self, n_features: int) -> np.ndarray:
        return super().feature_alphas(n_features) * self.l1_ratio

    def shape(self) -> tuple[float, float]:
        return self.quadratic, 0.0

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * t + 0.5 * self.quadratic * t * t

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas + self.quadratic * t

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return np.full_like(t, self.quadratic)

    def _unit_slope_at_zero(self) -> float:
        return self.l1_ratio


@dataclass(frozen=True, repr=False)
class Ridge(Penalty):
    """The squared l2 norm, alpha * sum_j w_j^2 / 2: the penalty of RankSVM.

    Parameters
    ----------
    alpha : float, default 1.0
        Regularisation strength on the scale of the mean loss.
    weights : array_like, optional
        1, or inf for a feature that is never used: there is no l1 part that weights could multiply.
    monotone : array_like or mapping, optional
        Sign constraints of the coefficients. `FeatureRules` describes these and the other rules per feature.
    keep, drop : sequence of int or str, optional
        Features that are always used, and features that are never used.
    feature_groups : array_like or mapping, optional
        Groups of features that enter the model together.

    Examples
    --------
    >>> import numpy as np
    >>> from sparserank.penalties import Ridge
    >>> Ridge(2.0).value(np.array([3.0]))
    9.0
    """

    name = "ridge"
    kind = ELASTIC
    is_convex = True
    smooth_at_zero = True
    respects = ONE_BY_ONE

    def _check(self) -> None:
        if self.keep or any(b != 1 and np.isfinite(b) for b in plain_values(self.weights or ())):
            must = "must be 1 or inf (never), without keep. Use L1, or ElasticNet, whose weights act on its l1 part."
            raise ParameterError("weights", must, owner="Ridge")

    @property
    def quadratic(self) -> float:
        return self.alpha

    @remembered
    def feature_alphas(self, n_features: int) -> np.ndarray:
        return np.where(np.isinf(self.feature_weights(n_features)), np.inf, 0.0)

    def shape(self) -> tuple[float, float]:
        return self.alpha, 0.0

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return 0.5 * self.alpha * t * t

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return self.alpha * t

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return np.full_like(t, self.alpha)

    def path_alpha_max(self, grad_at_zero: np.ndarray, curvature: np.ndarray) -> float:
        """100 times the largest curvature along a feature that may be used; beyond it, w equals -gradient / alpha to
        within 1%. No strength gives w = 0."""
        return 100.0 * self.largest(curvature)
