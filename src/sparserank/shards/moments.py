"""Statistics of features over several sets of queries at once, for scalings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sparserank.execution import BlockExecutor, split_queries
from sparserank.shards._statistics_kernels import moments as add_moments
from sparserank.shards.rows import Rows, in_parts, query_pieces, read_only, row_bytes

LARGEST_EXPONENT = 256  # factors with a binary exponent of at most this magnitude have unit 1


def coarse_unit(factor: np.ndarray) -> np.ndarray:
    """A power of two near each factor, 1 for all but extreme factors. Multiplication by it is exact, and keeps squares
    from overflowing.

    It depends only coarsely on the factor, so that weightings of similar scale share one read.
    """
    exponent = np.frexp(factor)[1]
    steps = np.where(np.abs(exponent) > LARGEST_EXPONENT, np.round(exponent / LARGEST_EXPONENT), 0.0)
    return np.ldexp(1.0, np.clip(steps * LARGEST_EXPONENT, -1021, 1022).astype(int))


def alike(rows: np.ndarray) -> list[np.ndarray]:
    """The indices of equal rows, for each distinct row."""
    indices: dict[bytes, list[int]] = {}
    for k, row in enumerate(rows):
        indices.setdefault(row.tobytes(), []).append(k)
    return [np.array(ks) for ks in indices.values()]


class Moments(NamedTuple):
    """Moments of K sets of queries: n_docs (K,); low, high, mean, and the sums of squares within and between queries,
    (K, n_columns)."""

    n_docs: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    within: np.ndarray
    between: np.ndarray

    @property
    def size(self) -> np.ndarray:
        """Largest |value|."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


# (used (K, n_queries), unit (d,), around (K, d)) -> for each part of the data (low, high, sums): see `moment_sums`
MomentSums = Callable[[np.ndarray, np.ndarray, np.ndarray], "list[tuple[np.ndarray, np.ndarray, np.ndarray]]"]


def feature_moments(
    sums_of: MomentSums,
    sizes: np.ndarray,
    used: np.ndarray,
    n_columns: int,
    *,
    unit: np.ndarray | None = None,
    around: np.ndarray | None = None,
) -> Moments:
    """Moments of K sets of queries, used (K, n_queries) bool, in one read; each set gets the same result as alone.

    sizes    (n_queries,) numbers of documents
    unit     (K, n_columns) powers of two that multiply features first; sets with other units are read separately
    around   (K, n_columns) points near the means, about which `between` keeps its digits; None for sparse rows, which
             stay around 0
    """
    K = len(used)
    d = n_columns
    units = np.ones((K, d)) if unit is None else unit
    around = np.zeros((K, d)) if around is None else around
    out = Moments(used @ sizes, *(np.zeros((K, d)) for _ in range(5)))
    for ks in alike(units):  # nearly always one group, with unit 1
        low = np.full((len(ks), d), np.inf)
        high = np.full((len(ks), d), -np.inf)
        sums = np.zeros((3, len(ks), d))
        with np.errstate(over="ignore", invalid="ignore"):  # extreme features are read again in other units
            for part in sums_of(used[ks], units[ks[0]], around[ks]):
                low = np.minimum(low, part[0])
                high = np.maximum(high, part[1])
                sums += part[2]
            n = np.maximum(out.n_docs[ks], 1)[:, None]
            mean = sums[0] / n
            out.between[ks] = np.maximum(sums[2] - n * mean * mean, 0.0)
        seen = np.isfinite(low) | np.isfinite(high)
        out.low[ks] = np.where(seen, low, 0.0)
        out.high[ks] = np.where(seen, high, 0.0)
        out.mean[ks] = mean + around[ks]
        out.within[ks] = sums[1]
    return out


def local_sums(rows: Rows | Sequence[Rows], query_ptr: np.ndarray) -> MomentSums:
    """Sums of rows in this process, stacked one below the other if there are several."""
    executor = BlockExecutor()

    def sums_of(used: np.ndarray, unit: np.ndarray, around: np.ndarray) -> list:
        return [
            moment_sums(part, query_ptr[a : b + 1] - query_ptr[a], used[:, a:b], unit, around, executor)
            for part, a, b in in_parts(rows, query_ptr)
        ]

    return sums_of


