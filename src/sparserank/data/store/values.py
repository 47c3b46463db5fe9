"""Check the values of stored features before anything is computed with them, because kernels do not check them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

BLOCK = 1 << 18  # values at once: they and what is made of them stay in a second-level cache


def fault_of(X: Any) -> str | None:
    """The fault of an array, or of a CSR matrix with a valid indptr: a value that is not finite, or an index that is
    out of range or does not increase within its row; None if there is no fault."""
    if not sp.issparse(X):
        flat = X.reshape(-1)
        return next(
            ("a value is not finite" for at in range(0, len(flat), BLOCK) if not _finite(flat[at : at + BLOCK])), None
        )
    cuts = np.searchsorted(X.indptr, np.arange(BLOCK, len(X.data), BLOCK))
    rows = np.unique(np.concatenate([[0], cuts, [X.shape[0]]]))
    for lo, hi in zip(rows[:-1].tolist(), rows[1:].tolist(), strict=True):
        first, last = int(X.indptr[lo]), int(X.indptr[hi])
        if not _finite(X.data[first:last]):
            return "a value is not finite"
        own = X.indices[first:last]
        # As unsigned numbers the negative ones are the largest.
        if len(own) and int(own.view(own.dtype.str.replace("i", "u")).max()) >= X.shape[1]:
            return f"an index is not between 0 and {X.shape[1] - 1}"
        rises = own[1:] > own[:-1]
        starts = X.indptr[lo + 1 : hi] - (first + 1)  # where the row before each row ends
        rises[starts[(starts >= 0) & (starts < len(rises))]] = True
        if not rises.all():
            return "the indices of a row are not increasing"
    return None


def _finite(values: np.ndarray) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):  # a sum is finite only if every term is
        return bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())
