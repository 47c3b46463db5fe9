"""Groups of features, with every pair written out: loops and brute force, nothing from the package."""

import numpy as np


def value(u, feature_groups, prices):
    """sum of price * |u_G| over groups (lists of columns)."""
    paid = 0.0
    for columns, price in zip(feature_groups, prices, strict=True):
        paid += price * np.sqrt(sum(u[c] ** 2 for c in columns))
    return paid


def prox_by_search(v, feature_groups, prices, monotone=None):
    """argmin of |u - v|^2 / 2 + value(u), u of these signs: the best point of finer and finer clouds around the best so
    far."""
    rng = np.random.default_rng(0)

    def objective(u):
        return 0.5 * ((u - v) ** 2).sum() + value(u, feature_groups, prices)

    def allowed(u):
        return u if monotone is None else np.where(np.array(monotone) * u < 0, 0.0, u)

    def without(u, columns):
        u = u.copy()
        u[list(columns)] = 0.0
        return u

    best, spread = min((np.zeros(len(v)), allowed(v.copy())), key=objective), 1.0 + np.abs(v).max()
    for _ in range(80):
        trials = [best + spread * rng.standard_normal(len(v)) for _ in range(100)]
        trials += [without(best, c) for c in feature_groups]
        best = min([best, *(allowed(t) for t in trials)], key=objective)
        spread *= 0.8
    return best


def prox(v, feature_groups, prices, monotone=None):
    """The closed form, which `prox_by_search` finds by search: signs, then groups."""
    u = v.copy() if monotone is None else np.where(np.array(monotone) * v < 0, 0.0, v)
    for columns, price in zip(feature_groups, prices, strict=True):
        size = np.sqrt(sum(u[c] ** 2 for c in columns))
        for c in columns:
            u[c] *= max(1.0 - price / size, 0.0) if size > 0 else 0.0
    return u


def smallest_strength(v, feature_groups, prices, monotone=None):
    """The smallest alpha at which a gradient of v is held at 0, by bisection on the prox of -v:
    0 is stationary where the prox of -v is 0."""
    low, high = 0.0, 1e3 * (1.0 + np.abs(v).sum())
    for _ in range(100):
        middle = 0.5 * (low + high)
        held = not prox(-v, feature_groups, [middle * p for p in prices], monotone).any()
        low, high = (low, middle) if held else (middle, high)
    return high


def minimum(K, root, feature_groups, prices, monotone=None, steps=20000):
    """(objective, u) of the squared hinge over pairs (rows of K: root_p (x_i - x_j), root_p the root of the weight)
    plus prices of groups, by plain proximal gradient with restarts."""
    h = 2.0 * np.linalg.eigvalsh(K.T @ K)[-1]
    u = np.zeros(K.shape[1])
    z, momentum = u.copy(), 1.0
    for _ in range(steps):
        gradient = -2.0 * K.T @ np.maximum(root - K @ z, 0.0)
        new = prox(z - gradient / h, feature_groups, [p / h for p in prices], monotone=monotone)
        if (z - new) @ (new - u) > 0:
            momentum = 1.0
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        z, u, momentum = new + (momentum - 1.0) / grown * (new - u), new, grown
    return (np.maximum(root - K @ u, 0.0) ** 2).sum() + value(u, feature_groups, prices), u


def total_cost(features, group_of, costs):
    """Every group that a model reads, once."""
    paid = {}
    for j in features:
        paid[group_of[j]] = costs[group_of[j]]
    return sum(paid.values())


def total_cost_by_feature(features, group_of, costs):
    """A wrong variant: a group is paid for with each of its features."""
    return sum(costs[group_of[j]] for j in features)
