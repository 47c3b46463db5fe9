"""The shape in which a feature enters: as it is, its signed logarithm, or asinh(x / c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.quoting import brief

NONE, LOG, ASINH = "none", "log", "asinh"
KINDS = (NONE, LOG, ASINH)
ROWS_AT_ONCE = 1 << 14
COLUMNS_AT_ONCE = 64
SAMPLE_VALUES = 4_000_000  # that constants are learned from, and shapes compared on, about: evenly spread queries
NEARLY_LINEAR = 0.9  # correlation within queries from which a transformed feature says what the feature itself does


@dataclass(frozen=True, eq=False)
class Transform:
    """x -> t(x) for each feature: 'none' x, 'log' sign(x) log(1 + |x|), 'asinh' asinh(x / constant). 0 stays 0, so
    sparse stays sparse.

    kinds (n_features,) of KINDS; constants (n_features,) > 0, 1 where nothing needs one
    """

    kinds: tuple[str, ...]
    constants: np.ndarray

    @property
    def is_identity(self) -> bool:
        return all(k == NONE for k in self.kinds)

    def take(self, columns: np.ndarray) -> Transform:
        """That of some features."""
        return Transform(tuple(self.kinds[j] for j in columns), self.constants[columns])

    def __call__(self, X: Any) -> Any:
        """X (n_docs, n_features), dense or CSR, transformed; of the same dtype, X itself when nothing changes."""
        if self.is_identity:
            return X
        kind = np.array([KINDS.index(k) for k in self.kinds], dtype=np.int8)
        if sp.issparse(X):
            out = X.copy()
            out.data = self._of(X.data, kind[X.indices], self.constants[X.indices])
            return out
        out = np.empty_like(X)
        for lo in range(0, len(X), ROWS_AT_ONCE):
            rows = X[lo : lo + ROWS_AT_ONCE]
            own = out[lo : lo + ROWS_AT_ONCE]
            for k, name in enumerate(KINDS):
                columns = np.flatnonzero(kind == k)
                if len(columns) == X.shape[1]:
                    own[:] = _values(rows, name, self.constants)
                elif len(columns):
                    own[:, columns] = _values(rows[:, columns], name, self.constants[columns])
        return out

    @staticmethod
    def _of(values: np.ndarray, kind: np.ndarray, constants: np.ndarray) -> np.ndarray:
        out = values.copy()
        for k, name in enumerate(KINDS):
            at = kind == k
            out[at] = _values(values[at], name, constants[at])
        return out


def _values(x: np.ndarray, kind: str, constants: np.ndarray) -> np.ndarray:
    if kind == LOG:
        return np.copysign(np.log1p(np.abs(x)), x)
    if kind != ASINH:
        return x
    with np.errstate(over="ignore", divide="ignore"):
        ratio = x / constants
        out = np.arcsinh(ratio)
        beyond = np.isinf(ratio) & np.isfinite(x)  # asinh(z) is log(2 z) there
        if beyond.any():
            out = np.where(beyond, np.copysign(np.log(np.abs(x)) - np.log(constants) + np.log(2.0), x), out)
    return np.asarray(out.astype(x.dtype, copy=False))


def fit_transform(data: RankingDataset, kind: str) -> Transform:
    """The same shape for every feature; constants are the medians of |x| where it is not 0, without labels, of about
    SAMPLE_VALUES values.

    Raises
        DataError   an unknown kind
    """
    if kind not in KINDS:
        raise DataError(f"transform must be one of {', '.join(KINDS)}; got {brief(kind)}.")
    constants = np.ones(data.n_features)
    if kind == ASINH:
        X = data.X[sample_rows(data)[0]]
        X = X.tocsc() if sp.issparse(X) else X
        for j in range(data.n_features):
            size = np.abs(X.data[X.indptr[j] : X.indptr[j + 1]] if sp.issparse(X) else X[:, j]).astype(np.float64)
            if size.any():
                constants[j] = float(np.median(size[size > 0]))
    return Transform((kind,) * data.n_features, constants)


def sample_rows(data: RankingDataset) -> tuple[np.ndarray, np.ndarray]:
    """(rows, query_ptr) of every so many-th query, about SAMPLE_VALUES values in all."""
    X = data.X
    n_values = X.nnz if sp.issparse(X) else X.nbytes // X.dtype.itemsize  # of stored sparse rows twice as many: no harm
    step = max(-(-n_values // SAMPLE_VALUES), 1)
    queries = np.arange(0, data.n_queries, step)
    queries = queries[np.diff(data.query_ptr)[queries] > 0]
    sizes = np.diff(data.query_ptr)[queries]
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.arange(ptr[-1]) + np.repeat(data.query_ptr[queries] - ptr[:-1], sizes)
    return rows, ptr


def changes_features(data: RankingDataset, transform: Transform) -> bool:
    """Whether some feature, transformed, is no more nearly linear in itself within queries; looks at no label."""
    rows, ptr = sample_rows(data)
    sample = data.X[rows]
    of_query = sp.csr_matrix((np.ones(len(rows)), np.arange(len(rows)), ptr), shape=(len(ptr) - 1, len(rows)))
    step = data.n_features if sp.issparse(sample) else COLUMNS_AT_ONCE
    for first in range(0, data.n_features, step):
        X = sample[:, first : first + step].astype(np.float64)
        Y = transform.take(np.arange(first, first + X.shape[1]))(X)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            together = _within(X, Y, of_query, ptr)
            correlation = together / np.sqrt(_within(X, X, of_query, ptr) * _within(Y, Y, of_query, ptr))
        if (correlation < NEARLY_LINEAR).any():
            return True
    return False


def _within(X: Any, Y: Any, of_query: sp.csr_matrix, ptr: np.ndarray) -> np.ndarray:
    """(n_columns,) sums of products of deviations from the query's mean; sparse rows stay sparse."""
    sizes = np.diff(ptr)[:, None]
    if sp.issparse(X):
        means = (of_query @ X).multiply(of_query @ Y).multiply(1.0 / sizes)
        return np.asarray(X.multiply(Y).sum(axis=0) - means.sum(axis=0)).ravel()
    X, Y = (V - np.repeat((of_query @ V) / sizes, np.diff(ptr), axis=0) for V in (X, Y))
    return np.asarray((X * Y).sum(axis=0))


def transformed(data: RankingDataset, forms: Sequence[Transform]) -> RankingDataset:
    """`data` with the columns of each of the forms side by side; what is in a store goes to a temporary one."""
    if all(form.is_identity for form in forms) and len(forms) <= 1:
        return data
    if data.is_stored:
        from sparserank.data.store.temporary import HeldRows, in_temporary_store

        return data.replace_features(in_temporary_store(HeldRows(data, forms)).X)
    return data.replace_features(in_forms(data.X, forms))


def in_forms(X: Any, forms: Sequence[Transform]) -> Any:
    """The columns of X in each of the forms, side by side."""
    parts = [form(X) for form in forms]
    if len(parts) == 1:
        return parts[0]
    return sp.hstack(parts, format="csr") if sp.issparse(X) else np.hstack(parts)
