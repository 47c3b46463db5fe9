"""Knots of curves: quantiles of the values of each feature, learned without labels; and features without curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import as_dense, by_columns, column, n_stored
from sparserank.data.transformed import sample_rows
from sparserank.errors import DataError
from sparserank.options import option
from sparserank.options.paths import DEFAULT_KNOTS, MAX_KNOTS, MIN_KNOTS
from sparserank.shards import as_rows
from sparserank.shards.rows import Rows
from sparserank.shards.shaped import ShapedRows

CURVE_FREEDOM = 3.0  # degrees of freedom of the bends of a feature
ROWS_AT_ONCE = 1 << 14
CLOSE = 1e-12  # relative to the largest value: closer knots are merged
SMALLEST_VALUE = 1e-290  # a feature with only smaller values counts as 0
MAX_SPARSE_BYTES = 2 << 30  # for the segments of sparse features, which are stored densely


@dataclass(frozen=True)
class Straight:
    """Each feature is one column with one coefficient. It has the same interface as `Knots`."""

    curved = False
    m = n_coordinates = 1

    def rows(self, X: Any) -> Rows | list[Rows]:
        return as_rows(X)

    def monotone(self, given: tuple[int, ...] | None) -> tuple[int, ...] | None:
        return given

    def scaling(self, method: str) -> str:
        return method

    def width(self, n_coefficients: int) -> int:
        return 1

    def bends(self, curvature: np.ndarray) -> tuple[()]:
        return ()


STRAIGHT = Straight()


def not_in_memory() -> str:
    """Message about features that are not in memory."""
    omit = option("feature_transform", "curves")
    return f"curves need features in memory (5 bytes per value), not in a store or on a cluster; omit {omit}."


@dataclass(frozen=True, eq=False)
class Knots:
    """at (n_features, n_knots) rising, the last repeated if a feature has fewer; n_segments (n_features,), 0 for a
    constant feature; directions (n_features,): 1 the curve may not fall, -1 may not rise, 0 free.

    A curve is flat outside its knots. All features have the columns of n_knots - 1 segments; columns of missing
    segments are always 0.
    """

    at: np.ndarray
    n_segments: np.ndarray
    directions: np.ndarray

    curved = True

    @property
    def m(self) -> int:
        """Segments, and columns, of each feature."""
        return self.at.shape[1] - 1

    @property
    def n_coordinates(self) -> int:
        """Number of coefficients per feature. If any curve is monotone, each feature has one extra: a linear part that
        the rises of a monotone curve could also express."""
        return self.m + int(bool(self.directions.any()))

    def width(self, n_coefficients: int) -> int:
        """Coefficients per feature, from the total number."""
        return n_coefficients // len(self.at)

    def monotone(self, given: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """1 for features with a monotone curve: all their coefficients are >= 0, regardless of sign constraints; None:
        there are none."""
        return tuple(np.abs(self.directions).tolist()) if self.directions.any() else None

    def scaling(self, method: str) -> str:
        """Scaling of columns: none, because knots are at quantiles of the values."""
        return "none"

    def bends(self, curvature: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
        """(number of coefficients of a feature; penalties of its bends, the root of their degrees of freedom; 1 for
        features with a monotone curve), from the curvatures of the loss along the coefficients at 0."""
        by_feature = curvature.reshape(len(self.at), -1)
        bends = by_feature[:, 1:].sum(axis=1)  # 1 / (1 + rho d_k) each
        freedom = np.where(self.directions == 0, bends, np.clip(self.n_segments - 1.0, 0.0, CURVE_FREEDOM))
        return by_feature.shape[1], np.sqrt(freedom), np.abs(self.directions)

    @property
    def booleans(self) -> np.ndarray:
        """(n_features,) bool: features whose only values are 0 and 1, so that any curve is a straight line."""
        found: np.ndarray = (self.n_segments == 1) & (self.at[:, 0] == 0.0) & (self.at[:, 1] == 1.0)
        return found

    @property
    def widths(self) -> np.ndarray:
        """(n_features, m) lengths of the segments, 0 if there is none."""
        return np.diff(self.at, axis=1)

    def rows(self, X: Any) -> ShapedRows:
        """Every value of X (n_docs, n_features), dense or CSR, as a segment and a fraction.

        Raises
            DataError   sparse features would need too much memory, because their segments are dense
        """
        refuse_large_sparse(X, "curves", 5)
        n, d = X.shape
        segment, fraction = np.zeros((n, d), dtype=np.uint8), np.zeros((n, d), dtype=np.float32)
        for lo in range(0, n, ROWS_AT_ONCE):
            part = as_dense(X[lo : lo + ROWS_AT_ONCE])
            for j in range(d):
                L = int(self.n_segments[j])
                if L:
                    knots, t = self.at[j, : L + 1], part[:, j].astype(np.float64)
                    b = np.searchsorted(knots[1:L], t, side="right")
                    segment[lo : lo + len(t), j] = b
                    fraction[lo : lo + len(t), j] = np.clip((t - knots[b]) / (knots[b + 1] - knots[b]), 0.0, 1.0)
        return ShapedRows(segment, fraction, self.m)


def refuse_large_sparse(X: Any, kind: str, bytes_each: int) -> None:
    """Raise DataError if sparse X would need too much memory, because zeros are stored too."""
    n, d = X.shape
    if n_stored(X) < n * d and bytes_each * n * d > MAX_SPARSE_BYTES:
        raise DataError(
            f"{kind} of {n} x {d} sparse values would take {bytes_each * n * d / 2**30:.3g} GB, because zeros are "
            "stored too. Reduce the features with a linear selection first."
        )


def fit_knots(data: RankingDataset, n_knots: int = DEFAULT_KNOTS, directions: np.ndarray | None = None) -> Knots:
    """Knots at quantiles of each feature, from about `transformed.SAMPLE_VALUES` values, without labels. If quantiles
    coincide (many equal values), knots are at quantiles of the distinct values, or at all distinct values if these are
    fewer than knots.

    Raises
        DataError   the number of knots is outside 3 .. 256, or values are so large that their differences overflow
    """
    if not MIN_KNOTS <= n_knots <= MAX_KNOTS:
        raise DataError(f"n_knots must be from {MIN_KNOTS} to {MAX_KNOTS}; got {n_knots}.")
    sample = by_columns(data.X[sample_rows(data)[0]])
    d = data.n_features
    at, n_segments = np.zeros((d, n_knots)), np.zeros(d, dtype=np.int64)
    levels = np.linspace(0.0, 1.0, n_knots)
    for j in range(d):
        knots = _quantiles(column(sample, j).astype(np.float64), levels)
        at[j, : len(knots)], at[j, len(knots) :] = knots, knots[-1]
        n_segments[j] = len(knots) - 1
    with np.errstate(over="ignore"):
        too_wide = ~np.isfinite(np.diff(at, axis=1)).all(axis=1)
    if too_wide.any():
        name = data.names[int(np.argmax(too_wide))]
        raise DataError(
            f"the range of feature {name} overflows float64, so no curve can be fitted. Take its logarithm "
            f"({option('transform', 'log')})."
        )
    return Knots(at, n_segments, np.zeros(d, dtype=np.int64) if directions is None else directions)


def _quantiles(values: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """At most len(levels) distinct numbers in ascending order."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.unique(np.quantile(values, levels)) if len(values) else np.zeros(1)
        if len(found) < len(levels):
            different = np.unique(values) if len(values) else np.zeros(1)
            found = different if len(different) <= len(levels) else np.unique(np.quantile(different, levels))
    if not np.isfinite(found).all():  # differences of values overflow
        return np.array([values.min(), values.max()])
    size = np.abs(found).max()
    if size < SMALLEST_VALUE:  # too small to divide by
        return np.zeros(1)
    apart = np.diff(found, prepend=-np.inf) > CLOSE * size  # merges knots that differ only by rounding
    return np.asarray(found[apart] + 0.0)  # no -0.0
