"""The best subset of features for ridge regression by looking at every one. Imports nothing from the package."""

from itertools import combinations

import numpy as np


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
