"""The only file that multiplies by X: scores = X w, gradient = X^T g, Hessian = X_A^T (W X_A)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank import _pass_kernels as kernels
from sparserank._pass_kernels import ListFacts
from sparserank.data.dataset import ROUNDING, RankingDataset
from sparserank.errors import DataError
from sparserank.execution import BlockExecutor, split_queries
from sparserank.execution.threads import one_blas_thread
from sparserank.lazy import cached_property
from sparserank.losses import PairwiseLoss, SquaredHinge
from sparserank.losses.dual import Dual
from sparserank.losses.levels import pair_totals, relevance_levels
from sparserank.number_range import LARGEST, SMALLEST, refuse_extreme
from sparserank.pair_norms import pair_norms
from sparserank.quoting import brief
from sparserank.weights import usable_weights

HESSIAN_BLOCK_BYTES = (
    2 << 20
)  # and at most a sixteenth of X: two blocks of gathered columns (X_A and W X_A) stay in a second-level cache
PAIR_WEIGHTS = ("pair", "query")


@dataclass(frozen=True)
class _Scored:
    """Scores (n_docs,) of the queries with pairs at w, the order (n_docs,) of each query's documents by them, and what the
    dual needs: f(w), w.g and the weighted sum of phi'^2 / 4.
    """

    w: np.ndarray
    scores: np.ndarray
    order: np.ndarray
    value: float = 0.0
    slope: float = 0.0
    square: float = 0.0


class PairwiseObjective:
    """Weighted mean of a pairwise loss over all preferred pairs, as a function of the coefficients.

    Conventions
        f(w) = sum over pairs of v_p phi(margin of p), phi the loss, sum of v_p = 1. `pair_weights="pair"` gives v_p = 1/P;
        "query" gives every query with pairs of positive weight the same total. Pairs are weighted by `query_weight`, by the
        `doc_weight` of their preferred document and by the loss's grade-pair weights, then normalised. Features that are constant within every query have gradient exactly 0.
        Solvers see this object only, never X. `n_pairs` counts the pairs whose query and preferred document have positive
        weight; `total_weight` is what sum-scaled strengths (C_sum, gamma_scale="sum") refer to: the same number unless
        queries, documents or grade pairs are weighted.
        Every result is a function of the arguments alone, to the last bit; one objective may serve several threads.

    Parameters
        X             a RankingDataset, whose relevance, queries, document weights and names are then taken; or
                      (n_docs, n_features) float32/float64 C-ordered array or CSR, rows grouped by query
        relevance     (n_docs,) finite
        query_ptr     (n_queries + 1,) int64
        query_weight  (n_queries,) finite >= 0, e.g. 0/1 for a fold or counts for a bootstrap sample; default 1
        doc_weight    (n_docs,) finite >= 0, a weight of every pair in which the document is the preferred one, e.g. 1 over its
                      propensity (0: it never is the preferred one, but can still be the other); default 1
        n_threads     threads of the pass; None for all cores. The results do not depend on it
        feature_names what messages call the features, default f1, f2, ...
    Raises
        DataError     no preferred pair has positive weight, or weights whose sum leaves the range of numbers; on first use, a
                      feature whose deviations within queries lie outside 1e-100 ... 1e100, or drown in its offset
    """

    def __init__(
        self,
        X: Any,
        relevance: np.ndarray | None = None,
        query_ptr: np.ndarray | None = None,
        *,
        loss: PairwiseLoss | None = None,
        query_weight: np.ndarray | None = None,
        doc_weight: np.ndarray | None = None,
        pair_weights: str = "pair",
        n_threads: int | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if pair_weights not in PAIR_WEIGHTS:
            raise DataError(f"pair_weights must be one of {PAIR_WEIGHTS}; got {pair_weights!r}.")
        if isinstance(X, RankingDataset):
            doc_weight = X.doc_weight if doc_weight is None else doc_weight
            feature_names = X.feature_names if feature_names is None else feature_names
            X, relevance, query_ptr = X.X, X.relevance, X.query_ptr
        relevance, query_ptr = _checked_lists(X, relevance, query_ptr)
        self.loss: PairwiseLoss = loss or SquaredHinge()
        self.is_sparse = bool(sp.issparse(X))
        self.X: Any = X if self.is_sparse else _read_only(X)
        self.n_docs, self.n_features = X.shape
        self.query_ptr = _read_only(query_ptr.astype(np.int64, copy=False))
        lv = self.loss.levels(relevance, query_ptr)
        self._sweep, self._hessian_sweep = self.loss.sweeps(lv)
        of_docs = None if doc_weight is None else _weights("doc_weight", doc_weight, self.n_docs, "document")
        n_queries = len(self.query_ptr) - 1
        weight = (
            np.ones(n_queries) if query_weight is None else _weights("query_weight", query_weight, n_queries, "query")
        )
        counted = weight > 0
        with np.errstate(over="ignore", invalid="ignore"):  # what leaves the range is refused
            pairs = pair_totals(lv, self.query_ptr, of_docs)
            if pair_weights == "query":
                weight = np.divide(weight, pairs, out=np.zeros_like(pairs), where=pairs > 0)
            total = float(weight @ pairs)
        if not (total <= 0 or SMALLEST < total < LARGEST):
            raise DataError(
                f"query_weight{'' if of_docs is None else ', doc_weight'}: the weights of all pairs sum to {total:.3g}, outside "
                f"{SMALLEST:g} ... {LARGEST:g}; multiply the weights by a constant."
            )
        if total <= 0:
            raise DataError(
                f"no preferred pair (n_samples={self.n_docs}): within every query all documents have the same relevance "
                "(or the query, or every preferred document, has weight 0, or the query is in another fold); learning to rank needs at least one query with two different grades."
            )
        scale = _read_only(np.where(pairs > 0, weight / total, 0.0))
        self._facts = ListFacts(
            self.query_ptr, _read_only(lv.levels), _read_only(lv.n_levels), _read_only(lv.table),
            None if of_docs is None else _read_only(of_docs), scale,
        )  # fmt: skip
        self._pair_share = scale * pairs
        self.pair_weights = pair_weights
        self.total_weight = float(weight @ pairs) if pair_weights == "pair" else float(pairs[weight > 0].sum())
        useful = None if of_docs is None else (of_docs > 0).astype(np.float64)
        plain = pair_totals(relevance_levels(relevance, self.query_ptr), self.query_ptr, useful)
        self.n_pairs = int(plain[counted].sum())
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
        w = np.array(w, dtype=np.float64)
        if w.shape != (self.n_features,):
            raise DataError(f"w must hold one coefficient per feature ({self.n_features}); got shape {w.shape}.")
        here = _Scored(w, np.empty(self.n_docs), self._last.order.copy())
        parts = self._executor.map(lambda b: self._block_pass(b, here), len(self._blocks) - 1)
        value, square, gradient = 0.0, 0.0, np.zeros(self.n_features)
        for block_value, block_gradient, block_square in parts:  # in block order, whatever the number of threads
            value += block_value
            square += block_square
            gradient += block_gradient
        gradient[self._constant] = 0.0
        with np.errstate(over="ignore"):  # at a trial point that is far out; solvers refuse what is not finite
            here = replace(here, value=value, slope=float(here.w @ gradient), square=square)
        self._last = here
        self.n_passes += 1
        return value, gradient, here

    def _block_pass(self, b: int, here: _Scored) -> tuple[float, np.ndarray, float]:
        gradient = np.zeros(self.n_features)
        tail = (here.w, self._facts, self._blocks[b], self._blocks[b + 1], here.order, here.scores, gradient)
        if self.is_sparse:
            run = kernels.make_sparse_pass(self._sweep)
            value, square = run(self.X.data, self.X.indices, self.X.indptr, *tail)
        else:
            value, square = kernels.make_dense_pass(self._sweep)(self.X, *tail)
        return value, gradient, square

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
            product(Z, self._facts, members, here.scores, here.order, out)
            with one_blas_thread():
                return Z.T @ out

        H: np.ndarray = sum(self._executor.map(block, len(starts) - 1), start=np.zeros((k, k)))
        if queries is not None:
            H *= 1.0 / max(float(self._pair_share[queries].sum()), 1e-300)
        return 0.5 * (H + H.T)

    def hessian_matvec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalised Hessian at w times v (n_features,), without forming the Hessian."""
        here = self._scored_at(w)
        z = self._times(v)
        out = np.empty(z.shape)
        queries = np.arange(len(self._facts.query_scale))
        kernels.make_weighted_columns(self._hessian_sweep)(z, self._facts, queries, here.scores, here.order, out)
        with one_blas_thread():
            return np.where(self.varying, self.X.T @ out[:, 0], 0.0)

    def along(self, w: np.ndarray, v: np.ndarray) -> Callable[[float], tuple[float, float, float]]:
        """mu -> (f, df/dmu, d2f/dmu2) at w + mu v, each for one sweep of the scores and no product with X."""
        here = self._scored_at(w)
        order = here.order.copy()  # this line's own: it follows the scores along
        direction = self._times(v)
        run = kernels.make_line_pass(self._sweep, self._hessian_sweep)

        def at(mu: float) -> tuple[float, float, float]:
            value, slope, curvature = run(here.scores, direction, mu, self._facts, self._useful, order)
            return value, slope, curvature

        return at

    def dual(self, w: np.ndarray, value: float, gradient: np.ndarray) -> Dual:
        """The loss's half of the dual at w, where value = f(w) and gradient are known: what certificates are made of.

        Costs nothing for losses whose dual follows from those two, otherwise at most what `dual_sums` does.
        """
        return self.loss.dual(
            value, float(w @ gradient), lambda: self._scored_at(w).square, lambda s: self._swept_dual(w, s)
        )

    def dual_sums(self, w: np.ndarray, s: float) -> float:
        """sum_p v_p phi*(s phi'_p) at w, phi* the conjugate of the loss, for 0 <= s <= 1 (any s >= 0 if phi* is finite there).

        At most one sweep of the scores, and no pass over X where w is the last point.
        """
        here = self._scored_at(w)
        dual = self.loss.dual(here.value, here.slope, lambda: here.square, lambda t: self._swept_dual(w, t))
        return dual.value(s)

    def _swept_dual(self, w: np.ndarray, s: float) -> float:
        here = self._scored_at(w)
        run = kernels.make_dual_pass(self.loss.dual_sweep)
        return float(run(s, here.scores, self._facts, self._useful, here.order))

    def pair_square(self, v: np.ndarray) -> float:
        """sum over pairs of v_p (v.(x_i - x_j))^2, whether active or not: half the curvature of f along v at 0."""
        z = self._times(v)
        everything = np.array([0, len(self._facts.query_scale)])
        return float(pair_norms(z, self._facts, everything, self._executor)[0][0])

    def sample_queries(self, n_docs: int) -> np.ndarray:
        """Queries spread evenly over the data that together hold about `n_docs` documents and have pairs."""
        total = int(np.diff(self.query_ptr)[self._useful].sum())
        step = max(1, total // max(n_docs, 1))
        return self._useful[::step]

    @property
    def query_scale(self) -> np.ndarray:
        """(n_queries,) weight v_p of each pair of a query (before grade-pair and document weights); 0 for queries without pairs."""
        return self._facts.query_scale

    @cached_property
    def _useful(self) -> np.ndarray:
        """Queries that have pairs of positive weight."""
        return np.flatnonzero(self.query_scale > 0)

    @cached_property
    def pair_norms(self) -> np.ndarray:
        """(n_features,) sum over pairs of v_p (x_ij - x_jj)^2, pair-free; exactly 0 for a feature constant within queries, to
        rounding.

        The loss's smoothness times these bounds the curvature of f along each coordinate: `curvature`.
        """
        norms, largest, offset = pair_norms(self.X, self._facts, self._blocks, self._executor)
        varies = largest > ROUNDING * offset
        refuse_extreme(np.where(varies, largest, 0.0), offset, self._names)
        return np.where(varies, np.maximum(norms, 0.0), 0.0)

    @cached_property
    def curvature(self) -> np.ndarray:
        """(n_features,) bound on the curvature of f along each coordinate, anywhere; reached at 0 by the squared hinge."""
        return self.loss.smoothness * self.pair_norms

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

    def _times(self, v: np.ndarray) -> np.ndarray:
        """X v (n_docs, 1) for kernels."""
        with one_blas_thread():
            return _read_only(np.asarray(self.X @ v, dtype=np.float64).reshape(-1, 1))

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


def _checked_lists(X: Any, relevance: Any, query_ptr: Any) -> tuple[np.ndarray, np.ndarray]:
    """relevance (n_docs,) and query_ptr (n_queries + 1,), which must describe the rows of X."""
    if X.dtype not in (np.float32, np.float64) or X.ndim != 2:
        raise DataError(f"X must be a float32 or float64 matrix; got {X.ndim} dimensions of {X.dtype}.")
    relevance, query_ptr = np.asarray(relevance), np.asarray(query_ptr)
    if relevance.shape != X.shape[:1] or relevance.dtype.kind not in "biuf":
        raise DataError(f"relevance must hold one number per row of X ({X.shape[0]}).")
    if query_ptr.ndim != 1 or query_ptr.dtype.kind not in "iu" or len(query_ptr) == 0:
        raise DataError("query_ptr must hold the offsets of the queries, whole numbers from 0 to the number of rows.")
    if query_ptr[0] != 0 or query_ptr[-1] != X.shape[0] or (np.diff(query_ptr.astype(np.int64)) < 0).any():
        raise DataError(f"query_ptr must rise from 0 to the {X.shape[0]} rows of X; got {brief(query_ptr.tolist())}.")
    return relevance, query_ptr


def _weights(name: str, given: Any, n: int, what: str) -> np.ndarray:
    weights = usable_weights(given, n)
    if weights is None:
        raise DataError(f"{name} must hold {n} finite weights >= 0, one per {what}.")
    return weights


def _read_only(array: np.ndarray) -> np.ndarray:
    """A read-only C-ordered view: one type for the compiled kernels, and no kernel can write to the user's data."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
