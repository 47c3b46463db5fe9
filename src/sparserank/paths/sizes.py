"""Points of a path by size, the number of features or their cost:
the point that represents a size, in the final path and in every fold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

SizeOf = Callable[
    [sp.csr_array, int], np.ndarray
]  # (coefficients (n_points, n_columns), columns of a feature) -> sizes (n_points,), 0 for empty models


def points_by_size(sizes: np.ndarray, losses: np.ndarray) -> dict[float, int]:
    """{k: the point with the lowest training loss among those of size > 0 and <= k}, for each k in sizes (n_points,); a
    size with the same point as a smaller one is left out."""
    out: dict[float, int] = {}
    for k in np.unique(sizes[sizes > 0]).tolist():
        point = point_within(sizes, losses, k)
        if point is not None and point not in out.values():
            out[k] = point
    return out


def point_within(sizes: np.ndarray, losses: np.ndarray, k: float) -> int | None:
    """The point with the lowest training loss among those of size > 0 and <= k, or None. The empty model does not rank,
    so it must not represent a model that does."""
    within = np.flatnonzero((sizes > 0) & (sizes <= k))
    return int(within[np.argmin(losses[within])]) if len(within) else None
