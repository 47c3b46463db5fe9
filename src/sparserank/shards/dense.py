"""Dense rows: a C-ordered float32 or float64 array, in memory or memory-mapped."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from sparserank.execution import one_blas_thread
from sparserank.shards import _dense_kernels
from sparserank.shards.rows import Rows, read_only

SMALL = 1e-12  # sums and products of values between this and its inverse stay in the range of float32


class DenseRows(Rows):
    """X (n_docs, n_features) float32 or float64."""

    scores: ClassVar[Callable] = staticmethod(_dense_kernels.scores)
    transposed: ClassVar[Callable] = staticmethod(_dense_kernels.transposed)
    is_dense = True
    shares_reads = True

    def __init__(self, X: np.ndarray) -> None:
        self.X = read_only(X)
        self.arrays = (self.X,)
        self.n_docs, self.n_columns = X.shape
        self.nbytes = X.itemsize * X.size

    def differences(
        self,
        query_ptr: np.ndarray,
        queries: np.ndarray,
        columns: np.ndarray,
        inverse: np.ndarray | None,
    ) -> np.ndarray:
        n = int((query_ptr[queries + 1] - query_ptr[queries]).sum())
        factor = np.ones(len(columns)) if inverse is None else inverse
        near_1 = inverse is not None and bool(((factor > SMALL) & (factor < 1.0 / SMALL)).all())
        if near_1 and self.X.dtype == np.float32:
            short = np.empty((n, len(columns)), dtype=np.float32)
            _dense_kernels.differences(self.X, query_ptr, queries, columns, factor, short)
            if float(np.abs(short).max(initial=0.0)) < 1.0 / SMALL:
                return short
        out = np.empty((n, len(columns)))
        _dense_kernels.differences(self.X, query_ptr, queries, columns, factor, out)
        return out

    def query_block(self, lo: int, hi: int) -> np.ndarray:
        return self.X[lo:hi]

    def times(self, models: np.ndarray, rows: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(models.any(axis=0))
        with one_blas_thread():
            chosen = self.X[rows]  # whole rows are copied fast, single values are not
            if len(used) < self.n_columns:
                chosen = np.take(chosen, used, axis=1)
            return np.asarray(chosen.astype(np.float64, copy=False) @ np.ascontiguousarray(models[:, used].T))

    def columns(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.take(self.X[rows], columns, axis=1).astype(np.float64)

    def part(self, lo: int, hi: int) -> DenseRows:
        return DenseRows(self.X[lo:hi])
