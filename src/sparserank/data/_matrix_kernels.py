"""Copy rows of CSR matrices into dense arrays.

Compared with a slow version in tests/data/test_store.py.
"""

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel


@kernel
def scatter_rows(
    row_ptr: np.ndarray,
    indices: np.ndarray,
    values: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write CSR rows into the zeroed dense rows of `out`."""
    for row in range(len(row_ptr) - 1):
        for k in range(row_ptr[row], row_ptr[row + 1]):
            out[row, indices[k]] = values[k]
