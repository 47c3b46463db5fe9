"""Weightings: folds, bootstraps and query weights, all as weights over the same shards."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparserank.bins import STRAIGHT, Bins, Shape
from sparserank.data.dataset import numbers
from sparserank.data.varying import ROUNDING
from sparserank.errors import DataError
from sparserank.lazy import cached_property
from sparserank.metrics import Metric
from sparserank.number_checks import LARGEST, SMALLEST, refuse_extreme
from sparserank.options.paths import WEIGHTS
from sparserank.shards import Shards


class LossEvaluation(NamedTuple):
    """f(w), its gradient (n_features,), and the weighted sum of phi'^2 / 4, which the dual needs."""

    value: float
    gradient: np.ndarray
    square: float


class Weighting:
    """K ways to weight the pairs of the same shards (folds, bootstraps, half-samples), with K scalings. The shards
    store them under one key.

    Parameters
        query_weight  (K, n_queries) finite >= 0
        scale         (K, n_features) > 0 divisors of the features, or None
        shape         how values become columns; with bins there is no scale
        pair_weights, feature_names   as in PairwiseObjective; names of the columns, or with bins of the features
    Raises
        DataError     as in PairwiseObjective, for any of the K
    """

    def __init__(
        self,
        shards: Shards,
        query_weight: np.ndarray,
        *,
        scale: np.ndarray | None = None,
        shape: Shape = STRAIGHT,
        pair_weights: str = "pair",
        feature_names: tuple[str, ...] | None = None,
        doc_weighted: bool = False,
    ) -> None:
        if pair_weights not in WEIGHTS:
            raise DataError(f"pair_weights must be one of {WEIGHTS}; got {pair_weights!r}.")
        self.shards = shards
        self.names = numbers(shards.n_columns // shape.m) if feature_names is None else feature_names
        self.pair_weights = pair_weights
        per_shard = shards.call("summary")
        self.shares_reads = all(f.shares_reads for f in per_shard)
        pairs = np.concatenate([f.pair_weight for f in per_shard])
        plain = np.concatenate([f.n_pairs for f in per_shard])
        counted = query_weight > 0
        with np.errstate(over="ignore", invalid="ignore"):  # values out of range are refused after the sums
            weight = query_weight
            if pair_weights == "query":
                weight = np.divide(weight, pairs, out=np.zeros_like(weight), where=pairs > 0)
            totals = (weight * pairs).sum(axis=1)  # not by BLAS, whose sums depend on the number of threads
        for total in totals:
            self._refuse(total, doc_weighted)
        self.query_scale = np.where(pairs > 0, weight / totals[:, None], 0.0)
        self.query_scale.flags.writeable = False
        plainly = pair_weights == "pair"
        self.total_weight = [
            float(t) if plainly else float(pairs[c].sum()) for t, c in zip(totals, counted, strict=True)
        ]
        self.n_pairs = [int(plain[c].sum()) for c in counted]
        sizes = np.concatenate([f.n_docs for f in per_shard])
        self.n_useful_docs = [int(sizes[row > 0].sum()) for row in self.query_scale]
        self.key = uuid.uuid4().hex  # a key that no other process uses
        self._scale = scale
        self.shape = shape
        maps = None if scale is None else 1.0 / scale
        shards.call("set_weights", self.key, maps, per_query=self.query_scale)
        weakref.finalize(self, shards.call, "forget", self.key).atexit = False

    def _refuse(self, total: float, doc_weighted: bool) -> None:
        if total <= 0:
            raise DataError(
                f"no preferred pair (n_samples={self.shards.n_docs}): within every query all documents have the same "
                "relevance (or the query, or every preferred document, has weight 0, or the query is in another fold). "
                "Learning to rank needs at least one query with two different grades; check labels and query ids."
            )
        if not SMALLEST < total < LARGEST:
            raise DataError(
                f"query_weight{', doc_weight' if doc_weighted else ''}: the weights of all pairs sum to {total:.3g}, "
                f"outside the range {SMALLEST:g} to {LARGEST:g}; multiply the weights by a constant."
            )

    def scale_of(self, k: int) -> np.ndarray | None:
        """(1, n_features) scale of weighting k, or None."""
        return None if self._scale is None else self._scale[k : k + 1]

    def evaluate(self, ks: Sequence[int], W: np.ndarray) -> list[LossEvaluation]:
        """Evaluate row i of W (m, n_features) under weighting ks[i], all in one read of X. The results equal those of
        separate reads."""
        parts = self.shards.call("value_and_gradient", W, self.key, ks)
        values, squares, gradients = (sum(p[1:], start=p[0]) for p in zip(*parts, strict=True))  # in shard order
        out = []
        for i, k in enumerate(ks):
            gradients[i, ~self.varying[k]] = 0.0
            out.append(LossEvaluation(float(values[i]), gradients[i], float(squares[i])))
        return out

    def hessians(self, asks: Sequence[tuple[np.ndarray, np.ndarray, int, int | None, int]]) -> list[np.ndarray]:
        """PairwiseObjective.hessian for several (w, columns, k, n_docs, turn), visiting each shard once; turn selects
        the sample."""
        steps = [1 if n is None else max(1, self.n_useful_docs[k] // max(n, 1)) for _, _, k, n, _ in asks]
        small = [(w, columns, k, turn, s) for (w, columns, k, _, turn), s in zip(asks, steps, strict=True)]
        sums = [np.zeros((len(columns), len(columns))) for _, columns, *_ in asks]
        shares = [0.0] * len(asks)
        for of_shard in self.shards.in_order("hessians", self.key, small):
            for i, (H, share) in enumerate(of_shard):
                sums[i] += H
                shares[i] += share
        out = []
        for H, share, step in zip(sums, shares, steps, strict=True):
            if step > 1:
                H /= max(share, 1e-300)
            out.append(0.5 * (H + H.T))
        return out

    def bin_sums(self, asks: Sequence[tuple[np.ndarray, np.ndarray, int, int]], seeds: np.ndarray) -> list[np.ndarray]:
        """`Shard.bin_sums` for several (w, features, k, cutoff), over all shards; seeds (len(asks), n_queries)."""
        by_query = self.pair_weights == "query"
        parts = self.shards.call("bin_sums", self.key, asks, by_query, per_query=seeds)
        return [sum(per_shard[1:], start=per_shard[0]) for per_shard in zip(*parts, strict=True)]  # in shard order

    def measure(self, W: np.ndarray, metric: Metric, k: int) -> np.ndarray:
        """(m,) means of a metric over the queries of weighting k, for the models with weights W (m, n_features)."""
        scale = self.scale_of(k)
        models = sp.csr_array(W if scale is None else W / scale)
        assigned = np.where(self.query_scale[k] > 0, 0, -1)
        parts = self.shards.call("measure", [models], [metric], per_query=assigned)
        return np.asarray(np.nanmean(np.concatenate([of_shard[0][0] for of_shard in parts], axis=1), axis=1))

    @cached_property
    def _norms(self) -> tuple[np.ndarray, np.ndarray]:
        """(pair norms, varying), each (K, n_features)."""
        if isinstance(self.shape, Bins):  # steps are 0 or 1: nothing to refuse
            used = np.tile(self.shape.used_columns, (len(self.query_scale), 1))
            return used.astype(np.float64), used
        parts = self.shards.call("pair_norms", self.key)
        norms = sum(p[0] for p in parts)
        largest, offset = (np.max([p[i] for p in parts], axis=0) for i in (1, 2))
        varies = largest > ROUNDING * offset
        for k in range(len(norms)):
            scale = None if self._scale is None else self._scale[k]
            refuse_extreme(np.where(varies[k], largest[k], 0.0), offset[k], self.names, scale)
        norms = np.where(varies, np.maximum(norms, 0.0), 0.0)
        return norms, norms > 0.0

    @property
    def pair_norms(self) -> np.ndarray:
        return self._norms[0]

    @property
    def varying(self) -> np.ndarray:
        return self._norms[1]

    @cached_property
    def at_zero(self) -> list[LossEvaluation]:
        """The evaluations at w = 0."""
        K = len(self.query_scale)
        return self.evaluate(range(K), np.zeros((K, self.shards.n_columns)))
