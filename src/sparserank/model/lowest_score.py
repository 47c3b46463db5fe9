"""The lowest score of the training documents; the model file records it for engines without negative scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel

KEY = "lowest_score"  # in the metadata of a model
ROWS_AT_ONCE = 1 << 16


def with_lowest_score(model: RankingModel, X: Any) -> RankingModel:
    """Apply `with_lowest_scores` to one model."""
    (out,) = with_lowest_scores([model], X)
    return out


def with_lowest_scores(models: Sequence[RankingModel], X: Any) -> list[RankingModel]:
    """Record in the metadata of each model its lowest score on these rows. Models are unchanged if their scores depend
    on the other documents of a query, or if a row has no score.

    Parameters
        X   (n_docs, n_features) array, CSR matrix or stored features, read once
    """
    lowest = {i: math.inf for i, m in enumerate(models) if not m.per_query and len(m.support)}
    for block in _blocks(X) if lowest else ():
        for i in list(lowest):
            try:
                lowest[i] = min(lowest[i], float(models[i].predict(block).min()))
            except DataError:
                del lowest[i]
    return [
        replace(m, metadata={**m.metadata, KEY: lowest[i]}) if math.isfinite(lowest.get(i, math.nan)) else m
        for i, m in enumerate(models)
    ]


def lowest_score(model: RankingModel) -> float | None:
    """The recorded lowest score; None if the model has none."""
    known = model.metadata.get(KEY)
    return float(known) if isinstance(known, Real) and math.isfinite(known) else None


def _blocks(X: Any) -> Iterator[Any]:
    for part in getattr(X, "parts", (X,)):
        for lo in range(0, part.shape[0], ROWS_AT_ONCE):
            yield part[lo : lo + ROWS_AT_ONCE]
