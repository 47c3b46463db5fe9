"""The only file that multiplies by X: scores = X w, gradient = X^T g, Hessian = X_A^T (W X_A)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank import _pass_kernels as kernels
from sparserank.errors import DataError
from sparserank.execution import BlockExecutor, split_queries
from sparserank.losses import SquaredHinge
from sparserank.losses.levels import pair_totals

HESSIAN_BLOCK_BYTES = (
    2 << 20
)  # and at most a sixteenth of X: two blocks of gathered columns (X_A and W X_A) stay in a second-level cache
PAIR_WEIGHTS = ("pair", "query")
SMALLEST, LARGEST = (
    1e-100,
    1e100,
)  # sizes whose squares, summed and multiplied by each other, stay far from the ends of float64
LARGEST_OFFSET = 1e8  # a value this many times a feature's deviations leaves eight digits of them in a score


@dataclass(frozen=True)
class _Scored:
    """Scores (n_docs,) of the queries with pairs at w, and the order (n_docs,) of each query's documents by them."""

    w: np.ndarray
    scores: np.ndarray
    order: np.ndarray


class PairwiseObjective:
    """Weighted mean of a pairwise loss over all preferred pairs, as a function of the coefficients.

    Conventions
        f(w) = sum over pairs of v_p h_p(w)^2, sum of v_p = 1. `pair_weights="pair"` gives v_p = 1/P;
        "query" gives every query with pairs the same total; both are multiplied by `query_weight` and by the loss's
        grade-pair weights, then normalised. Features that are constant within every query have gradient exactly 0.
        Solvers see this object only, never X. `n_pairs` counts the pairs; `total_weight` is what sum-scaled strengths
        (C_sum, gamma_scale="sum") refer to: the same number unless queries or grade pairs are weighted.
        Every result is a function of the arguments alone, to the last bit; one objective may serve several threads.

    Parameters
        X             (n_docs, n_features) float32/float64 C-ordered array or CSR, rows grouped by query
        relevance     (n_docs,) finite
        query_ptr     (n_queries + 1,) int64
        query_weight  (n_queries,) finite >= 0, e.g. 0/1 for a fold or counts for a bootstrap sample; default 1
        n_threads     threads of the pass; None for all cores. The results do not depend on it
        feature_names what messages call the features, default f1, f2, ...
    Raises
        DataError     no preferred pair has positive weight, or weights whose sum leaves the range of numbers; on first use, a
                      feature whose deviations within queries lie outside 1e-100 ... 1e100, or drown in its offset
    """

    def __init__(
        self,
        X: Any,
        relevance: np.ndarray,
        query_ptr: np.ndarray,
        *,
        loss: SquaredHinge | None = None,
        query_weight: np.ndarray | None = None,
        pair_weights: str = "pair",
        n_threads: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if pair_weights not in PAIR_WEIGHTS:
            raise DataError(f"pair_weights must be one of {PAIR_WEIGHTS}; got {pair_weights!r}.")
        self.loss = loss or SquaredHinge()
        self.is_sparse = bool(sp.issparse(X))
        self.X: Any = X if self.is_sparse else _read_only(X)
        self.n_docs, self.n_features = X.shape
        self.query_ptr = _read_only(query_ptr.astype(np.int64, copy=False))
        lv = self.loss.levels(relevance, query_ptr)
        self._levels, self._n_levels = _read_only(lv.levels), _read_only(lv.n_levels)
        self._table = _read_only(lv.table)
        self._sweep, self._hessian_sweep = self.loss.sweeps(lv)
        pairs = pair_totals(lv, self.query_ptr)
        weight = np.ones(len(pairs)) if query_weight is None else np.asarray(query_weight, dtype=np.float64)
        if weight.shape != pairs.shape or not np.isfinite(weight).all() or (weight < 0).any():
            raise DataError(f"query_weight must hold {len(pairs)} finite weights >= 0, one per query.")
        if pair_weights == "query":
            weight = np.divide(weight, pairs, out=np.zeros_like(pairs), where=pairs > 0)
        with np.errstate(over="ignore"):
            total = float(weight @ pairs)
        if total > 0 and not SMALLEST < total < LARGEST:
            raise DataError(
                f"query_weight: the weights of all pairs sum to {total:.3g}, outside {SMALLEST:g} ... {LARGEST:g}; multiply the "
                "weights by a constant."
            )
        if total <= 0:
            raise DataError(
                f"no preferred pair (n_samples={self.n_docs}): within every query all documents have the same relevance "
                "(or the query has weight 0, or is in another fold); learning to rank needs at least one query with two different grades."
            )
        self._scale = _read_only(weight / total)
        self._pair_share = self._scale * pairs
        self.pair_weights = pair_weights
        self.total_weight = float(weight @ pairs) if pair_weights == "pair" else float(pairs[weight > 0].sum())
        plain = pair_totals(SquaredHinge().levels(relevance, query_ptr), self.query_ptr)
        self.n_pairs = int(plain[weight > 0].sum())
        row_bytes = self.X.data.nbytes / max(self.n_docs, 1) * (1.5 if self.is_sparse else 1.0)
        if not self.is_sparse:
            row_bytes = self.X.itemsize * self.n_features
        self._blocks = split_queries(self.query_ptr, row_bytes, minimum_bytes=16.0 * 8 * self.n_features)
        self._executor = BlockExecutor(n_threads)
        self._names = feature_names
        in_rows = [np.arange(n, dtype=np.int32) for n in np.diff(self.query_ptr)]
        first_order = np.concatenate(in_rows or [np.empty(0, dtype=np.int32)])
        # The last pass, replaced whole: reading it from another thread is safe, and losing it costs time alone.
        self._last = _Scored(np.full(self.n_features, np.nan), np.empty(0), first_order)
        self.n_passes = 0

    def value_and_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) and its gradient (n_features,), in one pass over X."""
        value, gradient, _ = self._pass(w)
        return value, gradient

    def _pass(self, w: np.ndarray) -> tuple[float, np.ndarray, _Scored]:
        here = _Scored(np.array(w, dtype=np.float64), np.empty(self.n_docs), self._last.order.copy())
        parts = self._executor.map(lambda b: self._block_pass(b, here), len(self._blocks) - 1)
        value, gradient = 0.0, np.zeros(self.n_features)
        for block_value, block_gradient in parts:  # in block order, whatever the number of threads
            value += block_value
            gradient += block_gradient
        gradient[self._constant] = 0.0
        self._last = here
        self.n_passes += 1
        return value, gradient, here

    def _block_pass(self, b: int, here: _Scored) -> tuple[float, np.ndarray]:
        gradient = np.zeros(self.n_features)
        tail = (
            here.w, self.query_ptr, self._blocks[b], self._blocks[b + 1], self._scale, self._levels, self._n_levels,
            self._table, here.order, here.scores, gradient,
        )  # fmt: skip
        if self.is_sparse:
            run = kernels.make_sparse_pass(self._sweep)
            return run(self.X.data, self.X.indices, self.X.indptr, *tail), gradient
        return kernels.make_dense_pass(self._sweep)(self.X, *tail), gradient

    def _scored_at(self, w: np.ndarray) -> _Scored:
        """Scores and order at w, taken from the last pass when it was there; nobody may change them."""
        last = self._last
        return last if np.array_equal(w, last.w) else self._pass(w)[2]

    def hessian(self, w: np.ndarray, columns: np.ndarray, queries: np.ndarray | None = None) -> np.ndarray:
        """Generalised Hessian at w on the given columns (k, k); from a sample of queries when `queries` is given.

        A sample is scaled up by its share of the total pair weight.
        """
        here = self._scored_at(w)
        columns = np.asarray(columns, dtype=np.int64)
        chosen = self._useful if queries is None else queries
        k = len(columns)
        if k == 0:
            return np.zeros((0, 0))
        lengths = np.diff(self.query_ptr)[chosen]
        block_bytes = min(HESSIAN_BLOCK_BYTES, self.X.data.nbytes / 16)
        per_block = max(int(block_bytes // (8 * k)), 1)
        block_of = np.cumsum(lengths) // per_block
        starts = np.concatenate([[0], np.flatnonzero(np.diff(block_of)) + 1, [len(chosen)]])
        product = kernels.make_weighted_columns(self._hessian_sweep)

        def block(b: int) -> np.ndarray:
            members = chosen[starts[b] : starts[b + 1]]
            Z = _read_only(self._gather(members, columns))
            out = np.empty(Z.shape)
            product(
                Z, self.query_ptr, members, self._scale, here.scores, self._levels, self._n_levels, self._table,
                here.order, out,
            )  # fmt: skip
            return Z.T @ out

        H: np.ndarray = sum(self._executor.map(block, len(starts) - 1), start=np.zeros((k, k)))
        if queries is not None:
            H *= 1.0 / max(float(self._pair_share[queries].sum()), 1e-300)
        return 0.5 * (H + H.T)

    def hessian_matvec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalised Hessian at w times v (n_features,), without forming the Hessian."""
        here = self._scored_at(w)
        z = _read_only((self.X @ v).reshape(-1, 1).astype(np.float64, copy=False))
        out = np.empty(z.shape)
        queries = np.arange(len(self._scale))
        kernels.make_weighted_columns(self._hessian_sweep)(
            z,
            self.query_ptr,
            queries,
            self._scale,
            here.scores,
            self._levels,
            self._n_levels,
            self._table,
            here.order,
            out,
        )
        return np.where(self.varying, self.X.T @ out[:, 0], 0.0)

    def along(self, w: np.ndarray, v: np.ndarray) -> Callable[[float], tuple[float, float, float]]:
        """mu -> (f, df/dmu, d2f/dmu2) at w + mu v, each for one sweep of the scores and no product with X."""
        here = self._scored_at(w)
        order = here.order.copy()  # this line's own: it follows the scores along
        direction = _read_only(np.asarray(self.X @ v, dtype=np.float64).reshape(-1, 1))
        run = kernels.make_line_pass(self._sweep, self._hessian_sweep)

        def at(mu: float) -> tuple[float, float, float]:
            value, slope, curvature = run(
                here.scores, direction, mu, self.query_ptr, self._useful, self._scale, self._levels, self._n_levels,
                self._table, order,
            )  # fmt: skip
            return value, slope, curvature

        return at

    def pair_square(self, v: np.ndarray) -> float:
        """sum over pairs of v_p (v.(x_i - x_j))^2, whether active or not: half the curvature of f along v at 0."""
        z = _read_only(np.asarray(self.X @ v, dtype=np.float64).reshape(-1, 1))
        out = np.zeros(1)
        tail = (self._scale, self._levels, self._n_levels, self._table, out, np.zeros(1), np.zeros(1))
        kernels.dense_pair_norms(z, self.query_ptr, 0, len(self._scale), *tail)
        return float(out[0])

    def sample_queries(self, n_docs: int) -> np.ndarray:
        """Queries spread evenly over the data that together hold about `n_docs` documents and have pairs."""
        total = int(np.diff(self.query_ptr)[self._useful].sum())
        step = max(1, total // max(n_docs, 1))
        return self._useful[::step]

    @property
    def query_scale(self) -> np.ndarray:
        """(n_queries,) weight v_p of each pair of a query (before grade-pair weights); 0 for queries without pairs."""
        return np.where(self._n_levels > 1, self._scale, 0.0)

    @cached_property
    def _useful(self) -> np.ndarray:
        """Queries that have pairs of positive weight."""
        return np.flatnonzero(self.query_scale > 0)

    @cached_property
    def pair_norms(self) -> np.ndarray:
        """(n_features,) sum over pairs of v_p (x_ij - x_jj)^2, pair-free; exactly 0 for a feature constant within queries.

        2 * pair_norms is the largest curvature of f along each coordinate.
        """
        tail = (self._scale, self._levels, self._n_levels, self._table)
        if self.is_sparse:
            norms, largest, offset = np.zeros((3, self.n_features))
            for q in range(len(self._scale)):
                lo, hi = self.query_ptr[q], self.query_ptr[q + 1]
                columns = np.unique(self.X.indices[self.X.indptr[lo] : self.X.indptr[hi]])
                local = np.zeros((3, len(columns)))
                rows = _read_only(np.ascontiguousarray(self.X[lo:hi][:, columns].toarray()))
                kernels.dense_pair_norms(
                    rows, np.array([0, hi - lo]), 0, 1, self._scale[q : q + 1], self._levels[lo:hi],
                    self._n_levels[q : q + 1], self._table, *local,
                )  # fmt: skip
                norms[columns] += local[0]
                largest[columns] = np.maximum(largest[columns], local[1])
                offset[columns] = np.maximum(offset[columns], local[2])
        else:

            def block(b: int) -> np.ndarray:
                part = np.zeros((3, self.n_features))
                kernels.dense_pair_norms(self.X, self.query_ptr, self._blocks[b], self._blocks[b + 1], *tail, *part)
                return part

            parts = np.array(self._executor.map(block, len(self._blocks) - 1))
            norms, largest, offset = parts[:, 0].sum(axis=0), parts[:, 1].max(axis=0), parts[:, 2].max(axis=0)
        refuse_extreme(largest, offset, self._names)
        return np.maximum(norms, 0.0)

    @cached_property
    def varying(self) -> np.ndarray:
        """(n_features,) bool: features that differ within some preferred pair; the others cannot be used."""
        return self.pair_norms > 0.0

    @cached_property
    def _constant(self) -> np.ndarray:
        return np.flatnonzero(~self.varying)

    @cached_property
    def gradient_at_zero(self) -> np.ndarray:
        return self.value_and_gradient(np.zeros(self.n_features))[1]

    def _gather(self, queries: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """X of the given queries and columns as a float64 block."""
        first, lengths = self.query_ptr[queries], self.query_ptr[queries + 1] - self.query_ptr[queries]
        rows = np.arange(int(lengths.sum())) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
        if self.is_sparse:
            return np.ascontiguousarray(self.X[rows][:, columns].toarray(), dtype=np.float64)
        if rows[-1] - rows[0] + 1 == len(rows):
            block = self.X[rows[0] : rows[-1] + 1]
            if len(columns) == self.n_features:
                return np.ascontiguousarray(block, dtype=np.float64)
            return np.take(block, columns, axis=1).astype(np.float64, copy=False)
        return self.X[np.ix_(rows, columns)].astype(np.float64, copy=False)


def refuse_extreme(deviations: np.ndarray, offsets: np.ndarray, names: Sequence[str] | None) -> None:
    """Refuse features whose scores, or squares, floating point cannot hold.

    Parameters
        deviations, offsets   (n_features,) largest |deviation| within a query (0: constant), largest |value| around which
    Raises
        DataError             names the first such feature
    """
    varies = deviations > 0
    extreme = varies & ~((deviations >= SMALLEST) & (deviations <= LARGEST))
    drowned = varies & (offsets / LARGEST_OFFSET > deviations)
    bad = np.flatnonzero(extreme | drowned)
    if len(bad) == 0:
        return
    j = int(bad[0])
    name = names[j] if names is not None else f"f{j + 1}"
    if extreme[j]:
        raise DataError(
            f"feature {name} varies within queries by {deviations[j]:.3g}; between {SMALLEST:g} and {LARGEST:g} is usable. "
            "Multiply it by a constant, or use a scaling such as within-query-std."
        )
    raise DataError(
        f"feature {name} varies within queries by {deviations[j]:.3g} around {offsets[j]:.3g}: too little of it is left in "
        "floating point. Subtract a constant from it, or leave it out."
    )


def _read_only(array: np.ndarray) -> np.ndarray:
    """A read-only C-ordered view: one type for the compiled kernels, and no kernel can write to the user's data."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
