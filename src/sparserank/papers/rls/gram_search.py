"""Forward and floating selection from the d x d Grams of the queries: for long lists of few features."""

from __future__ import annotations

import numpy as np

from sparserank.papers.rls.centring import CentredData, determined
from sparserank.papers.rls.greedy import Candidates, GreedyStep, best_candidate


class GramSearch:
    """RankRLS on a growing set S of features, with its leave-query-out error for S and for S plus any one feature.

    Conventions
        S_q = X_q^T X_q of the centred rows, A = sum S_q + lam I, b = X^T y. Row i of Z_q completes feature i to the
        direction in which it enters the model fitted without query q: z_i (A - S_q) vanishes on S. Adding i then moves
        that model by beta_i z_i, beta_i = z_i.(b - b_q) / R_ii, and its squared error on q by 2 beta_i eta_i + beta_i^2
        D_ii with
            R = Z (A - S_q) Z^T, D = Z S_q Z^T, eta_i = z_i.(S_q w_q - b_q).
        Adding a feature is one Gaussian elimination step per query: O(d^2), for any list length.
    Memory
        About 5 n_queries d^2 float64 at the peak.
    """

    def __init__(self, data: CentredData, lam: float) -> None:
        self.columns = np.flatnonzero(data.varying)
        self.lam = lam
        self.n_features = len(data.varying)
        X = data.X[:, self.columns]
        bounds = list(zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True))
        self._grams = np.array([X[lo:hi].T @ X[lo:hi] for lo, hi in bounds])
        self._moments = np.array([X[lo:hi].T @ data.y[lo:hi] for lo, hi in bounds])
        self._A = self._grams.sum(axis=0) + lam * np.eye(len(self.columns))
        self._b = self._moments.sum(axis=0)
        self._yy = float(data.y @ data.y)
        self.restart()

    def restart(self) -> None:
        """Reset to the empty set."""
        self.features: list[int] = []  # positions in `columns`, in order of selection
        self.error = self._yy
        self._R = self._A - self._grams
        self._D = self._grams.copy()
        self._rho = self._b - self._moments
        self._eta = -self._moments.copy()

    def errors_with(self) -> np.ndarray:
        """(n candidates,) leave-query-out error after adding each varying feature; inf for selected ones."""
        pivots = np.einsum("qii->qi", self._R)
        # Error + 2 beta_i eta_i + beta_i^2 D_ii, summed over queries, with beta_i = rho_i / R_ii.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            beta = self._rho / pivots
            errors = self.error + (beta * (2.0 * self._eta + beta * np.einsum("qii->qi", self._D))).sum(axis=0)
        errors[self.features] = np.inf
        return errors

    def add(self, b: int) -> None:
        """Add the feature at position b of `columns`."""
        # Elimination: z_i becomes z_i - tau_i z_b, so that it vanishes on b too (beta moves the model along z_b).
        pivot = self._R[:, b, b]
        tau = self._R[:, :, b] / pivot[:, None]
        tau[:, self.features] = 0.0
        beta = (self._rho[:, b] / pivot)[:, None]
        to_b = self._D[:, :, b].copy()
        bb = to_b[:, b][:, None]
        self.error += float((beta * (2.0 * self._eta[:, [b]] + beta * bb)).sum())
        # eta, rho, D and R for the new z_i and the moved model.
        self._eta += beta * to_b - tau * (self._eta[:, [b]] + beta * bb)
        self._rho -= tau * self._rho[:, [b]]
        self._D -= tau[:, :, None] * to_b[:, None, :] + to_b[:, :, None] * tau[:, None, :]
        self._D += (tau * bb)[:, :, None] * tau[:, None, :]
        self._R -= tau[:, :, None] * self._R[:, None, b, :]
        self.features.append(b)

    def errors_without(self) -> np.ndarray:
        """(k,) leave-query-out error after dropping each selected feature."""
        S = self.features
        # w: the model on S without each query, from M = (A - S_q)^-1 on S (theory.md section 5).
        with determined(self.lam):
            M = np.linalg.inv((self._A - self._grams)[:, S][:, :, S])
        w = np.einsum("qij,qj->qi", M, (self._b - self._moments)[:, S])
        grams = self._grams[:, S][:, :, S]
        # Without feature j, w moves by -step_j M_j, step_j = w_j / M_jj, and the squared error on the query by
        # step_j^2 M_j.S_q M_j - 2 step_j M_j.slope, where slope = S_q w - b_q.
        slope = np.einsum("qij,qj->qi", grams, w) - self._moments[:, S]
        step = w / np.einsum("qii->qi", M)
        curvature = np.einsum("qij,qik,qkj->qj", M, grams, M)
        return np.asarray(
            self.error + (step * (step * curvature - 2.0 * np.einsum("qij,qi->qj", M, slope))).sum(axis=0)
        )

    def drop(self, position: int) -> None:
        """Drop the feature that was selected at `position`; the others are added again."""
        remaining = [f for k, f in enumerate(self.features) if k != position]
        self.restart()
        for b in remaining:
            self.add(b)

    def step(self) -> GreedyStep:
        """The current model: RankRLS on the selected features and all queries."""
        S = self.features
        coef = np.zeros(self.n_features)
        with determined(self.lam):
            coef[self.columns[S]] = np.linalg.solve(self._A[np.ix_(S, S)], self._b[S])
        return GreedyStep(tuple(int(j) for j in self.columns[S]), coef, self.error)


def prefers_grams(data: CentredData) -> bool:
    """True if the Grams of the queries need less memory than the three copies of X of the published form."""
    d = int(data.varying.sum())
    return 5 * data.n_queries * d < 3 * len(data.y)


def gram_search(
    data: CentredData,
    lam: float,
    k: int,
    *,
    floating: bool,
    candidates: Candidates | None = None,
) -> list[GreedyStep]:
    """The same models as `greedy_search`, in O(k n_queries d^2) time; or, with `floating`, those of sequential floating
    forward selection, which undoes the nesting of greedy sets.

    After each addition, the feature whose removal leaves the smallest leave-query-out error is dropped (never the one
    just added) as long as that error is below the best so far at that size. Returns the best model of each size 1..k.
    Up to the size at which the first feature is dropped, it is at least as good as greedy's; beyond, it can be worse.

    Source
        Pudil, Novovicova and Kittler (1994), doi:10.1016/0167-8655(94)90127-9, which Pahikkala et al. (2010), Section
        5, propose.
    """
    search = GramSearch(data, lam)
    k = min(k, len(search.columns))
    best: dict[int, GreedyStep] = {}

    def keep() -> None:
        size = len(search.features)
        if size not in best or search.error < best[size].leave_query_out_error:
            best[size] = search.step()

    while len(search.features) < k:
        errors = search.errors_with()
        remaining = np.setdiff1d(np.arange(len(errors)), search.features)
        search.add(best_candidate(errors, remaining, candidates, search.lam))
        keep()
        # Drop features (never the one just added) while that improves on the best model of the smaller size.
        while floating and len(search.features) > 2:
            errors = search.errors_without()[:-1]
            position = int(np.argmin(errors))
            if not errors[position] < best[len(search.features) - 1].leave_query_out_error * (1.0 - 1e-12):
                break
            search.drop(position)
            keep()
    return [best[size] for size in range(1, k + 1)]
