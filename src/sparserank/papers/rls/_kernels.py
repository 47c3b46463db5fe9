"""Compiled steps of Algorithm 1 of Pahikkala et al. (2010), for all candidates at once and a block of queries; and
back-fitting scores of sparse candidates.

Compared with a slow version in tests/papers/test_greedy_rank_rls.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel


@kernel
def candidate_sums(X, C, U, a, p, y, query_ptr, first, last, XC, Cy, CU, aU, pU, UU):
    """Add X_i . C_i and C_i . y over the block to XC and Cy (n,);
    write the sums of each query to rows of CU, aU, pU, UU."""
    n = C.shape[1]
    for q in range(first, last):
        for j in range(n):
            CU[q, j] = 0.0
            aU[q, j] = 0.0
            pU[q, j] = 0.0
            UU[q, j] = 0.0
        for i in range(query_ptr[q], query_ptr[q + 1]):
            ai, pi, yi = a[i], p[i], y[i]
            for j in range(n):
                c, u = C[i, j], U[i, j]
                XC[j] += X[i, j] * c
                Cy[j] += c * yi
                CU[q, j] += c * u
                aU[q, j] += ai * u
                pU[q, j] += pi * u
                UU[q, j] += u * u


@kernel
def column_product(X, C, b, query_ptr, first, last, out):
    """out += X_b^T C over the rows of the block."""
    n = C.shape[1]
    for i in range(query_ptr[first], query_ptr[last]):
        x = X[i, b]
        for j in range(n):
            out[j] += x * C[i, j]


@kernel
def add_feature(C, U, a, p, b, c, d, t, query_ptr, first, last, shift):
    """Lines 23-28 of Algorithm 1 (line 28: C <- C - C_b t) for a block of queries; shift (n,) is scratch."""
    n = C.shape[1]
    for q in range(first, last):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        CU = 0.0
        Ua = 0.0
        for j in range(n):
            shift[j] = 0.0
        for i in range(lo, hi):
            u = U[i, b]
            CU += C[i, b] * u
            Ua += u * a[i]
            for j in range(n):
                shift[j] += u * C[i, j]
        gamma = 1.0 / (CU - 1.0 / c)
        step = d + gamma * (Ua - d * CU)
        for j in range(n):
            shift[j] = t[j] + gamma * (shift[j] - CU * t[j])
        for i in range(lo, hi):
            u, cb = U[i, b], C[i, b]
            p[i] -= step * u
            a[i] -= d * cb
            for j in range(n):
                U[i, j] -= u * shift[j]
                C[i, j] -= cb * t[j]


@kernel
def candidate_errors(data, indices, indptr, candidates, query_of, lengths, weight, r, lam, out):
    """out[c] = change of the leave-query-out error when feature candidates[c] alone is fitted to the centred residual
    r.

    Features are the columns of a CSC matrix with rows in order of query, centred implicitly; weight (n_queries,) scales
    squares. The coefficient that predicts query q is fitted on the residuals of all other queries.
    """
    n_queries = len(lengths)
    touched = np.empty(n_queries, dtype=np.int64)
    xx = np.empty(n_queries)
    xr = np.empty(n_queries)
    for c in range(len(candidates)):
        j = candidates[c]
        n_touched = 0
        k = indptr[j]
        total_xx = 0.0
        total_xr = 0.0
        while k < indptr[j + 1]:
            q = query_of[indices[k]]
            s = 0.0
            ss = 0.0
            sr = 0.0
            while k < indptr[j + 1] and query_of[indices[k]] == q:
                x = data[k]
                s += x
                ss += x * x
                sr += x * r[indices[k]]
                k += 1
            touched[n_touched] = q
            xx[n_touched] = max(weight[q] * (ss - s * s / lengths[q]), 0.0)
            xr[n_touched] = weight[q] * sr
            total_xx += xx[n_touched]
            total_xr += xr[n_touched]
            n_touched += 1
        change = 0.0
        for i in range(n_touched):
            beta = (total_xr - xr[i]) / (max(total_xx - xx[i], 0.0) + lam)
            change += beta * (beta * xx[i] - 2.0 * xr[i])
        out[c] = change
