"""A metric: the reciprocal rank of the best document, times its grade."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sparserank.metrics.base import Metric
from sparserank.metrics.ordering import RankedLists


@dataclass(frozen=True, repr=False)
class BestReciprocalRank(Metric):
    """Definition: the highest grade of the list over the rank of the first document that has it."""

    name: ClassVar[str] = "best_rr"
    description: ClassVar[str] = "highest grade over the rank of its first document"
    source: ClassVar[str] = "made for a test"
    takes_cutoff: ClassVar[bool] = False

    def compute(self, lists: RankedLists) -> np.ndarray:
        ends = zip(lists.query_ptr[:-1], lists.query_ptr[1:], strict=True)
        each = [lists.relevance[lo:hi] for lo, hi in ends]
        return np.array([y.max() / (1 + int(np.argmax(y))) for y in each])
