"""A model without learning: the floor that every other one is read against."""

from __future__ import annotations

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.rankers.base import LinearRanker


class RandomRanker(LinearRanker):
    """Nonnegative random weights that sum to 1, uniform on the simplex of the features that vary within queries.

    Parameters
        random_state  seed
        metric        metric of `score`
    Source
        Lai et al. (2012), Section 8.4, where the results of ten of these are averaged.
    """

    def __init__(self, random_state: int | None = None, metric: str = "ndcg@10") -> None:
        self.random_state = random_state
        self.metric = metric

    def _learn(self, data: RankingDataset, query_weight: np.ndarray | None) -> None:
        varying = ~data.constant_features()
        coef = np.zeros(data.n_features)
        coef[varying] = np.random.default_rng(self.random_state).dirichlet(np.ones(max(int(varying.sum()), 1)))[
            : varying.sum()
        ]
        self.coef_ = coef
