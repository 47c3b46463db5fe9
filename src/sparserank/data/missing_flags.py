"""Flags of missing values: features that say where another one is missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparserank.data.categories import Derived, already_called
from sparserank.data.dataset import checked_names
from sparserank.data.filling import Filling
from sparserank.data.missing import ZERO
from sparserank.data.streams import Stream
from sparserank.errors import DataError, warn_caller
from sparserank.options import option
from sparserank.text import listed

MIN_MISSING = 0.01  # a feature with a larger share of missing values has a flag


def flagged(
    stream: Stream,
    X: np.ndarray,
    filling: Filling | None,
    filled: np.ndarray | None,
) -> dict[str, Any]:
    """Fields of a data set: replacements only for features with missing values, and a flag for each feature that is
    missing in more than MIN_MISSING of the rows. Warns of missing values."""
    names = checked_names(stream.feature_names, X.shape[1], stream.text_base)
    filled = np.zeros(X.shape, dtype=bool) if filled is None else filled
    fill_values = np.nan if filling is None else filling.values
    share = filled.mean(axis=0)
    asked = np.isin(names, [d.source for d in stream.also])
    often = np.flatnonzero((share > MIN_MISSING) | asked) if stream.feature_names else np.flatnonzero([])
    flags = [Derived(names[j], None) for j in often.tolist()]
    twice = next((f for f in flags if f.name in names), None)
    if twice is not None:
        raise DataError(already_called(stream.places[0], twice))
    some = listed([names[j] for j in np.flatnonzero(share).tolist()])
    values = "0, as the engine does" if stream.policy is not None and stream.policy.default == ZERO else "medians"
    where_flagged = (
        f"; features say where {listed([f.source for f in flags])} {'is' if len(flags) == 1 else 'are'} missing"
    )
    if share.any():
        warn_caller(
            f"{stream.places[0]}: missing values of {some} become {values}{where_flagged if flags else ''} "
            f"({option('missing')} overrides)."
        )
    flag = filled[:, often]
    return {
        "X": np.column_stack([X, flag.astype(X.dtype)]),
        "feature_names": [*names, *(f.name for f in flags)],
        "fill_values": np.append(np.where(share > 0, fill_values, np.nan), [np.nan] * len(flags)),
        "filled": np.hstack([filled, np.zeros_like(flag)]),
        "derived": {**stream.derived, **{f.name: f for f in flags}} or None,
    }
