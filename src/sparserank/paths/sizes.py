"""Points of a path by the number of features: what stands for a size, in the final path and in every fold."""

from __future__ import annotations

import numpy as np


def points_by_size(nnz: np.ndarray, losses: np.ndarray) -> dict[int, int]:
    """{k: the point of lowest training loss among those of at most k features} for the sizes that occur, the empty model left out;
    a size whose point is that of a smaller one adds nothing and is left out too."""
    out: dict[int, int] = {}
    for k in np.unique(nnz[nnz > 0]).tolist():
        point = point_within(nnz, losses, k)
        if nnz[point] > 0 and point not in out.values():
            out[int(k)] = point
    return out


def point_within(nnz: np.ndarray, losses: np.ndarray, k: int) -> int:
    """The point of lowest training loss among those of at most k features; the sparsest where none is that small."""
    within = np.flatnonzero(nnz <= k)
    if len(within) == 0:
        return int(np.argmin(nnz))
    return int(within[np.argmin(losses[within])])
