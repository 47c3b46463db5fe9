"""Sample of training queries on which refits evaluate the metric, with only the features of a model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sparserank.metrics import Metric
from sparserank.metrics.ndcg import Ndcg
from sparserank.metrics.ranking import rank_documents
from sparserank.objective import PairwiseObjective
from sparserank.paths._metric_kernels import changed_sums

MAX_QUERIES = 2_000  # that are looked at; the others of more are left out by lot
MAX_DOCUMENTS = 400_000  # in all: of long lists fewer queries are looked at
NO_CUTOFF = 100  # documents of a list that are looked at, where the metric has no cutoff
SHORT = ("zero", "zero_ndcg")  # rules by which a list shorter than the cutoff is worth nothing, however it is ranked


def is_known(metric: Metric) -> bool:
    """Whether refits support this metric: NDCG, at any cutoff, in any convention."""
    return type(metric) is Ndcg


@dataclass(frozen=True, eq=False)
class MetricSample:
    """Queries whose metric depends on the ranking, in two halves.

    Z            (n_docs, m) the columns of a model, up to constants within each query
    relevance    (n_docs,); query_ptr (n_queries + 1,); docid (n_docs,) or None
    gains        (n_docs,) of the metric's convention; discounts (c,)
    per_dcg      (n_queries,) 1 over the DCG of the ideal order: NDCG is DCG times this
    weight       (n_queries,) weights of the queries in the loss; the metric ignores them
    half         (n_queries,) 0 or 1
    """

    metric: Metric
    Z: np.ndarray
    relevance: np.ndarray
    query_ptr: np.ndarray
    docid: np.ndarray | None
    gains: np.ndarray
    discounts: np.ndarray
    per_dcg: np.ndarray
    weight: np.ndarray
    half: np.ndarray

    def order(self, scores: np.ndarray) -> np.ndarray:
        """(n_docs,) ranked rows, query after query, with the convention's rule for ties."""
        return rank_documents(scores, self.relevance, self.query_ptr, self.metric.convention.ties, self.docid)

    def value(self, scores: np.ndarray) -> float:
        """The mean metric over the sample, in the convention."""
        gains = self.gains[self.order(scores)]
        rank = np.arange(len(gains)) - np.repeat(self.query_ptr[:-1], np.diff(self.query_ptr))
        padded = np.append(self.discounts, 0.0)[np.minimum(rank, len(self.discounts))]
        return float((np.add.reduceat(gains * padded, self.query_ptr[:-1]) * self.per_dcg).mean())

    def in_halves(self, scores: np.ndarray, direction: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """(len(steps), 2) mean metric over each half by scores + step * direction; of equal scores the least relevant
        document comes first, whatever the convention."""
        out = np.zeros((len(steps), 2))
        share = self.per_dcg / np.bincount(self.half, minlength=2)[self.half]
        changed_sums(
            scores,
            direction,
            np.asarray(steps, dtype=np.float64),
            self.relevance,
            self.gains,
            self.query_ptr,
            self.discounts,
            share,
            self.half,
            out,
        )
        return out


def metric_sample(
    objective: PairwiseObjective, metric: Metric, columns: np.ndarray, seed: tuple[int, int]
) -> MetricSample | None:
    """Sample queries of the objective's weighting, with some of its coefficients' columns; None if no ranking changes
    the metric in both halves. Draws depend only on the seed and on the queries."""
    facts = objective.shards.call("facts")
    n_docs = np.concatenate([f.n_docs for f in facts])
    pairs = np.concatenate([f.pair_weight for f in facts])
    weight = objective.query_scale * (pairs if objective.pair_weights == "query" else 1.0)
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(np.flatnonzero(weight > 0))[:MAX_QUERIES]
    fits = n_docs[drawn].cumsum() <= MAX_DOCUMENTS
    taken = np.zeros(len(weight), dtype=bool)
    taken[drawn[fits] if fits.any() else drawn[:1]] = True
    left_out = metric.convention.zero_scores == "left_out" and len(columns) > 0
    parts = objective.shards.call("gathered", columns, objective.weighting.key, objective.k, left_out, per_query=taken)
    Z, relevance = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    docid = None if parts[0][2] is None else np.concatenate([p[2] for p in parts])
    sizes, weight = n_docs[taken], weight[taken]
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    convention, cutoff = metric.convention, metric.cutoff or NO_CUTOFF
    gains = convention.gains(relevance)
    discounts = convention.discounts(cutoff)
    per_dcg = _per_ideal(gains, ptr, discounts)
    varies = (np.maximum.reduceat(gains, ptr[:-1]) > np.minimum.reduceat(gains, ptr[:-1])) & (per_dcg > 0)
    if metric.cutoff is not None and convention.short_lists in SHORT:
        varies &= sizes >= metric.cutoff
    if varies.sum() < 2:
        return None
    if left_out:  # documents that no weights of these columns rank count in the ideal order alone
        present = np.concatenate([p[3] for p in parts])
        varies &= np.maximum.reduceat(np.where(present, gains, -np.inf), ptr[:-1]) > np.minimum.reduceat(
            np.where(present, gains, np.inf), ptr[:-1]
        )
        if varies.sum() < 2:
            return None
        docs = np.repeat(varies, sizes) & present
        sizes = np.add.reduceat(present.astype(np.int64), ptr[:-1])
    else:
        docs = np.repeat(varies, sizes)
    relevant = np.maximum.reduceat(convention.relevant(relevance).astype(np.int64), ptr[:-1])[varies] > 0
    return MetricSample(
        metric,
        np.ascontiguousarray(Z[docs]),
        relevance[docs],
        np.concatenate([[0], np.cumsum(sizes[varies])]),
        None if docid is None else docid[docs],
        gains[docs],
        discounts,
        per_dcg[varies],
        weight[varies],
        _halves(relevant, rng),
    )


def _per_ideal(gains: np.ndarray, ptr: np.ndarray, discounts: np.ndarray) -> np.ndarray:
    """(n_queries,) 1 over the largest DCG, 0 if that is 0."""
    ideal = np.array([_top(gains[a:b], len(discounts)) @ discounts[: b - a] for a, b in pairwise(ptr.tolist())])
    return np.divide(1.0, ideal, out=np.zeros(len(ideal)), where=ideal > 0)


def _top(gains: np.ndarray, c: int) -> np.ndarray:
    return np.sort(gains)[::-1][:c]


def _halves(relevant: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n_queries,) 0 or 1 at random, balanced overall and among queries with a relevant document."""
    half = np.empty(len(relevant), dtype=np.int64)
    drawn = np.concatenate([rng.permutation(np.flatnonzero(relevant == kind)) for kind in (True, False)])
    half[drawn] = np.arange(len(relevant)) % 2
    return half
