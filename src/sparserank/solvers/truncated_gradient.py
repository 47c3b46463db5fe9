"""Truncated gradient: gradient steps, with the shrinkage of the l1 norm applied once per window."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparserank.errors import DataError
from sparserank.execution.threads import one_blas_thread


def truncated_gradient(
    gradient: Callable[[np.ndarray], np.ndarray],
    n_features: int,
    alpha: float,
    *,
    step: float,
    window: int = 10,
    max_iter: int = 1000,
) -> np.ndarray:
    """max_iter steps w <- w - step * gradient(w); after each `window` of them, soft thresholding by window * step * alpha.

    Between truncations every coefficient moves, so what small gradients add within a window survives unless the
    accumulated gravity exceeds it. The last step always ends a window.

    Raises
        DataError   the steps diverge: step is too long
    Source
        Langford, Li and Zhang (2009), 'Sparse online learning via truncated gradient', with an infinite truncation
        threshold and full gradients; used by Sun et al. (2009) and Lai et al. (2012), who print neither step nor window.
    """
    w = np.zeros(n_features)
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        since = 0
        for t in range(1, max_iter + 1):
            w = w - step * gradient(w)
            since += 1
            if since == window or t == max_iter:
                w = np.sign(w) * np.maximum(np.abs(w) - since * step * alpha, 0.0)
                since = 0
                if not np.isfinite(w).all():
                    raise DataError(
                        f"the gradient steps diverge: after {t} of {max_iter} the weights are no numbers; take a smaller step."
                    )
    return w
