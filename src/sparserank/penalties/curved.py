"""Nested penalties of curves: a feature pays once for being used and once more for bending."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from sparserank.errors import DataError
from sparserank.penalties._scalar_slopes import KINDS
from sparserank.penalties.base import KEEP_BOX, Penalty
from sparserank.penalties.l1 import L1
from sparserank.penalties.parts import BlockPart, Conjugate

BENDING = ("l1", "mcp", "scad", "log")
RIDGE = 1e-3  # of the curvature of a linear feature, for concave penalties


@dataclass(frozen=True, repr=False)
class Curved(Penalty):
    """sum_j p(|u_j|; alpha beta_j) + p(|u_j,curve|; alpha beta_j kappa_j) of coefficients u_j (width,) for each feature, the first of which is its
    linear part, the others its bends; Euclidean norms, p the scalar penalty `of`, whose own rules are not read.

    Conventions
        A concave p leaves large coefficients free, and bends that the data hardly see would be large: `ridge` |u|^2 / 2 is added (0 for l1).
        Rules (weights beta, always_keep, never_use) are given per feature, and hold for all its columns; signs 1 where all
        coefficients of the feature are >= 0: a monotone curve. `kappa` (n_features,) is the price of bending.

    Source
        Zhao, Rocha and Yu (2009), composite absolute penalties, for nested norms; a linear feature pays exactly its price under `of`.
    """

    of: Penalty = field(default_factory=L1)
    width: int = 1
    kappa: tuple[float, ...] = ()
    ridge: float = 0.0

    name: ClassVar[str] = "curved"
    separable: ClassVar[bool] = False
    blockwise: ClassVar[bool] = True

    def _check(self) -> None:
        if not bends(self.of):
            raise DataError(f"curves know the penalties {', '.join(BENDING)}; got {self.of.name}.")

    @property
    def label(self) -> str:
        return self.of.label

    def resolve(self, curvature: np.ndarray, total_weight: float) -> Self:
        return replace(self, of=self.of.resolve(curvature[:: self.width], total_weight))

    # -- rules, by column ---------------------------------------------------------------------------------------------

    def _make_weights(self, n_features: int) -> np.ndarray:
        return np.repeat(super()._make_weights(n_features // self.width), self.width)

    def _make_signs(self, n_features: int) -> np.ndarray:
        return np.repeat(super()._make_signs(n_features // self.width), self.width)

    def _prices(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """(n_features,) alpha beta, and alpha beta kappa, inf of features that may not be used."""
        whole = self.feature_alphas(n)[:: self.width]
        with np.errstate(invalid="ignore"):
            return whole, np.where(np.isfinite(whole), whole * np.array(self.kappa), np.inf)

    def _sizes(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(by feature (n_features, width), |u_j|, |u_j,curve|)"""
        blocks = v.reshape(-1, self.width)
        bends = np.linalg.norm(blocks[:, 1:], axis=1)
        return blocks, np.hypot(blocks[:, 0], bends), bends

    def _slopes(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n_features,) slopes of both terms at w; inf of features that may not be used."""
        _, whole, bends = self._sizes(w)
        out = []
        for size, price in zip((whole, bends), self._prices(len(w)), strict=True):
            slope = np.full(len(size), np.inf)
            finite = np.isfinite(price)
            slope[finite] = self.of._slope(size[finite], price[finite])
            out.append(slope)
        return out[0] + self.ridge * whole, out[1]

    # -- the contract -------------------------------------------------------------------------------------------------

    def value(self, w: np.ndarray) -> float:
        _, whole, bends = self._sizes(w)
        of_use, of_bends = self._prices(len(w))
        if (w * self.feature_signs(len(w)) < 0).any() or (np.isinf(of_use) & (whole > 0)).any():
            return float("inf")
        used, bent = whole > 0, bends > 0
        paid = self.of._value(whole[used], of_use[used]).sum() + self.of._value(bends[bent], of_bends[bent]).sum()
        return float(paid) + 0.5 * self.ridge * float(w @ w)

    def _open(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """The direction of ascent as far as signs leave it open: what zero coefficients of a monotone curve cannot follow is 0."""
        held: np.ndarray = (self.feature_signs(len(w)) > 0) & (w == 0)
        return np.where(held, np.maximum(-gradient, 0.0), -gradient)

    def subdiff_distance(self, w: np.ndarray, grad: np.ndarray) -> np.ndarray:
        """(n,) for each column the distance of its feature's -gradient to the subdifferential."""
        pull = self._open(w, grad)
        blocks, whole, bends = self._sizes(w)
        slope, bend_slope = self._slopes(w)
        usable = np.isfinite(slope)
        a, b = np.where(usable, slope, 0.0), np.where(usable, bend_slope, 0.0)
        rest = (
            pull.reshape(-1, self.width)
            - np.where(whole > 0, a / np.where(whole > 0, whole, 1.0), 0.0)[:, None] * blocks
        )
        rest[:, 1:] -= np.where(bends > 0, b / np.where(bends > 0, bends, 1.0), 0.0)[:, None] * blocks[:, 1:]
        held = np.maximum(
            np.linalg.norm(rest[:, 1:], axis=1) - np.where(bends > 0, 0.0, b), 0.0
        )  # by the ball of bending
        distance = np.hypot(rest[:, 0], held)
        distance = np.where(whole > 0, distance, np.maximum(distance - a, 0.0))
        return np.repeat(np.where(usable, distance, 0.0), self.width)

    # -- what solvers ask ---------------------------------------------------------------------------------------------

    def working_units(self, columns: np.ndarray) -> np.ndarray:
        """A bend comes with all bends and the linear part; a linear part may be in alone."""
        blocks = np.asarray(columns).reshape(-1, self.width)
        bent = np.asarray(blocks[:, 1:].any(axis=1))
        out = np.repeat(bent[:, None], self.width, axis=1)
        out[:, 0] |= blocks[:, 0]
        return out.ravel()

    def _pulls(self, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n_features,) |g_1| and |g_curve| at 0, as far as signs leave them open."""
        blocks = self._open(np.zeros(len(gradient)), gradient).reshape(-1, self.width)
        return np.abs(blocks[:, 0]), np.linalg.norm(blocks[:, 1:], axis=1)

    def pressure(self, w: np.ndarray, gradient: np.ndarray, share: float, curvature: np.ndarray) -> np.ndarray:
        straight, bent = self._pulls(gradient)
        zero = np.zeros(len(w))
        slope, bend_slope = (share * s for s in self._slopes(zero))
        over_bend = bent - bend_slope
        of_feature = np.hypot(straight, np.maximum(over_bend, 0.0)) - slope
        _, whole, _ = self._sizes(w)
        out = np.repeat(np.where(whole > 0, over_bend, np.minimum(over_bend, of_feature))[:, None], self.width, axis=1)
        out[:, 0] = of_feature
        return out.ravel()

    def alpha_max(self, grad_at_zero: np.ndarray) -> float:
        unit = self._unit_slope_at_zero()
        limits = self._limits(grad_at_zero)
        return float(limits.max(initial=0.0)) / unit

    def _unit_slope_at_zero(self) -> float:
        return self.of._unit_slope_at_zero()

    def path_alpha_max(self, grad_at_zero: np.ndarray, curvature: np.ndarray) -> float:
        """Where w = 0 ceases to be stationary; a concave penalty may leave it a little earlier by a jump."""
        return self.alpha_max(grad_at_zero)

    def _limits(self, gradient: np.ndarray) -> np.ndarray:
        """(n_features,) the smallest strength, for a slope of 1 at 0, that holds each feature at 0; 0 of those without a price."""
        beta = self.feature_weights(len(gradient))[:: self.width]
        a, b = self._pulls(gradient)
        priced = np.isfinite(beta) & (beta > 0)
        beta = np.where(priced, beta, 1.0)
        kappa = np.array(self.kappa) * beta
        square = a * a + b * b
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(kappa * kappa * b * b + (beta * beta - kappa * kappa) * square, 0.0))
            both = np.where(square > 0, square / (kappa * b + root), 0.0)
        return np.where(priced, np.where(b * beta <= kappa * a, a / beta, both), 0.0)

    def conjugate(self, w: np.ndarray, gradient: np.ndarray) -> Conjugate:
        """The dual side along -s gradient, of l1: the largest s that holds every feature at 0; features without a price as in `Penalty`."""
        most = float(self._limits(gradient).max(initial=0.0))
        kept = self.always_in(len(w))
        pull = np.abs(self._open(w, gradient))
        cost = float((KEEP_BOX * np.maximum(1.0, np.abs(w[kept])) * pull[kept]).sum())
        return Conjugate(self.alpha / most if most > 0 else np.inf, cost)

    def can_screen(self, varying: np.ndarray) -> bool:
        return self.is_convex and not (self.always_in(len(varying)) & varying).any()

    def safely_zero(self, gradient: np.ndarray, slack: np.ndarray) -> np.ndarray:
        """Features that are 0 at a solution, and bends of others; the slack of a feature is the root of the sum of its squares for a monotone curve,
        whose columns overlap, else the largest, since the columns are orthogonal."""
        blocks = slack.reshape(-1, self.width)
        monotone = self.feature_signs(len(slack))[:: self.width] > 0
        around = np.where(monotone, np.linalg.norm(blocks, axis=1), blocks.max(axis=1))
        straight, bent = self._pulls(gradient)
        whole, bend = self._prices(len(slack))
        usable = np.isfinite(whole)
        left = np.maximum(bent - np.where(usable, bend, 0.0), 0.0)
        out = np.hypot(straight, left) + around < whole
        no_bend = bent + around < bend
        return np.repeat(out, self.width) | ((np.arange(len(slack)) % self.width > 0) & np.repeat(no_bend, self.width))

    def restrict(self, columns: np.ndarray, n_features: int) -> BlockPart:
        feature = columns // self.width
        starts = np.flatnonzero(np.diff(feature, prepend=-1))
        first = feature[starts]
        whole, bend = self._prices(n_features)
        linear = (columns[starts] % self.width == 0).astype(np.int64)
        signs = self.feature_signs(n_features)[columns[starts]] > 0
        shape = self.of.shape()
        return BlockPart(
            np.append(starts, len(columns)), linear, signs, whole[first], bend[first], self.of.kind, shape[0], shape[1],
            self.ridge, self.of._value, self.of._slope, self.of._bend,
        )  # fmt: skip

    def prox(self, v: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        """For l1 only: the bends are shrunk first, then the whole; `step` is one number or the same for all columns of a feature."""
        if not self.is_convex:
            raise DataError(
                f"the prox of nested concave penalties has no closed form; solve curves of {self.of.name} with ProxNewton."
            )
        steps = np.broadcast_to(np.asarray(step, dtype=np.float64), v.shape)[:: self.width]
        whole, bend = self._prices(len(v))
        blocks = np.where(self.feature_signs(len(v)) > 0, np.maximum(v, 0.0), v).reshape(-1, self.width).copy()
        blocks[:, 1:] *= _left(np.linalg.norm(blocks[:, 1:], axis=1), steps * bend)[:, None]
        return (blocks * _left(np.linalg.norm(blocks, axis=1), steps * whole)[:, None]).ravel()

    def like_l1(self) -> Penalty:
        return CurvedL1(
            1.0, self.weights, self.signs, self.always_keep, self.never_use, of=L1(), width=self.width, kappa=self.kappa
        )


@dataclass(frozen=True, repr=False)
class CurvedL1(Curved):
    """The convex one: alpha (beta_j |u_j| + beta_j kappa_j |u_j,curve|), with a duality gap."""

    is_convex: ClassVar[bool] = True


def bends(of: Penalty) -> bool:
    """Whether a penalty can be put on curves: its slope at 0 is finite, and it has no quadratic part."""
    return not of.by_size and of.kind in KINDS and not of.smooth_at_zero and not (of.is_convex and of.shape()[0] > 0)


def curved(of: Penalty, width: int, kappa: np.ndarray, signs: np.ndarray) -> Curved:
    """The penalty `of` on curves, under its rules per feature but for signs (n_features,): 1 of a monotone curve."""
    cls, ridge = (CurvedL1, 0.0) if of.is_convex else (Curved, RIDGE)
    rules = (of.weights, tuple(int(s) for s in signs) if signs.any() else None, of.always_keep, of.never_use)
    bare = replace(of, alpha=1.0, weights=None, signs=None, always_keep=(), never_use=())
    return cls(of.alpha, *rules, of=bare, width=width, kappa=tuple(kappa.tolist()), ridge=ridge)


def _left(size: np.ndarray, by: np.ndarray) -> np.ndarray:
    """What is left of a vector of each size that is shortened."""
    with np.errstate(invalid="ignore"):
        return np.where(size > by, 1.0 - by / np.where(size > 0, size, 1.0), 0.0)
