"""The training queries of paths under a transform, and the loss on any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparserank.crossval.feature_transforms import FeatureTransform
from sparserank.data.dataset import RankingDataset
from sparserank.data.transformed import transformed
from sparserank.errors import DataError
from sparserank.lazy import cached_property
from sparserank.objective import PairwiseObjective, objectives_of
from sparserank.paths import PathPlan
from sparserank.shards import LocalShards, Shards, make_shards
from sparserank.shards.dask import placed, shards_on
from sparserank.shards.scaling import FeatureScaling, fit_scalings, prepared
from sparserank.weighting import Weighting

Weighted = tuple[list[PairwiseObjective], list[FeatureScaling]]
UNSCALED = ("none", "query-min-max")  # methods without divisors


class TrainingQueries:
    """Queries from which paths learn. All paths read the same X. Features are copied once, and only if a scaling is not
    a factor per feature (a logarithm, min-max within queries).

    Parameters
        data          training queries; transform: under which features enter
        path_plan     of all paths
        query_weight  (n_queries,) weights > 0 of the training queries in the loss, or None
        n_threads     threads of a pass; results do not depend on it, nor on which paths are computed together
        client        a dask.distributed Client whose workers read the training queries instead of this process
    """

    data: RankingDataset
    transform: FeatureTransform
    path_plan: PathPlan
    query_weight: np.ndarray | None
    n_threads: int | None
    client: Any

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """(n_columns,) names of the columns under the transform."""
        return self.transform.names(self.data.names)

    @cached_property
    def prepared(self) -> RankingDataset:
        ready = self.transformed_queries(self.data)
        return ready if self.client is None else placed(self.client, ready)

    def transformed_queries(self, data: RankingDataset) -> RankingDataset:
        """Queries under the transform, before scaling by factors."""
        return transformed(prepared(data, self.path_plan.scaling), self.transform.transform)

    @cached_property
    def shards(self) -> Shards:
        return self._with_labels(self.prepared.relevance)

    def _with_labels(self, relevance: np.ndarray) -> Shards:
        """The shards of `prepared` with these labels (n_docs,)."""
        if self.client is None:
            return self.shards_of(self.prepared, relevance)
        return shards_on(self.client, self.prepared, relevance, self.path_plan.loss, self.transform.shape)

    def shards_of(self, d: RankingDataset, relevance: np.ndarray | None = None) -> LocalShards:
        rows, relevance = self.transform.shape.rows(d.X), d.relevance if relevance is None else relevance
        loss = self.path_plan.loss
        return make_shards(rows, relevance, d.query_ptr, loss, d.doc_weight, self.n_threads, d.docid, d.returned)

    def on_queries(
        self,
        used: np.ndarray,
        at: Sequence[int],
        left_out: Sequence[str] = (),
        labels: Sequence[np.ndarray] | None = None,
    ) -> Weighted:
        """The loss on the queries of rows `at` of `used` (n, n_queries) bool, and its scaling, learned from the same
        queries.

        Parameters
            left_out   n names of the other queries, for an error; "" if there are none
            labels     n times (n_docs,) labels in place of those of the data
        """
        d, method = self.prepared, self.scaling_method
        weight = used * (np.ones(d.n_queries) if self.query_weight is None else self.query_weight)

        def sums(used: np.ndarray, unit: np.ndarray, around: np.ndarray) -> list:
            return self.shards.call("moments", unit, around, per_query=used)

        centers, scales = fit_scalings(d, method, weight > 0, sums)
        pairs = self.pairs()
        for name, row in zip(left_out, weight, strict=False):
            if name and pairs.any() and not (row * pairs).any():
                raise DataError(
                    f"without the queries of {name}, no preferred pair is left to learn from; use another seed, "
                    "other folds, or the holdout protocol."
                )

        def on(shards: Shards, at: Sequence[int]) -> list[PairwiseObjective]:
            weighting = Weighting(
                shards,
                weight[list(at)],
                scale=None if method in UNSCALED else scales[list(at)],
                shape=self.transform.shape,
                pair_weights=self.path_plan.pair_weights,
                feature_names=self.column_names,
            )
            return objectives_of(weighting)

        if labels is None:
            objectives = on(self.shards, at)
        else:
            shards = list(map(self._with_labels, labels))
            objectives = [on(shards[i], [i])[0] for i in at]
        return objectives, [FeatureScaling(method, centers[i], scales[i]) for i in at]

    @property
    def scaling_method(self) -> str:
        """The scaling of columns; steps are not scaled."""
        return self.transform.shape.scaling(self.path_plan.scaling)

    def pairs(self) -> np.ndarray:
        """(n_queries,) total weight of the preferred pairs of each training query."""
        return np.concatenate([f.pair_weight for f in self.shards.call("summary")])
