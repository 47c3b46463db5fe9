"""Greedy selection as a wrapper: RankRLS and its exact leave-query-out error anew for every candidate, three ways.

shortcut, library   `sparserank.leave_query_out` on the columns, as a user would write it: a solve per query, in a loop
shortcut, batched   one k x k inverse per candidate, the solves of all queries of about the same length in one call of
                    LAPACK
kept Grams          X_q^T X_q of every query formed once; a candidate costs a k x k solve per query and sees no document
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.competitors.base import TIME_LIMIT_S

if TYPE_CHECKING:
    from sparserank import RankingDataset
    from sparserank.papers.rls.centring import CentredData

Error = Callable[[list[int]], float]  # of the model on these columns


@dataclass(frozen=True)
class RefittedRls:
    way: str

    def search(
        self, data: RankingDataset, centred: CentredData, lam: float, k: int, progress: Callable[[int, int], None]
    ) -> tuple[list[int], list[float]]:
        """Features in order of selection and the error after each; fewer than k when the time limit ends the search."""
        error = WAYS[self.way](data, centred, lam)
        remaining = [int(j) for j in np.flatnonzero(centred.varying)]
        selected: list[int] = []
        errors: list[float] = []
        deadline = time.perf_counter() + TIME_LIMIT_S
        while len(selected) < k and time.perf_counter() < deadline:
            candidates = [error([*selected, j]) for j in remaining]
            best = int(np.argmin(candidates))
            selected.append(remaining.pop(best))
            errors.append(candidates[best])
            progress(len(selected), k)
        return selected, errors


def _library(data: RankingDataset, centred: CentredData, lam: float) -> Error:
    from sparserank import RankingDataset
    from sparserank.papers import leave_query_out

    def error(columns: list[int]) -> float:
        part = RankingDataset(data.X[:, columns], data.relevance, data.qid)
        return float(leave_query_out(part, [lam]).errors[0])

    return error


def _batched(data: RankingDataset, centred: CentredData, lam: float) -> Error:
    """Queries are filled up with rows of zeros to the longest of their group, which changes no sum."""
    ptr, lengths = centred.query_ptr, np.diff(centred.query_ptr)
    X = np.vstack([centred.X, np.zeros(centred.X.shape[1])])
    by_feature, y = np.ascontiguousarray(X.T), np.append(centred.y, 0.0)
    power = np.ceil(np.log2(lengths))
    groups = []
    for p in np.unique(power):
        members = np.flatnonzero(power == p)
        place = np.arange(lengths[members].max())
        rows = ptr[members][:, None] + place
        groups.append(np.where(place < lengths[members][:, None], rows, len(y) - 1))

    def error(columns: list[int]) -> float:
        X = by_feature[columns].T
        A = X.T @ X + lam * np.eye(len(columns))
        inverse = np.linalg.inv(A)
        e = y - X @ (inverse @ (X.T @ y))
        X, total = np.ascontiguousarray(X), 0.0
        for rows in groups:
            Z, e_q = X[rows], e[rows][..., None]
            Zt = Z.transpose(0, 2, 1)
            if rows.shape[1] <= len(columns):
                r = np.linalg.solve(np.eye(rows.shape[1]) - (Z @ inverse) @ Zt, e_q)
            else:
                r = e_q + Z @ np.linalg.solve(A - Zt @ Z, Zt @ e_q)
            total += float(np.vdot(r, r))
        return total

    return error


def _kept_grams(data: RankingDataset, centred: CentredData, lam: float) -> Error:
    X, y = centred.X, centred.y
    grams = np.array([X[lo:hi].T @ X[lo:hi] for lo, hi in pairwise(centred.query_ptr)])
    moments = np.array([X[lo:hi].T @ y[lo:hi] for lo, hi in pairwise(centred.query_ptr)])
    gram, others, yy = grams.sum(axis=0), moments.sum(axis=0) - moments, float(y @ y)

    def error(columns: list[int]) -> float:
        S = grams[:, columns][:, :, columns]
        A = gram[np.ix_(columns, columns)] + lam * np.eye(len(columns))
        w = np.linalg.solve(A - S, others[:, columns, None])
        return yy + float(np.vdot(w, S @ w - 2.0 * moments[:, columns, None]))

    return error


WAYS: dict[str, Callable[[RankingDataset, CentredData, float], Error]] = {
    "shortcut, library": _library,
    "shortcut, batched": _batched,
    "kept Grams": _kept_grams,
}
