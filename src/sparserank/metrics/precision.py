"""Precision and recall at a cutoff, and average precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparserank.metrics.base import Metric
from sparserank.metrics.ordering import RankedLists


@dataclass(frozen=True, repr=False)
class Precision(Metric):
    """Definition: relevant documents (rel >= 1) among the top `cutoff`, divided by `cutoff`; short lists are padded, or
    divided by their length, depending on the convention."""

    name = "p"
    needs_cutoff = 10
    is_binary = True
    description = "precision at a cutoff"
    source = "trec_eval P_k; LETOR evaluation scripts"
    limits = (0.0, 1.0)

    def compute(self, lists: RankedLists) -> np.ndarray:
        assert self.cutoff is not None
        hits = self.convention.relevant(lists.relevance) & self.counted(lists)
        shown = np.minimum(lists.lengths, self.cutoff) if self.convention.short_lists == "length" else self.cutoff
        values = lists.sum_per_query(hits.astype(float)) / np.maximum(shown, 1)
        return np.where(lists.lengths >= self.cutoff, values, 0.0) if self.convention.short_lists == "zero" else values


@dataclass(frozen=True, repr=False)
class AveragePrecision(Metric):
    """Definition: mean over the relevant documents of the list of the precision at their rank; 0 if there are none.

    With a cutoff, documents below it add 0. The divisor is still the number of relevant documents; in some conventions
    it is the cutoff if that is smaller.
    """

    name = "map"
    is_binary = True
    description = "average precision (MAP is its mean)"
    source = "LETOR evaluation scripts; trec_eval map"
    limits = (0.0, 1.0)

    def compute(self, lists: RankedLists) -> np.ndarray:
        relevant = self.convention.relevant(lists.relevance).astype(float)
        running = np.cumsum(relevant)
        before = np.repeat(running[lists.query_ptr[:-1]] - relevant[lists.query_ptr[:-1]], lists.lengths)
        precision = np.where(self.counted(lists), (running - before) / lists.rank, 0.0)
        total = lists.sum_per_query(relevant)
        if self.cutoff is not None and self.convention.most_hits == "cutoff":
            total = np.minimum(total, self.cutoff)
        return lists.quotient(lists.sum_per_query(precision * relevant), total, self.convention.without_relevant)


@dataclass(frozen=True, repr=False)
class Recall(Metric):
    """Definition: relevant documents among the top `cutoff`, divided by all relevant documents; 0 if there are none."""

    name = "recall"
    needs_cutoff = 100
    is_binary = True
    description = "recall at a cutoff"
    source = "trec_eval recall_k"
    limits = (0.0, 1.0)

    def compute(self, lists: RankedLists) -> np.ndarray:
        relevant = self.convention.relevant(lists.relevance)
        total = lists.sum_per_query(relevant.astype(float))
        hits = lists.sum_per_query((relevant & self.counted(lists)).astype(float))
        return lists.quotient(hits, total)
