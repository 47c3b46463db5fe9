"""Input of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset


@dataclass(frozen=True)
class TrainingSet:
    """Training data with the other arguments of a fit.

    query_weight   (n_queries,) >= 0, or None
    client         client of the workers that read the data, or None
    evaluation     evaluation sets
    one_list       whether there were no query ids: all rows are one list
    """

    data: RankingDataset
    query_weight: np.ndarray | None = None
    client: Any = None
    evaluation: Sequence[RankingDataset] = ()
    one_list: bool = False
