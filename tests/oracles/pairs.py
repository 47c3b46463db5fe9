"""Pairwise losses with every pair written out: loops only, nothing from the package."""

import math

import numpy as np


def squared_hinge(m):
    """(phi, phi', phi'') of a margin."""
    return ((1.0 - m) ** 2, -2.0 * (1.0 - m), 2.0) if m < 1.0 else (0.0, 0.0, 0.0)


def modified_huber(m):
    return (-4.0 * m, -4.0, 0.0) if m < -1.0 else squared_hinge(m)


def modified_huber_linear_at_minus_one(m):
    """A wrong variant: a margin of exactly -1 counts as far."""
    return (-4.0 * m, -4.0, 0.0) if m <= -1.0 else squared_hinge(m)


def squared_hinge_active_at_one(m):
    """A wrong variant: a margin of exactly 1 counts."""
    return ((1.0 - m) ** 2, -2.0 * (1.0 - m), 2.0) if m <= 1.0 else (0.0, 0.0, 0.0)


def logistic(m):
    small = math.exp(-abs(m))
    p = (small if m > 0 else 1.0) / (1.0 + small)
    return max(-m, 0.0) + math.log1p(small), -p, p * (1.0 - p)


def quadratic_conjugate(u):
    """sup over m of u m - phi(m) for the squared hinge; the modified Huber's, where u >= -4."""
    return u + u**2 / 4.0


def logistic_conjugate(u):
    return sum(x * math.log(x) for x in (-u, 1.0 + u) if x > 0)


PHI = {"squared_hinge": squared_hinge, "modified_huber": modified_huber, "logistic": logistic}
CONJUGATE = {
    "squared_hinge": quadratic_conjugate,
    "modified_huber": quadratic_conjugate,
    "logistic": logistic_conjugate,
}


def pairs_of(relevance, query_ptr, query_weight=None, grade_table=None, per_query=False, doc_weight=None, weigh=0):
    """[(i, j, v)]: preferred pairs with normalised weights. weigh=1 is a wrong variant:
    the lower document's weight counts."""
    found = []
    for q in range(len(query_ptr) - 1):
        rows = range(query_ptr[q], query_ptr[q + 1])
        here = []
        for i in rows:
            for j in rows:
                if relevance[i] > relevance[j]:
                    t = 1.0 if grade_table is None else grade_table[int(relevance[i])][int(relevance[j])]
                    here.append((i, j, t if doc_weight is None else t * doc_weight[(i, j)[weigh]]))
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


def loss(scores, pairs, phi=squared_hinge):
    scores = scores.tolist()
    return sum(v * phi(scores[i] - scores[j])[0] for i, j, v in pairs)


def score_gradient(scores, pairs, phi=squared_hinge):
    scores, g = scores.tolist(), np.zeros(len(scores))
    for i, j, v in pairs:
        slope = phi(scores[i] - scores[j])[1]
        g[i] += v * slope
        g[j] -= v * slope
    return g


def score_hessian(scores, pairs, phi=squared_hinge):
    """Dense generalised Hessian in score space."""
    scores, W = scores.tolist(), np.zeros((len(scores), len(scores)))
    for i, j, v in pairs:
        bend = phi(scores[i] - scores[j])[2]
        W[i, i] += v * bend
        W[j, j] += v * bend
        W[i, j] -= v * bend
        W[j, i] -= v * bend
    return W


def conjugate_sum(scores, pairs, phi, conjugate, s):
    """sum of v phi*(s phi')."""
    scores = scores.tolist()
    return sum(v * conjugate(s * phi(scores[i] - scores[j])[1]) for i, j, v in pairs)


def pair_matrix(X, pairs):
    """Rows sqrt(v) (x_i - x_j)."""
    return np.array([np.sqrt(v) * (X[i] - X[j]) for i, j, v in pairs])
