"""Second moments of the differences of features over preferred pairs, pair-free."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank._pair_norm_kernels import dense_pair_norms
from sparserank._pass_kernels import ListFacts
from sparserank.execution import BlockExecutor


def pair_norms(
    X: Any, facts: ListFacts, blocks: np.ndarray, executor: BlockExecutor
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sum over pairs of v_p (x_ij - x_jj)^2, largest |deviation| within a query, largest |value| around which), each
    (n_features,); X (n_docs, n_features) dense or CSR, blocks of queries as in `split_queries`."""
    d = X.shape[1]
    if not sp.issparse(X):

        def block(b: int) -> np.ndarray:
            part = np.zeros((3, d))
            dense_pair_norms(X, facts, blocks[b], blocks[b + 1], *part)
            return part

        parts = np.array(executor.map(block, len(blocks) - 1))
        return parts[:, 0].sum(axis=0), parts[:, 1].max(axis=0), parts[:, 2].max(axis=0)
    norms, largest, offset = np.zeros((3, d))
    for q in range(len(facts.query_scale)):
        lo, hi = facts.query_ptr[q], facts.query_ptr[q + 1]
        columns = np.unique(X.indices[X.indptr[lo] : X.indptr[hi]])
        local = np.zeros((3, len(columns)))
        alone = ListFacts(
            _read_only(np.array([0, hi - lo])), facts.levels[lo:hi], facts.n_levels[q : q + 1], facts.table,
            None if facts.doc_weight is None else facts.doc_weight[lo:hi], facts.query_scale[q : q + 1],
        )  # fmt: skip
        dense_pair_norms(_read_only(X[lo:hi][:, columns].toarray()), alone, 0, 1, *local)
        norms[columns] += local[0]
        largest[columns] = np.maximum(largest[columns], local[1])
        offset[columns] = np.maximum(offset[columns], local[2])
    return norms, largest, offset


def _read_only(array: np.ndarray) -> np.ndarray:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
