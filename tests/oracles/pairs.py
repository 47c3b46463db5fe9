"""The pairwise squared hinge with every pair written out: loops only, nothing from the package."""

from __future__ import annotations

import numpy as np


def pairs_of(relevance, query_ptr, query_weight=None, grade_table=None, per_query=False):
    """[(i, j, v)]: preferred pairs with normalised weights."""
    found = []
    for q in range(len(query_ptr) - 1):
        rows = range(query_ptr[q], query_ptr[q + 1])
        here = []
        for i in rows:
            for j in rows:
                if relevance[i] > relevance[j]:
                    t = 1.0 if grade_table is None else grade_table[int(relevance[i])][int(relevance[j])]
                    here.append((i, j, t))
        total = sum(t for _, _, t in here)
        for i, j, t in here:
            weight = 1.0 if query_weight is None else query_weight[q]
            if per_query and total > 0:
                weight = weight / total
            found.append((i, j, t * weight))
    total = sum(v for _, _, v in found)
    return [(i, j, v / total) for i, j, v in found]


def hinge(scores, i, j):
    """h of a pair, by the one predicate: active iff the margin is below 1."""
    margin = scores[i] - scores[j]
    return 1.0 - margin if margin < 1.0 else 0.0


def loss(scores, pairs):
    return sum(v * hinge(scores, i, j) ** 2 for i, j, v in pairs)


def score_gradient(scores, pairs):
    g = np.zeros(len(scores))
    for i, j, v in pairs:
        h = hinge(scores, i, j)
        g[i] -= 2.0 * v * h
        g[j] += 2.0 * v * h
    return g


def score_hessian(scores, pairs, active_at_one=False):
    """Dense generalised Hessian in score space. `active_at_one` is a wrong variant: a margin of exactly 1 counts."""
    W = np.zeros((len(scores), len(scores)))
    for i, j, v in pairs:
        margin = scores[i] - scores[j]
        if margin < 1.0 or (active_at_one and margin == 1.0):
            W[i, i] += 2.0 * v
            W[j, j] += 2.0 * v
            W[i, j] -= 2.0 * v
            W[j, i] -= 2.0 * v
    return W


def pair_matrix(X, pairs):
    """Rows sqrt(v) (x_i - x_j)."""
    return np.array([np.sqrt(v) * (X[i] - X[j]) for i, j, v in pairs])
