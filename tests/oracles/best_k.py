"""The best set of k features by trying all of them, on explicit pairs, or for ridge: nothing from the package."""

import itertools
from itertools import combinations

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


def explained(G: np.ndarray, b: np.ndarray, lam: float, S: tuple[int, ...]) -> float:
    """b_S^T (G_SS + lam I)^-1 b_S: by how much the regularised squared error falls with the features S."""
    i = list(S)
    return float(b[i] @ np.linalg.solve(G[np.ix_(i, i)] + lam * np.eye(len(i)), b[i]))


def all_subsets(G: np.ndarray, b: np.ndarray, lam: float, k: int) -> list[tuple[float, tuple[int, ...]]]:
    """(explained, S) of every set of k features, best first."""
    found = [(explained(G, b, lam, S), S) for S in combinations(range(len(b)), k)]
    return sorted(found, key=lambda f: -f[0])


def greedy(G: np.ndarray, b: np.ndarray, lam: float, k: int) -> tuple[int, ...]:
    """Forward selection by the same criterion: the variant that need not be best."""
    S: tuple[int, ...] = ()
    while len(S) < k:
        S = max(((*S, j) for j in range(len(b)) if j not in S), key=lambda T: explained(G, b, lam, T))
    return S
