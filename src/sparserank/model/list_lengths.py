"""Lengths of the candidate lists in training: a feature normalised within its list has another meaning in a list of
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
        """The lengths of some queries; None if there are no queries."""
        sizes = np.diff(query_ptr)
        return cls(float(np.median(sizes)), int(sizes.min()), int(sizes.max())) if len(sizes) else None

    def otherwise(self, query_ptr: np.ndarray) -> str:
        """A warning about lists that are much longer or shorter than in training; "" otherwise."""
        now = ListLengths.of(query_ptr)
        if now is None or 1.0 <= max(now.median / self.median, self.median / now.median) <= MAX_LENGTH_RATIO:
            return ""
        return (
            f"the median length of the candidate lists is {now.median:g}, compared with {self.median:g} in training "
            f"(range {self.shortest} to {self.longest}). The model normalises features within each list, so rank lists "
            "of about the training length, or train on lists of the new length."
        )