def moment_sums(
    rows: Rows,
    query_ptr: np.ndarray,
    used: np.ndarray,
    unit: np.ndarray,
    around: np.ndarray,
    executor: BlockExecutor,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(low, high (K, d), infinite without documents; sums (3, K, d) of the values, the squares within queries and the
    squares between queries)."""
    shape = (len(used), rows.n_columns)
    low = np.full(shape, np.inf)
    high = np.full(shape, -np.inf)
    sums = np.zeros((3, *shape))
    with np.errstate(over="ignore", invalid="ignore"):
        if rows.is_dense:
            parts = _dense_parts(rows, query_ptr, used, unit, around, executor)
        else:
            parts = _sparse_parts(rows, query_ptr, used, unit)
        for part in parts:
            np.minimum(low, part[0], out=low)
            np.maximum(high, part[1], out=high)
            sums += part[2:]
    return low, high, sums


def _dense_parts(
    rows: Rows,
    query_ptr: np.ndarray,
    used: np.ndarray,
    unit: np.ndarray,
    around: np.ndarray,
    executor: BlockExecutor,
) -> Iterator[np.ndarray]:
    """(5, K, d) of each block of queries: low, high, the sums of values, the squares within queries and between."""
    # fixed types: the kernel is compiled for each
    query_ptr = read_only(query_ptr)
    used = np.array(used)
    blocks = split_queries(query_ptr, row_bytes(rows), minimum_bytes=16.0 * 8 * rows.n_columns)

    def block(b: int) -> np.ndarray:
        part = np.zeros((5, len(used), rows.n_columns))
        part[0] = np.inf
        part[1] = -np.inf
        lo = query_ptr[blocks[b]]
        hi = query_ptr[blocks[b + 1]]
        add_moments(
            rows.query_block(lo, hi),
            lo,
            query_ptr,
            used,
            unit,
            around,
            blocks[b],
            blocks[b + 1],
            *part,
        )
        return part

    return executor.few_at_once(block, len(blocks) - 1)


def _sparse_parts(
    rows: Rows,
    query_ptr: np.ndarray,
    used: np.ndarray,
    unit: np.ndarray,
) -> Iterator[np.ndarray]:
    """The same for CSR, without dense rows. Cancellation leaves errors up to the square root of rounding."""
    X = rows.query_block(0, rows.n_docs)
    for first, last in pairwise(query_pieces(X, query_ptr)):
        piece = X[query_ptr[first] : query_ptr[last]]
        piece = sp.csr_matrix((piece.data * unit[piece.indices], piece.indices, piece.indptr), shape=piece.shape)
        piece_ptr = query_ptr[first : last + 1] - query_ptr[first]
        yield _of_piece(piece, piece_ptr, used[:, first:last])


def _of_piece(X: sp.csr_matrix, query_ptr: np.ndarray, used: np.ndarray) -> np.ndarray:
    sizes = np.diff(query_ptr)
    n = X.shape[0]
    members = sp.csr_matrix((np.ones(n), np.arange(n), query_ptr), shape=(len(sizes), n))
    of_query = sp.csr_matrix(members @ X)
    squares = sp.csr_matrix(members @ X.multiply(X))
    means = sp.csr_matrix(of_query.multiply(of_query).multiply(1.0 / np.maximum(sizes, 1)[:, None]))
    weights = used.astype(np.float64)
    of_means = weights @ means
    out = np.empty((5, len(used), X.shape[1]))
    out[0] = np.inf
    out[1] = -np.inf
    out[2] = weights @ of_query
    out[3] = np.maximum(weights @ squares - of_means, 0.0)
    out[4] = of_means
    for k, row in enumerate(used):
        part = X if row.all() else X[np.repeat(row, sizes)]
        if part.shape[0]:
            out[0, k] = part.min(axis=0).toarray().ravel()
            out[1, k] = part.max(axis=0).toarray().ravel()
    return out
