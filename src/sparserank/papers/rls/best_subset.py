"""The best set of k features for RankRLS by branch and bound on the Gram matrix, with a proof or the remaining gap
(theory.md section 5, The best set of k features)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sparserank.errors import DataError
from sparserank.papers.rls import _best_subset_kernels as kernels
from sparserank.papers.rls.centring import CentredData, determined
from sparserank.papers.rls.greedy import GreedyStep

NODES_AT_ONCE = 2000  # nodes visited between checks of the time limit
MAX_TIES = 1000
ROUNDING = 1e-12  # relative: bounds closer than this are equal
MAX_FEATURES = 1000  # largest Gram matrix: the stack contains one (d, d) matrix per feature


@dataclass(frozen=True)
class BestSubset:
    """A set of at most k features, with what has been proved about it.

    features    sorted, 0-based
    explained   b_S^T (G_SS + lam I)^-1 b_S: the decrease of the regularised squared error y^T y
    bound       no set of k features explains more
    near_ties   (explained, features) of every set within the requested tie, best first; complete if `proven`
    n_nodes, time_s   of the search
    """

    features: tuple[int, ...]
    explained: float
    bound: float
    near_ties: tuple[tuple[float, tuple[int, ...]], ...]
    n_nodes: int
    time_s: float

    @property
    def gap(self) -> float:
        """Upper bound on what a better set could explain in addition; 0 if the set is proved to be the best."""
        return max(self.bound - self.explained, 0.0)

    @property
    def proven(self) -> bool:
        return self.gap == 0.0


def best_subset(
    G: np.ndarray,
    b: np.ndarray,
    k: int,
    lam: float,
    *,
    tie: float = 0.0,
    time_limit: float = 60.0,
    starts: Sequence[Sequence[int]] = (),
    progress: Callable[[float, float], None] | None = None,
) -> BestSubset:
    """Maximise b_S^T (G_SS + lam I)^-1 b_S over sets S of k features.

    Parameters
        G, b        (d, d) Gram and (d,) moments of centred columns
        tie         also list every set that explains at most this much less than the best (at most 1,000 of them)
        time_limit  seconds; at the limit, the bound shows what is not yet proved
        starts      initial sets, in addition to a greedy one
        progress    called with (explained, bound) from time to time
    Raises
        DataError   k or lam out of range, more than 1,000 features
    Notes
        At a node with I in and F free, t = |F| - k + |I| features must be removed. The explained value decreases by at
        least the t-th smallest of w_j^2 / (A^-1)_jj over F, with A = G + lam I on I and F, and w = A^-1 b. For any w,
        it is at most w^T G w + (sum over I of r_j^2 + the k - |I| largest r_j^2 of F) / lam, with r = b - G w.
        Together, the bounds are good for small and for large lam.
    """
    began = time.perf_counter()
    d = len(b)
    if not (1 <= k <= d and lam > 0 and d <= MAX_FEATURES):
        raise DataError(
            f"best_subset needs 1 <= k <= {d} features, at most {MAX_FEATURES}, and lam > 0; got {k} and {lam}."
        )
    A = np.ascontiguousarray(G + lam * np.eye(d))
    b = np.ascontiguousarray(b, dtype=np.float64)
    # Start from the best of the given sets and a greedy one, each improved by exchanges.
    best, best_set = -np.inf, np.full(d, -1, dtype=np.int64)
    for start in [*starts, _forward(A, b, k)]:
        value, better = _swapped(A, b, np.array(sorted(start), dtype=np.int64))
        if value > best:
            best = value
            best_set[: len(better)] = better
    # The stack begins with the root: all features FREE.
    slack = max(tie, ROUNDING * abs(best))
    depth = d + 2
    stack = (
        np.zeros((depth, d), dtype=np.int8),
        np.zeros((depth, d, d)),
        np.full(depth, np.inf),
        np.full(depth, -1, dtype=np.int64),
        np.zeros((depth, d)),
    )
    stack[1][0] = np.linalg.inv(A)
    ties, tie_values, n_ties = np.zeros((MAX_TIES, k), dtype=np.int64), np.zeros(MAX_TIES), 0
    top, n_nodes = 1, 0
    # Search in portions, so that the time limit is checked and progress is reported.
    while top > 0 and time.perf_counter() - began < time_limit:
        top, best, n_ties, visited = kernels.search(
            A, b, lam, k, slack, best, best_set, *stack, top, NODES_AT_ONCE, ties, tie_values, n_ties
        )
        n_nodes += visited
        if progress is not None:
            progress(best, _open(stack, top, best))
    # The bounds of the unsearched nodes bound every set; the maximum equals `best` if no node is left.
    bound = _open(stack, top, best)
    chosen = tuple(sorted(best_set[best_set >= 0].tolist()))
    # Keep the recorded sets that are within the tie of the final best.
    near = {tuple(ties[i].tolist()): float(tie_values[i]) for i in range(n_ties) if tie_values[i] >= best - tie}
    near[chosen] = float(best)
    listed = sorted(((value, S) for S, value in near.items()), key=lambda f: (-f[0], f[1]))
    return BestSubset(
        chosen,
        float(best),
        bound if bound > best + slack - tie else float(best),
        tuple(listed) if tie > 0 else (),
        n_nodes,
        time.perf_counter() - began,
    )


def _open(stack: tuple[np.ndarray, ...], top: int, best: float) -> float:
    """The largest bound of the nodes still on the stack, at least `best`."""
    return max(float(stack[2][:top].max()) if top else best, best)


def _forward(A: np.ndarray, b: np.ndarray, k: int) -> list[int]:
    """Greedy forward selection: add the feature that explains most, k times."""
    chosen: list[int] = []
    while len(chosen) < k:
        members = np.array([*chosen, 0], dtype=np.int64)

        def with_it(j: int, members: np.ndarray = members) -> float:
            members[-1] = j
            return float(kernels.explained_by(A, b, members, len(members))[0])

        chosen.append(max((j for j in range(len(b)) if j not in chosen), key=with_it))
    return chosen


def _swapped(A: np.ndarray, b: np.ndarray, members: np.ndarray) -> tuple[float, np.ndarray]:
    """(explained, set) after exchanging single features as long as that explains more."""
    value = float(kernels.explained_by(A, b, members, len(members))[0])
    improved = True
    while improved:
        improved = False
        for i in range(len(members)):
            for j in range(len(b)):
                if j in members:
                    continue
                trial = members.copy()
                trial[i] = j
                other = float(kernels.explained_by(A, b, trial, len(trial))[0])
                if other > value * (1.0 + ROUNDING):
                    value, members, improved = other, trial, True
    return value, members


def exact_search(
    data: CentredData, lam: float, k: int, *, time_limit: float, tie: float = 0.0
) -> tuple[list[BestSubset], list[GreedyStep]]:
    """(sets with what is proved about them, models) for 1, ..., k features, or fewer if fewer vary. Each size gets the
    remaining time, divided by the number of remaining sizes.

    Raises
        DataError   lam is too small for the data
    """
    began = time.perf_counter()
    columns = np.flatnonzero(data.varying)
    X = data.X[:, columns]
    G, b = X.T @ X, X.T @ data.y
    subsets: list[BestSubset] = []
    steps: list[GreedyStep] = []
    sizes = range(1, min(k, len(columns)) + 1)
    for n in sizes:
        # The remaining time is divided equally among the remaining sizes; the best
        # smaller set plus one feature is a start.
        left = max(time_limit - (time.perf_counter() - began), 0.0) / (len(sizes) - n + 1)
        starts = [] if not subsets else [_grown(subsets[-1].features, len(columns))]
        found = best_subset(G, b, n, lam, tie=tie, time_limit=left, starts=starts)
        subsets.append(found)
        steps.append(model_of(data, columns[list(found.features)], lam))
    # Translate positions among the varying columns back to features.
    named = [
        replace(
            s,
            features=tuple(columns[list(s.features)].tolist()),
            near_ties=tuple((value, tuple(columns[list(S)].tolist())) for value, S in s.near_ties),
        )
        for s in subsets
    ]
    return named, steps


def _grown(features: tuple[int, ...], d: int) -> list[int]:
    """The set plus the first feature that it lacks; the search improves it by exchanges."""
    return [*features, next(j for j in range(d) if j not in features)]


def model_of(data: CentredData, features: np.ndarray, lam: float) -> GreedyStep:
    """RankRLS on some features, with its exact leave-query-out error: a fit without each query in turn, from (A - X_q^T
    X_q) w_- = X^T y - X_q^T y_q (theory.md section 5)."""
    X = data.X[:, features]
    A, moments = X.T @ X + lam * np.eye(len(features)), X.T @ data.y
    error = 0.0
    with determined(lam):
        for lo, hi in pairwise(data.query_ptr):
            own, y = X[lo:hi], data.y[lo:hi]
            w = np.linalg.solve(A - own.T @ own, moments - own.T @ y)
            error += float(((y - own @ w) ** 2).sum())
        coef = np.zeros(data.X.shape[1])
        coef[features] = np.linalg.solve(A, moments)
    return GreedyStep(tuple(features.tolist()), coef, error)
