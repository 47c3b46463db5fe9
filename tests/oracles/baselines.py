"""The other systems that the papers run, by loops over documents and pairs: nothing from the package."""

import numpy as np

from tests.oracles.pairs import hinge, pairs_of


def gas_e(importance, similarity, t, c):
    """Geng's greedy search: t times take the feature of largest importance, then subtract 2 c e_ij from the others.

    Returns the features in the order in which they are taken; ties go to the smaller index.
    """
    left = {j: float(value) for j, value in enumerate(importance)}
    taken = []
    for _ in range(min(t, len(left))):
        best = min(left, key=lambda j: (-left[j], j))
        taken.append(best)
        del left[best]
        for j in left:
            left[j] -= 2.0 * c * similarity[best][j]
    return taken


def kendall_concordance(X, query_ptr):
    """e_ab: the share of a query's pairs of documents that features a and b order alike, averaged over queries.

    Alike: both order the two documents strictly and the same way, or both give them equal values. A pair that only
    one of them ties is not alike. All pairs of two different documents count below the line, whatever their
    relevance. Queries with fewer than 2 documents are left out of the average. In [0, 1], 1 on the diagonal.
    """
    d = X.shape[1]
    shares = []
    for q in range(len(query_ptr) - 1):
        rows = range(query_ptr[q], query_ptr[q + 1])
        alike, pairs = np.zeros((d, d)), 0
        for i in rows:
            for j in rows:
                if i < j:
                    pairs += 1
                    order = [np.sign(X[i, a] - X[j, a]) for a in range(d)]
                    for a in range(d):
                        for b in range(d):
                            alike[a, b] += order[a] == order[b]
        if pairs:
            shares.append(alike / pairs)
    return sum(shares) / len(shares)


def modified_huber(t):
    if t >= 1.0:
        return 0.0
    return (1.0 - t) ** 2 if t >= -1.0 else -4.0 * t


def modified_huber_derivative(t):
    if t >= 1.0:
        return 0.0
    return -2.0 * (1.0 - t) if t >= -1.0 else -4.0


def l1_squared_hinge(X, y, query_ptr, w, alpha):
    """Mean squared hinge over pairs plus alpha |w|_1."""
    scores = X @ w
    return sum(v * hinge(scores, i, j) ** 2 for i, j, v in pairs_of(y, query_ptr)) + alpha * sum(abs(w))


def truncated_gradient(X, y, query_ptr, alpha, step, window, max_iter):
    """w after max_iter iterations from w = 0 on: mean squared hinge over pairs + alpha |w|_1 (alpha = 1 / (C_sum P)).

    Every iteration: w <- w - step * gradient of the mean loss, over all pairs. After iterations window, 2 window, ...:
    every weight moves towards 0 by step * window * alpha, and stops at 0 (soft threshold, without Langford's limit
    above which weights are not shrunk). Gradient steps after the last multiple of the window are not shrunk.
    window = 1 is proximal gradient descent; with a longer window the weights do not settle at the minimum.
    """
    pairs = pairs_of(y, query_ptr)
    w = np.zeros(X.shape[1])
    for iteration in range(1, max_iter + 1):
        gradient = np.zeros(len(w))
        scores = X @ w
        for i, j, v in pairs:
            gradient -= 2.0 * v * hinge(scores, i, j) * (X[i] - X[j])
        w = w - step * gradient
        if iteration % window == 0:
            gravity = step * window * alpha
            w = np.array([max(u - gravity, 0.0) if u > 0 else min(u + gravity, 0.0) for u in w])
    return w
