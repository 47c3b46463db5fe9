"""How values become columns: one column per feature, or the steps between bins of its values, which are learned
without labels (docs/theory.md section 9); and step functions of models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import as_dense, by_columns, column, n_stored
from sparserank.data.transformed import sample_rows
from sparserank.errors import DataError
from sparserank.shards import Rows, as_rows
from sparserank.shards._step_kernels import BINS
from sparserank.shards.steps import StepRows

ROWS_AT_ONCE = 1 << 14
MAX_SPARSE_BYTES = 2 << 30  # for the bins of sparse features, which are stored densely
BEYOND = 0.25  # what plots show beyond the steps, relative to their range


@dataclass(frozen=True, eq=False)
class StepFunction:
    """Step function with `values` (n + 1,): the first up to the first of the rising `edges` (n,), the last beyond the
    last; a value equal to an edge is below it."""

    edges: np.ndarray
    values: np.ndarray

    @property
    def begins(self) -> np.ndarray:
        """(n + 1,) where each value begins, from -inf on."""
        return np.concatenate([[-np.inf], self.edges])

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.values[np.searchsorted(self.edges, x, side="left")])

    def step_of(self, x: float) -> tuple[float | None, float | None]:
        """(edge above which the step of a value begins, edge up to which it reaches); None where it has no end."""
        i = int(np.searchsorted(self.edges, x, side="left"))
        low = float(self.edges[i - 1]) if i else None
        high = float(self.edges[i]) if i < len(self.edges) else None
        return low, high

    def times(self, factor: float) -> StepFunction:
        return StepFunction(self.edges, self.values * factor)

    def outline(self, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
        """The corners, for plots of values from low to high: two at each edge. Long tails are cut off, because they
        would hide the steps."""
        first, last = self.edges[[0, -1]].tolist()
        beyond = BEYOND * (last - first) or abs(first) or high - low
        begin = max(min(low, first), first - beyond)
        end = min(max(high, last), last + beyond)
        twice = np.repeat(self.edges, 2)
        return np.hstack([begin, twice, end]), np.repeat(self.values, 2)


@dataclass(frozen=True)
class Straight:
    """Each feature is one column with one coefficient. It has the same interface as `Bins`."""

    stepped = False
    m = 1

    def rows(self, X: Any) -> Rows | list[Rows]:
        return as_rows(X)

    def scaling(self, method: str) -> str:
        return method


STRAIGHT = Straight()


@dataclass(frozen=True, eq=False)
class Bins:
    """edges: of each feature, rising; a value is in the bin of the number of edges below it. Each feature has BINS - 1
    columns and coefficients, the steps at its edges."""

    edges: tuple[np.ndarray, ...]

    stepped = True
    m = BINS - 1

    @property
    def used_columns(self) -> np.ndarray:
        """(n_columns,) bool: columns of an edge; a feature has fewer edges than columns."""
        counts = np.array(list(map(len, self.edges)))
        return np.ravel(np.arange(self.m) < counts[:, None])

    def scaling(self, method: str) -> str:
        """Scaling of columns: none, because edges refer to the values."""
        return "none"

    def functions(self, jumps: np.ndarray) -> dict[int, StepFunction]:
        """Those of features with jumps (n_features, BINS - 1), centred on the middle of the range."""
        out = {}
        for j in np.flatnonzero(jumps.any(axis=1)).tolist():
            at = np.flatnonzero(jumps[j])
            values = np.concatenate([[0.0], np.cumsum(jumps[j, at])])
            middle = 0.5 * (values.min() + values.max())
            out[j] = StepFunction(self.edges[j][at], values - middle)
        return out

    def rows(self, X: Any) -> StepRows | list[StepRows]:
        """The bin of every value of X (n_docs, n_features), dense, CSR, or each part of a store.

        Raises
            DataError   sparse features would need too much memory, because their bins are dense
        """
        _refuse_large_sparse(X)
        raw = as_rows(X)
        if not isinstance(raw, Rows):
            pairs = zip(X.parts, raw, strict=True)
            return [self._rows(part, rows) for part, rows in pairs]
        return self._rows(X, raw)

    def _rows(self, X: Any, raw: Rows) -> StepRows:
        n, d = X.shape
        bins = np.zeros((n, d), dtype=np.uint8)
        for lo in range(0, n, ROWS_AT_ONCE):
            part = as_dense(X[lo : lo + ROWS_AT_ONCE])
            out = bins[lo : lo + len(part)]
            for j, edges in enumerate(self.edges):
                out[:, j] = np.searchsorted(edges, part[:, j], side="left")
        return StepRows(bins, raw.bytes_until())


def fit_bins(data: RankingDataset) -> Bins:
    """At most BINS bins of each feature, from about `transformed.SAMPLE_VALUES` values, without labels."""
    sample = by_columns(data.X[sample_rows(data)[0]])
    columns = (column(sample, j) for j in range(data.n_features))
    return Bins(tuple(edges_of(values.astype(np.float64)) for values in columns))


def edges_of(values: np.ndarray) -> np.ndarray:
    """Edges half-way between neighbouring values that differ in single precision, in which some engines compare. A
    value that more than 1 / BINS of the documents have is a bin of its own; the others are in bins of about equal
    counts."""
    distinct, counts = np.unique(values, return_counts=True)
    with np.errstate(over="ignore"):
        single = distinct.astype(np.float32).astype(np.float64)
    if not np.isfinite(single).all():
        single = distinct
    # Values that are equal in single precision are one value, from the lowest to the highest of them.
    first = np.flatnonzero(np.diff(single, prepend=np.nan) != 0)
    highest = distinct[np.append(first[1:], len(distinct)) - 1]
    counts = np.add.reduceat(counts, first)
    distinct = distinct[first]
    single = single[first]
    last = np.arange(len(distinct) - 1)  # the last value of each bin
    if len(distinct) > BINS:
        frequent = counts * BINS > len(values)
        n_others = max(BINS - 2 * int(frequent.sum()), BINS // 2)
        others = np.cumsum(np.where(frequent, 0, counts))
        shares = others[-1] * np.arange(1, n_others) / n_others
        cuts = np.searchsorted(others, shares)
        alone = np.flatnonzero(frequent)
        last = np.unique(np.concatenate([cuts, alone, alone - 1]))
        is_inside = (last >= 0) & (last < len(distinct) - 1)
        last = last[is_inside][: BINS - 1]
    middle = 0.5 * highest[last] + 0.5 * distinct[last + 1]
    below = single[last]
    above = single[last + 1]
    # Rounding may move an edge out of its gap: then half-way in single precision, else the lower value.
    of_single = 0.5 * below + 0.5 * above
    is_between = (below <= middle) & (middle < above)
    middle = np.where(is_between, middle, of_single)
    is_between = (below <= middle) & (middle < above)
    return np.where(is_between, middle, below)


def _refuse_large_sparse(X: Any) -> None:
    """Raise DataError if sparse X would need too much memory, because zeros are stored too."""
    n, d = X.shape
    if n_stored(X) < n * d and n * d > MAX_SPARSE_BYTES:
        raise DataError(
            f"steps of {n} x {d} sparse values would take {n * d / 2**30:.3g} GB, because zeros are stored too. "
            "Reduce the features with a linear selection first."
        )


Shape = Straight | Bins  # how the values of features become columns
