"""A model without learning: the baseline for every other model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.data.varying import nothing_varies
from sparserank.errors import DataError
from sparserank.metrics import Metric
from sparserank.rankers.base import LinearRanker, TrainingSet
from sparserank.rankers.inputs import random_generator


@dataclass(kw_only=True, eq=False, repr=False)
class RandomRanker(LinearRanker):
    """Random nonnegative weights that sum to 1, uniform on the simplex of the features that vary within queries.

    Parameters
    ----------
    random_state : int or Generator, optional
        Random seed, >= 0.
    metric : str, default 'ndcg@10'
        Metric that `score` computes.

    References
    ----------
    Lai et al. (2012), Section 8.4, which averages the results of ten such models.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> ranker = sr.papers.RandomRanker(random_state=0).fit(data.X, data.relevance, qid=data.qid)
    >>> round(float(ranker.coef_.sum()), 9)
    1.0
    """

    random_state: Any = None
    metric: str | Metric = "ndcg@10"

    def _check_parameters(self) -> None:
        random_generator(self._name, self.random_state)

    def _learn(self, training: TrainingSet) -> None:
        data = training.data
        varying = ~data.constant_features()
        if not varying.any():
            raise DataError(f"{self._name}: {nothing_varies(data.n_docs)}")
        rng = random_generator(self._name, self.random_state)
        coef = np.zeros(data.n_features)
        coef[varying] = rng.dirichlet(np.ones(int(varying.sum())))
        self.coef_ = coef
