"""FSMRank (Lai 2013, Algorithm 1) with every pair written out: nothing from the package.

    F(w) = lambda1/2 w^T A w + lambda2 sum |w_i| / s_i + f(w),    f: mean over pairs of max(0, 1 - w.(x_i - x_j))^2

split=True is equation (2): 2d nonnegative weights, features [X, -X], A2 = [[A, A], [A, A]], s2 = [s, s]. At a minimum
with A >= 0 at most one of w_i, w_(d+i) is positive, and the quadratic is |w|^T A |w|. split=False is equation (1): d
signed weights and w^T A w itself. A feature of importance 0 has an infinite price: its weight is 0.
"""

import numpy as np

from tests.oracles.pairs import pairs_of


def pearson(a, b):
    """|correlation| of two columns; 0 if one of them is constant (tested by its values, as rounding hides 0/0)."""
    if min(a) == max(a) or min(b) == max(b):
        return 0.0
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    covariance = sum((u - mean_a) * (v - mean_b) for u, v in zip(a, b, strict=True))
    variance_a, variance_b = sum((u - mean_a) ** 2 for u in a), sum((v - mean_b) ** 2 for v in b)
    return min(1.0, abs(covariance) / np.sqrt(variance_a * variance_b))


def pearson_importance(X, y):
    """s: each feature with the relevance, over all rows, queries not centred."""
    return np.array([pearson(list(X[:, j]), list(y)) for j in range(X.shape[1])])


def pearson_similarity(X):
    """A: features with each other, over all rows. The diagonal is 1 (0 for a constant feature)."""
    d = X.shape[1]
    return np.array([[pearson(list(X[:, i]), list(X[:, j])) for j in range(d)] for i in range(d)])


class Problem:
    """Equation (2) or (1): smooth part, price of each weight, and the projection step."""

    def __init__(self, X, y, query_ptr, lambda1, lambda2, importance, similarity, split):
        A, s = np.asarray(similarity, dtype=np.float64), np.asarray(importance, dtype=np.float64)
        K = np.array([X[i] - X[j] for i, j, _ in pairs_of(y, query_ptr)])
        self.K, self.A, self.s, self.nonnegative = K, A, s, split
        if split:
            self.K, self.A, self.s = np.hstack([K, -K]), np.block([[A, A], [A, A]]), np.concatenate([s, s])
        self.lambda1 = lambda1
        self.prices = np.array([lambda2 / s if s > 0.0 else np.inf for s in self.s])

    def smooth(self, w):
        loss = sum(max(0.0, 1.0 - margin) ** 2 for margin in self.K @ w) / len(self.K)
        return float(self.lambda1 / 2 * (w @ self.A @ w) + loss)

    def objective(self, w):
        priced = sum(price * abs(weight) for weight, price in zip(w, self.prices, strict=True) if weight != 0.0)
        return self.smooth(w) + float(priced)

    def gradient(self, w):
        g = self.lambda1 / 2 * (self.A + self.A.T) @ w
        for row, margin in zip(self.K, self.K @ w, strict=True):
            g = g - 2.0 / len(self.K) * max(0.0, 1.0 - margin) * row
        return g

    def beyond_the_tangent(self, w, z):
        """smooth(w) - smooth(z) - <grad smooth(z), w - z>, term by term and without cancellation."""
        value = self.lambda1 / 2 * ((w - z) @ self.A @ (w - z))
        for margin, change in zip(self.K @ z, self.K @ (w - z), strict=True):
            if margin < 1.0 and margin + change < 1.0:
                value += change**2 / len(self.K)
            elif margin < 1.0:
                value += (1.0 - margin) * (2.0 * change - (1.0 - margin)) / len(self.K)
            elif margin + change < 1.0:
                value += (1.0 - margin - change) ** 2 / len(self.K)
        return value

    def projection(self, z, g, L):
        """argmin of <g, w - z> + L/2 |w - z|^2 + lambda2 sum |w_i| / s_i, equation (3)."""
        w = np.zeros(len(z))
        for i in range(len(z)):
            target, price = L * z[i] - g[i], self.prices[i]
            if target > price:
                w[i] = (target - price) / L
            elif target < -price and not self.nonnegative:
                w[i] = (target + price) / L
        return w

    def signed(self, w):
        d = len(w) // 2
        return w[:d] - w[d:] if self.nonnegative else w


def fsm_rank(X, y, query_ptr, lambda1, lambda2, importance, similarity, max_iter=400, tol=1e-4, split=True):
    """Algorithm 1: Nesterov's method with a Lipschitz constant that starts at L0 / 2^10, doubles and never shrinks.

    L0 = (4 + 2 lambda1) d, with all d features, constant ones too. Returns the signed w (d), "objective": F(w_t) for
    t = 0, 1, ... in the space that is searched (2d if split), and "L": the L of iteration t = 1, 2, ...
    Stops when |F(w_t) - F(w_(t-1))| <= tol |F(w_(t-1))|, and returns w_t, which need not be the best seen.
    """
    problem = Problem(X, y, query_ptr, lambda1, lambda2, importance, similarity, split)
    L = (4.0 + 2.0 * lambda1) * X.shape[1] / 2.0**10
    w = np.zeros(len(problem.s))
    z, a = w, 1.0
    out = {"objective": [problem.objective(w)], "L": []}
    for _ in range(max_iter):
        g = problem.gradient(z)
        while True:
            new = problem.projection(z, g, L)
            if problem.beyond_the_tangent(new, z) <= L / 2 * np.sum((new - z) ** 2):
                break
            L = 2 * L
        out["L"].append(L)
        out["objective"].append(problem.objective(new))
        a_next = (1 + np.sqrt(1 + 4 * a**2)) / 2
        z = new + (a - 1) / a_next * (new - w)
        w, a = new, a_next
        if abs(out["objective"][-1] - out["objective"][-2]) <= tol * abs(out["objective"][-2]):
            break
    return {"w": problem.signed(w), **out}


def optimum(X, y, query_ptr, lambda1, lambda2, importance, similarity, split=True, max_iter=200_000):
    """(w, F(w)) to rounding, w signed: fixed step 1/L, momentum restarted whenever it points uphill.

    The minimum if A is positive semidefinite, otherwise only a stationary point. Raises if it does not settle.
    """
    problem = Problem(X, y, query_ptr, lambda1, lambda2, importance, similarity, split)
    K, A = problem.K, (problem.A + problem.A.T) / 2
    L = np.linalg.eigvalsh(2 / len(K) * K.T @ K)[-1] + lambda1 * np.max(np.abs(np.linalg.eigvalsh(A)))
    price = problem.prices
    w = np.zeros(len(price))
    z, a = w, 1.0
    for _ in range(max_iter):
        target = z - (lambda1 * A @ z - 2 / len(K) * K.T @ np.maximum(0.0, 1.0 - K @ z)) / L
        new = np.maximum(target - price / L, 0.0)
        if not problem.nonnegative:
            new = new - np.maximum(-target - price / L, 0.0)
        if np.max(np.abs(new - z)) <= 1e-14 * max(1.0, np.max(np.abs(new))):
            return problem.signed(new), problem.objective(new)
        if (z - new) @ (new - w) > 0:
            a = 1.0
        a_next = (1 + np.sqrt(1 + 4 * a**2)) / 2
        z = new + (a - 1) / a_next * (new - w)
        w, a = new, a_next
    raise RuntimeError("the minimiser did not settle")
