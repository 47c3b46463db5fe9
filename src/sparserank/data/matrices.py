"""Feature matrices, dense or CSR: conversion of user input, and operations common to both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data._matrix_kernels import scatter_rows
from sparserank.data.missing import is_missing
from sparserank.errors import DataError
from sparserank.text import brief

NO_MATRIX = "X must be a matrix of numbers (n_docs, n_features)."


def as_csr(X: Any) -> sp.csr_matrix:
    """X in CSR. Indices are checked first, because SciPy's conversions write outside their arrays if an index is
    outside the shape."""
    try:
        if X.format == "coo":
            X = sp.coo_matrix((X.data, (X.row, X.col)), shape=X.shape)
        elif hasattr(X, "check_format"):
            X.check_format(full_check=True)
        return sp.csr_matrix(X)
    except ValueError as error:
        raise DataError(f"X is not a valid sparse matrix: {brief(str(error))}.") from error


def without_mask(X: Any) -> Any:
    """A masked array as a float array with NaN where it is masked: values under a mask are not data.
    Anything else is returned unchanged."""
    if not isinstance(X, np.ma.MaskedArray) or X.dtype.kind not in "biuf":
        return X
    return np.ma.filled(X.astype(np.float32 if X.dtype == np.float32 else np.float64), np.nan)


def with_nan(X: Any) -> Any:
    """X (n_docs, n_features) as a new C-ordered float array or canonical CSR matrix, NaN where a value is missing
    (`is_missing`, None, NA, masked).

    Raises
        DataError   X is not a matrix of numbers
    """
    if sp.issparse(X):
        out: Any = as_csr(X).astype(np.float32 if X.dtype == np.float32 else np.float64, copy=True)
        out.sum_duplicates()
        values = out.data
    else:
        try:
            if hasattr(X, "loc"):  # pandas, whose nullable columns hold NA
                values = out = np.array(X.to_numpy(dtype=_kind(X), na_value=np.nan), order="C")
            else:
                values = out = np.array(without_mask(X), dtype=_kind(X), order="C")
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(NO_MATRIX) from error
        if out.ndim != 2:
            raise DataError(NO_MATRIX)
    values[is_missing(values)] = np.nan
    return out


def _kind(X: Any) -> type:
    """float32 if all of X is float32, otherwise float64."""
    kinds = {str(k).lower() for k in getattr(X, "dtypes", [getattr(X, "dtype", "float64")])}
    return np.float32 if kinds == {"float32"} else np.float64


def with_holes(X: Any) -> Any:
    """For a pandas frame, NaN in place of None or NA, which object arrays would keep; for anything else, the result of
    `without_mask`."""
    if not hasattr(X, "loc"):
        return without_mask(X)
    return type(X)(with_nan(X), columns=X.columns, index=X.index)


def sparse_as_csr(X: Any) -> Any:
    """A sparse X by `as_csr`, anything else unchanged."""
    return as_csr(X) if sp.issparse(X) else X


def as_array(values: Any, **options: Any) -> np.ndarray:
    """numpy.asarray with its options.

    Raises
        DataError   ragged lists, text, integers beyond the range of floats
    """
    try:
        return np.asarray(values, **options)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(NO_MATRIX) from error


def csr_or_array(X: Any) -> Any:
    """X as CSR matrix, or as array `without_mask`; its values are not checked."""
    return as_csr(X) if sp.issparse(X) else as_array(without_mask(X))


def apply_to_values(X: Any, function: Callable[[np.ndarray], np.ndarray]) -> Any:
    """X with a function applied to each value. The function must be 0 at 0, because zeros that a sparse X does not
    store stay zeros."""
    if not sp.issparse(X):
        return function(X)
    out = X.copy()
    out.data = function(X.data)
    return out


def divided_columns(X: Any, divisors: np.ndarray) -> Any:
    """X with every column divided by its divisor (n_features,)."""
    return apply_to_values(X, lambda values: values / (divisors[X.indices] if sp.issparse(X) else divisors))


def times(a: Any, b: Any) -> Any:
    """Elementwise product of two arrays or two CSR matrices."""
    return a.multiply(b).tocsr() if sp.issparse(a) else a * b


def row_sums(X: Any, columns: Sequence[int]) -> np.ndarray:
    """(n_docs,) sums over some columns, without a copy of the columns of a sparse X."""
    if not sp.issparse(X):
        return np.asarray(X[:, columns].sum(axis=1))
    chosen = np.zeros(X.shape[1], dtype=X.dtype)
    chosen[columns] = 1
    return np.asarray(X @ chosen)


def without_entries(row: sp.csr_array, gone: np.ndarray) -> sp.csr_array:
    """A row (1, n_columns) without the stored entries that `gone` marks."""
    remaining = ~gone
    return sp.csr_array((row.data[remaining], row.indices[remaining], [0, int(remaining.sum())]), shape=row.shape)


def column_products(X: Any, Y: Any) -> np.ndarray:
    """(n_columns,) sums over the rows of the products of two matrices, column by column."""
    return np.asarray(times(X, Y).sum(axis=0)).ravel()


def within_queries(
    product: Callable[[Any, Any], np.ndarray],
    X: Any,
    Y: Any,
    ptr: np.ndarray,
) -> np.ndarray:
    """`product` (bilinear) of the deviations of X and Y from the means of their queries; sparse X and Y stay sparse."""
    sizes = np.diff(ptr)
    n = X.shape[0]
    of_query = sp.csr_array((np.ones(n), np.arange(n), ptr), shape=(len(sizes), n))
    if sp.issparse(X):  # sum over documents of (x - mean)(y - mean) = sum of xy - sum of x times sum of y / size
        weighed = sp.csr_array(sp.diags_array(1.0 / sizes) @ (of_query @ X))
        sums = sp.csr_array(of_query @ Y)
        return product(X, Y) - product(weighed, sums)
    means_of_x = (of_query @ X) / sizes[:, None]
    means_of_y = (of_query @ Y) / sizes[:, None]
    return product(X - np.repeat(means_of_x, sizes, axis=0), Y - np.repeat(means_of_y, sizes, axis=0))


def float_type(dtype: Any) -> np.dtype:
    """The dtype; raises DataError for any dtype other than float64 and float32."""
    try:
        float_dtype = np.dtype(dtype)
    except (TypeError, ValueError):
        float_dtype = None
    if float_dtype not in (np.float64, np.float32):
        raise DataError(f"dtype must be float64 or float32; got {brief(dtype)}.")
    return float_dtype


def columns_dense(X: Any, columns: np.ndarray) -> np.ndarray:
    """(n_docs, len(columns)) some columns of features, contiguous; entries that sparse rows do not store are 0."""
    part = X[:, columns]
    return part.toarray() if sp.issparse(part) else np.ascontiguousarray(part)


def stored_values(X: Any) -> Any:
    """The values that a CSR matrix stores; an array unchanged."""
    return X.data if sp.issparse(X) else X


def as_dense(X: Any) -> Any:
    """X as an array: unchanged unless it is sparse."""
    return X.toarray() if sp.issparse(X) else X


def column(X: Any, j: int) -> np.ndarray:
    """(n_docs,) a column of features; entries that sparse rows do not store are 0."""
    return np.asarray(as_dense(X[:, [j]])).ravel()


def by_columns(X: Any) -> Any:
    """X in a format from which `column` is fast."""
    return X.tocsc() if sp.issparse(X) else X


def stored_of_column(X: Any, j: int) -> np.ndarray:
    """The stored values of column j of X, which is in the format of `by_columns`."""
    if not sp.issparse(X):
        return np.asarray(X[:, j])
    first, last = X.indptr[j : j + 2]
    return np.asarray(X.data[first:last])


def n_stored(X: Any) -> int:
    """Number of values that X stores; a dense X stores all."""
    return int(getattr(X, "nnz", X.shape[0] * X.shape[1]))


def arrays_of(X: Any) -> dict[str, np.ndarray]:
    """The arrays that X consists of, by name."""
    return {"data": X.data, "indices": X.indices, "indptr": X.indptr} if sp.issparse(X) else {"X": X}


def stored_bytes(X: Any) -> int:
    """Bytes of the values that X stores, and of their indices if X is sparse."""
    return int(X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes)


def bytes_until(X: Any) -> np.ndarray:
    """(n_docs + 1,) cumulative `stored_bytes` of the rows before each row."""
    if sp.issparse(X):
        return np.asarray(X.indptr.astype(np.int64) * (X.data.itemsize + X.indices.itemsize))
    return np.arange(len(X) + 1) * X.itemsize * X.shape[1]


def missing_counts(X: Any) -> np.ndarray:
    """(n_features,) number of documents whose value is NaN."""
    if sp.issparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    return np.asarray(np.isnan(X).sum(axis=0))


def below(parts: Sequence[Any]) -> Any:
    """Stack matrices of one format and width vertically; shape (0, 0) if there are none."""
    if not parts:
        return np.empty((0, 0))
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def joined_rows(parts: Sequence[Any], sizes: Sequence[int], absent: Any = None) -> Any:
    """Stack arrays or matrices vertically; None if all are absent.

    Parameters
        parts    None for an absent one
        sizes    number of rows of each part
        absent   value of the rows of an absent part; None: the result is None too
    """
    present = [part for part in parts if part is not None]
    if not present or (absent is None and len(present) < len(parts)):
        return None
    kind = object if isinstance(absent, str) else type(absent)
    completed = [
        np.full((n, *present[0].shape[1:]), absent, kind) if p is None else p for p, n in zip(parts, sizes, strict=True)
    ]
    return below(completed)


def widened(X: Any, n_features: int, *, sparse: bool) -> Any:
    """X as CSR matrix or array of n_features columns. A dense X already has that many, a sparse X at most that many."""
    fits = sparse and X.shape[1] == n_features
    if fits or not sp.issparse(X):
        return X
    return stacked([X], n_features, sparse=sparse)


def stacked(parts: Sequence[sp.csr_matrix], n_features: int, *, sparse: bool) -> Any:
    """(n_docs, n_features) CSR or dense: matrices of at most n_features columns, stacked vertically."""
    if sparse:
        return below([sp.csr_matrix((p.data, p.indices, p.indptr), shape=(p.shape[0], n_features)) for p in parts])
    X = np.zeros((sum(p.shape[0] for p in parts), n_features), dtype=parts[0].dtype)
    at = 0
    for p in parts:
        scatter_rows(p.indptr, p.indices, p.data, X[at : at + p.shape[0]])
        at += p.shape[0]
    return X
