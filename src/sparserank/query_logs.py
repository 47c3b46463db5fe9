"""The query-normalised logarithm: t = (log x - min) / (max - min), with the minimum and maximum of the query."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from sparserank.errors import DataError

ROWS_AT_ONCE = 1 << 14  # of whole queries, about


def query_log(X: np.ndarray, query_ptr: np.ndarray, missing: np.ndarray | None = None) -> np.ndarray:
    """Signed log1p of X, each column scaled from 0 to 1 within each query; 0 if a query has one value or one document.

    Parameters
        X          (n_docs, n_features) finite, of some whole queries
        query_ptr  (n_queries + 1,) strictly increasing from 0 to n_docs
        missing    (n_docs, n_features) bool, values that were filled in: they affect neither minimum nor maximum, and
                   are clipped to 0 or 1 if they are outside; None: no values were filled in
    Returns
        (n_docs, n_features) in [0, 1], of the dtype of X, computed in float64, because logs far from 0 and close to
        each other lose digits in float32
    """
    out = np.empty_like(X)
    for lo, hi, ptr in query_blocks(query_ptr):
        t = signed_log(X[lo:hi].astype(np.float64))
        known = [t, t] if missing is None else [np.where(missing[lo:hi], v, t) for v in (np.inf, -np.inf)]
        sizes = np.diff(ptr)
        low = np.repeat(np.minimum.reduceat(known[0], ptr[:-1], axis=0), sizes, axis=0)
        span = np.repeat(np.maximum.reduceat(known[1], ptr[:-1], axis=0), sizes, axis=0) - low
        out[lo:hi] = np.clip(np.divide(t - low, span, out=np.zeros_like(t), where=span > 0), 0.0, 1.0)
    return out


def query_log_of_rows(X: sp.csr_matrix, query_ptr: np.ndarray, which: np.ndarray) -> sp.csr_matrix:
    """The same for some columns, which (n_features,) bool, of sparse rows without missing values; the result is sparse.

    Raises
        DataError   a feature is below 0 in a query that also has documents without it, whose 0 would become more than 0
    """
    out = X.copy()
    sizes = np.diff(query_ptr)
    of_row = np.repeat(np.arange(len(sizes)), sizes)
    entries = np.flatnonzero(which[X.indices])
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[entries]
    cells, cell = np.unique(of_row[row] * X.shape[1] + X.indices[entries], return_inverse=True)
    t = signed_log(X.data[entries].astype(np.float64))
    low, high = np.full(len(cells), np.inf), np.full(len(cells), -np.inf)
    np.minimum.at(low, cell, t)
    np.maximum.at(high, cell, t)
    has_zeros = np.bincount(cell, minlength=len(cells)) < sizes[cells // X.shape[1]]
    below = np.flatnonzero(has_zeros & (low < 0))
    if len(below):
        raise DataError(
            f"feature number {cells[below[0]] % X.shape[1] + 1} is below 0 in a query that also has documents without "
            "it, so its query-normalised logarithm is not sparse; pass a dense matrix."
        )
    low[has_zeros] = 0.0
    high[has_zeros] = np.maximum(high[has_zeros], 0.0)
    span = high - low
    out.data[entries] = np.divide(t - low[cell], span[cell], out=np.zeros_like(t), where=span[cell] > 0)
    out.eliminate_zeros()
    return out


def signed_log(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.log1p(np.abs(x)), x)


def query_blocks(query_ptr: np.ndarray, n_rows: int = ROWS_AT_ONCE) -> Iterator[tuple[int, int, np.ndarray]]:
    """(first row, row after the last, query_ptr from 0) of blocks of whole queries of about n_rows rows."""
    ends = np.append(np.arange(n_rows, query_ptr[-1], n_rows), query_ptr[-1])
    cuts = np.unique(np.append(0, np.searchsorted(query_ptr, ends)))
    for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        yield int(query_ptr[a]), int(query_ptr[b]), query_ptr[a : b + 1] - query_ptr[a]
