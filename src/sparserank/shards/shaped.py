"""Shaped rows: each value as a segment of its feature's curve and the fraction of that segment,
in five bytes; ramps are never written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from sparserank.shards import _shaped_kernels as kernels
from sparserank.shards.rows import Rows, read_only


class ShapedRows(Rows):
    """segment (n_docs, n_features) uint8 and fraction (n_docs, n_features) float32 in [0, 1]. Each feature has m
    columns, the ramps of its segments."""

    scores: ClassVar[Callable] = staticmethod(kernels.scores)
    transposed: ClassVar[Callable] = staticmethod(kernels.transposed)
    is_dense = True

    def __init__(self, segment: np.ndarray, fraction: np.ndarray, m: int) -> None:
        self.arrays = (read_only(segment), read_only(fraction))
        self.n_docs, self.n_features = segment.shape
        self.m, self.n_columns = m, m * self.n_features
        self.nbytes = segment.nbytes + fraction.nbytes

    def differences(
        self, query_ptr: np.ndarray, queries: np.ndarray, columns: np.ndarray, inverse: np.ndarray | None
    ) -> np.ndarray:
        """`inverse` is the map of coefficients to ramps (n_features, m, coefficients of a feature),
        `columns` are coefficients."""
        blocks = np.broadcast_to(np.eye(self.m), (self.n_features, self.m, self.m)) if inverse is None else inverse
        feature, own = np.divmod(columns, blocks.shape[2])
        rise = np.ascontiguousarray(blocks[feature, :, own])
        start = np.cumsum(rise, axis=1) - rise
        n = int((query_ptr[queries + 1] - query_ptr[queries]).sum())
        out = np.empty((n, len(columns)))
        segment, fraction = self.arrays
        kernels.differences(segment, fraction, query_ptr, queries, feature, start, rise, out)
        return out

    def query_block(self, lo: int, hi: int) -> np.ndarray:
        return read_only(self._ramps(slice(lo, hi)))

    def times(self, models: np.ndarray, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(models), len(rows)))
        segment, fraction = self.arrays
        for w, own in zip(models, out, strict=True):
            kernels.model_scores(segment, fraction, rows, w, own)
        return out.T

    def columns(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self._ramps(rows)[:, columns]

    def pair_grams(self, lists: Any, scale: np.ndarray, first: int, last: int) -> np.ndarray:
        """(K, last - first, m, m) for some features: sums over pairs of scale (K, n_queries) times the outer product of
        ramp differences."""
        out = np.zeros((len(scale), last - first, self.m, self.m))
        segment, fraction = self.arrays
        kernels.pair_grams(segment, fraction, lists, scale, self.m, first, last, out)
        return out + np.tril(out, -1).transpose(0, 1, 3, 2)

    def part(self, lo: int, hi: int) -> ShapedRows:
        return ShapedRows(self.arrays[0][lo:hi], self.arrays[1][lo:hi], self.m)

    def _ramps(self, rows: slice | np.ndarray) -> np.ndarray:
        segment, fraction = (a[rows] for a in self.arrays)
        out = np.empty((len(segment), self.n_columns))
        kernels.ramps(segment, fraction, self.m, out)
        return out
