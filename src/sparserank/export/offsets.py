"""Constants that keep scores positive for engines that refuse or clamp negative ones; rankings do not change."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

from sparserank.errors import DataError
from sparserank.model.lowest_score import lowest_score
from sparserank.model.ranking_model import RankingModel
from sparserank.quoting import brief

AUTO = "auto"
ROOM = 1.0  # between the lowest score of a training document and 0, about: others may score lower


def offset_of(model: RankingModel, offset: float | str) -> float:
    """The given offset, or with 'auto' the smallest integer that keeps training scores at least ROOM above 0.

    Raises
        DataError   not a finite number; 'auto' for a model without a recorded lowest score
    """
    if isinstance(offset, str) and offset == AUTO:
        lowest = lowest_score(model)
        if lowest is None and model.per_query:
            raise DataError(
                "scores of this model depend on the candidate list, so there is no lowest score. Give a number."
            )
        if lowest is None:
            raise DataError(
                "this model does not contain the lowest score of its training documents. Give an offset as a number, "
                "or train the model again with select or fit."
            )
        return max(0.0, math.ceil(-lowest) + ROOM)
    try:
        added = float(offset) if isinstance(offset, Real) and not isinstance(offset, bool | np.bool_) else math.nan
    except OverflowError:
        added = math.nan
    if not math.isfinite(added):
        raise DataError(f"offset must be a finite number or {AUTO}; got {brief(str(offset))}.")
    return added
