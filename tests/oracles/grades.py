"""Grades by scores, query by query: each document against numpy's quantiles of its query."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

SHARES = (0.5, 0.7, 0.82, 0.9, 0.96)


def grades_of(scores: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """(n_docs,) grades 0 to 5: how many of these quantiles of its query a document exceeds."""
    grades = []
    for begin, end in pairwise(query_ptr):
        own = scores[begin:end]
        # Quantiles of the places of the documents: ties are at the first place of theirs.
        places = np.array([float((own < s).sum()) for s in own])
        bounds = [share * max(len(own) - 1, 1) for share in SHARES]
        grades += [sum(place > bound for bound in bounds) for place in places]
    return np.array(grades)
