"""Sparse back-fitting: greedy selection for wide sparse data, with memory proportional to the non-zeros."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.rls._backfitting_kernels import candidate_errors
from sparserank.rls.centring import centre_rows, refuse_without_preference, row_scale, varying_features
from sparserank.rls.greedy import Candidates, GreedyStep
from sparserank.rls.leave_query_out import without_query


def backfitting_search(
    data: RankingDataset,
    lam: float,
    k: int,
    *,
    query_weight: np.ndarray | None = None,
    candidates: Candidates | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[GreedyStep]:
    """Greedy selection in which a candidate is judged with the other coefficients held fixed.

    A candidate's score is the leave-query-out error after fitting its coefficient alone (ridge, lam) to the current
    residual: O(its non-zeros). The best is added and all selected coefficients are refitted. The error kept with
    each step is the exact leave-query-out error of the refitted model.

    Memory
        The non-zeros twice, plus n_docs times k.
    Source
        Pahikkala et al. (2010), Section 5, name back-fitting without defining it; this definition is ours.
    """
    scale = row_scale(data, query_weight)
    ptr = data.query_ptr
    y = centre_rows(data.relevance.astype(np.float64), ptr) * scale
    refuse_without_preference(y)
    X = sp.csc_matrix(data.X, dtype=np.float64)
    X.sort_indices()
    lengths = np.diff(ptr).astype(np.float64)
    query_of = np.repeat(np.arange(data.n_queries), np.diff(ptr))
    weight = scale[ptr[:-1]] ** 2
    remaining = np.flatnonzero(varying_features(data, query_weight))
    k = min(k, len(remaining))
    selected: list[int] = []
    chosen = np.empty((data.n_docs, k), order="F")
    residual = y
    steps: list[GreedyStep] = []
    while len(selected) < k:
        allowed = remaining if candidates is None else candidates(remaining)
        change = np.empty(len(allowed))
        with np.errstate(divide="ignore", invalid="ignore"):
            r = np.where(scale > 0, residual / scale, 0.0)
        candidate_errors(X.data, X.indices, X.indptr, allowed, query_of, lengths, weight, r, lam, change)
        b = int(allowed[np.argmin(change)])
        chosen[:, len(selected)] = centre_rows(X[:, [b]].toarray().ravel(), ptr) * scale
        selected.append(b)
        remaining = remaining[remaining != b]
        S = chosen[:, : len(selected)]
        eigenvalues, V = np.linalg.eigh(S.T @ S)
        Z, diagonal = S @ V, np.maximum(eigenvalues, 0.0) + lam
        v = (Z.T @ y) / diagonal
        residual = y - Z @ v
        held_out = [without_query(Z[lo:hi], diagonal, residual[lo:hi]) for lo, hi in pairwise(ptr)]
        coef = np.zeros(data.n_features)
        coef[selected] = V @ v
        steps.append(GreedyStep(tuple(selected), coef, float(sum(h @ h for h in held_out))))
        if progress is not None:
            progress(len(selected), k)
    return steps
