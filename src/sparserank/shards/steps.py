"""Rows of steps: each value as the number of its bin, in one byte; steps are never written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from sparserank.execution import BlockExecutor
from sparserank.shards import _step_kernels as kernels
from sparserank.shards._pass_kernels import GradedLists
from sparserank.shards.rows import Rows, documents_of, read_only

# Blocks of a boosting round: small blocks cost more in overhead than in arithmetic.
DOCS_OF_BLOCK = 4_000
MAX_BLOCKS = 8


class StepRows(Rows):
    """bins (n_docs, n_features) uint8, from 0. Each feature has m columns: column b is 1 beyond bin b.

    until   `bytes_until` of the features, so that steps are cut into shards where the features are cut, in memory or in
            a store
    """

    scores: ClassVar[Callable] = staticmethod(kernels.scores)
    transposed: ClassVar[Callable] = staticmethod(kernels.transposed)
    is_dense = True

    def __init__(self, bins: np.ndarray, until: np.ndarray) -> None:
        self.arrays = (read_only(bins),)
        self._until = until
        self._last_gains: tuple[int, np.ndarray, np.ndarray] | None = None
        self.n_docs, self.n_features = bins.shape
        self.n_columns = (kernels.BINS - 1) * self.n_features
        self.nbytes = bins.nbytes

    @property
    def bins(self) -> np.ndarray:
        return self.arrays[0]

    def differences(
        self,
        query_ptr: np.ndarray,
        queries: np.ndarray,
        columns: np.ndarray,
        inverse: np.ndarray | None,
    ) -> np.ndarray:
        return self.columns(documents_of(query_ptr, queries), columns)

    def query_block(self, lo: int, hi: int) -> np.ndarray:
        return read_only(self.columns(np.arange(lo, hi), np.arange(self.n_columns)))

    def times(self, models: np.ndarray, rows: np.ndarray) -> np.ndarray:
        out = np.empty((len(models), len(rows)))
        kernels.scores((read_only(self.bins[rows]),), 0, len(rows), models, np.arange(len(models)), out)
        return out.T

    def columns(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        feature, step = np.divmod(columns, kernels.BINS - 1)
        return (self.bins[rows][:, feature] > step).astype(np.float64)

    def bin_sums(
        self,
        asks: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray, int]],
        seeds: np.ndarray,
        relevance: np.ndarray,
        lists: GradedLists,
        executor: BlockExecutor,
    ) -> list[np.ndarray]:
        """`Shard.bin_sums` for each (w, features, scale of each query, cutoff)."""
        ptr = lists.query_ptr
        n_blocks = min(1 + self.n_docs // DOCS_OF_BLOCK, MAX_BLOCKS, len(ptr) - 1)
        cuts = np.linspace(0, len(ptr) - 1, n_blocks + 1).astype(np.int64)
        models = [step_heights(w, self.n_features) for w, *_ in asks]
        gains_of = {cutoff: self._gains(relevance, ptr, cutoff) for *_, cutoff in asks}

        def block(i: int) -> np.ndarray:
            a, b = divmod(i, n_blocks)
            _, features, scale, cutoff = asks[a]
            out = np.zeros(len(features) * kernels.BINS * kernels.SUMS)
            gains, ideal = gains_of[cutoff]
            place = scale, seeds[a], cutoff, cuts[b], cuts[b + 1]
            kernels.bin_sums(
                self.bins,
                features,
                *models[a],
                gains,
                ideal,
                lists.doc_weight,
                ptr,
                *place,
                out,
            )
            return out.reshape(len(features), kernels.BINS, kernels.SUMS)[..., :3]

        parts = executor.map(block, len(asks) * n_blocks)
        of_asks = [parts[i : i + n_blocks] for i in range(0, len(parts), n_blocks)]
        return [sum(blocks[1:], start=blocks[0]) for blocks in of_asks]

    def _gains(self, relevance: np.ndarray, ptr: np.ndarray, cutoff: int) -> tuple[np.ndarray, np.ndarray]:
        """(n_docs,) gains and (n_queries,) ideal DCG at the cut-off (`write_gains`). The result for the last cut-off is
        stored."""
        last = self._last_gains
        if last is None or last[0] != cutoff:
            gains = np.empty(self.n_docs)
            ideal = np.empty(len(ptr) - 1)
            kernels.write_gains(relevance.astype(np.float64), ptr, cutoff, gains, ideal)
            self._last_gains = last = cutoff, gains, ideal
        return last[1:]

    def bytes_until(self) -> np.ndarray:
        return self._until

    def part(self, lo: int, hi: int) -> StepRows:
        until = self._until[lo : hi + 1]
        return StepRows(self.bins[lo:hi], until - until[0])


def step_heights(w: np.ndarray, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """The features that a model uses, and the heights (n_used, BINS) of their bins."""
    used = np.empty(n_features, dtype=np.int64)
    height = np.empty((n_features, kernels.BINS))
    n = kernels.heights(w, kernels.BINS - 1, used, height)
    return used[:n], height[:n]
