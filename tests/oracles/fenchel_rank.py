"""FenchelRank (Lai 2012, Algorithm 1, misprints repaired) on the explicit pair matrix: nothing from the package.

Inside, as in the paper: w in the l1 ball of radius 1, margins Kw to be 1/r, D(w) = -(r^2/p) sum max(0, 1/r - Kw)^2.
In original units w' = r w: D = -f(w'), f the mean squared hinge; d^T K = -r g with g = grad f(w');
gap = r max|g_j| + w'.g. The printed rule for the other step size has min and max swapped and lacks p / (2 r^2).
"""

import itertools

import numpy as np

from tests.oracles.pairs import pairs_of


def pair_rows(X, y, query_ptr):
    """K: one row x_i - x_j for every pair with y_i > y_j of one query."""
    return np.array([X[i] - X[j] for i, j, _ in pairs_of(y, query_ptr)])


def dual_objective(K, w, r):
    """D(w) of equation (5), for w in the ball."""
    return -(r**2) / len(K) * sum(max(0.0, 1.0 / r - margin) ** 2 for margin in K @ w)


def dual_point(K, w, r):
    """d of equation (12), the derivative with respect to -Kw."""
    return np.array([2 * r**2 / len(K) * max(0.0, 1.0 / r - margin) for margin in K @ w])


def edges(K, d):
    """d^T K, column after column: equal columns get equal sums."""
    return np.array([np.sum(d * K[:, j]) for j in range(K.shape[1])])


def exact_step(a, kb):
    """The smallest mu in [0, 1] that minimises sum max(0, a - mu kb)^2, equation (20).

    The function is convex and quadratic between neighbouring points where a term vanishes. The minimiser is in the
    first such interval at whose end the slope is not negative.
    """
    points = [0.0, 1.0]
    for i in range(len(a)):
        if kb[i] != 0.0 and 0.0 < a[i] / kb[i] < 1.0:
            points.append(a[i] / kb[i])
    points.sort()
    for low, high in itertools.pairwise(points):
        slope = -2 * sum(max(0.0, a[i] - high * kb[i]) * kb[i] for i in range(len(a)))
        if slope >= 0.0:
            middle = (low + high) / 2
            active = [i for i in range(len(a)) if a[i] - middle * kb[i] > 0.0]
            square = sum(kb[i] ** 2 for i in active)
            if square == 0.0:
                return low
            return min(max(sum(a[i] * kb[i] for i in active) / square, low), high)
    return 1.0


def closed_form_step(d, kb, r):
    """min(max(p <d, Kb> / (2 r^2 |Kb|^2), 0), 1): the maximiser of the lower bound (28) on the increase of D."""
    square = sum(kb**2)
    if square == 0.0:
        return 0.0
    return min(max(len(d) * sum(d * kb) / (2 * r**2 * square), 0.0), 1.0)


def fenchel_rank(X, y, query_ptr, radius, epsilon, max_iter, step="exact"):
    """Algorithm 1. Returns w in original units, the steps taken and what was seen before, between and after them.

    feature, sign, mu: one entry per step. gap, D: one per model, the first and the last included; the paper stops
    when a gap is at most epsilon, and without another look after max_iter steps.
    The largest |d^T K|: ties to the smallest index. sign(0) = +1.
    """
    K = pair_rows(X, y, query_ptr)
    r = radius
    w = np.zeros(X.shape[1])
    out = {"feature": [], "sign": [], "mu": [], "gap": [], "D": []}
    while True:
        d = dual_point(K, w, r)
        g = edges(K, d)
        out["gap"].append(float(max(abs(g)) - d @ (K @ w)))
        out["D"].append(float(dual_objective(K, w, r)))
        if out["gap"][-1] <= epsilon or len(out["mu"]) == max_iter:
            break
        j = int(np.argmax(abs(g)))
        sign = 1 if g[j] >= 0 else -1
        b = -w
        b[j] += sign
        mu = {"exact": exact_step(1.0 / r - K @ w, K @ b), "closed_form": closed_form_step(d, K @ b, r)}[step]
        w = w + mu * b
        out["feature"].append(j)
        out["sign"].append(sign)
        out["mu"].append(float(mu))
    return {"w": r * w, **out}
