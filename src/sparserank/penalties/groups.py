"""Penalties of groups of features (theory.md section 7): the norm of a group is penalised, once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from sparserank.errors import DataError
from sparserank.penalties.base import KEEP_BOX, Penalty
from sparserank.penalties.l1 import L1
from sparserank.penalties.parts import BlockPart, Conjugate
from sparserank.penalties.rules import NONNEGATIVE, NONPOSITIVE, RULES, FeatureRules, remembered


@dataclass(frozen=True, repr=False)
class Grouped(Penalty):
    """sum_G p(|u_G|; alpha beta_G sqrt(m_G)). Norms are Euclidean; p is the scalar penalty `of`, whose rules are
    ignored.

    Conventions
        A group G is a single feature if `groups` does not mention it; m_G counts its features that may be used
        (`on_groups` leaves out those that do not vary). beta_G is their common weight, or 0 if one of them is
        always kept, because the group is then in the model anyway.

    Source
        Yuan and Lin (2006) for groups and sqrt(m_G); a group of a single feature is penalised exactly as under `of`.
    """

    of: Penalty = field(default_factory=L1)

    name = "grouped"
    respects = RULES
    separable = False
    blockwise = True

    def _check(self) -> None:
        if not supports_groups(self.of):
            raise DataError(f"groups do not support the penalty {self.of.name}; use one such as l1 or mcp.")

    @property
    def _shown(self) -> str:
        return type(self.of).__name__

    @property
    def label(self) -> str:
        return self.of.label

    def resolve(self, curvature: np.ndarray, total_weight: float) -> Self:
        """The penalty with the shape parameters of `of` on the scale of the mean loss. Of the curvatures, only those of
        usable features count."""
        usable = np.where(self.usable(len(curvature)), curvature, 0.0)
        return replace(self, of=self.of.resolve(usable, total_weight))

    # -- rules, by feature and by group --------------------------------------------------------------------------------

    @remembered
    def feature_weights(self, n: int) -> np.ndarray:
        beta = super().feature_weights(n)
        group, n_groups = self._groups(n)
        # A group with an always-keep feature is in the model anyway, so all its features are free of cost.
        has_zero = np.bincount(group, beta == 0, n_groups) > 0
        finite = np.isfinite(beta)
        beta = np.where(finite & has_zero[group], 0.0, beta)
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
        return beta

    def _groups(self, n: int) -> tuple[np.ndarray, int]:
        """((n_features,) group of each feature, numbered from 0 without gaps; number of groups)"""
        group = self.group_of(n)
        return group, int(group.max(initial=-1)) + 1

    def _norms(self, v: np.ndarray) -> np.ndarray:
        """(n_groups,) norms |v_G|."""
        group, n_groups = self._groups(len(v))
        return np.sqrt(np.bincount(group, v**2, n_groups))

    @remembered
    def _unit_prices(self, n: int) -> np.ndarray:
        """(n_groups,) prices at alpha = 1, beta sqrt(m), from the sum of m equal weights; infinite for groups that may
        not be used."""
        group, n_groups = self._groups(n)
        beta = self.feature_weights(n)
        usable = np.isfinite(beta)
        m = np.bincount(group, usable, n_groups)
        total = np.bincount(group, np.where(usable, beta, 0.0), n_groups)
        return np.where(m > 0, total / np.sqrt(np.maximum(m, 1.0)), np.inf)

    @remembered
    def _prices(self, n: int) -> np.ndarray:
        """`_unit_prices` times alpha."""
        self.feature_alphas(n)  # raises if a product overflows
        prices = self._unit_prices(n)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(prices), self.alpha * prices, np.inf)

    def _slopes(self, w: np.ndarray) -> np.ndarray:
        """(n_groups,) derivatives of p by the norm of each group; inf where use is not allowed."""
        norms = self._norms(w)
        price = self._prices(len(w))
        slope = np.full(len(norms), np.inf)
        finite = np.isfinite(price)
        slope[finite] = self.of._slope(norms[finite], price[finite])
        return slope

    # -- the contract -------------------------------------------------------------------------------------------------

    def value(self, w: np.ndarray) -> float:
        norms = self._norms(w)
        prices = self._prices(len(w))
        if (w * self.feature_signs(len(w)) < 0).any() or ((w != 0) & ~self.usable(len(w))).any():
            return float("inf")
        used = norms > 0  # set apart, because 0 times an infinite price is undefined
        return float(self.of._value(norms[used], prices[used]).sum())

    def _open(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Projected negative gradient: 0 for unusable coefficients, and for those at 0 whose move a sign rule
        blocks."""
        monotone = self.feature_signs(len(w))
        ascent = np.where(self.usable(len(w)), -gradient, 0.0)
        ascent = np.where((monotone == NONNEGATIVE) & (w == 0), np.maximum(ascent, 0.0), ascent)
        return np.where((monotone == NONPOSITIVE) & (w == 0), np.minimum(ascent, 0.0), ascent)

    def subdiff_distance(self, w: np.ndarray, grad: np.ndarray) -> np.ndarray:
        """(n,) distance of a group's negative gradient to the subdifferential, for each of its features (theory.md
        section 7, KKT)."""
        n = len(w)
        group, _ = self._groups(n)
        norms = self._norms(w)
        slopes = self._slopes(w)
        slopes = np.where(np.isfinite(slopes), slopes, 0.0)
        # Groups that are not 0: subtract the gradient of the norm, slope * u / |u|.
        along = np.where(norms > 0, slopes / np.where(norms > 0, norms, 1.0), 0.0)[group]
        distance = self._norms(self._open(w, grad) - along * w)
        # Groups that are 0: the subdifferential is a ball of radius slope, which absorbs that much.
        distance = np.where(norms > 0, distance, np.maximum(distance - slopes, 0.0))
        return np.where(self.usable(n), distance[group], 0.0)

    # -- what solvers ask ---------------------------------------------------------------------------------------------

    def working_blocks(self, columns: np.ndarray) -> np.ndarray:
        """As in `Penalty`: the features of a group enter and leave together."""
        group, n_groups = self._groups(len(columns))
        used = np.bincount(group, columns, n_groups) > 0
        return np.asarray(used[group])

    def _pulls(self, gradient: np.ndarray) -> np.ndarray:
        """(n_groups,) norms of the projected gradient at w = 0."""
        return self._norms(self._open(np.zeros(len(gradient)), gradient))

    def priority(self, w: np.ndarray, gradient: np.ndarray, share: float, curvature: np.ndarray) -> np.ndarray:
        """As in `Penalty`: by how much the projected gradient of a feature's group exceeds `share` times its price at
        0."""
        group, _ = self._groups(len(w))
        over = self._pulls(gradient) - share * self._slopes(np.zeros(len(w)))
        return np.asarray(over[group])

    def alpha_max(self, grad_at_zero: np.ndarray) -> float:
        return float(self._limits(grad_at_zero).max(initial=0.0)) / self._unit_slope_at_zero()

    def _unit_slope_at_zero(self) -> float:
        return self.of._unit_slope_at_zero()

    def path_alpha_max(self, grad_at_zero: np.ndarray, curvature: np.ndarray) -> float:
        """Strength below which w = 0 is not stationary; a concave penalty may jump away from 0 slightly earlier."""
        return self.alpha_max(grad_at_zero)

    def _limits(self, gradient: np.ndarray) -> np.ndarray:
        """(n_groups,) the smallest strength, for a slope of 1 at 0, that keeps each group at 0; 0 for unpenalised
        groups."""
        prices = self._unit_prices(len(gradient))
        priced = np.isfinite(prices) & (prices > 0)
        return np.where(priced, self._pulls(gradient) / np.where(priced, prices, 1.0), 0.0)

    def conjugate(self, w: np.ndarray, gradient: np.ndarray) -> Conjugate:
        """The penalty's half of the dual along -s gradient, for l1: s is limited by alpha / alpha_j of every group
        (theory.md section 7, Gap). Unpenalised features as in `Penalty`."""
        most = float(self._limits(gradient).max(initial=0.0))
        always_in = self.always_in(len(w))
        abs_gradient = np.abs(self._open(w, gradient))
        cost = float((KEEP_BOX * np.maximum(1.0, np.abs(w[always_in])) * abs_gradient[always_in]).sum())
        return Conjugate(self.alpha / most if most > 0 else np.inf, cost)

    def can_screen(self, varying: np.ndarray) -> bool:
        return self.is_convex and not (self.always_in(len(varying)) & varying).any()

    def safely_zero(self, gradient: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """(n,) bool: features of groups that are 0 in every solution (theory.md section 7, Screening).

        slack (n,): radius of each feature; that of a group is the root of the sum of their squares.
        """
        n = len(slack)
        group, _ = self._groups(n)
        radius = self._norms(np.where(self.usable(n), slack, 0.0))
        # The condition for a solution of 0, with the radius of the ball added to the gradient.
        out = self._pulls(gradient) + radius < self._prices(n)
        return np.asarray(out[group])

    def restrict(self, columns: np.ndarray, n_features: int) -> BlockPart:
        group, _ = self._groups(n_features)
        # Sort the columns by group, so that each group is one block.
        order = np.argsort(group[columns], kind="stable")
        columns = columns[order]
        starts = np.flatnonzero(np.diff(group[columns], prepend=-1))
        return BlockPart(
            order,
            np.append(starts, len(columns)),
            self._prices(n_features)[group[columns[starts]]],
            self.feature_signs(n_features)[columns],
            self.of,
        )

    def prox(self, v: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        """The prox, for l1 only (theory.md section 7). step: one number, or one per feature that is equal within
        groups."""
        if not self.is_convex:
            raise DataError(
                f"the prox of concave penalties of groups has no closed form. Solve groups of {self.of.name} with "
                "ProxNewton."
            )
        n = len(v)
        group, n_groups = self._groups(n)
        of_group = np.zeros(n_groups)
        of_group[group] = np.broadcast_to(np.asarray(step, dtype=np.float64), v.shape)
        monotone = self.feature_signs(n)
        # Signs first: the positive part of sign * v. Then each group is shrunk.
        open_side = np.where(monotone == 0, v, monotone * np.maximum(monotone * v, 0.0))
        u = np.where(self.usable(n), open_side, 0.0)
        return u * _left(self._norms(u), of_group * self._prices(n))[group]


@dataclass(frozen=True, repr=False)
class GroupedL1(Grouped):
    """Convex: alpha sum_G beta_G sqrt(m_G) |u_G|, with a duality gap."""

    is_convex = True


def like_l1(penalty: FeatureRules) -> Penalty:
    """The l1 penalty with the rules of another penalty: weights, monotone, groups, keep, drop. It is a penalty of
    groups if the other is one."""
    rules = (penalty.weights, penalty.monotone, penalty.keep, penalty.drop, penalty.feature_groups)
    if isinstance(penalty, Grouped):
        return GroupedL1(1.0, *rules, of=L1())
    return L1(1.0, *rules)


def supports_groups(of: FeatureRules) -> bool:
    """Whether groups of features enter its models together."""
    return "feature_groups" in of.respects and not (isinstance(of, Penalty) and of.quadratic)


def grouped(of: Penalty) -> Grouped:
    """The penalty `of`, with its rules, on the norms of its groups."""
    cls = GroupedL1 if of.is_convex else Grouped
    bare = replace(of, alpha=1.0, weights=None, monotone=None, keep=(), drop=(), feature_groups=None)
    return cls(of.alpha, of.weights, of.monotone, of.keep, of.drop, of.feature_groups, of=bare)


def _left(size: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Factor by which shrinking multiplies vectors of norm `size`: 1 - by / size, or 0 if that is negative."""
    with np.errstate(invalid="ignore"):
        return np.where(size > by, 1.0 - by / np.where(size > 0, size, 1.0), 0.0)
