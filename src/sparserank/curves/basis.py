"""Curves of features in a model, and their coordinates: a linear part first, then bends, with a lower penalty for
smoother ones; for a monotone curve, its linear part and its rises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparserank.curves.knots import CURVE_FREEDOM, Knots

STRAIGHT = 1e-9  # relative change of slope below which a curve does not bend
FLAT = 1e-10  # share of the largest eigenvalue below which ramps of a feature are linearly dependent
HALVINGS = 60
BEYOND = 0.25  # what plots show of a step function beyond its steps, relative to their range


@dataclass(frozen=True, eq=False)
class Curve:
    """Piecewise linear function with `values` (n,) at rising `knots` (n,); flat outside."""

    knots: np.ndarray
    values: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.interp(x, self.knots, self.values)

    @property
    def is_linear(self) -> bool:
        """Whether the curve bends only at its ends."""
        return len(self.knots) == 2

    def times(self, factor: float) -> Curve:
        return Curve(self.knots, self.values * factor)

    def outline(self, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
        """The corners of the curve, for plots of values from low to high."""
        return self.knots, self.values


@dataclass(frozen=True, eq=False)
class StepCurve:
    """Step function with `values` (n + 1,): the first up to the first of the rising `edges` (n,), the last beyond the
    last; a value equal to an edge is below it."""

    edges: np.ndarray
    values: np.ndarray

    is_linear = False

    @property
    def knots(self) -> np.ndarray:
        """(n + 1,) where each value begins, from -inf on."""
        return np.concatenate([[-np.inf], self.edges])

    def __call__(self, x: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.values[np.searchsorted(self.edges, x, side="left")]
        return found

    def step_of(self, x: float) -> tuple[float | None, float | None]:
        """(edge above which the step of a value begins, edge up to which it reaches); None where it has no end."""
        i = int(np.searchsorted(self.edges, x, side="left"))
        low = float(self.edges[i - 1]) if i else None
        return low, float(self.edges[i]) if i < len(self.edges) else None

    def times(self, factor: float) -> StepCurve:
        return StepCurve(self.edges, self.values * factor)

    def outline(self, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
        """The corners of the curve, for plots of values from low to high: two at each edge. Long tails are cut off,
        because they would hide the steps."""
        first, last = float(self.edges[0]), float(self.edges[-1])
        beyond = BEYOND * (last - first) or abs(first) or high - low
        ends = max(min(low, first), first - beyond), min(max(high, last), last + beyond)
        return np.concatenate([ends[:1], np.repeat(self.edges, 2), ends[1:]]), np.repeat(self.values, 2)


Curves = Mapping[int, Curve | StepCurve]  # by feature number


def curves_of(knots: Knots, increments: np.ndarray, weights: np.ndarray) -> dict[int, Curve]:
    """The curves of features with nonzero increments (n_features, m), which are divided by weights (n_features,); each
    curve is centred on the middle of its range."""
    out = {}
    for j in np.flatnonzero(increments.any(axis=1)).tolist():
        L = int(knots.n_segments[j])
        at, rises = knots.at[j, : L + 1], increments[j, :L] / weights[j]
        slopes = rises / np.diff(at)
        # One slope in all segments: a straight line between the first and the last knot.
        if np.abs(np.diff(slopes)).max(initial=0.0) <= STRAIGHT * np.abs(slopes).max():
            at, rises = at[[0, -1]], np.array([rises.sum()])
        values = np.concatenate([[0.0], np.cumsum(rises)])
        out[j] = Curve(at.copy(), values - 0.5 * (values.min() + values.max()))
    return out


def curve_blocks(knots: Knots, grams: np.ndarray) -> np.ndarray:
    """(K, n_features, m, width): increments of the ramps for each coefficient.

    grams (K, n_features, m, m): sums over pairs of 2 v_p times the outer product of ramp differences.

    Notes
        With M a feature's gram and delta its segments' lengths, column 0 is delta / sqrt(delta^T M delta): a linear
        feature of curvature 1. The others are M-orthonormal, M-orthogonal to it, and diagonalise the squared changes of
        slope between segments, d_k. They are divided by sqrt(1 + rho d_k), with rho such that sum 1 / (1 + rho d_k) is
        at most CURVE_FREEDOM. Directions in which M is 0 have no column. For a monotone feature, the other columns are
        its increments in its direction times sqrt(delta^T M delta) / |delta|.
    """
    K, d, m, _ = grams.shape
    width = knots.n_coordinates
    blocks = np.zeros((K, d, m, width))
    widths = knots.widths
    for j in range(d):
        L = int(knots.n_segments[j])
        if L == 0:
            continue
        delta = widths[j, :L] / widths[j, :L].max()  # the scale of a feature cancels
        # T of theory.md section 7, from the gram M of each weighting.
        for k in range(K):
            M = grams[k, j, :L, :L]
            own = _monotone(M, delta) * knots.directions[j] if knots.directions[j] else _bends(M, delta)
            blocks[k, j, :L, : own.shape[1]] = own
    return blocks


def curvatures_of(blocks: np.ndarray, grams: np.ndarray) -> np.ndarray:
    """(K, n_features * width) curvatures of the loss along the coefficients at 0."""
    return np.asarray(np.einsum("kjaw,kjab,kjbw->kjw", blocks, grams, blocks).reshape(len(blocks), -1))


def _linear(M: np.ndarray, delta: np.ndarray) -> float:
    """sqrt(delta^T M delta), 0 if the feature does not vary within preferred pairs."""
    size = float(delta @ M @ delta)
    return float(np.sqrt(size)) if size > FLAT**2 * float(np.trace(M)) * float(delta @ delta) else 0.0


def _monotone(M: np.ndarray, delta: np.ndarray) -> np.ndarray:
    s = _linear(M, delta)
    if s == 0.0:
        return np.zeros((len(delta), 0))
    if len(delta) == 1:
        return delta[:, None] / s
    return np.column_stack([delta / s, np.eye(len(delta)) * (float(np.linalg.norm(delta)) / s)])


def _bends(M: np.ndarray, delta: np.ndarray) -> np.ndarray:
    s = _linear(M, delta)
    if s == 0.0:
        return np.zeros((len(delta), 0))
    linear = delta / s
    # Coordinates in which M is the identity, without directions in which M is 0.
    E, V = np.linalg.eigh(M)
    kept = FLAT * E[-1] < E
    root = V[:, kept] * np.sqrt(E[kept])
    white = V[:, kept] / np.sqrt(E[kept])  # white^T M white = I
    if white.shape[1] == 1:
        return linear[:, None]
    # C: M-orthonormal directions that are M-orthogonal to the linear one.
    q = root.T @ linear  # length 1
    across = np.linalg.svd(q[None, :])[2][1:].T
    C = white @ across
    # Rotate C so that it diagonalises the squared changes of slope, with eigenvalues d_k: by an SVD of the changes,
    # because their squares would lose the digits of wide segments next to narrow ones.
    slopes = C / delta[:, None]
    _, singular, across = np.linalg.svd(np.diff(slopes, axis=0))
    bent = np.zeros(C.shape[1])
    bent[: len(singular)] = singular**2
    # Divide by sqrt(1 + rho d_k): directions that bend more have a smaller curvature, and so a higher penalty.
    return np.column_stack([linear, (C @ across.T) / np.sqrt(1.0 + _stiffness(bent) * bent)])


def _stiffness(bent: np.ndarray) -> float:
    """rho with sum 1 / (1 + rho d_k) = CURVE_FREEDOM; 0 if there are no more bends than that."""
    if len(bent) <= CURVE_FREEDOM:
        return 0.0
    low, high = -60.0, 60.0  # bounds of log10(rho * mean)
    unit = 1.0 / max(float(bent.mean()), 1e-300)
    # The sum falls as rho rises: bisection on log10(rho * mean).
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if (1.0 / (1.0 + 10.0**middle * unit * bent)).sum() > CURVE_FREEDOM:
            low = middle
        else:
            high = middle
    return float(10.0**high * unit)
