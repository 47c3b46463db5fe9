"""A loss evaluated at scores, query by query with its own sweeps: no objective, no features."""

import numpy as np

from sparserank.losses._sizes import WORK_ROWS


def value_and_gradient(loss, scores, relevance, query_ptr, weights=None, doc_weight=None):
    """Weighted sum of the loss over pairs and its gradient (n_docs,) with respect to the scores."""
    lv = loss.levels(relevance, query_ptr)
    sweep, _ = loss.sweeps(lv)
    gradient = np.zeros(len(scores))
    work = np.empty((WORK_ROWS, max(int(np.diff(query_ptr).max(initial=0)), len(lv.table)) + 1))
    value = 0.0
    for q in np.flatnonzero(lv.n_levels > 1):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        weight = 1.0 if weights is None else float(weights[q])
        order = np.arange(hi - lo, dtype=np.int32)
        block = gradient[lo:hi]
        of_docs = None if doc_weight is None else doc_weight[lo:hi]
        total, _ = sweep(scores[lo:hi], lv.levels[lo:hi], lv.n_levels[q], lv.table, of_docs, order, block, work)
        value += weight * total
        block *= weight
    return value, gradient


def hessian(loss, scores, relevance, query_ptr, weights=None, doc_weight=None):
    """Generalised Hessian (n_docs, n_docs) of that sum: block-diagonal by query."""
    lv = loss.levels(relevance, query_ptr)
    _, hessian_sweep = loss.sweeps(lv)
    identity, out = np.eye(len(scores)), np.zeros((len(scores), len(scores)))
    for q in np.flatnonzero(lv.n_levels > 1):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        order = np.arange(hi - lo, dtype=np.int32)
        block = out[lo:hi]
        of_docs = None if doc_weight is None else doc_weight[lo:hi]
        columns = identity[lo:hi]
        hessian_sweep(scores[lo:hi], lv.levels[lo:hi], lv.n_levels[q], lv.table, of_docs, order, columns, block)
        block *= 1.0 if weights is None else float(weights[q])
    return out
