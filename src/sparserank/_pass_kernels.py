"""Compiled passes over X: scores, the loss's sweep and X^T g while a query's rows are in cache.

Losses never see X: a factory compiles each pass around the loss's own sweep. X is dense C-ordered float32/float64 or CSR;
products are accumulated in float64 whatever the dtype of X. Reassociation (and nothing else of fast-math: NaN and
infinity survive) lets the dot product vectorise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sparserank.losses.pairwise import WORK_ROWS

sweep = hessian_sweep = dual_sweep = None  # placeholders of the templates, see bind


class ListFacts(NamedTuple):
    """What the kernels know of the lists: query_ptr (n_queries + 1,), levels (n_docs,), n_levels (n_queries,), table (K, K)
    as in RelevanceLevels, doc_weight (n_docs,) of a pair's preferred document or None, query_scale (n_queries,).

    Without document weights the kernels compile as if there were none: None is a type.
    """

    query_ptr: np.ndarray
    levels: np.ndarray
    n_levels: np.ndarray
    table: np.ndarray
    doc_weight: np.ndarray | None
    query_scale: np.ndarray


_REASSOCIATE = {"reassoc", "contract"}


@njit(cache=True, nogil=True, fastmath=_REASSOCIATE)
def _dot(row, w):
    total = 0.0
    for j in range(len(w)):
        total += row[j] * w[j]
    return total


@njit(cache=True, nogil=True)
def dense_scores(X, w, scores):
    """scores = X w; several rows at a time were measured and are slower (28 against 24 ms on 240,000 x 136)."""
    for i in range(X.shape[0]):
        scores[i] = _dot(X[i], w)


@njit(cache=True, nogil=True)
def dense_transposed(X, g, out):
    """out += X^T g, four rows at a time; rows without a gradient are skipped."""
    d = X.shape[1]
    row = np.zeros(4, dtype=np.int64)
    filled = 0
    for i in range(X.shape[0]):
        if g[i] != 0.0:
            row[filled] = i
            filled += 1
            if filled == 4:
                a, b, c, e = row[0], row[1], row[2], row[3]
                ga, gb, gc, ge = g[a], g[b], g[c], g[e]
                for j in range(d):
                    out[j] += (ga * X[a, j] + gb * X[b, j]) + (gc * X[c, j] + ge * X[e, j])
                filled = 0
    for k in range(filled):
        i = row[k]
        for j in range(d):
            out[j] += g[i] * X[i, j]


@njit(cache=True, nogil=True)
def sparse_scores(data, indices, indptr, lo, hi, w, scores):
    """scores = X[lo:hi] w for CSR."""
    for i in range(lo, hi):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * w[indices[k]]
        scores[i - lo] = total


@njit(cache=True, nogil=True)
def sparse_transposed(data, indices, indptr, lo, hi, g, out):
    """out += X[lo:hi]^T g for CSR."""
    for i in range(lo, hi):
        if g[i - lo] != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                out[indices[k]] += g[i - lo] * data[k]


@cache
def bind(template: Callable, **functions: Any) -> Callable:
    """Compile `template` with the given compiled functions in place of its placeholders.

    They go in as globals: a closure over compiled functions is never found again in Numba's disk cache, because the
    key of such a closure differs from process to process.
    """
    module = "_".join(f.__module__.rpartition(".")[2] for f in functions.values())
    bound = FunctionType(template.__code__, {**template.__globals__, **functions}, template.__name__)
    bound.__module__, bound.__qualname__ = template.__module__, f"{template.__name__}{module}"
    return njit(cache=True, nogil=True)(bound)


def make_dense_pass(sweep):
    return bind(_dense_pass, sweep=sweep)


def make_sparse_pass(sweep):
    return bind(_sparse_pass, sweep=sweep)


def make_line_pass(sweep, hessian_sweep):
    return bind(_line_pass, sweep=sweep, hessian_sweep=hessian_sweep)


def make_weighted_columns(hessian_sweep):
    return bind(_weighted_columns, hessian_sweep=hessian_sweep)


def make_dual_pass(dual_sweep):
    return bind(_dual_pass, dual_sweep=dual_sweep)


@njit(cache=True, nogil=True)
def rows_of(doc_weight, lo, hi):
    if doc_weight is None:
        return None
    return doc_weight[lo:hi]


@njit(cache=True, nogil=True)
def _scratch(longest, table):
    return np.empty((WORK_ROWS, max(longest, table.shape[0]) + 1))


def _dense_pass(X, w, facts, first, last, order, scores, gradient):
    """Scaled loss of queries first..last - 1 and the scaled sum of phi'^2 / 4; adds X^T g to `gradient`, writes `scores` (of
    queries with pairs), corrects `order`.
    """
    query_ptr, levels, n_levels, table, doc_weight, query_scale = facts
    value = square = 0.0
    longest = 0
    for q in range(first, last):
        longest = max(longest, query_ptr[q + 1] - query_ptr[q])
    buffer = np.empty(longest)
    work = _scratch(longest, table)
    for q in range(first, last):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        if n_levels[q] < 2 or query_scale[q] == 0.0:
            continue
        s = scores[lo:hi]
        dense_scores(X[lo:hi], w, s)
        g = buffer[: hi - lo]
        dw = rows_of(doc_weight, lo, hi)
        loss, squares = sweep(s, levels[lo:hi], n_levels[q], table, dw, order[lo:hi], g, work)
        value += query_scale[q] * loss
        square += query_scale[q] * squares
        for i in range(hi - lo):
            g[i] *= query_scale[q]
        dense_transposed(X[lo:hi], g, gradient)
    return value, square


def _sparse_pass(data, indices, indptr, w, facts, first, last, order, scores, gradient):
    """The same for CSR rows."""
    query_ptr, levels, n_levels, table, doc_weight, query_scale = facts
    value = square = 0.0
    longest = 0
    for q in range(first, last):
        longest = max(longest, query_ptr[q + 1] - query_ptr[q])
    buffer = np.empty(longest)
    work = _scratch(longest, table)
    for q in range(first, last):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        if n_levels[q] < 2 or query_scale[q] == 0.0:
            continue
        s = scores[lo:hi]
        sparse_scores(data, indices, indptr, lo, hi, w, s)
        g = buffer[: hi - lo]
        dw = rows_of(doc_weight, lo, hi)
        loss, squares = sweep(s, levels[lo:hi], n_levels[q], table, dw, order[lo:hi], g, work)
        value += query_scale[q] * loss
        square += query_scale[q] * squares
        for i in range(hi - lo):
            g[i] *= query_scale[q]
        sparse_transposed(data, indices, indptr, lo, hi, g, gradient)
    return value, square


def _line_pass(scores, direction, mu, facts, queries, order):
    """Scaled loss at scores + mu direction, and its first and second derivative with respect to mu."""
    query_ptr, levels, n_levels, table, doc_weight, query_scale = facts
    longest = 0
    for q in queries:
        longest = max(longest, query_ptr[q + 1] - query_ptr[q])
    moved = np.empty(longest)
    gradient = np.empty(longest)
    bent = np.empty((longest, 1))
    work = _scratch(longest, table)
    value = slope = curvature = 0.0
    for q in queries:
        lo, hi = query_ptr[q], query_ptr[q + 1]
        m = hi - lo
        t = direction[lo:hi]
        s, g, b = moved[:m], gradient[:m], bent[:m]
        for i in range(m):
            s[i] = scores[lo + i] + mu * t[i, 0]
        dw = rows_of(doc_weight, lo, hi)
        loss, _ = sweep(s, levels[lo:hi], n_levels[q], table, dw, order[lo:hi], g, work)
        value += query_scale[q] * loss
        hessian_sweep(s, levels[lo:hi], n_levels[q], table, dw, order[lo:hi], t, b)
        for i in range(m):
            slope += query_scale[q] * g[i] * t[i, 0]
            curvature += query_scale[q] * b[i, 0] * t[i, 0]
    return value, slope, curvature


def _dual_pass(s, scores, facts, queries, order):
    """Scaled sum of phi*(s phi') over the given queries."""
    query_ptr, levels, n_levels, table, doc_weight, query_scale = facts
    total = 0.0
    for q in queries:
        lo, hi = query_ptr[q], query_ptr[q + 1]
        dw = rows_of(doc_weight, lo, hi)
        total += query_scale[q] * dual_sweep(scores[lo:hi], levels[lo:hi], n_levels[q], table, dw, order[lo:hi], s)
    return total


def _weighted_columns(Z, facts, queries, scores, order, out):
    """out = W Z for the given queries whose documents fill the rows of Z in order; W includes the query scale."""
    query_ptr, levels, n_levels, table, doc_weight, query_scale = facts
    at = 0
    for q in queries:
        lo, hi = query_ptr[q], query_ptr[q + 1]
        rows = out[at : at + hi - lo]
        if query_scale[q] == 0.0 or n_levels[q] < 2:
            for i in range(hi - lo):
                for f in range(rows.shape[1]):
                    rows[i, f] = 0.0
        else:
            dw = rows_of(doc_weight, lo, hi)
            Zq = Z[at : at + hi - lo]
            hessian_sweep(scores[lo:hi], levels[lo:hi], n_levels[q], table, dw, order[lo:hi], Zq, rows)
            for i in range(hi - lo):
                for f in range(rows.shape[1]):
                    rows[i, f] *= query_scale[q]
        at += hi - lo
