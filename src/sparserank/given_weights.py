"""Check numbers and weights of queries and documents from the user, in every place that accepts them."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_floats(given: Any) -> np.ndarray:
    """`given` as float64; TypeError, ValueError or OverflowError if it contains anything but real numbers."""
    read = np.asarray(given)
    if read.dtype.kind in "mMc" or any(isinstance(one, complex) for one in (read.flat if read.dtype == object else ())):
        raise TypeError("dates, durations and complex numbers are not real numbers")
    return read.astype(np.float64, copy=False)


def finite_numbers(given: Any, n: int) -> np.ndarray | None:
    """`given` as (n,) float64, finite, or None if it is anything else: the caller's message names the parameter."""
    try:
        numbers = as_floats(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if numbers.shape == (n,) and np.isfinite(numbers).all() else None


def usable_weights(given: Any, n: int) -> np.ndarray | None:
    """`given` as (n,) float64, finite and >= 0, or None if it is anything else."""
    weights = finite_numbers(given, n)
    return weights if weights is not None and (weights >= 0).all() else None
