"""The data of every case: fixed generators, fixed seeds; at the end, the published sets.

Features come in groups that share a latent factor, as BM25 on title, body and anchor do; they are skewed, and scaled to
[0, 1] within each query as LETOR is. Grades follow a linear score of half of the features plus noise that outweighs it,
so that no model separates them: held-out NDCG@10 comes out near 0.3 (0.35 is published for l1 on TD2003).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sparserank import RankingDataset

GROUP = 4  # features that share one factor
SHARED = 0.9  # correlation of a feature with its factor, before skewing
SKEW = 0.5  # exp(SKEW * normal): most documents score low, few high
USEFUL = 0.5  # share of the features that have a weight
NOISE = 1.2  # standard deviation of the label noise relative to the clean score
MSLR_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)
PUBLISHED = {"MQ2008": ("mq2008", 46), "OHSUMED": ("ohsumed/querylevelnorm", 45)}  # folder, number of features


@dataclass(frozen=True)
class Ranking:
    """X (n_docs, n_features) C-ordered, relevance (n_docs,) float64, query_ptr (n_queries + 1,) int64."""

    X: np.ndarray
    relevance: np.ndarray
    query_ptr: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.query_ptr)

    @property
    def n_pairs(self) -> int:
        """Pairs of one query whose grades differ, summed over queries."""
        total = 0
        for lo, hi in pairwise(self.query_ptr):
            counts = np.unique(self.relevance[lo:hi], return_counts=True)[1]
            total += (int(hi - lo) ** 2 - int((counts**2).sum())) // 2
        return total

    def queries(self, first: int, last: int) -> Ranking:
        lo, hi = self.query_ptr[first], self.query_ptr[last]
        return Ranking(self.X[lo:hi], self.relevance[lo:hi], self.query_ptr[first : last + 1] - lo)


def td2003_shaped(seed: int = 2003) -> tuple[Ranking, Ranking]:
    """Training and held-out queries: each 30 x 980 documents, 64 features, 9 relevant per query (262,170 pairs).

    TREC 2003 topic distillation as in LETOR 3.0 has 50 x 981 documents, 64 features and 8.1 relevant per query.
    """
    rng = np.random.default_rng(seed)
    X, score = _features(rng, np.full(60, 980), 64, np.dtype(np.float64))
    by_query = score.reshape(60, 980)
    ninth = -np.sort(-by_query, axis=1)[:, 8:9]
    whole = Ranking(X, (by_query >= ninth).astype(np.float64).ravel(), np.arange(61) * 980)
    return whole.queries(0, 30), whole.queries(30, 60)


def mslr_shaped(
    n_queries: int = 6000, docs: int = 120, dtype: type = np.float64, seed: int = 10_000, n_held_out: int = 0
) -> tuple[Ranking, Ranking]:
    """Training and held-out queries of MSLR-WEB10K's shape: 136 features, 5 grades, lists of docs / 2 to 3 docs / 2.

    Grades are cut at the quantiles of one score over all queries, so that queries differ in their shares of grades.
    """
    rng = np.random.default_rng(seed)
    n = n_queries + n_held_out
    # Every length equally often: the number of documents depends on n_queries and docs alone.
    lengths = rng.permutation(np.linspace(0.5 * docs, 1.5 * docs, n).round().astype(np.int64))
    X, score = _features(rng, lengths, 136, np.dtype(dtype))
    cuts = np.quantile(score, np.cumsum(MSLR_SHARES)[:-1])
    query_ptr = np.concatenate([[0], np.cumsum(lengths)])
    whole = Ranking(X, np.searchsorted(cuts, score).astype(np.float64), query_ptr)
    return whole.queries(0, n_queries), whole.queries(n_queries, n)


def _features(
    rng: np.random.Generator, lengths: np.ndarray, n_features: int, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """X (n_docs, n_features) in [0, 1] within each query, and the noisy score (n_docs,) behind the grades."""
    n_groups = n_features // GROUP
    loading = np.kron(np.eye(n_groups, dtype=np.float32), np.full(GROUP, SHARED, dtype=np.float32))
    truth = rng.spawn(1)[0]  # a stream of its own: the weights do not depend on the number of documents
    coef = truth.standard_normal(n_features) * (truth.random(n_features) < USEFUL)
    X = np.empty((int(lengths.sum()), n_features), dtype)
    at = 0
    for n in lengths:
        latent = rng.standard_normal((n, n_features), dtype=np.float32) * np.float32(np.sqrt(1 - SHARED**2))
        latent += rng.standard_normal((n, n_groups), dtype=np.float32) @ loading
        skewed = np.exp(SKEW * latent)
        low, high = skewed.min(axis=0), skewed.max(axis=0)
        X[at : at + n] = (skewed - low) / (high - low)
        at += n
    score = X @ coef.astype(dtype)
    return X, score + NOISE * score.std() * rng.standard_normal(len(score))


def published_absent() -> str | None:
    """The reason for which a case that reads the published sets declines, or None."""
    root = os.environ.get("SPARSERANK_DATA")
    if not root:
        return "needs MQ2008 and OHSUMED: set SPARSERANK_DATA (see CONTRIBUTING.md)"
    missing = [name for name, (folder, _) in PUBLISHED.items() if not (Path(root) / folder).is_dir()]
    return f"{root} has no {', '.join(missing)} (see CONTRIBUTING.md)" if missing else None


def published_train(name: str) -> RankingDataset:
    """Training part of fold 1: S1, S2, S3."""
    from sparserank import read

    folder, n_features = PUBLISHED[name]
    place = Path(os.environ["SPARSERANK_DATA"]) / folder
    return read([place / f"S{i}.txt.gz" for i in (1, 2, 3)], n_features=n_features)
