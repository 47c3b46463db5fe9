"""Transforms of a feature: none, signed logarithm, or asinh(x / c)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.errors import ParameterError
from sparserank.options.option import REMOVED
from sparserank.text import brief

NONE = "none"
LOG = "log"
ASINH = "asinh"
KINDS = (NONE, LOG, ASINH)
AUTO = "auto"  # for selections: try several, and decide out of fold
STEPS = "steps"  # of values in bins, for boosted steps only
DISTILLED = {  # {name of linear models that learn the order of a teacher: transform of their features}
    "distilled": NONE,
    "distilled(log)": LOG,
}
FORMER = {  # {name that was removed: what to use}
    "query-log": LOG,  # no better on any data set
    "mixed": LOG,  # of each feature, it or its logarithm: steps rank better
    **dict.fromkeys(("curves", "curves(log)", "curves(asinh)", "curves(query-log)"), "the penalty steps"),
}
ROWS_AT_ONCE = 1 << 14


def parse_transform(name: Any) -> str:
    """Check a name for `select`: 'auto', 'none', 'log', 'asinh', 'distilled', 'distilled(log)'

    Raises
        ParameterError   there is no such name
    """
    return _known(name, (AUTO, *KINDS, *DISTILLED))


def parse_kind(name: Any) -> str:
    """Check the name of a transform that a single model can have, as `parse_transform`."""
    return _known(name, KINDS)


def _known(name: Any, known: Sequence[str]) -> str:
    if isinstance(name, str) and name in FORMER:
        raise ParameterError("feature_transform", f"{name} {REMOVED}; use {FORMER[name]}.")
    if not isinstance(name, str) or name not in known:
        raise ParameterError("feature_transform", f"must be one of {', '.join(known)}; got {brief(name)}.")
    return name


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
        kind = np.array([KINDS.index(k) for k in self.kinds], dtype=np.int8)
        if sp.issparse(X):
            out = X.copy()
            out.data = self._of(X.data, kind[X.indices], self.constants[X.indices])
            return out
        out = np.empty_like(X)
        for lo in range(0, len(X), ROWS_AT_ONCE):
            hi = lo + ROWS_AT_ONCE
            for k, name in enumerate(KINDS):
                columns = np.flatnonzero(kind == k)
                if not len(columns):
                    continue
                at: Any = slice(None) if len(columns) == X.shape[1] else columns
                out[lo:hi, at] = _values(X[lo:hi][:, at], name, self.constants[at])
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
