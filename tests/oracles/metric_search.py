"""Coordinate search on NDCG by scoring every list anew: nothing from the package."""

import numpy as np

from tests.oracles.metrics import Rules, exponential, log2_discount, ndcg

FACTORS = (0.5, 0.7, 0.85, 1.2, 1.4, 2.0)
RULES = Rules(exponential, log2_discount, lambda relevance, row, docid: row, lambda relevance: relevance > 0)


def mean_ndcg(X, relevance, queries, w, cutoff):
    """Mean NDCG over some queries, each (first row, row after the last)."""
    total = 0.0
    for lo, hi in queries:
        order = sorted(range(lo, hi), key=lambda i: -float(X[i] @ w))
        total += ndcg([float(relevance[i]) for i in order], cutoff, RULES)
    return total / len(queries)


def searched(w, value, rounds=4, factors=FACTORS):
    """(weights, value) after trying to multiply one weight after the other; value: of weights, larger is better."""
    best = value(w)
    for _ in range(rounds):
        changed = False
        for j in range(len(w)):
            if w[j] == 0:
                continue
            tried = []
            for factor in factors:
                other = np.array(w)
                other[j] = w[j] * factor
                tried.append((value(other), other))
            top = max(v for v, _ in tried)
            if top > best:
                best, changed = top, True
                w = next(other for v, other in tried if v == top)
        if not changed:
            break
    return w, best
