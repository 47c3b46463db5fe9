"""The interface of a kind of shard: the features of consecutive documents, in the form for compiled passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparserank.data.query_ids import rows_of_queries

PIECE = 1 << 19  # non-zeros whose statistics are computed at once


class Rows:
    """The features of n_docs documents, grouped by query; each kind of rows has its own module.

    arrays        arguments of the two kernels, arrays of a fixed number and type
    scores        compiled: scores(arrays, lo, hi, W, which, out): out[k, : hi - lo] = X[lo:hi] W[k] for k of `which`
    transposed    compiled: transposed(arrays, lo, hi, G, which, out): out[k] += X[lo:hi]^T G[k, : hi - lo] for k of
                  `which`; W and out (m, n_columns), G (m, at least hi - lo); a g of 0 costs nothing
    nbytes        of `arrays`, which determines how data are cut into shards and blocks
    is_dense      True if `query_block` is an array
    shares_reads  True if the products with a second w or g, in the same pass, cost much less than the pass

    Both kernels accumulate in float64, each k in an order that depends only on lo, hi and its row of G.
    `column_blocks` names the columns that belong together, for penalties that tie them; None: each column is one.
    """

    scores: ClassVar[Callable]
    transposed: ClassVar[Callable]
    is_dense: ClassVar[bool]
    shares_reads: ClassVar[bool] = False
    column_blocks: tuple[tuple[int, ...], ...] | None = None

    n_docs: int
    n_columns: int
    nbytes: int
    arrays: tuple[np.ndarray, ...]

    def differences(
        self,
        query_ptr: np.ndarray,
        queries: np.ndarray,
        columns: np.ndarray,
        inverse: np.ndarray | None,
    ) -> np.ndarray:
        """(documents of the queries, len(columns)) float32 or float64, C-ordered: features times inverse
        (len(columns),), up to a shift that is the same for all documents of a query."""
        raise NotImplementedError

    def query_block(self, lo: int, hi: int) -> Any:
        """Documents lo..hi - 1, all columns, as a C-ordered float array or, if not `is_dense`, a CSR matrix."""
        raise NotImplementedError

    def times(self, models: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(len(rows), n_models) float64 scores of the models, (n_models, n_columns) float64."""
        raise NotImplementedError

    def columns(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """(len(rows), len(columns)) float64 values of some columns."""
        raise NotImplementedError

    def bytes_until(self) -> np.ndarray:
        """(n_docs + 1,) bytes of features before each row."""
        return np.arange(self.n_docs + 1) * row_bytes(self)

    def part(self, lo: int, hi: int) -> Rows:
        """Rows lo..hi - 1, not copied."""
        raise NotImplementedError


def read_only(array: np.ndarray) -> np.ndarray:
    """A read-only C-ordered view: one type for the compiled kernels, and no kernel can write to the user's data."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


ALONE = np.zeros(1, dtype=np.int64)  # `which` for a single row; writable, or kernels would be compiled again


def scores_of(rows: Rows | Sequence[Rows], w: np.ndarray) -> np.ndarray:
    """(n_docs,) X w, with w (n_columns,), for rows stacked one below the other."""
    scores = []
    for part in [rows] if isinstance(rows, Rows) else rows:
        out = np.zeros((1, part.n_docs))
        part.scores(part.arrays, 0, part.n_docs, w[None], ALONE, out)
        scores.append(out[0])
    return np.concatenate(scores)


def transposed_times(rows: Rows | Sequence[Rows], g: np.ndarray) -> np.ndarray:
    """(n_columns,) X^T g, with g (n_docs,), for rows stacked one below the other."""
    parts = [rows] if isinstance(rows, Rows) else list(rows)
    out = np.zeros((1, parts[0].n_columns))
    at = 0
    for part in parts:
        part.transposed(part.arrays, 0, part.n_docs, g[None, at : at + part.n_docs], ALONE, out)
        at += part.n_docs
    return out[0]


def in_parts(rows: Rows | Sequence[Rows], query_ptr: np.ndarray) -> list[tuple[Rows, int, int]]:
    """(rows, first query, last query + 1) of rows stacked one below the other, each of whole queries."""
    parts = [rows] if isinstance(rows, Rows) else list(rows)
    ends = np.searchsorted(query_ptr, np.cumsum([p.n_docs for p in parts]), side="left")
    ends[-1:] = len(query_ptr) - 1  # queries without documents at the end
    ends = ends.tolist()
    return list(zip(parts, [0, *ends[:-1]], ends, strict=True))


def row_bytes(rows: Rows) -> float:
    """Average bytes of features per document."""
    return rows.nbytes / max(rows.n_docs, 1)


def documents_of(query_ptr: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """Rows of the given queries, in their order."""
    rows, _ = rows_of_queries(query_ptr, queries)
    return rows


def query_pieces(X: Any, query_ptr: np.ndarray) -> list[int]:
    """Boundaries of the pieces of queries that are processed at once. Sparse rows are cut into pieces, because their
    statistics take a dozen times the bytes of their values."""
    last = len(query_ptr) - 1
    if not sp.issparse(X):
        return [0, last]
    until = X.indptr[query_ptr]
    starts = np.searchsorted(until, np.arange(PIECE, int(until[-1]), PIECE))
    return np.unique([0, *starts.tolist(), last]).tolist()
