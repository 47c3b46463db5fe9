"""The minimax concave penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sparserank.errors import ParameterError
from sparserank.options import Choice
from sparserank.options.arguments import check_arguments
from sparserank.penalties import _scalar_prox
from sparserank.penalties.base import Penalty
from sparserank.penalties.rules import RULES

GAMMA_SCALES = ("curvature", "mean", "sum")


@dataclass(frozen=True, repr=False)
class MCP(Penalty):
    """The minimax concave penalty.

    The sum over j of alpha_j |w_j| - w_j^2 / (2 gamma) up to |w_j| = gamma alpha_j, and gamma alpha_j^2 / 2 beyond,
    where alpha_j = alpha weights_j.

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
    gamma : float, default 3.0
        Point at which the penalty becomes flat, in units of `gamma_scale`; larger values are closer to l1.
    gamma_scale : {'curvature', 'mean', 'sum'}, default 'curvature'
        Unit of gamma: the inverse median curvature of the loss; 1, for the formula on the mean loss; or n_pairs, as in
        Laporte et al. (2014), whose loss is a sum over pairs. Their gamma = 2 equals 2 * n_pairs here, practically l1.
        `resolve` converts any of them to 'mean'.

    References
    ----------
    Zhang (2010); Laporte et al. (2014), Table II, gamma = 2 on the sum scale.

    Examples
    --------
    >>> import numpy as np
    >>> from sparserank.penalties import MCP
    >>> MCP(1.0, gamma=2.0, gamma_scale="mean").value(np.array([1.0, 5.0]))  # 0.75 + 1
    1.75
    """

    gamma: float = 3.0
    gamma_scale: str = "curvature"

    name = "mcp"
    kind = _scalar_prox.MCP
    respects = RULES

    def _check(self) -> None:
        if not self.gamma > 0:
            raise ParameterError("gamma", f"must be positive; got {self.gamma}.", owner="MCP")
        check_arguments(MCP, {"gamma_scale": self.gamma_scale}, gamma_scale=Choice(GAMMA_SCALES))

    def resolve(self, curvature: np.ndarray, total_weight: float) -> Self:
        scale = scale_factor(self.gamma_scale, self.usable_values(curvature), total_weight)
        return replace(self, gamma=self.gamma * scale, gamma_scale="mean")

    def shape(self) -> tuple[float, float]:
        return self.gamma, 0.0

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        inner = alphas * t - t * t / (2.0 * self.gamma)
        return np.where(t <= self.gamma * alphas, inner, 0.5 * self.gamma * alphas**2)

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return np.maximum(alphas - t / self.gamma, 0.0)

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        return np.where(t < self.gamma * alphas, -1.0 / self.gamma, 0.0)


def scale_factor(scale: str, curvature: np.ndarray, total_weight: float) -> float:
    """Units of a concavity parameter on the mean-loss scale.

    'mean': 1. 'sum' (Laporte et al.): the total pair weight (the number of pairs), because their penalty is added to a
    sum over pairs. 'curvature': 1 / h_ref, where h_ref is the median of the largest curvatures of the loss along the
    features that vary; the concavity then has the same meaning for any data. Callers leave out features that may not be
    used.
    """
    if scale == "mean":
        return 1.0
    if scale == "sum":
        return float(total_weight)
    usable = curvature[curvature > 0]
    return 1.0 / float(np.median(usable)) if len(usable) else 1.0
