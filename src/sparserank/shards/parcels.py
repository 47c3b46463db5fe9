"""Arrays that are sent between processes: arrays of mostly zeros are sent without them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

LEAST = 1 << 14  # values from which looking pays
MAX_FILLED = 0.5  # share of values that are not 0; an index is half a value


class _Parcel(NamedTuple):
    """An array of float64 in which most values are 0."""

    shape: tuple[int, ...]
    at: np.ndarray
    values: np.ndarray


def packed(value: Any) -> Any:
    """The value (arrays, tuples and lists of arrays) with its large sparse arrays compressed."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.size >= LEAST:
        at = np.flatnonzero(value)
        if len(at) <= MAX_FILLED * value.size:
            return _Parcel(value.shape, at.astype(np.int32 if value.size < 2**31 else np.int64), value.ravel()[at])
        return value
    if type(value) in (tuple, list):
        return type(value)(packed(v) for v in value)
    return value


def unpacked(value: Any) -> Any:
    """The value that `packed` received; zeros are +0."""
    if isinstance(value, _Parcel):
        out = np.zeros(value.shape)
        out.ravel()[value.at] = value.values
        return out
    if type(value) in (tuple, list):
        return type(value)(unpacked(v) for v in value)
    return value
