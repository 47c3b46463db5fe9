"""Objective, KKT violation and dual bound of a ranking model, on explicit pairs in extended precision; nothing from the
package.

numpy.longdouble reaches 1e4932 where it has 80 bits, so squares of any float64 are numbers here.
"""

import numpy as np

LONG = np.longdouble
WIDE = np.finfo(LONG).maxexp > 10_000  # False on machines whose longdouble is float64
UNIT = LONG(2.0**-53)  # relative error of one operation on float64


class Problem:
    """sum_p v_p phi((x_i - x_j).w) over the preferred pairs p = (i, j); phi the squared hinge or the modified Huber."""

    def __init__(self, X, relevance, qid, query_weight=None, loss="squared_hinge"):
        X, relevance, qid = np.asarray(X, dtype=LONG), np.asarray(relevance), np.asarray(qid)
        self.n_docs = len(X)
        first, second, weight = [], [], []
        for k, q in enumerate(dict.fromkeys(qid.tolist())):
            rows = np.flatnonzero(qid == q)
            i, j = np.nonzero(relevance[rows][:, None] > relevance[rows][None, :])
            first.append(rows[i])
            second.append(rows[j])
            weight.append(np.full(len(i), 1.0 if query_weight is None else query_weight[k], dtype=LONG))
        v = np.concatenate(weight)
        self.v = v / v.sum()
        self.pairs = np.concatenate(first), np.concatenate(second)
        self.D = X[self.pairs[0]] - X[self.pairs[1]]
        self.size = np.abs(X[self.pairs[0]]) + np.abs(X[self.pairs[1]])
        self.steepest = {"squared_hinge": LONG("inf"), "modified_huber": LONG(4)}[loss]

    def margins(self, w):
        return self.D @ np.asarray(w, dtype=LONG)

    def loss(self, w):
        return self.loss_of(self.margins(w))

    def loss_of(self, margins):
        """A line with the steepest slope continues the square from where its slope is that."""
        h = np.maximum(1 - margins, 0)
        bent = np.minimum(h, self.steepest / 2)
        line = np.where(h > bent, self.steepest, 0) * (h - bent) if np.isfinite(self.steepest) else 0
        return (self.v * (bent**2 + line)).sum()

    def slopes(self, margins):
        """(n_pairs,) v phi'(margin)"""
        return -self.v * np.minimum(2 * np.maximum(1 - margins, 0), self.steepest)

    def multipliers(self, w):
        """(n_pairs,) -v phi'(margin): the dual point that belongs to w."""
        return -self.slopes(self.margins(w))

    def gradient(self, w):
        return -self.multipliers(w) @ self.D

    def margin_rounding(self, w):
        """(n_pairs,) how far off margins of float64 scores may be: a score is a sum of d products, in any order, with
        or without fused operations.

        Higham (2002), Accuracy and Stability of Numerical Algorithms, (3.5): |error of x.w| <= gamma_d |x|.|w|,
        gamma_d = d u / (1 - d u).
        """
        w = np.abs(np.asarray(w, dtype=LONG))
        return (len(w) + 1) * UNIT * (self.size @ w)

    def loss_rounding(self, w):
        """How far off a loss of float64 scores may be: its slope times the error of each margin,
        and half its curvature (2) times the square."""
        margin = self.margin_rounding(w)
        return (self.multipliers(w) * margin + self.v * margin**2).sum()

    def gradient_rounding(self, w):
        """How far off a coordinate of a float64 gradient may be, where the feature varies: each slope by the curvature
        times the error of its margin, and the sum over documents by its own rounding."""
        slope = 2 * self.v * self.margin_rounding(w)
        summed = (self.n_docs + 2) * UNIT * ((self.multipliers(w) + slope) @ self.size)
        return ((slope @ np.abs(self.D) + summed)[self.curvature() > 0]).max(initial=LONG(0))

    def curvature(self):
        """(d,) largest curvature along each coordinate."""
        return 2 * self.v @ self.D**2

    def dual(self, theta, alpha, alpha2=0):
        """Value of the dual at theta >= 0; -inf where theta is not feasible: beyond the steepest slope, or for l1."""
        if (theta > self.steepest * self.v * (1 + LONG(1e-12))).any():
            return -LONG("inf")
        pull = np.maximum(np.abs(theta @ self.D) - alpha, 0)
        if alpha2 == 0:
            penalty = 0 if (pull <= 1e-12 * alpha).all() else LONG("inf")
        else:
            penalty = (pull**2).sum() / (2 * LONG(alpha2))
        return theta.sum() - (theta**2 / (4 * self.v)).sum() - penalty


def value_and_slope(kind, t, alpha, a, b):
    """Penalty of t >= 0 and its derivative, right limit at 0, each (d,)."""
    t = np.asarray(t, dtype=LONG)
    alpha, a, b = LONG(alpha), LONG(a), LONG(b)
    if kind == "l1":
        return alpha * t, alpha + 0 * t
    if kind == "elastic_net":  # a: l1_ratio
        return alpha * (a * t + (1 - a) * t**2 / 2), alpha * (a + (1 - a) * t)
    if kind == "ridge":
        return alpha * t**2 / 2, alpha * t
    if kind == "log":  # a: eps
        return alpha * np.log1p(t / a), alpha / (a + t)
    if kind == "lp":  # a: p
        with np.errstate(divide="ignore"):
            return alpha * t**a, alpha * a * t ** (a - 1)
    if kind == "smoothed_lp":  # a: p, b: eps
        return alpha * b**a * np.expm1(a * np.log1p(t / b)), alpha * a * (t + b) ** (a - 1)
    if kind == "mcp":  # a: gamma
        value = np.where(t <= a * alpha, alpha * t - t**2 / (2 * a), a * alpha**2 / 2)
        return value, np.maximum(alpha - t / a, 0)
    if kind == "scad":  # a: a, b: threshold scale
        s1, s2 = b * alpha, a * b * alpha
        slope = np.where(t <= s1, alpha, np.maximum(s2 - t, 0) / ((a - 1) * b))
        steps = np.minimum(t, s1) * alpha
        middle = ((s2 - s1) ** 2 - np.maximum(s2 - np.clip(t, s1, s2), 0) ** 2) / (2 * (a - 1) * b)
        return steps + middle, slope
    raise ValueError(kind)


def violation(problem, w, kind, alpha, a, b):
    """Largest distance of -gradient to the subdifferential; for lp at 0,
    of the coordinate's half-thresholding (p = 1/2)."""
    w = np.asarray(w, dtype=LONG)
    g = problem.gradient(w)
    _, slope = value_and_slope(kind, np.abs(w), alpha, a, b)
    distance = np.where(w != 0, np.abs(g + np.sign(w) * np.where(w != 0, slope, 0)), np.maximum(np.abs(g) - slope, 0))
    varies = problem.curvature() > 0
    if kind == "lp":
        h = np.where(varies, problem.curvature(), 1)
        jumps = np.abs(g / h) > LONG(1.5) * (alpha / h) ** (LONG(2) / 3)
        distance = np.where(w != 0, distance, np.where(jumps, np.abs(g), 0))
    return distance[varies].max(initial=LONG(0))
