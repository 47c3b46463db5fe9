"""A kind of shard: each feature is a segment number and a fraction, and two columns,
the ramps of two segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numba import njit

from sparserank.shards.rows import Rows, documents_of, read_only


@njit
def shaped_scores(arrays, lo, hi, W, which, out):
    segment, fraction = arrays
    for i in range(lo, hi):
        for k in which:
            total = 0.0
            for j in range(segment.shape[1]):
                if segment[i, j] == 0:
                    total += fraction[i, j] * W[k, 2 * j]
                else:
                    total += W[k, 2 * j] + fraction[i, j] * W[k, 2 * j + 1]
            out[k, i - lo] = total


@njit
def shaped_transposed(arrays, lo, hi, G, which, out):
    segment, fraction = arrays
    for k in which:
        for i in range(lo, hi):
            for j in range(segment.shape[1]):
                if segment[i, j] == 0:
                    out[k, 2 * j] += fraction[i, j] * G[k, i - lo]
                else:
                    out[k, 2 * j] += G[k, i - lo]
                    out[k, 2 * j + 1] += fraction[i, j] * G[k, i - lo]


class ShapedRows(Rows):
    scores: ClassVar[Callable] = staticmethod(shaped_scores)
    transposed: ClassVar[Callable] = staticmethod(shaped_transposed)
    is_dense: ClassVar[bool] = True

    def __init__(self, segment: np.ndarray, fraction: np.ndarray) -> None:
        self.arrays = (read_only(segment), read_only(fraction))
        self.n_docs, n_features = segment.shape
        self.n_columns = 2 * n_features
        self.nbytes = segment.nbytes + fraction.nbytes
        self.column_blocks = tuple((2 * j, 2 * j + 1) for j in range(n_features))

    def ramps(self, rows: np.ndarray) -> np.ndarray:
        """The ramps of some documents, written out."""
        segment, fraction = (a[rows] for a in self.arrays)
        out = np.empty((len(segment), self.n_columns))
        out[:, 0::2] = np.where(segment == 0, fraction, 1.0)
        out[:, 1::2] = np.where(segment == 0, 0.0, fraction)
        return out

    def differences(self, query_ptr: np.ndarray, queries: np.ndarray, columns: np.ndarray, inverse: Any) -> np.ndarray:
        chosen = self.ramps(documents_of(query_ptr, queries))[:, columns]
        return np.ascontiguousarray(chosen if inverse is None else chosen * inverse)

    def query_block(self, lo: int, hi: int) -> np.ndarray:
        return read_only(self.ramps(np.arange(lo, hi)))

    def times(self, models: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return self.ramps(rows) @ models.T

    def columns(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.ramps(rows)[:, columns]

    def part(self, lo: int, hi: int) -> ShapedRows:
        return ShapedRows(self.arrays[0][lo:hi], self.arrays[1][lo:hi])
