"""Points of a path by the number of features: what stands for a size, in the final path and in every fold."""

from __future__ import annotations

import numpy as np


def points_by_size(nnz: np.ndarray, losses: np.ndarray) -> dict[int, int]:
    """{k: the point of lowest training loss among those of 1 to k features} for the sizes that occur; a size whose point is that of a smaller
    one adds nothing and is left out."""
    out: dict[int, int] = {}
    for k in np.unique(nnz[nnz > 0]).tolist():
        point = point_within(nnz, losses, k)
        if point is not None and point not in out.values():
            out[int(k)] = point
    return out


def point_within(nnz: np.ndarray, losses: np.ndarray, k: int) -> int | None:
    """The point of lowest training loss among those of 1 to k features; None where the path has none: the empty model ranks by
    nothing, and must not stand for one that does."""
    within = np.flatnonzero((nnz > 0) & (nnz <= k))
    return int(within[np.argmin(losses[within])]) if len(within) else None
