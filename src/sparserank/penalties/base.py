"""The interface between penalties and solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from sparserank.penalties._scalar_prox import prox_all
from sparserank.penalties.parts import BlockPart, Conjugate, Part, SeparablePart
from sparserank.penalties.rules import NONNEGATIVE, NONPOSITIVE, FeatureRules

KEEP_BOX = 10.0  # always-keep coefficients are certified within KEEP_BOX * max(1, |w_j|): the dual needs a bound


@dataclass(frozen=True, repr=False)
class Penalty(FeatureRules):
    """A separable penalty, sum_j p(|w_j|; alpha * weights_j), alpha included; the base of penalties.

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

    Raises
    ------
    DataError
        A parameter is outside its range.

    Notes
    -----
    Instances are immutable values: `parse_penalty(repr(p)) == p`. Subclasses define `_value`, `_slope`,
    `_second_derivative` and a scalar prox (`_scalar_prox.py`), and what is true of them, nothing else. A penalty that
    ties columns together overrides the methods under "what solvers ask", and has separable = False.
    """

    kind: ClassVar[int]
    is_convex: ClassVar[bool] = False
    # whether the penalty is a sum over coordinates, as required by solvers that change one coordinate at a time
    separable: ClassVar[bool] = True
    # whether the penalty is a sum over blocks of columns that compiled descent supports
    blockwise: ClassVar[bool] = False
    smooth_at_zero: ClassVar[bool] = False  # True when p'(0) = 0: no feature is ever exactly 0 at a solution
    kkt_is_vacuous_at_zero: ClassVar[bool] = False

    @property
    def quadratic(self) -> float:
        """For a convex penalty, the strength of its quadratic part, quadratic * w_j^2 / 2."""
        return 0.0

    # -- defined by subclasses ----------------------------------------------------------------------------------

    def _value(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """The penalty (n,) of magnitudes t >= 0 at strengths alphas."""
        raise NotImplementedError

    def _slope(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """The derivative with respect to t; at 0, its limit from the right."""
        raise NotImplementedError

    def _second_derivative(self, t: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """The second derivative with respect to t at t > 0; negative where the penalty is concave."""
        raise NotImplementedError

    def shape(self) -> tuple[float, float]:
        """The two shape parameters that the compiled scalar prox of this kind takes."""
        return 0.0, 0.0

    # -- the contract -------------------------------------------------------------------------------------------

    def value(self, w: np.ndarray) -> float:
        """Value of the penalty at w; infinite if a sign is wrong or a feature that is never used has a weight."""
        alphas = self.feature_alphas(len(w))
        monotone = self.feature_signs(len(w))
        if (w * monotone < 0).any() or (np.isinf(alphas) & (w != 0)).any():
            return float("inf")
        used = w != 0
        return float(self._value(np.abs(w[used]), alphas[used]).sum())

    def derivative(self, w: np.ndarray) -> np.ndarray:
        """(n_features,) slope of the penalty at |w_j|; at 0, its limit from the right."""
        alphas = self.feature_alphas(len(w))
        out = np.full(len(w), np.inf)
        finite = np.isfinite(alphas)
        out[finite] = self._slope(np.abs(w[finite]), alphas[finite])
        return out

    def subdiff_distance(self, w: np.ndarray, grad: np.ndarray) -> np.ndarray:
        """(n_features,) distance of -grad_j to the subdifferential of the penalty (sign constraint included) at w_j."""
        slope = self.derivative(w)
        monotone = self.feature_signs(len(w))
        with np.errstate(invalid="ignore"):
            # w_j != 0: the subdifferential is the single point sign(w_j) * slope
            at_nonzero = np.abs(grad + np.sign(w) * slope)
            # w_j = 0: the interval [-slope, slope], open to -inf for w_j >= 0 and to +inf for w_j <= 0
            above = np.where(monotone == NONNEGATIVE, 0.0, np.maximum(grad - slope, 0.0))
            below = np.where(monotone == NONPOSITIVE, 0.0, np.maximum(-grad - slope, 0.0))
        at_zero = np.maximum(above, below)
        distance = np.where(w != 0, at_nonzero, at_zero)
        return np.where(np.isinf(slope) & (w == 0), 0.0, distance)

    # -- what solvers ask ---------------------------------------------------------------------------------------

    def working_blocks(self, columns: np.ndarray) -> np.ndarray:
        """(n_features,) bool: these columns, and the columns that must enter and leave a working set together with one
        of them."""
        return columns

    def priority(self, w: np.ndarray, gradient: np.ndarray, share: float, curvature: np.ndarray) -> np.ndarray:
        """(n_features,) > 0 for a coordinate that is 0 and whose gradient exceeds `share` of its threshold at 0. It is
        larger for coordinates that will leave 0 sooner. `curvature` (n_features,) > 0 bounds the curvature of the
        loss."""
        if self.kkt_is_vacuous_at_zero:
            return np.abs(self.prox(w - gradient / curvature, 1.0 / curvature)) * curvature
        return np.asarray(np.abs(gradient) - share * self.derivative(np.zeros(len(w))))

    def conjugate(self, w: np.ndarray, gradient: np.ndarray) -> Conjugate:
        """The contribution of the penalty to the dual along -s gradient, for convex penalties only: the Fenchel duals
        of l1, ridge and elastic net.

        An unpenalised feature has no finite conjugate: it is bounded to KEEP_BOX max(1, |w_j|).
        """
        alphas = self.feature_alphas(len(w))
        abs_gradient = self._abs_gradient(gradient)
        finite = np.isfinite(alphas)
        if self.quadratic > 0:
            a = alphas[finite]
            p = abs_gradient[finite]

            def convex(s: float) -> tuple[float, float]:
                over = np.maximum(s * p - a, 0.0)
                return float((over**2).sum()) / (2.0 * self.quadratic), float(p @ over) / self.quadratic

            return Conjugate(convex=convex)
        unpenalised = finite & (alphas == 0)
        cost = float((KEEP_BOX * np.maximum(1.0, np.abs(w[unpenalised])) * abs_gradient[unpenalised]).sum())
        limited = finite & (alphas > 0) & (abs_gradient > 0)
        return Conjugate(float(np.min(alphas[limited] / abs_gradient[limited], initial=np.inf)), cost)

    def gap_condition(self, n_features: int) -> str | None:
        """The condition, as text, under which the duality gap bounds the distance to the optimum: 'among models ...',
        because unpenalised features are bounded, see `conjugate`. None if it always does, or if there is no gap."""
        if not self.is_convex or self.quadratic > 0 or not (self.feature_weights(n_features) == 0).any():
            return None
        return (
            f"among models whose always-kept features have weights of at most {KEEP_BOX:g} max(1, |w_j|) in absolute "
            "value, where w_j is the fitted weight"
        )

    def can_screen(self, varying: np.ndarray) -> bool:
        """Whether `safely_zero` can exclude features. It can for l1 (weights and monotone included). It cannot with a
        quadratic part, a concave penalty, or an unpenalised feature among those that vary: the dual point is then
        feasible only within a box.
        """
        if not self.is_convex or self.quadratic > 0:
            return False
        return not (self.always_in(len(varying)) & varying).any()

    def safely_zero(self, gradient: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """(n_features,) bool: features that are 0 at a solution whose dual gradient is within slack_j of
        `gradient`_j."""
        return np.asarray(self._abs_gradient(gradient) + slack < self.feature_alphas(len(gradient)))

    def restrict(self, columns: np.ndarray, n_features: int) -> SeparablePart | BlockPart | Part:
        """The penalty on some of n_features columns."""
        return SeparablePart(self.feature_alphas(n_features)[columns], self.feature_signs(n_features)[columns], self)

    def prox(self, v: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        """argmin over u of step * value(u) + 0.5 ||u - v||^2; `step` is one number or one per coordinate."""
        steps = np.broadcast_to(np.asarray(step, dtype=np.float64), v.shape)
        out = np.empty(len(v))
        prox_all(
            self.kind,
            np.asarray(v, dtype=np.float64),
            1.0 / steps,
            self.feature_alphas(len(v)),
            self.feature_signs(len(v)),
            *self.shape(),
            out,
        )
        return out

    def alpha_max(self, grad_at_zero: np.ndarray) -> float:
        """Smallest strength from which w = 0 is stationary; features that are always kept are ignored."""
        beta = self.feature_weights(len(grad_at_zero))
        abs_gradient = self._abs_gradient(grad_at_zero)
        limited = (beta > 0) & np.isfinite(beta)
        slope = self._unit_slope_at_zero()
        if slope == 0 or not limited.any():
            return float("inf") if slope == 0 else 0.0
        return float(np.max(abs_gradient[limited] / beta[limited]) / slope)

    def _unit_slope_at_zero(self) -> float:
        return float(self._slope(np.zeros(1), np.ones(1))[0])

    def path_alpha_max(self, grad_at_zero: np.ndarray, curvature: np.ndarray) -> float:
        """Smallest strength at which no coordinate step from w = 0 leaves 0: the start of a path.

        With a concave penalty, w = 0 can be stationary and still worse than a distant point, so this is at least
        `alpha_max`. `curvature` (n_features,) is the largest curvature of the loss along each coordinate.
        """
        beta = self.feature_weights(len(curvature))
        usable = (curvature > 0) & (beta > 0) & np.isfinite(beta)
        if not usable.any():
            return 0.0
        h = np.where(usable, curvature, 1.0)
        v = np.where(usable, -grad_at_zero / h, 0.0)
        steps = 1.0 / h

        def all_zero(alpha: float) -> bool:
            return not np.any(self.with_alpha(alpha).prox(v, steps)[usable])

        high = float(np.max(np.abs(grad_at_zero[usable])))
        if high == 0.0:
            return 0.0
        while not all_zero(high):
            high *= 2.0
        while high > np.finfo(float).tiny and all_zero(0.5 * high):  # strengths have no natural scale
            high *= 0.5
        low = 0.5 * high
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if all_zero(middle) else (middle, high)
        return high

    def resolve(self, curvature: np.ndarray, total_weight: float) -> Self:
        """The penalty with every parameter on the mean-loss scale;
        only concave penalties with a declared scale are changed."""
        return self
