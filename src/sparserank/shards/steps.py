"""Rows of steps: each value as the number of its bin, in one byte; steps are never written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from sparserank.shards import _step_kernels as kernels
from sparserank.shards.rows import Rows, documents_of, read_only


class StepRows(Rows):
    """bins (n_docs, n_features) uint8, from 0. Each feature has m columns: column b is 1 beyond bin b.

    until   `bytes_until` of the features themselves: steps are cut into shards where these are, in memory or in a store
    """

    scores: ClassVar[Callable] = staticmethod(kernels.scores)
    transposed: ClassVar[Callable] = staticmethod(kernels.transposed)
    is_dense: ClassVar[bool] = True

    def __init__(self, bins: np.ndarray, until: np.ndarray) -> None:
        self.arrays, self._until = (read_only(bins),), until
        self.n_docs, self.n_features = bins.shape
        self.n_columns, self.nbytes = (kernels.BINS - 1) * self.n_features, bins.nbytes

    @property
    def bins(self) -> np.ndarray:
        return self.arrays[0]

    def differences(
        self, query_ptr: np.ndarray, queries: np.ndarray, columns: np.ndarray, inverse: np.ndarray | None
    ) -> np.ndarray:
        return self.columns(documents_of(query_ptr, queries), columns)

    def query_block(self, lo: int, hi: int) -> np.ndarray:
        return read_only(self.columns(np.arange(lo, hi), np.arange(self.n_columns)))

    def times(self, models: np.ndarray, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(models), len(rows)))
        for w, own in zip(models, out, strict=True):
            kernels.model_scores(self.bins, rows, w, own)
        return out.T

    def columns(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        feature, step = np.divmod(columns, kernels.BINS - 1)
        return (self.bins[rows][:, feature] > step).astype(np.float64)

    def bytes_until(self) -> np.ndarray:
        return self._until

    def part(self, lo: int, hi: int) -> StepRows:
        return StepRows(self.bins[lo:hi], self._until[lo : hi + 1] - self._until[lo])


def step_heights(w: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """The features that a model uses, and the heights (n_used, BINS) of their bins."""
    used, height = np.empty(n_features, dtype=np.int64), np.empty((n_features, kernels.BINS))
    n = kernels.heights(w, kernels.BINS - 1, used, height)
    return used[:n], height[:n]
