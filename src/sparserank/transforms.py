"""The shape in which a feature enters: as it is, its signed logarithm, or asinh(x / c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

NONE, LOG, ASINH = "none", "log", "asinh"


KINDS = (NONE, LOG, ASINH)


ROWS_AT_ONCE = 1 << 14


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


def in_forms(X: Any, forms: Sequence[Transform]) -> Any:
    """The columns of X in each of the forms, side by side."""
    parts = [form(X) for form in forms]
    if len(parts) == 1:
        return parts[0]
    return sp.hstack(parts, format="csr") if sp.issparse(X) else np.hstack(parts)
