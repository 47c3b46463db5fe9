"""The pairwise error: the fraction of preferred pairs in the wrong order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sparserank.metrics.base import Metric
from sparserank.metrics.ordering import RankedLists


@dataclass(frozen=True, repr=False)
class PairwiseError(Metric):
    """Definition: (pairs in the wrong order + tied pairs / 2) / pairs, per query; 0 for a query without pairs.

    The tie rule of the convention is ignored: tied scores always count 1/2.
    Source    Pahikkala et al. (2010), equation (1), normalised per query.
    """

    name = "pairwise_error"
    description = "fraction of preferred pairs in the wrong order; ties count 1/2"
    source = "Pahikkala et al. (2010), equation (1)"
    limits = (0.0, 1.0)
    higher_is_better = False
    takes_cutoff = False

    def compute(self, lists: RankedLists) -> np.ndarray:
        values = np.zeros(len(lists.lengths))
        for q, (lo, hi) in enumerate(pairwise(lists.query_ptr)):
            values[q] = _share_of_discordant(lists.scores[lo:hi], lists.relevance[lo:hi])
        return values


def _share_of_discordant(scores: np.ndarray, relevance: np.ndarray) -> float:
    """Discordant fraction of one list: for each grade, counts documents of lower relevance by binary search."""
    total = 0.0
    wrong = 0.0
    for grade in np.unique(relevance)[1:]:
        below = np.sort(scores[relevance < grade])
        upper = scores[relevance == grade]
        not_above = len(below) - np.searchsorted(below, upper, side="left")  # lower documents scored at least as high
        above = len(below) - np.searchsorted(below, upper, side="right")
        wrong += 0.5 * float((not_above + above).sum())
        total += len(below) * len(upper)
    return wrong / total if total else 0.0
