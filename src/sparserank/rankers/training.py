"""What a fit learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset


@dataclass(frozen=True)
class TrainingSet:
    """Training data with what else a fit is given.

    query_weight   (n_queries,) >= 0, or None
    client         whose workers read the data, or None
    evaluation     sets beside the data
    one_list       there were no query ids at all: all rows are one list
    """

    data: RankingDataset
    query_weight: np.ndarray | None = None
    client: Any = None
    evaluation: Sequence[RankingDataset] = ()
    one_list: bool = False
