"""Normalised discounted cumulative gain, and LETOR 4.0's mean of it over all cutoffs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sparserank.errors import ParameterError
from sparserank.metrics._ranking_kernels import order_lists
from sparserank.metrics.base import Metric
from sparserank.metrics.ordering import RankedLists


def _ideal_gains(gains: np.ndarray, lists: RankedLists) -> np.ndarray:
    ptr = np.array(lists.query_ptr, dtype=np.int64)  # a writable copy, as in `rank_documents`
    return gains[order_lists(gains, np.zeros(len(gains)), ptr)]


def _shown(gains: np.ndarray, lists: RankedLists) -> np.ndarray:
    """The gains of ranked documents; documents that a user does not see have gain 0."""
    return gains if lists.retrieved is None else np.where(lists.retrieved, gains, 0.0)


@dataclass(frozen=True, repr=False)
class Ndcg(Metric):
    """Definition: sum of gain * discount over the top `cutoff`, divided by its value for the ideal order.

    Source    Jarvelin and Kekalainen (2002); gain 2^rel - 1 after Burges et al. (2005).
    """

    name = "ndcg"
    uses_gain = True
    description = "normalised discounted cumulative gain"
    source = "Jarvelin and Kekalainen (2002), doi:10.1145/582415.582418"
    limits = (0.0, 1.0)

    def compute(self, lists: RankedLists) -> np.ndarray:
        gains = self.convention.gains(lists.relevance)
        discounts = lists.once(("discounts", self.convention, self.cutoff), lambda: self._discounts(lists))
        dcg = lists.sum_per_query(_shown(gains, lists) * discounts)
        ideal = lists.once(
            ("ideal dcg", self.convention, self.cutoff),
            lambda: lists.sum_per_query(_ideal_gains(gains, lists) * discounts),
        )
        values = lists.quotient(dcg, ideal, self.convention.without_relevant)
        if self.cutoff is not None and self.convention.short_lists in ("zero", "zero_ndcg"):
            values = np.where(lists.lengths >= self.cutoff, values, 0.0)
        return values

    def _discounts(self, lists: RankedLists) -> np.ndarray:
        discounts = self.convention.discounts(lists.rank)
        return discounts if self.cutoff is None else np.where(lists.rank <= self.cutoff, discounts, 0.0)


@dataclass(frozen=True, repr=False)
class MeanNdcg(Metric):
    """Definition: (1 / length) * sum over n = 1..length of NDCG@n, per query.

    Source    the LETOR 4.0 evaluation script.
    """

    name = "mean_ndcg"
    uses_gain = True
    description = "mean of NDCG@n over all n up to the length of the list"
    source = "LETOR 4.0 evaluation script"
    limits = (0.0, 1.0)
    takes_cutoff = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.convention.mean_ndcg:
            raise ParameterError("convention", f"{self.convention.name} has no mean_ndcg; use letor4:mean_ndcg.")

    def compute(self, lists: RankedLists) -> np.ndarray:
        gains = self.convention.gains(lists.relevance)
        discounts = self.convention.discounts(lists.rank)
        dcg = _cumulative(_shown(gains, lists) * discounts, lists)
        ideal = lists.once(
            ("ideal, cumulative", self.convention), lambda: _cumulative(_ideal_gains(gains, lists) * discounts, lists)
        )
        return lists.sum_per_query(lists.quotient(dcg, ideal, self.convention.without_relevant)) / lists.lengths


def _cumulative(values: np.ndarray, lists: RankedLists) -> np.ndarray:
    """Running sums that restart at every query."""
    out = np.empty_like(values)
    for lo, hi in pairwise(lists.query_ptr):
        np.cumsum(values[lo:hi], out=out[lo:hi])
    return out
