"""Transforms of a feature: none, signed logarithm, query-normalised logarithm, asinh(x / c), or a curve of one of
these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.errors import DataError
from sparserank.query_logs import ROWS_AT_ONCE, query_blocks, query_log, query_log_of_rows
from sparserank.quoting import brief

NONE, LOG, ASINH, QUERY_LOG = "none", "log", "asinh", "query-log"
KINDS = (NONE, LOG, ASINH, QUERY_LOG)
AUTO = "auto"  # of a selection: several, whichever is best out of fold
MIXED = "mixed"  # each feature as it is or as its log, whichever separates preferred pairs better
CURVES = {  # {piecewise linear curves: of what}
    "curves": NONE,
    "curves(log)": LOG,
    "curves(asinh)": ASINH,
    "curves(query-log)": QUERY_LOG,
}
OF_LISTS = frozenset({QUERY_LOG})  # a value depends on the other documents of its query


def parse_transform(name: Any) -> str:
    """Check a name for `select`: 'auto', 'none', 'log', 'asinh', 'query-log', 'mixed', 'curves', 'curves(log)', ...

    Raises
        DataError   there is no such name
    """
    known = (AUTO, *KINDS, MIXED, *CURVES)
    if not isinstance(name, str) or name not in known:
        raise DataError(f"a transform must be one of {', '.join(known)}; got {brief(name)}.")
    return name


@dataclass(frozen=True, eq=False)
class Transform:
    """x -> t(x) for each feature: 'none' x, 'log' sign(x) log(1 + |x|), 'asinh' asinh(x / constant), 'query-log' the
    log, scaled from 0 to 1 within each query. 0 stays 0 (query-log may refuse it), so sparse data stay sparse.

    kinds (n_features,) of KINDS; constants (n_features,) > 0, 1 where none is needed
    """

    kinds: tuple[str, ...]
    constants: np.ndarray

    @property
    def is_identity(self) -> bool:
        return all(k == NONE for k in self.kinds)

    @property
    def of_lists(self) -> bool:
        """Whether a value depends on the other documents of its query."""
        return not OF_LISTS.isdisjoint(self.kinds)

    def take(self, columns: np.ndarray) -> Transform:
        """The transform of some features."""
        return Transform(tuple(self.kinds[j] for j in columns), self.constants[columns])

    def __call__(self, X: Any, query_ptr: np.ndarray | None = None, missing: np.ndarray | None = None) -> Any:
        """Transform X (n_docs, n_features), dense or CSR; the dtype stays the same, and X itself if nothing changes.

        Parameters
            query_ptr   of whole queries; needed for query-log
            missing     (n_docs, n_features) bool of dense X: values that were filled in, which do not count for a
                        query's minimum and maximum
        """
        if self.is_identity:
            return X
        if self.of_lists and query_ptr is None:
            raise DataError("features are normalised within each query; pass qid.")
        if sp.issparse(X):
            kind = np.array([KINDS.index(k) for k in self.kinds], dtype=np.int8)
            out = X.copy()
            out.data = self._of(X.data, kind[X.indices], self.constants[X.indices])
            if self.of_lists:
                assert query_ptr is not None
                out = query_log_of_rows(out, query_ptr, kind == KINDS.index(QUERY_LOG))
            return out
        out = np.empty_like(X)
        self._write(X, out, query_ptr, missing)
        return out

    def _write(self, X: np.ndarray, out: np.ndarray, query_ptr: np.ndarray | None, missing: np.ndarray | None) -> None:
        """Write X, transformed, into an array of its shape."""
        if self.is_identity:
            out[...] = X
            return
        kind = np.array([KINDS.index(k) for k in self.kinds], dtype=np.int8)
        for lo, hi, ptr in query_blocks(query_ptr) if self.of_lists and query_ptr is not None else _blocks(len(X)):
            for k, name in enumerate(KINDS):
                columns = np.flatnonzero(kind == k)
                if not len(columns):
                    continue
                at: Any = slice(None) if len(columns) == X.shape[1] else columns
                rows = X[lo:hi][:, at]
                if name == QUERY_LOG:
                    out[lo:hi, at] = query_log(rows, ptr, None if missing is None else missing[lo:hi][:, at])
                else:
                    out[lo:hi, at] = _values(rows, name, self.constants[at])

    @staticmethod
    def _of(values: np.ndarray, kind: np.ndarray, constants: np.ndarray) -> np.ndarray:
        out = values.copy()
        for k, name in enumerate(KINDS):
            at = kind == k
            out[at] = _values(values[at], name, constants[at])
        return out


def _blocks(n_rows: int) -> Iterator[tuple[int, int, np.ndarray]]:
    """Like `query_blocks`, for transforms that do not depend on queries."""
    for lo in range(0, n_rows, ROWS_AT_ONCE):
        yield lo, min(lo + ROWS_AT_ONCE, n_rows), np.zeros(0)


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


def in_transforms(
    X: Any, transforms: Sequence[Transform], query_ptr: np.ndarray | None = None, missing: np.ndarray | None = None
) -> Any:
    """The columns of X under each of the transforms, side by side; query_ptr and missing as for Transform."""
    if len(transforms) == 1:
        return transforms[0](X, query_ptr, missing)
    if sp.issparse(X):
        return sp.hstack([transform(X, query_ptr, missing) for transform in transforms], format="csr")
    n, d = X.shape
    out = np.empty((n, len(transforms) * d), dtype=X.dtype)
    for k, transform in enumerate(transforms):
        transform._write(X, out[:, k * d : (k + 1) * d], query_ptr, missing)
    return out
