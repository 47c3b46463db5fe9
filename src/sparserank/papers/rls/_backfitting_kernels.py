"""Back-fitting scores of sparse candidates."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from sparserank._kernel_cache import kernel


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
