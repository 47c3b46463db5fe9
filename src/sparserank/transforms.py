"""Transforms of a feature: none, signed logarithm, asinh(x / c), or a curve of one of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.errors import DataError
from sparserank.text import brief

NONE, LOG, ASINH = "none", "log", "asinh"
KINDS = (NONE, LOG, ASINH)
AUTO = "auto"  # for selections: try several, and decide out of fold
STEPS = "steps"  # of values in bins, for boosted steps only
MIXED = "mixed"  # each feature as it is or as its log, whichever separates preferred pairs better
CURVES = {  # {name of piecewise linear curves: transform before them}
    "curves": NONE,
    "curves(log)": LOG,
    "curves(asinh)": ASINH,
}
DISTILLED = {  # {name of linear models that learn the order of a model of steps: transform of their features}
    "distilled": NONE,
    "distilled(log)": LOG,
}
REMOVED = "query-log"  # no better than the logarithm on any data set
ROWS_AT_ONCE = 1 << 14


def parse_transform(name: Any) -> str:
    """Check a name for `select`: 'auto', 'none', 'log', 'asinh', 'mixed', 'curves', 'distilled', ...

    Raises
        DataError   there is no such name
    """
    known = (AUTO, *KINDS, MIXED, *CURVES, *DISTILLED)
    if isinstance(name, str) and name in (REMOVED, f"curves({REMOVED})"):
        raise DataError(removed(name))
    if not isinstance(name, str) or name not in known:
        raise DataError(f"a transform must be one of {', '.join(known)}; got {brief(name)}.")
    return name


def removed(name: str) -> str:
    """The message about the transform that was removed."""
    return f"the transform {name} was removed; use {name.replace(REMOVED, LOG)} (sparserank 0.3.0 is the last with it)."


@dataclass(frozen=True, eq=False)
class Transform:
    """x -> t(x) for each feature: 'none' x, 'log' sign(x) log(1 + |x|), 'asinh' asinh(x / constant). 0 stays 0, so
    sparse data stay sparse.

    kinds (n_features,) of KINDS; constants (n_features,) > 0, 1 where none is needed
    """

    kinds: tuple[str, ...]
    constants: np.ndarray

    @property
    def is_identity(self) -> bool:
        return all(k == NONE for k in self.kinds)

    def take(self, columns: np.ndarray) -> Transform:
        """The transform of some features."""
        return Transform(tuple(self.kinds[j] for j in columns), self.constants[columns])

    def __call__(self, X: Any) -> Any:
        """Transform X (n_docs, n_features), dense or CSR; the dtype stays the same, and X itself if nothing changes."""
        if self.is_identity:
            return X
        if sp.issparse(X):
            kind = np.array([KINDS.index(k) for k in self.kinds], dtype=np.int8)
            out = X.copy()
            out.data = self._of(X.data, kind[X.indices], self.constants[X.indices])
            return out
        out = np.empty_like(X)
        self._write(X, out)
        return out

    def _write(self, X: np.ndarray, out: np.ndarray) -> None:
        """Write X, transformed, into an array of its shape."""
        if self.is_identity:
            out[...] = X
            return
        kind = np.array([KINDS.index(k) for k in self.kinds], dtype=np.int8)
        for lo in range(0, len(X), ROWS_AT_ONCE):
            hi = lo + ROWS_AT_ONCE
            for k, name in enumerate(KINDS):
                columns = np.flatnonzero(kind == k)
                if not len(columns):
                    continue
                at: Any = slice(None) if len(columns) == X.shape[1] else columns
                out[lo:hi, at] = _values(X[lo:hi][:, at], name, self.constants[at])

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


def in_transforms(X: Any, transforms: Sequence[Transform]) -> Any:
    """The columns of X under each of the transforms, side by side."""
    if len(transforms) == 1:
        return transforms[0](X)
    if sp.issparse(X):
        return sp.hstack([transform(X) for transform in transforms], format="csr")
    n, d = X.shape
    out = np.empty((n, len(transforms) * d), dtype=X.dtype)
    for k, transform in enumerate(transforms):
        transform._write(X, out[:, k * d : (k + 1) * d])
    return out
