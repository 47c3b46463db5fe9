"""A shard: whole queries with their rows and lists, and all sums over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparserank.execution import BlockExecutor, one_blas_thread, split_queries
from sparserank.losses import PairwiseLoss
from sparserank.losses.levels import pair_totals, relevance_levels
from sparserank.metrics import Metric
from sparserank.shards import _pass_kernels as kernels
from sparserank.shards._pass_kernels import GradedLists
from sparserank.shards.measuring import Columns, measure
from sparserank.shards.moments import alike, coarse_unit, moment_sums
from sparserank.shards.pair_norms import lists_between, pair_norms
from sparserank.shards.passes import Pass, Sums, run_passes
from sparserank.shards.rows import ALONE, Rows, documents_of, read_only, row_bytes
from sparserank.shards.steps import StepRows

# Size of a block of gathered columns, at most a sixteenth of X: two (X_A, W X_A) fit into a second-level cache.
HESSIAN_BLOCK_BYTES = 2 << 20
MIN_HESSIAN_BLOCK_BYTES = 1 << 17  # smaller blocks cost more in overhead than in arithmetic


class ShardSummary(NamedTuple):
    """Sizes and weights of the queries of a shard, which the objective requests once.

    n_docs        (n_queries,) number of documents
    pair_weight   (n_queries,) total weight of the pairs, with the weights of grade pairs and of documents
    n_pairs       (n_queries,) number of pairs whose preferred document has a positive weight
    shares_reads  whether a second row in a pass, including its dual, costs much less than the pass
    """

    n_docs: np.ndarray
    pair_weight: np.ndarray
    n_pairs: np.ndarray
    shares_reads: bool


@dataclass(frozen=True)
class _Weighting:
    """K ways to weight the queries, and to scale the columns.

    scale     (K, n_queries) weight of each pair of a query; 0 leaves the query out
    inverse   (K, n_columns) factors of the columns: coefficients refer to columns that are multiplied by them; or None
    useful    for each k, the queries that have pairs and a scale > 0
    """

    scale: np.ndarray
    inverse: np.ndarray | None
    useful: tuple[np.ndarray, ...]

    def times(self, W: np.ndarray, ks: Sequence[int]) -> np.ndarray:
        """W (m, n_columns) times the factors, row i under weighting ks[i]. This turns coefficients into weights of
        columns, and gradients by weights of columns into gradients by coefficients."""
        return W if self.inverse is None else W * self.inverse[list(ks)]

    def on(self, k: int, columns: np.ndarray) -> np.ndarray | None:
        """The factors of some columns, as `Rows.differences` takes them."""
        return None if self.inverse is None else np.asarray(self.inverse[k][columns])


@dataclass(frozen=True)
class _Scored:
    """Scores (n_docs,) at w, for the queries in use.

    Storing them adds 4% to a pass. They are kept if the loss has its own dual, and for a single point if a line search
    has requested them under this key, so the first request costs a pass.
    """

    w: np.ndarray
    scores: np.ndarray


class Shard:
    """Rows and lists of whole queries, and the sums over them for K weightings at once.

    Conventions
        `set_weights` sends K weightings under a key; calls name the key and one k, or one k per row of W.
        Coefficients, gradients, Hessians and norms refer to the scaled features x_j inverse[k, j].
        Every result depends only on the arguments, to the last bit: each of several rows of W in one call gets the same
        result as alone. Scores are kept per (key, k), looked up by the value of w, and replaced as a whole. Sorting
        orders are lent to one call at a time. Losing scores or orders costs only time. Arguments are not checked.
    """

    def __init__(
        self,
        rows: Rows,
        relevance: np.ndarray,
        query_ptr: np.ndarray,
        loss: PairwiseLoss,
        doc_weight: np.ndarray | None,
        executor: BlockExecutor,
        docid: Any = None,
        returned: Any = None,
    ) -> None:
        self.rows = rows
        self.loss = loss
        self.relevance = relevance
        self.docid = docid
        self.returned = returned
        self.query_ptr = read_only(query_ptr.astype(np.int64, copy=False))
        lv = loss.levels(relevance, self.query_ptr)
        self._sweep, self._hessian_sweep = loss.sweeps(lv)
        weight = None if doc_weight is None else read_only(doc_weight)
        self._lists = GradedLists(
            self.query_ptr, read_only(lv.levels), read_only(lv.n_levels), read_only(lv.table), weight
        )
        useful = None if weight is None else (weight > 0).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # totals that overflow are refused where they are summed
            totals = pair_totals(lv, self.query_ptr, weight)
        plain = pair_totals(relevance_levels(relevance, self.query_ptr), self.query_ptr, useful)
        self._summary = ShardSummary(
            np.diff(self.query_ptr), totals, plain, rows.shares_reads and loss.dual_sweep is None
        )
        self._blocks = self._split()
        self.executor = executor
        self._weightings: dict[str, _Weighting] = {}
        self._last: dict[tuple[str, int], _Scored] = {}
        self._orders: dict[tuple[str, int], list[np.ndarray]] = {}  # one order, or none while it is lent
        self._asks_for_scores: set[str] = set()
        self._directions: dict[tuple[str, int], tuple[np.ndarray, np.ndarray]] = {}
        in_rows = [np.arange(n, dtype=np.int32) for n in self._summary.n_docs]
        self._first_order = np.concatenate(in_rows or [np.empty(0, dtype=np.int32)])

    def _split(self, finer: float = 1.0) -> np.ndarray:
        """Offsets of blocks of whole queries, which depend only on the data."""
        least = 16.0 * 8 * self.rows.n_columns
        return split_queries(self.query_ptr, finer * row_bytes(self.rows), minimum_bytes=least)

    def summary(self) -> ShardSummary:
        return self._summary

    def set_weights(self, key: str, maps: np.ndarray | None, scale: np.ndarray) -> None:
        """Store column factors (K, n_columns), or None, and scale (K, n_queries) under a key of the caller's choice."""
        counts = (self._summary.pair_weight > 0) & (self._lists.n_levels > 1)
        useful = tuple(np.flatnonzero((row > 0) & counts) for row in scale)
        inverse = None if maps is None else read_only(maps)
        self._weightings[key] = _Weighting(read_only(np.where(counts, scale, 0.0)), inverse, useful)
        self._orders.update({(key, k): [] for k in range(len(scale))})

    def forget(self, key: str) -> None:
        """Drop everything stored under a key that will not be requested again."""
        for stored in (self._last, self._orders, self._directions):
            for place in [place for place in list(stored) if place[0] == key]:
                stored.pop(place, None)
        self._asks_for_scores.discard(key)
        self._weightings.pop(key, None)

    def moments(
        self, unit: np.ndarray, around: np.ndarray, used: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`moment_sums` of K sets of queries, used (K, n_queries)."""
        return moment_sums(self.rows, self.query_ptr, used, unit, around, self.executor)

    # -- passes over all columns ----------------------------------------------------------------------------------

    def value_and_gradient(self, W: np.ndarray, key: str, ks: Sequence[int]) -> Sums:
        """Sums at W (m, n), row i under weighting ks[i]."""
        return run_passes([self], self.executor, W, key, ks)[0]

    def bytes_of_a_pass(self, key: str) -> int:
        """Bytes of the partial sums, the order and, if they are stored, the scores of a pass; the order and the scores
        exist twice for a short time."""
        per_document = 24 if self.loss.dual_sweep is not None or key in self._asks_for_scores else 8
        return 8 * (len(self._blocks) - 1) * self.rows.n_columns + per_document * self.rows.n_docs

    def begin(self, W: np.ndarray, key: str, ks: Sequence[int]) -> Pass:
        """Start a pass at W (m, n), row i under weighting ks[i]."""
        n_blocks = len(self._blocks) - 1
        m = len(W)
        d = self.rows.n_columns
        weighting = self._weightings[key]
        raw = weighting.times(W, ks)
        lent = {k: self._borrowed(key, k) for k in dict.fromkeys(ks)}  # once, even if k is repeated
        orders = np.stack([lent[k] for k in ks]) if m > 1 else lent[ks[0]][None, :]
        keep = self.loss.dual_sweep is not None or (m == 1 and key in self._asks_for_scores)
        scores = np.empty((m, self.rows.n_docs) if keep else (0, 0))
        gradients = np.zeros((n_blocks, m, d))
        sums = np.zeros((n_blocks, m, 2))
        scales = weighting.scale[list(ks)]
        run = kernels.bind(
            kernels.full_pass, row_scores=self.rows.scores, row_transposed=self.rows.transposed, sweep=self._sweep
        )

        def share(start: int, step: int) -> None:
            run(
                self.rows.arrays,
                raw,
                self._lists,
                scales,
                self._blocks,
                start,
                step,
                orders,
                scores,
                gradients,
                sums,
            )

        def finish() -> tuple[Sums, list[_Scored]]:
            totals = np.zeros((m, 2))
            gradient = np.zeros((m, d))
            for b in range(n_blocks):  # in block order, whatever the number of threads
                totals += sums[b]
                gradient += gradients[b]
            for i, k in enumerate(ks):
                if m > 1:
                    lent[k][:] = orders[i]
                self._give_back(key, k, lent[k])
            scored = []
            if keep:  # copies if there are several: a view would keep the array of all alive
                row_scores = scores if m == 1 else [row.copy() for row in scores]
                scored = [_Scored(w.copy(), s) for w, s in zip(W, row_scores, strict=True)]
                self._last.update(((key, k), here) for k, here in zip(ks, scored, strict=True))
            return (totals[:, 0], totals[:, 1], weighting.times(gradient, ks)), scored

        return Pass(share, n_blocks, finish)

    def _borrowed(self, key: str, k: int) -> np.ndarray:
        """An order (n_docs,) of each query's documents, for kernels to correct and to return: the last one, or the row
        order if another call has borrowed it. A call that fails does not return a half-sorted order."""
        try:
            return self._orders[key, k].pop()
        except IndexError:
            return self._first_order.copy()

    def _give_back(self, key: str, k: int, order: np.ndarray) -> None:
        orders = self._orders.get((key, k))
        if orders is not None:  # the weighting is not forgotten
            orders[:] = [order]

    def _raw(self, w: np.ndarray, key: str, k: int) -> np.ndarray:
        """w for the raw columns, (1, n_columns)."""
        return np.array(self._weightings[key].times(w[None, :], [k]), dtype=np.float64)

    def _scored_at(self, w: np.ndarray, key: str, k: int) -> _Scored:
        """Scores at w, from the last pass if they are there; callers must not change them."""
        self._asks_for_scores.add(key)
        last = self._last.get((key, k))
        if last is not None and np.array_equal(w, last.w):
            return last
        one = self.begin(w[None, :], key, [k])
        self.executor.share([(one.share, one.n_blocks)])
        scored: _Scored = one.finish()[1][0]
        return scored

    def pair_norms(self, key: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(sum over pairs of v_p (x_ia - x_ja)^2, largest |deviation| within a query, largest |offset| of deviations),
        each (K, n_columns); one read of X."""
        weighting = self._weightings[key]
        K = len(weighting.scale)
        d = self.rows.n_columns
        inverse = weighting.times(np.ones((K, d)), range(K))
        units = coarse_unit(inverse)
        out = np.zeros((3, K, d))
        for ks in alike(units):  # nearly always one group, with unit 1
            unit = units[ks[0]]
            out[:, ks] = self._norms_in(weighting.scale[ks], unit)
            out[:, ks] *= inverse[ks] / unit
            out[0, ks] *= inverse[ks] / unit
        return out[0], out[1], out[2]

    def _norms_in(self, scale: np.ndarray, unit: np.ndarray) -> np.ndarray:
        """(3, K, n_columns) norms, largest deviations and offsets of unit * columns."""
        out = np.zeros((3, len(scale), len(unit)))
        # Without a compiled loop, several arrays of deviations are written out, 8 bytes per value.
        written_out = self.rows.is_dense and len(self._lists.table) == 0
        blocks = self._split(8.0) if written_out else self._blocks

        def block(b: int) -> np.ndarray:
            first = blocks[b]
            last = blocks[b + 1]
            X = self.rows.query_block(self.query_ptr[first], self.query_ptr[last])
            with one_blas_thread():
                return pair_norms(X, lists_between(self._lists, first, last), scale[:, first:last], unit)

        for part in self.executor.few_at_once(block, len(blocks) - 1):
            out[0] += part[0]
            out[1:] = np.maximum(out[1:], part[1:])
        return out

    # -- curvature from newly computed scores; lines and duals from the scores of the last pass ------------------------

    def hessians(
        self, key: str, asks: Sequence[tuple[np.ndarray, np.ndarray, int, int, int]]
    ) -> list[tuple[np.ndarray, float]]:
        """For each (w, columns (c,), k, turn, step): (generalised Hessian at w on the columns (c, c), the weight of its
        pairs), on the turn-th sample of every step-th useful query of this shard, which contains at least one query if
        there is any.
        """
        return [self._hessian(w, columns, key, k, turn, step) for w, columns, k, turn, step in asks]

    def _hessian(
        self,
        w: np.ndarray,
        columns: np.ndarray,
        key: str,
        k: int,
        turn: int,
        step: int,
    ) -> tuple[np.ndarray, float]:
        weighting = self._weightings[key]
        useful = weighting.useful[k]
        # Contiguous, writable copies: for other kinds of arrays, the kernels would be compiled again.
        queries = np.array(useful[turn % max(min(step, len(useful)), 1) :: step])
        columns = np.array(columns)
        c = len(columns)
        scale = weighting.scale[k]
        share = float((scale * self._summary.pair_weight)[queries].sum())
        if c == 0 or len(queries) == 0:
            return np.zeros((c, c)), share
        inverse = weighting.on(k, columns)
        block_bytes = min(HESSIAN_BLOCK_BYTES, max(self.rows.nbytes / 16, MIN_HESSIAN_BLOCK_BYTES))
        per_block = max(int(block_bytes // (8 * c)), 1)
        block_of = np.cumsum(self._summary.n_docs[queries]) // per_block
        starts = np.concatenate([[0], np.flatnonzero(np.diff(block_of)) + 1, [len(queries)]])
        run = kernels.bind(kernels.weighted_columns, hessian_sweep=self._hessian_sweep)
        point = self._raw(w, key, k)
        order = self._borrowed(key, k)

        def block(b: int) -> np.ndarray:
            members = queries[starts[b] : starts[b + 1]]
            Z = read_only(self.rows.differences(self.query_ptr, members, columns, inverse))
            out = np.empty(Z.shape)
            run(
                self._scores_of(point, members, len(Z)),
                Z,
                self._lists,
                scale,
                members,
                order,
                out,
            )
            with one_blas_thread():
                return np.asarray(Z.T @ out, dtype=np.float64)

        total = np.zeros((c, c))
        for part in self.executor.few_at_once(block, len(starts) - 1):
            total += part
        self._give_back(key, k, order)
        return total, share

    def _scores_of(self, point: np.ndarray, queries: np.ndarray, n_docs: int) -> np.ndarray:
        """(n_docs,) scores at the raw weights (1, n_columns) of the documents of these queries."""
        out = np.empty((1, n_docs))
        run = kernels.bind(kernels.query_scores, row_scores=self.rows.scores)
        run(self.rows.arrays, point, self.query_ptr, queries, ALONE, out)
        return out[0]

    def hessian_matvec(
        self,
        w: np.ndarray,
        v: np.ndarray,
        key: str,
        k: int,
    ) -> np.ndarray:
        """Generalised Hessian at w times v (n_columns,), without forming the Hessian."""
        weighting = self._weightings[key]
        point = self._raw(w, key, k)
        order = self._borrowed(key, k)
        z = self._times(v, key, k)
        ptr = self.query_ptr
        run = kernels.bind(kernels.weighted_columns, hessian_sweep=self._hessian_sweep)

        def block(b: int) -> np.ndarray:
            queries = np.arange(self._blocks[b], self._blocks[b + 1])
            lo = ptr[self._blocks[b]]
            hi = ptr[self._blocks[b + 1]]
            out = np.empty((hi - lo, 1))
            part = np.zeros((1, self.rows.n_columns))
            scores = self._scores_of(point, queries, int(hi - lo))
            run(
                scores,
                z[lo:hi],
                self._lists,
                weighting.scale[k],
                queries,
                order,
                out,
            )
            self.rows.transposed(self.rows.arrays, lo, hi, out.T, ALONE, part)
            return part[0]

        parts = self.executor.map(block, len(self._blocks) - 1)
        self._give_back(key, k, order)
        product = sum(parts, start=np.zeros(self.rows.n_columns))
        return weighting.times(product[None, :], [k])[0]

    def line(
        self,
        w: np.ndarray,
        v: np.ndarray,
        mus: Sequence[float],
        key: str,
        k: int,
    ) -> np.ndarray:
        """(len(mus), 3): f, df/dmu, d2f/dmu2 at w + mu v, each for one sweep of the scores; X is read once, for X v."""
        here = self._scored_at(w, key, k)
        weighting = self._weightings[key]
        direction = self._times(v, key, k)
        order = self._borrowed(key, k)
        run = kernels.bind(kernels.line_pass, sweep=self._sweep, hessian_sweep=self._hessian_sweep)
        scale = weighting.scale[k]
        queries = weighting.useful[k]
        values = np.array(
            [
                run(
                    here.scores,
                    direction,
                    mu,
                    self._lists,
                    scale,
                    queries,
                    order,
                )
                for mu in mus
            ]
        )
        self._give_back(key, k, order)
        return values

    def dual_sums(
        self,
        w: np.ndarray,
        s: float,
        key: str,
        k: int,
    ) -> float:
        """sum_p v_p phi*(s phi'_p) at w, phi* the conjugate of the loss: one sweep of the scores."""
        here = self._scored_at(w, key, k)
        weighting = self._weightings[key]
        order = self._borrowed(key, k)
        run = kernels.bind(kernels.dual_pass, dual_sweep=self.loss.dual_sweep)
        total = float(run(s, here.scores, self._lists, weighting.scale[k], weighting.useful[k], order))
        self._give_back(key, k, order)
        return total

    def pair_square(self, v: np.ndarray, key: str, k: int) -> float:
        """sum over pairs of v_p (v.(x_i - x_j))^2, whether active or not."""
        scale = self._weightings[key].scale[k : k + 1]
        with one_blas_thread():
            return float(pair_norms(self._times(v, key, k), self._lists, scale, np.ones(1))[0, 0, 0])

    def _times(self, v: np.ndarray, key: str, k: int) -> np.ndarray:
        """X v (n_docs, 1) for kernels; kept, because a line search requests the same v again."""
        known = self._directions.get((key, k))
        if known is not None and np.array_equal(v, known[0]):
            return known[1]
        ptr = self.query_ptr
        raw = self._raw(v, key, k)
        out = np.empty((1, self.rows.n_docs))

        def block(b: int) -> None:
            lo = ptr[self._blocks[b]]
            hi = ptr[self._blocks[b + 1]]
            self.rows.scores(self.rows.arrays, lo, hi, raw, ALONE, out[:, lo:hi])

        self.executor.map(block, len(self._blocks) - 1)
        z = read_only(out.reshape(-1, 1))
        self._directions[key, k] = np.array(v, dtype=np.float64), z
        return z

    # -- boosting -----------------------------------------------------------------------------------------------------

    def bin_sums(
        self,
        key: str,
        asks: Sequence[tuple[np.ndarray, np.ndarray, int, int]],
        by_query: bool,
        seeds: np.ndarray,
    ) -> list[np.ndarray]:
        """The gradients, the curvatures and the numbers of documents, summed over the documents in each bin of a
        feature: an array (len(features), BINS, 3) for each (w, features, k, cutoff) of `asks`.

        by_query   whether the pairs of a query together have the weight of the query
        seeds      (len(asks), n_queries) uint64; a query whose seed is 0 is left out
        """
        assert isinstance(self.rows, StepRows)
        scales = self._weightings[key].scale
        scales = scales * self._summary.pair_weight if by_query else scales
        asked = [(w, features, scales[k], cutoff) for w, features, k, cutoff in asks]
        return self.rows.bin_sums(asked, seeds, self.relevance, self._lists, self.executor)

    # -- metrics of models --------------------------------------------------------------------------------------------

    def gathered(
        self,
        columns: np.ndarray,
        key: str,
        k: int,
        present: bool,
        taken: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
        """For the documents of the queries in `taken` (n_queries,) bool: the factors of the coefficients (n, c), up to
        a shift per query; relevance; ids; if `present` (unscaled rows only), whether any of these columns is
        nonzero. Only for small samples: no other call returns values per document."""
        queries = np.flatnonzero(taken)
        documents = documents_of(self.query_ptr, queries)
        Z = np.zeros((len(documents), 0))
        if len(columns) and len(queries):
            inverse = self._weightings[key].on(k, columns)
            Z = self.rows.differences(self.query_ptr, queries, columns, inverse).astype(np.float64, copy=False)
        ids = None if self.docid is None else np.asarray(self.docid[documents])
        known = (self.rows.columns(documents, columns) != 0).any(axis=1) if present else None
        return Z.reshape(len(documents), len(columns)), self.relevance[documents], ids, known

    def scores(self, w: np.ndarray) -> np.ndarray:
        """(n_docs,) scores at w (n_columns,)."""
        return self.rows.times(w[None], np.arange(self.rows.n_docs))[:, 0]

    def measure(
        self, models: Sequence[sp.csr_array | Columns], metrics: Sequence[Metric], assigned: np.ndarray
    ) -> list[np.ndarray]:
        """(n_metrics, n_models, queries of the group) for each group of models, which are (n_models, n_columns) in
        units of the columns, or rank by single columns."""
        lists = (self.relevance, self.query_ptr, self.docid, self.returned)
        return measure(self.rows, lists, models, assigned, metrics, self.executor)
