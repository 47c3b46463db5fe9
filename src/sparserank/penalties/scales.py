"""Units of concavity parameters."""

from __future__ import annotations

import numpy as np

GAMMA_SCALES = ("curvature", "mean", "sum")


def scale_factor(scale: str, curvature: np.ndarray, total_weight: float) -> float:
    """Units of a concavity parameter on the mean-loss scale.

    'mean': 1. 'sum' (Laporte et al.): the total pair weight (the number of pairs), because their penalty is added to a
    sum over pairs. 'curvature': 1 / h_ref, where h_ref is the median of the largest curvatures of the loss along the
    features that vary; the concavity then has the same meaning for any data. Callers leave out features that may not be
    used.
    """
    if scale == "mean":
        return 1.0
    if scale == "sum":
        return float(total_weight)
    usable = curvature[curvature > 0]
    return 1.0 / float(np.median(usable)) if len(usable) else 1.0
