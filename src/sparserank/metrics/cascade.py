"""Metrics that model a user who stops at a document: reciprocal rank and expected reciprocal rank."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sparserank.metrics.base import Metric
from sparserank.metrics.conventions import exponential_gain
from sparserank.metrics.ordering import RankedLists


@dataclass(frozen=True, repr=False)
class ReciprocalRank(Metric):
    """Definition: 1 / rank of the first document with rel >= 1; 0 if there is none (within the cutoff)."""

    name = "mrr"
    is_binary = True
    description = "reciprocal rank of the first relevant document (MRR is its mean)"
    source = "trec_eval recip_rank"
    limits = (0.0, 1.0)

    def compute(self, lists: RankedLists) -> np.ndarray:
        hit = self.convention.relevant(lists.relevance) & self.counted(lists)
        reciprocal = np.where(hit, 1.0 / lists.rank, 0.0)
        return np.maximum.reduceat(reciprocal, lists.query_ptr[:-1]) if len(hit) else np.zeros(len(lists.lengths))


@dataclass(frozen=True, repr=False)
class ExpectedReciprocalRank(Metric):
    """Definition: sum over ranks r of (1 / r) R_r prod_{i < r} (1 - R_i), R = (2^rel - 1) / 2^max_grade.

    `max_grade` is 4 (the web-search scale), so that values of different files are comparable.
    Source    Chapelle et al. (2009), equation (4).
    """

    name = "err"
    description = "expected reciprocal rank, grades 0..4"
    source = "Chapelle et al. (2009), doi:10.1145/1645953.1646033"
    limits = (0.0, 1.0)
    max_grade: ClassVar[int] = 4

    def compute(self, lists: RankedLists) -> np.ndarray:
        stop = np.minimum(exponential_gain(lists.relevance) / 2.0**self.max_grade, 1.0)
        stop = np.where(self.counted(lists), stop, 0.0)
        values = np.zeros(len(lists.lengths))
        for q, (lo, hi) in enumerate(pairwise(lists.query_ptr)):
            R = stop[lo:hi]
            reach = np.concatenate([[1.0], np.cumprod(1.0 - R)[:-1]])
            values[q] = float((reach * R / lists.rank[lo:hi]).sum())
        return values
