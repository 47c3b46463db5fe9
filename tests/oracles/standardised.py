"""Standard scores within each query, by loops."""

from __future__ import annotations

import statistics
from itertools import pairwise

import numpy as np


def standardised(scores: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """(n_docs,) scores minus the mean of the query, over its standard deviation; 0 where all scores are equal."""
    out = []
    for begin, end in pairwise(query_ptr):
        own = scores[begin:end].tolist()
        if len(set(own)) <= 1:
            out += [0.0] * len(own)
        else:
            mean, deviation = statistics.fmean(own), statistics.pstdev(own)
            out += [(s - mean) / deviation for s in own]
    return np.array(out)
