"""The lowest score of the training documents, which a model file keeps for engines that take no negative ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any

from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel

KEY = "lowest_score"  # in the metadata of a model
ROWS_AT_ONCE = 1 << 16


def with_lowest_score(model: RankingModel, X: Any) -> RankingModel:
    """The model with the lowest of its scores of these rows in its metadata; without it where scores depend on the
    other documents of a query, or a row has none.

    Parameters
        X   (n_docs, n_features) array, CSR matrix or stored features, read once
    """
    if model.per_query or len(model.support) == 0:
        return model
    try:
        lowest = min((float(model.predict(block).min()) for block in _blocks(X)), default=math.nan)
    except DataError:
        return model
    return replace(model, metadata={**model.metadata, KEY: lowest}) if math.isfinite(lowest) else model


def lowest_score(model: RankingModel) -> float | None:
    """None where the model does not know it."""
    known = model.metadata.get(KEY)
    return float(known) if isinstance(known, Real) and math.isfinite(known) else None


def _blocks(X: Any) -> Iterator[Any]:
    for part in getattr(X, "parts", (X,)):
        for lo in range(0, part.shape[0], ROWS_AT_ONCE):
            yield part[lo : lo + ROWS_AT_ONCE]
