"""lp, 0 < p < 1, exact and smoothed at 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.errors import ParameterError
from sparserank.penalties._scalar_prox import LP, SMOOTHED_LP
from sparserank.penalties.base import Penalty
from sparserank.penalties.rules import ONE_BY_ONE


@dataclass(frozen=True, repr=False)
class _Power(Penalty):
    """Base class of Lp and SmoothedLp: the power, and the width of the smoothing."""

    p: float = 0.5
    eps: float = 1e-3

    respects = ONE_BY_ONE

    def _check(self) -> None:
        name = type(self).__name__
        if not 0 < self.p < 1:
            raise ParameterError("p", f"must be in (0, 1); got {self.p}. Use L1 for p = 1.", owner=name)
        if not self.eps > 0:
            raise ParameterError("eps", f"must be positive; got {self.eps}.", owner=name)

    def shape(self) -> tuple[float, float]:
        return self.p, self.eps


@dataclass(frozen=True, repr=False)
class Lp(_Power):
    """The lp penalty with p < 1, alpha * sum_j weights_j |w_j|^p.

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
    p : float, default 0.5
        Exponent, between 0 and 1.
    eps : float, default 0.001
        Width of the smoothing; used only by the smoothed penalty.

    Notes
    -----
    w = 0 is stationary at every alpha, so the certificate is the fixed point of the coordinate prox. The slope at 0 is
    infinite, so reweighting (Algorithm 2) uses `SmoothedLp` (see `smoothed`).

    References
    ----------
    Laporte et al. (2014), Table II; p = 0.5 there.

    Examples
    --------
    >>> import numpy as np
    >>> from sparserank.penalties import Lp
    >>> Lp(1.0).value(np.array([4.0, 0.0]))
    2.0
    """

    name = "lp"
    kind = LP
    kkt_is_vacuous_at_zero = True

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * t**self.p

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        slope = np.where(alphas > 0, np.inf, 0.0)
        positive = t > 0
        slope[positive] = alphas[positive] * self.p * t[positive] ** (self.p - 1.0)
        return slope

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * self.p * (self.p - 1.0) * t ** (self.p - 2.0)

    def alpha_max(self, grad_at_zero: np.ndarray) -> float:
        """Always 0, because w = 0 is stationary at any strength. Paths start at `path_alpha_max`."""
        return 0.0

    def smoothed(self) -> SmoothedLp:
        """The smoothed penalty that reweighting minimises."""
        return SmoothedLp(self.alpha, self.weights, self.monotone, self.keep, self.drop, p=self.p, eps=self.eps)

    @property
    def label(self) -> str:
        short = f"{self.p:g}"
        if float(short) == self.p and short.startswith("0."):
            return f"l{short}"
        return f"lp(p={self.p!r})"


@dataclass(frozen=True, repr=False)
class SmoothedLp(_Power):
    """The lp penalty with a finite slope at 0, alpha * sum_j weights_j ((|w_j| + eps)^p - eps^p).

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
    p : float, default 0.5
        Exponent, between 0 and 1.
    eps : float, default 0.001
        Width of the smoothing.

    Examples
    --------
    >>> import numpy as np
    >>> from sparserank.penalties import SmoothedLp
    >>> round(SmoothedLp(1.0, eps=1.0).value(np.array([3.0])), 6)
    1.0
    """

    name = "smoothed_lp"
    kind = SMOOTHED_LP

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * self.eps**self.p * np.expm1(self.p * np.log1p(t / self.eps))

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * self.p * (t + self.eps) ** (self.p - 1.0)

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return alphas * self.p * (self.p - 1.0) * (t + self.eps) ** (self.p - 2.0)
