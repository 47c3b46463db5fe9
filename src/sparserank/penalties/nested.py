"""Nested penalties (theory.md section 7): the norm of a group of features is penalised, and within it the norm of the
bends of each curve."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from sparserank.errors import DataError
from sparserank.penalties.base import KEEP_BOX, Penalty
from sparserank.penalties.l1 import L1
from sparserank.penalties.log import Log
from sparserank.penalties.mcp import MCP
from sparserank.penalties.parts import BlockPart, Conjugate
from sparserank.penalties.rules import NONNEGATIVE, NONPOSITIVE, FeatureRules
from sparserank.penalties.scad import SCAD

# Penalties that support groups and curves: their slope at 0 is finite, and they have no quadratic part.
OF_NORMS: tuple[type[Penalty], ...] = (L1, MCP, SCAD, Log)
NESTING = [cls.name for cls in OF_NORMS]
RIDGE = 1e-3  # ridge added to concave penalties on curves, whose linear parts have curvature 1
MAX_NEWTON = 50


class Sizes(NamedTuple):
    """blocks: coefficients (n_features, width); whole: norms |u_G| (n_groups,); bends: norms |u_j,curve|
    (n_features,)."""

    blocks: np.ndarray
    whole: np.ndarray
    bends: np.ndarray


@dataclass(frozen=True, repr=False)
class Nested(Penalty):
    """sum_G p(|u_G|; alpha beta_G sqrt(m_G)) + sum_j p(|u_j,curve|; alpha beta_j kappa_j) of coefficients u_j (width,)
    for each feature. The first coefficient is the linear part of the feature, the others are its bends. Norms are
    Euclidean; p is the scalar penalty `of`, whose rules are ignored.

    Conventions
        A group G is a single feature if `groups` does not mention it; m_G counts its features that may be used
        (`on_coefficients` leaves out those that do not vary). beta_G is their common weight, or 0 if one of them is
        always kept, because the group is then in the model anyway.
        A concave p does not penalise large coefficients, so bends with little data would be large: `ridge` |u|^2 / 2
        is added on curves (0 for l1). Rules (weights beta, monotone, keep, drop, groups) are set per feature,
        and apply to all its columns; `kappa` (n_features,) is the penalty of bending, used if width > 1.

    Source
        Yuan and Lin (2006) for groups and sqrt(m_G); Zhao, Rocha and Yu (2009), composite absolute penalties, for
        nested norms; a single linear feature is penalised exactly as under `of`.
    """

    of: Penalty = field(default_factory=L1)
    width: int = 1
    kappa: tuple[float, ...] = ()
    ridge: float = 0.0

    name = "nested"
    separable = False
    blockwise = True

    def _check(self) -> None:
        if not nests(self.of):
            raise DataError(f"groups and curves support the penalties {', '.join(NESTING)}; got {self.of.name}.")

    @property
    def _shown(self) -> str:
        return type(self.of).__name__

    @property
    def label(self) -> str:
        return self.of.label

    def resolve(self, curvature: np.ndarray, total_weight: float) -> Self:
        """The penalty with the shape parameters of `of` on the scale of the mean loss. Of the curvatures, only those of
        the linear parts of usable features count."""
        linear = np.where(self.usable(len(curvature)), curvature, 0.0)[:: self.width]
        return replace(self, of=self.of.resolve(linear, total_weight))

    # -- rules, by column and by group ---------------------------------------------------------------------------------

    def _make_weights(self, n_columns: int) -> np.ndarray:
        beta = super()._make_weights(n_columns // self.width)
        group, n_groups = self._groups(n_columns)
        # A group with an always-keep feature is in the model anyway, so all its features are free of cost.
        kept = np.bincount(group, beta == 0, n_groups) > 0
        finite = np.isfinite(beta)
        beta = np.where(finite & kept[group], 0.0, beta)
        # A group has one price, so its usable features must have equal weights.
        most = np.zeros(n_groups)
        np.maximum.at(most, group[finite], beta[finite])
        unequal = finite & (beta != most[group])
        if unequal.any():
            j = int(np.argmax(unequal))
            raise DataError(
                f"{self._shown}: a group is penalised once, so its features must have the same weight; feature "
                f"f{j + 1} has the weight {beta[j]:g}, another feature of its group {most[group[j]]:g}."
            )
        return np.repeat(beta, self.width)

    def _make_signs(self, n_columns: int) -> np.ndarray:
        return np.repeat(super()._make_signs(n_columns // self.width), self.width)

    def _groups(self, n_columns: int) -> tuple[np.ndarray, int]:
        """((n_features,) group of each feature, numbered from 0 without gaps; number of groups)"""
        group = self.group_of(n_columns // self.width)
        return group, int(group.max(initial=-1)) + 1

    def _over_groups(self, squares: np.ndarray, n_columns: int) -> np.ndarray:
        """(n_groups,) norms of groups, from squared norms of their features (n_features,)."""
        group, n_groups = self._groups(n_columns)
        return np.sqrt(squares if self.feature_groups is None else np.bincount(group, squares, n_groups))

    def _unit_prices(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Prices for alpha = 1: (n_groups,) beta sqrt(m), (n_features,) beta kappa; inf where use is not allowed."""
        return self._remembered("whole", n, self._make_whole), self._remembered("curve_price", n, self._make_bend)

    def _make_whole(self, n: int) -> np.ndarray:
        """(n_groups,) beta sqrt(m): the sum of m equal weights, divided by sqrt(m)."""
        group, n_groups = self._groups(n)
        beta = self.feature_weights(n)[:: self.width]
        usable = np.isfinite(beta)
        m = np.bincount(group, usable, n_groups)
        total = np.bincount(group, np.where(usable, beta, 0.0), n_groups)
        return np.where(m > 0, total / np.sqrt(np.maximum(m, 1.0)), np.inf)  # weights are equal within a group

    def _make_bend(self, n: int) -> np.ndarray:
        """(n_features,) beta kappa; 0 if there are no bends."""
        beta = self.feature_weights(n)[:: self.width]
        kappa = np.array(self.kappa) if self.width > 1 else np.zeros(len(beta))
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(beta), beta * kappa, np.inf)

    def _prices(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """`_unit_prices` times alpha."""
        self.feature_alphas(n)  # raises if a product overflows
        return (
            self._remembered("whole times alpha", n, lambda n: self._times_alpha(self._unit_prices(n)[0])),
            self._remembered("curve_price times alpha", n, lambda n: self._times_alpha(self._unit_prices(n)[1])),
        )

    def _times_alpha(self, prices: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(prices), self.alpha * prices, np.inf)

    def _sizes(self, v: np.ndarray) -> Sizes:
        """Coefficients (n,) as blocks, with the norms of groups and of bends."""
        blocks = v.reshape(-1, self.width)
        squares = (blocks[:, 1:] ** 2).sum(axis=1)
        return Sizes(blocks, self._over_groups(blocks[:, 0] ** 2 + squares, len(v)), np.sqrt(squares))

    def _slopes(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of p by the norm of each group (n_groups,), ridge included, and by the norm of each curve
        (n_features,); inf where use is not allowed."""
        sizes = self._sizes(w)
        out = []
        for size, price in zip((sizes.whole, sizes.bends), self._prices(len(w)), strict=True):
            slope = np.full(len(size), np.inf)
            finite = np.isfinite(price)
            slope[finite] = self.of._slope(size[finite], price[finite])
            out.append(slope)
        return out[0] + self.ridge * sizes.whole, out[1]

    # -- the contract -------------------------------------------------------------------------------------------------

    def value(self, w: np.ndarray) -> float:
        _, whole, bends = self._sizes(w)
        of_use, of_bends = self._prices(len(w))
        if (w * self.feature_signs(len(w)) < 0).any() or ((w != 0) & ~self.usable(len(w))).any():
            return float("inf")
        # Only non-zero norms are evaluated, because 0 times an infinite price is undefined.
        used, bent = whole > 0, bends > 0
        paid = self.of._value(whole[used], of_use[used]).sum() + self.of._value(bends[bent], of_bends[bent]).sum()
        return float(paid) + 0.5 * self.ridge * float(w @ w)

    def _open(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Projected negative gradient: 0 for unusable coefficients, and for those at 0 whose move a sign rule
        blocks."""
        monotone = self.feature_signs(len(w))
        ascent = np.where(self.usable(len(w)), -gradient, 0.0)
        ascent = np.where((monotone == NONNEGATIVE) & (w == 0), np.maximum(ascent, 0.0), ascent)
        return np.where((monotone == NONPOSITIVE) & (w == 0), np.minimum(ascent, 0.0), ascent)

    def subdiff_distance(self, w: np.ndarray, grad: np.ndarray) -> np.ndarray:
        """(n,) distance of a group's negative gradient to the subdifferential, for each of its columns (theory.md
        section 7, KKT)."""
        n = len(w)
        blocks, whole, bends = self._sizes(w)
        group, _ = self._groups(n)
        slope, bend_slope = (np.where(np.isfinite(s), s, 0.0) for s in self._slopes(w))
        # Subtract the gradients of the norms that are not 0: slope * u / |u| for groups, and likewise for bends.
        along = np.where(whole > 0, slope / np.where(whole > 0, whole, 1.0), 0.0)[group]
        rest = self._open(w, grad).reshape(-1, self.width) - along[:, None] * blocks
        rest[:, 1:] -= np.where(bends > 0, bend_slope / np.where(bends > 0, bends, 1.0), 0.0)[:, None] * blocks[:, 1:]
        # Bends that are 0: the subdifferential is a ball of radius bend_slope, which absorbs that much of the rest.
        in_ball = np.where(bends > 0, 0.0, bend_slope)
        held = np.maximum(np.linalg.norm(rest[:, 1:], axis=1) - in_ball, 0.0)
        # Groups that are 0: a ball of radius slope in all coordinates is added to it.
        distance = self._over_groups(rest[:, 0] ** 2 + held**2, n)
        distance = np.where(whole > 0, distance, np.maximum(distance - slope, 0.0))
        return np.where(self.usable(n), np.repeat(distance[group], self.width), 0.0)

    # -- what solvers ask ---------------------------------------------------------------------------------------------

    def working_blocks(self, columns: np.ndarray) -> np.ndarray:
        """Linear parts of a group enter together; a bend enters with all bends of its curve and the linear parts."""
        blocks = np.asarray(columns).reshape(-1, self.width)
        group, n_groups = self._groups(len(columns))
        # Spread the flags: from any column to the linear parts of its group, from any bend to all bends of its curve.
        used = np.asarray(np.bincount(group, blocks.any(axis=1), n_groups) > 0)
        out = np.repeat(np.asarray(blocks[:, 1:].any(axis=1))[:, None], self.width, axis=1)
        out[:, 0] = used[group]
        return out.ravel()

    def _pulls(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n_features,) |g_1| and |g_curve| of the projected gradient at w = 0."""
        blocks = self._open(np.zeros(len(gradient)), gradient).reshape(-1, self.width)
        return np.abs(blocks[:, 0]), np.linalg.norm(blocks[:, 1:], axis=1)

    def priority(self, w: np.ndarray, gradient: np.ndarray, share: float, curvature: np.ndarray) -> np.ndarray:
        n = len(w)
        group, _ = self._groups(n)
        straight, bent = self._pulls(gradient)
        slope, bend_slope = (share * s for s in self._slopes(np.zeros(n)))
        # By how much the projected gradient exceeds share times the price at 0: first for the bends, then for the whole
        # group (theory.md section 7, KKT).
        over_bend = bent - bend_slope
        of_group = (self._over_groups(straight**2 + np.maximum(over_bend, 0.0) ** 2, n) - slope)[group]
        # Bends of a group in use need to pay only for bending; those of a group at 0 need both to exceed their price.
        in_use = self._sizes(w).whole[group] > 0
        out = np.repeat(np.where(in_use, over_bend, np.minimum(over_bend, of_group))[:, None], self.width, axis=1)
        out[:, 0] = of_group
        return out.ravel()

    def alpha_max(self, grad_at_zero: np.ndarray) -> float:
        return float(self._limits(grad_at_zero).max(initial=0.0)) / self._unit_slope_at_zero()

    def _unit_slope_at_zero(self) -> float:
        return self.of._unit_slope_at_zero()

    def path_alpha_max(self, grad_at_zero: np.ndarray, curvature: np.ndarray) -> float:
        """Strength below which w = 0 is not stationary; a concave penalty may jump away from 0 slightly earlier."""
        return self.alpha_max(grad_at_zero)

    def _limits(self, gradient: np.ndarray) -> np.ndarray:
        """(n_groups,) the smallest strength, for a slope of 1 at 0, that keeps each group at 0; 0 for unpenalised
        groups.

        The root of |(straight, (bent - alpha k)_+)| = alpha B, k and B the unit prices: left side minus right side is
        convex and falls, so Newton steps from 0 stay on one side; at their end it is a quadratic equation.
        """
        n = len(gradient)
        group, n_groups = self._groups(n)
        whole, curve_price = self._unit_prices(n)
        priced = np.isfinite(whole) & (whole > 0)
        B, k = np.where(priced, whole, 1.0), np.where(np.isfinite(curve_price), curve_price, 0.0)
        straight, bent = self._pulls(gradient)
        # Newton steps from alpha = 0 on size(alpha) - alpha B, one root per group; `over` marks curves whose bends
        # exceed their price.
        square = np.bincount(group, straight**2, n_groups)
        alpha, over = np.zeros(n_groups), bent > 0
        for _ in range(MAX_NEWTON):
            left = np.where(over, bent - alpha[group] * k, 0.0)
            size = np.sqrt(square + np.bincount(group, left**2, n_groups))
            falls = np.bincount(group, k * left, n_groups) / np.where(size > 0, size, 1.0) + B
            step = np.maximum(size - alpha * B, 0.0) / falls
            alpha = alpha + step
            over = bent > alpha[group] * k
            if (step <= 1e-9 * alpha).all():
                break
        # With `over` final, the equation is Q alpha^2 + 2 P alpha - S = 0. Its smallest positive root is
        # S / (P + sqrt(P^2 + Q S)).
        S = square + np.bincount(group, np.where(over, bent**2, 0.0), n_groups)
        P = np.bincount(group, np.where(over, bent * k, 0.0), n_groups)
        Q = B * B - np.bincount(group, np.where(over, k * k, 0.0), n_groups)
        whole_root = P + np.sqrt(np.maximum(P * P + Q * S, 0.0))
        root = np.where(whole_root > 0, S / np.where(whole_root > 0, whole_root, 1.0), 0.0)
        return np.where(priced, root, 0.0)

    def conjugate(self, w: np.ndarray, gradient: np.ndarray) -> Conjugate:
        """The penalty's half of the dual along -s gradient, for l1: s is limited by alpha / alpha_j of every group
        (theory.md section 7, Gap). Unpenalised features as in `Penalty`."""
        most = float(self._limits(gradient).max(initial=0.0))
        kept = self.always_in(len(w))
        abs_gradient = np.abs(self._open(w, gradient))
        cost = float((KEEP_BOX * np.maximum(1.0, np.abs(w[kept])) * abs_gradient[kept]).sum())
        return Conjugate(self.alpha / most if most > 0 else np.inf, cost)

    def can_screen(self, varying: np.ndarray) -> bool:
        return self.is_convex and not (self.always_in(len(varying)) & varying).any()

    def safely_zero(self, gradient: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """(n,) bool: columns of groups, and bends of curves, that are 0 in every solution (theory.md section 7,
        Screening).

        slack (n,): radius of each column. The radius of a curve is the largest of its columns, which are orthogonal, or
        the root of the sum of squares if it is monotone; that of a group is the root of the sum over its features.
        """
        n = len(slack)
        group, _ = self._groups(n)
        # Combine the radii of the columns of each feature.
        blocks = np.where(self.usable(n), slack, 0.0).reshape(-1, self.width)
        overlap = self.feature_signs(n)[:: self.width] != 0
        around = np.where(overlap, np.linalg.norm(blocks, axis=1), blocks.max(axis=1))
        straight, bent = self._pulls(gradient)
        whole, curve_price = self._prices(n)
        # KKT at 0 with the radius added, for the whole group and for the bends alone.
        left = np.maximum(bent - np.where(np.isfinite(curve_price), curve_price, 0.0), 0.0)
        out = np.asarray(self._over_groups(straight**2 + left**2, n) + self._over_groups(around**2, n) < whole)
        no_bend = np.asarray(bent + around < curve_price)[:, None] & (np.arange(self.width) > 0)
        return np.asarray(out[group][:, None] | no_bend).ravel()

    def restrict(self, columns: np.ndarray, n_features: int) -> BlockPart:
        group, _ = self._groups(n_features)
        feature = columns // self.width
        # Sort the columns by group, so that each group is one block.
        order = np.argsort(group[feature], kind="stable")
        columns, feature = columns[order], feature[order]
        starts = np.flatnonzero(np.diff(group[feature], prepend=-1))
        whole, curve_price = self._prices(n_features)
        # Find the curves: runs of bend columns of one feature.
        bending = np.flatnonzero(columns % self.width)
        runs = np.flatnonzero(np.diff(feature[bending], prepend=-1))
        first, behind = bending[runs], bending[np.append(runs[1:], len(bending)) - 1] + 1 if len(runs) else runs
        shape = self.of.shape()
        return BlockPart(
            order,
            np.append(starts, len(columns)),
            whole[group[feature[starts]]],
            first,
            behind,
            curve_price[feature[first]],
            self.feature_signs(n_features)[columns],
            self.of.kind,
            shape[0],
            shape[1],
            self.ridge,
            self.of._value,
            self.of._slope,
            self.of._second_derivative,
        )

    def prox(self, v: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        """The prox, for l1 only (theory.md section 7). step: one number, or one per column that is equal within
        groups."""
        if not self.is_convex:
            raise DataError(
                f"the prox of nested concave penalties has no closed form. Solve groups and curves of {self.of.name} "
                "with ProxNewton."
            )
        n = len(v)
        group, n_groups = self._groups(n)
        steps = np.broadcast_to(np.asarray(step, dtype=np.float64), v.shape)[:: self.width]
        of_group = np.zeros(n_groups)
        of_group[group] = steps
        whole, curve_price = self._prices(n)
        monotone = self.feature_signs(n)
        # Signs first: the positive part of sign * v. The bends are shrunk next, and the whole group last.
        open_side = np.where(monotone == 0, v, monotone * np.maximum(monotone * v, 0.0))
        blocks = np.where(self.usable(n), open_side, 0.0).reshape(-1, self.width).copy()
        blocks[:, 1:] *= _left(np.linalg.norm(blocks[:, 1:], axis=1), steps * curve_price)[:, None]
        left = _left(self._sizes(blocks.ravel()).whole, of_group * whole)
        return (blocks * left[group][:, None]).ravel()


@dataclass(frozen=True, repr=False)
class NestedL1(Nested):
    """Convex: alpha (sum_G beta_G sqrt(m_G) |u_G| + sum_j beta_j kappa_j |u_j,curve|), with a duality gap."""

    is_convex = True


def like_l1(penalty: FeatureRules) -> Penalty:
    """l1 with the rules of another penalty: weights, monotone, groups, keep, drop; nested if the other is nested."""
    rules = (penalty.weights, penalty.monotone, penalty.keep, penalty.drop, penalty.feature_groups)
    if isinstance(penalty, Nested):
        return NestedL1(1.0, *rules, of=L1(), width=penalty.width, kappa=penalty.kappa)
    return L1(1.0, *rules)


def nests(of: FeatureRules) -> bool:
    """Whether a penalty supports groups and curves."""
    known = {cls.kind for cls in OF_NORMS}
    return isinstance(of, Penalty) and of.kind in known and not (of.smooth_at_zero or of.quadratic)


def nested(of: Penalty, width: int = 1, kappa: np.ndarray | None = None, monotone: np.ndarray | None = None) -> Nested:
    """The penalty `of`, with its rules per feature, on coefficients (n_features, width).

    Parameters
        kappa   (n_features,) the penalty of bending, for width > 1
        monotone   (n_features,) replaces that of the penalty: 1 for a monotone curve, whose coefficients are >= 0
    """
    cls, ridge = (NestedL1, 0.0) if of.is_convex else (Nested, RIDGE if width > 1 else 0.0)
    own = of.monotone if monotone is None else tuple(int(s) for s in monotone) if monotone.any() else None
    bare = replace(of, alpha=1.0, weights=None, monotone=None, keep=(), drop=(), feature_groups=None)
    return cls(
        of.alpha,
        of.weights,
        own,
        of.keep,
        of.drop,
        of.feature_groups,
        of=bare,
        width=width,
        kappa=() if kappa is None else tuple(kappa.tolist()),
        ridge=ridge,
    )


def _left(size: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Factor by which shrinking multiplies vectors of norm `size`: 1 - by / size, or 0 if that is negative."""
    with np.errstate(invalid="ignore"):
        return np.where(size > by, 1.0 - by / np.where(size > 0, size, 1.0), 0.0)
