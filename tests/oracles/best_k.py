"""The best set of k features by trying all of them, on explicit pairs: nothing from the package."""

import itertools

import numpy as np


def ridge_minimum(K, root, ridge, columns, steps=200):
    """min over w on some columns of the mean squared hinge (rows of K: sqrt(v) times differences, root: sqrt(v)) +
    ridge |w|^2 / 2, by Newton steps."""
    Z = K[:, list(columns)]
    w = np.zeros(Z.shape[1])

    def objective(w):
        return (np.maximum(root - Z @ w, 0.0) ** 2).sum() + 0.5 * ridge * w @ w

    for _ in range(steps):
        slack = np.maximum(root - Z @ w, 0.0)
        active = Z[slack > 0]
        gradient = -2.0 * Z.T @ slack + ridge * w
        if np.abs(gradient).max() < 1e-12:
            break
        step = np.linalg.solve(2.0 * active.T @ active + ridge * np.eye(len(w)), -gradient)
        length = 1.0
        while objective(w + length * step) > objective(w) and length > 1e-10:
            length *= 0.5
        w = w + length * step
    return objective(w)


def best_of_size(K, root, ridge, k, groups):
    """(objective, features) of the best k features; groups: the columns of each."""
    found = (
        (ridge_minimum(K, root, ridge, [c for j in chosen for c in groups[j]]), chosen)
        for chosen in itertools.combinations(range(len(groups)), k)
    )
    return min(found)


def forward(K, root, ridge, k, groups):
    """A wrong variant: features are only ever added."""
    chosen = []
    for _ in range(k):
        rest = [j for j in range(len(groups)) if j not in chosen]
        best = min(rest, key=lambda j: ridge_minimum(K, root, ridge, [c for i in [*chosen, j] for c in groups[i]]))
        chosen.append(best)
    return ridge_minimum(K, root, ridge, [c for j in chosen for c in groups[j]]), tuple(chosen)
