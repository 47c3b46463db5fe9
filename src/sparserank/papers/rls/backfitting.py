"""Sparse back-fitting: greedy selection for wide sparse data, with memory proportional to the non-zeros."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.papers.rls._kernels import candidate_errors
from sparserank.papers.rls.centring import (
    centre_rows,
    centred_relevance,
    determined,
    held_out_blocks,
    refuse_without_preference,
    row_scale,
    varying_features,
)
from sparserank.papers.rls.greedy import Candidates, GreedyStep, best_candidate
from sparserank.papers.rls.leave_query_out import without_query


def backfitting_search(
    data: RankingDataset,
    lam: float,
    k: int,
    *,
    query_weight: np.ndarray | None = None,
    candidates: Candidates | None = None,
) -> list[GreedyStep]:
    """Greedy selection in which a candidate is scored with the other coefficients fixed.

    A candidate's score is the leave-query-out error after fitting its coefficient alone (ridge, lam) to the current
    residual, in O(its non-zeros). The best is added and all selected coefficients are refitted. The error stored with
    each step is the exact leave-query-out error of the refitted model. With a single query, documents are left out.

    Memory
        The non-zeros twice, plus n_docs times k.
    Source
        Pahikkala et al. (2010), Section 5, name back-fitting without defining it; this definition is ours.
    """
    refuse_without_preference(data, query_weight)
    scale = row_scale(data, query_weight)
    y = centred_relevance(data, scale)
    X = sp.csc_matrix(data.X, dtype=np.float64)
    X.sort_indices()
    ptr = held_out_blocks(data)
    lengths = data.sizes.astype(np.float64)
    if data.n_queries == 1:  # documents are left out: blocks of one row, which must not be centred again
        X = sp.csc_matrix(centre_rows(X.toarray(), data.query_ptr))
        lengths = np.full(data.n_docs, np.inf)
    query_of = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    weight = scale[ptr[:-1]] ** 2
    remaining = np.flatnonzero(varying_features(data, query_weight))
    k = min(k, len(remaining))
    selected: list[int] = []
    chosen = np.empty((data.n_docs, k), order="F")
    residual = y
    steps: list[GreedyStep] = []
    while len(selected) < k:
        allowed = remaining if candidates is None else np.sort(candidates(remaining))
        with np.errstate(divide="ignore", invalid="ignore"):
            r = np.where(scale > 0, residual / scale, 0.0)
        errors = np.empty(len(allowed))
        candidate_errors(X.data, X.indices, X.indptr, allowed, query_of, lengths, weight, r, lam, errors)
        errors += float(residual @ residual)
        b = int(allowed[best_candidate(errors, np.arange(len(allowed)), None, lam)])
        chosen[:, len(selected)] = centre_rows(X[:, [b]].toarray().ravel(), data.query_ptr) * scale
        selected.append(b)
        remaining = remaining[remaining != b]
        S = chosen[:, : len(selected)]
        eigenvalues, V = np.linalg.eigh(S.T @ S)
        Z = S @ V
        diagonal = np.maximum(eigenvalues, 0.0) + lam
        v = (Z.T @ y) / diagonal
        residual = y - Z @ v
        with determined(lam):
            held_out = [without_query(Z[lo:hi], diagonal, residual[lo:hi]) for lo, hi in pairwise(ptr)]
        coef = np.zeros(data.n_features)
        coef[selected] = V @ v
        steps.append(GreedyStep(tuple(selected), coef, float(sum(h @ h for h in held_out))))
    return steps
