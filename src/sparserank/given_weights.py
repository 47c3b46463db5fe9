"""Check weights of queries and documents from the user, in every place that accepts them."""

from __future__ import annotations

from typing import Any

import numpy as np


def usable_weights(given: Any, n: int) -> np.ndarray | None:
    """`given` as (n,) float64, finite and >= 0, or None if it is anything else:
    the caller's message names the parameter."""
    try:
        weights = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    usable = weights.shape == (n,) and np.isfinite(weights).all() and (weights >= 0).all()
    return weights if usable else None
