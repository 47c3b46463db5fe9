"""How long the candidate lists of training were: a feature normalised within its list means something else in a list of
another length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MAX_LENGTH_RATIO = 5.0  # times longer or shorter than in training, in the median, without a warning


@dataclass(frozen=True)
class ListLengths:
    """Documents per query: 1 <= shortest <= median <= longest."""

    median: float
    shortest: int
    longest: int

    @classmethod
    def of(cls, query_ptr: np.ndarray) -> ListLengths | None:
        """Those of some queries; None where there are none."""
        sizes = np.diff(query_ptr)
        return cls(float(np.median(sizes)), int(sizes.min()), int(sizes.max())) if len(sizes) else None

    def otherwise(self, query_ptr: np.ndarray) -> str:
        """What is said of lists that are much longer or shorter, in a sentence; "" of others."""
        now = ListLengths.of(query_ptr)
        if now is None or 1.0 <= max(now.median / self.median, self.median / now.median) <= MAX_LENGTH_RATIO:
            return ""
        return (
            f"the median length of the candidate lists is {now.median:g}, that of training {self.median:g} "
            f"({self.shortest} to {self.longest}); the model normalises features within each list, so rank lists as "
            "long as those of training, or train on lists like these."
        )
