"""Arrays that travel between processes: those that are mostly zeros without them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

LEAST = 1 << 14  # values from which looking pays
MAX_FILLED = 0.5  # share of values that are not 0; an index is half a value


class _Parcel(NamedTuple):
    """An array of float64, all but some of whose values are 0."""

    shape: tuple[int, ...]
    at: np.ndarray
    values: np.ndarray


def packed(value: Any) -> Any:
    """The same with its large sparse arrays made small: arrays, and tuples and lists of such."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.size >= LEAST:
        at = np.flatnonzero(value)
        if len(at) <= MAX_FILLED * value.size:
            return _Parcel(value.shape, at.astype(np.int32 if value.size < 2**31 else np.int64), value.ravel()[at])
        return value
    if type(value) in (tuple, list):
        return type(value)(packed(v) for v in value)
    return value


def unpacked(value: Any) -> Any:
    """What `packed` was given; zeros are +0."""
    if isinstance(value, _Parcel):
        out = np.zeros(value.shape)
        out.ravel()[value.at] = value.values
        return out
    if type(value) in (tuple, list):
        return type(value)(unpacked(v) for v in value)
    return value
