"""GreedyRankRLS: feature selection by leave-query-out error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.metrics import Metric
from sparserank.options import Choice, Count, Number
from sparserank.options.kinds import COUNT_OR_NONE
from sparserank.papers.rls.backfitting import backfitting_search
from sparserank.papers.rls.centring import (
    MAX_DENSE_BYTES,
    centre,
    centred_relevance,
    held_out_blocks,
    refuse_without_preference,
    row_scale,
)
from sparserank.papers.rls.gram_search import gram_search, prefers_grams
from sparserank.papers.rls.greedy import Candidates, GreedyStep, greedy_search
from sparserank.rankers.base import ThreadedRanker, TrainingSet
from sparserank.rankers.inputs import random_generator

SEARCHES = ("forward", "floating", "backfitting")


@dataclass(kw_only=True, eq=False, repr=False)
class GreedyRankRLS(ThreadedRanker):
    """RankRLS on the features that greedy forward selection finds by exact leave-query-out error.

    Parameters
    ----------
    k : int, optional
        Number of features; by default, `size_penalty` decides. At most the number of features that vary within queries;
        others are never selected.
    lam : float, default 1.0
        Strength > 0 on the papers' scale (a sum over queries).
    search : {'forward', 'floating', 'backfitting'}, default 'forward'
        'forward': Algorithm 1 of the paper, O(k n_docs n_features), or the same models from Gram matrices if lists are
        long and features few. 'floating': may drop features again and returns the best set of each size.
        'backfitting': for wide sparse data, with memory proportional to the non-zeros; a candidate is scored with the
        other coefficients fixed.
    n_candidates : int, optional
        Number of randomly drawn candidates at each step. Default: all.
    size_penalty : float, default 0.001
        With k=None, the model minimises leave-query-out error / error of the empty model + size_penalty * number of
        features. A feature must lower the error by this share.
    k_max : int, default 100
        Largest number of features in the search if k is None.
    random_state : int or Generator, optional
        Random seed for drawing the subsets, >= 0.
    metric : str, default 'ndcg@10'
        Metric that `score` computes.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights.
    selected_ : ndarray of shape (k,)
        Features (0-based) in order of selection.
    path_ : list of GreedyStep
        One per size: features, coef, leave_query_out_error.
    empty_error_, leave_query_out_error_ : float
        Error of the model without features, and error of the final model.

    Raises
    ------
    DataError
        No preferred pair, no feature that varies within the queries, parameters out of range, values whose squares
        leave the range of floating-point numbers, or dense copies above 8 GiB (use 'backfitting').

    Notes
    -----
    Ties are broken in favour of the smaller index. With a single query, documents are left out instead of queries.

    References
    ----------
    Pahikkala et al. (2010), Algorithm 1 (misprints corrected, see docs/theory.md) and Section 5, which names floating
    search, random subsets, back-fitting and a criterion for size as future work.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(30, 8, 6, n_informative=2, n_redundant=1).data
    >>> len(sr.papers.GreedyRankRLS(k=2).fit(data.X, data.relevance, qid=data.qid).selected_)
    2
    """

    _kinds: ClassVar = {
        "k": COUNT_OR_NONE,
        "lam": Number(above=0),
        "search": Choice(SEARCHES),
        "n_candidates": COUNT_OR_NONE,
        "size_penalty": Number(least=0),
        "k_max": Count(),
    }

    k: int | None = None
    lam: float = 1.0
    search: str = "forward"
    n_candidates: int | None = None
    size_penalty: float = 1e-3
    k_max: int = 100
    random_state: Any = None
    metric: str | Metric = "ndcg@10"
    n_threads: int | None = None

    def _learn(self, training: TrainingSet) -> None:
        k = self.k if self.k is not None else self.k_max
        path, empty_error = self._search(training.data, k, training.query_weight)
        chosen = path[-1]
        if self.k is None:
            chosen = min(path, key=lambda s: s.leave_query_out_error / empty_error + self.size_penalty * s.k)
        self.path_ = path
        self.empty_error_ = empty_error
        self.selected_ = np.array(chosen.features)
        self.coef_ = chosen.coef
        self.leave_query_out_error_ = chosen.leave_query_out_error

    def _search(self, data: RankingDataset, k: int, query_weight: np.ndarray | None) -> tuple[list[GreedyStep], float]:
        candidates = self._candidates()
        if self.search == "backfitting":
            path = backfitting_search(data, float(self.lam), k, query_weight=query_weight, candidates=candidates)
            y = centred_relevance(data, row_scale(data, query_weight))
            return path, float(y @ y)
        refuse_without_preference(data, query_weight)
        centred = replace(centre(data, query_weight), query_ptr=held_out_blocks(data))
        empty = float(centred.y @ centred.y)
        floating = self.search == "floating"
        gram_bytes = 5 * 8.0 * centred.n_queries * float(centred.varying.sum()) ** 2
        if floating and gram_bytes > MAX_DENSE_BYTES:
            raise DataError(
                f"search='floating' needs {gram_bytes / (1 << 30):.0f} GiB for {centred.n_queries} queries and "
                f"{int(centred.varying.sum())} features; use search='forward'."
            )
        if floating or prefers_grams(centred):
            return gram_search(centred, float(self.lam), k, floating=floating, candidates=candidates), empty
        path = greedy_search(centred, float(self.lam), k, candidates=candidates, n_threads=self.n_threads)
        return path, empty

    def _candidates(self) -> Candidates | None:
        if self.n_candidates is None:
            return None
        size = int(self.n_candidates)
        rng = random_generator(self._name, self.random_state)
        return lambda remaining: rng.choice(remaining, size=min(size, len(remaining)), replace=False)

    def _check_parameters(self) -> None:
        random_generator(self._name, self.random_state)
