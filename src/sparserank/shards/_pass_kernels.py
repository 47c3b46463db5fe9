"""Compiled passes over a shard: scores, the loss's sweep and X^T g while the rows of a query are in cache.

Losses never see X, and rows never see a loss: `bind` compiles each pass around the row kernels of a kind of shard
and the loss's own sweep. Whatever the dtype of X, products are accumulated in float64.

Compared with a slow version in tests/losses/test_losses.py.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sparserank._kernel_cache import kernel
from sparserank.losses._sizes import WORK_ROWS
from sparserank.shards._instructions import LINE_BYTES, prefetch

APART = 1 << 14  # largest gradient summed in thread memory; in longer ones, shared cache lines hardly matter
row_scores = row_transposed = sweep = hessian_sweep = dual_sweep = None  # placeholders of the templates, see bind


class GradedLists(NamedTuple):
    """The lists, as the kernels need them: query_ptr (n_queries + 1,), levels (n_docs,), n_levels (n_queries,), table
    (K, K) as in RelevanceLevels, doc_weight (n_docs,) of a pair's preferred document or None.

    If doc_weight is None, the code for weights is not compiled at all, because None has a type of its own.
    """

    query_ptr: np.ndarray
    levels: np.ndarray
    n_levels: np.ndarray
    table: np.ndarray
    doc_weight: np.ndarray | None


@cache
def bind(template: Callable, **functions: Any) -> Callable:
    """Compile `template` with the given compiled functions in place of its placeholders.

    They are inserted as globals, because Numba's disk cache never finds a closure over compiled functions again: its
    key differs from process to process. Passes around functions of other packages are not cached on disk, because the
    cache could neither distinguish two of them nor notice a change.
    """
    module = "_".join(f.__module__.rpartition(".")[2] for f in functions.values())
    bound = FunctionType(template.__code__, {**template.__globals__, **functions}, template.__name__)
    bound.__module__ = template.__module__
    bound.__qualname__ = f"{template.__name__}{module}"
    package = __name__.partition(".")[0]
    ours = all(f.__module__.partition(".")[0] == package for f in functions.values())
    return kernel(bound) if ours else njit(nogil=True)(bound)


@kernel
def rows_of(doc_weight, lo, hi):
    if doc_weight is None:
        return None
    return doc_weight[lo:hi]


@kernel
def _scratch(longest, table):
    return np.empty((WORK_ROWS, max(longest, table.shape[0]) + 1))


@kernel
def _copy(source, out):
    """out (m, n) = source, or 0 for None: a loop compiles faster than an array expression."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0 if source is None else source[i, j]


def full_pass(rows, W, lists, scales, blocks, start, step, orders, stored_scores, gradients, sums):
    """One thread's share of a pass at the m rows of W: the blocks start, start + step, ...

    scales (m, n_queries): 0 leaves a query out. Per block b and row k: sums[b, k] = (scaled loss, scaled sum of
    phi'^2 / 4), gradients[b, k] = X^T g, which is 0 on entry. orders (m, n_docs) are corrected where the scale is not
    0, and scores are stored there if stored_scores is (m, n_docs) and not (0, 0).
    Small sums accumulate in memory of the thread, because adjacent blocks share cache lines (false sharing).
    """
    query_ptr, levels, n_levels, table, doc_weight = lists
    longest = 0
    for q in range(len(n_levels)):
        longest = max(longest, query_ptr[q + 1] - query_ptr[q])
    m, d = W.shape
    counted = np.empty(m, dtype=np.int64)
    S = np.empty((m, longest))
    G = np.empty((m, longest))
    work = _scratch(longest, table)
    apart = m * d <= APART
    totals = np.empty((m, 2))
    total = np.empty((m if apart else 0, d))
    for b in range(start, len(blocks) - 1, step):
        gradient = total if apart else gradients[b]
        _copy(None, totals)
        _copy(None, total)
        for q in range(blocks[b], blocks[b + 1]):
            if n_levels[q] < 2:
                continue
            n = 0
            for k in range(m):
                if scales[k, q] != 0.0:
                    counted[n] = k
                    n += 1
            which = counted[:n]
            lo = query_ptr[q]
            hi = query_ptr[q + 1]
            dw = rows_of(doc_weight, lo, hi)
            for k in which:
                for i in range(lo, hi, LINE_BYTES // 4):  # needed after the scores
                    prefetch(orders, k, i)
            row_scores(rows, lo, hi, W, which, S)
            for k in which:
                s = S[k, : hi - lo]
                g = G[k, : hi - lo]
                scale = scales[k, q]
                loss, squares = sweep(
                    s,
                    levels[lo:hi],
                    n_levels[q],
                    table,
                    dw,
                    orders[k, lo:hi],
                    g,
                    work,
                )
                totals[k, 0] += scale * loss
                totals[k, 1] += scale * squares
                for i in range(hi - lo):
                    g[i] *= scale
                if len(stored_scores) > 0:
                    for i in range(hi - lo):
                        stored_scores[k, lo + i] = s[i]
            row_transposed(rows, lo, hi, G, which, gradient)
        _copy(totals, sums[b])
        if apart:
            _copy(total, gradients[b])


def line_pass(scores, direction, mu, lists, scale, queries, order):
    """Scaled loss at scores + mu direction, and its first and second derivatives with respect to mu."""
    query_ptr, levels, n_levels, table, doc_weight = lists
    longest = 0
    for q in queries:
        longest = max(longest, query_ptr[q + 1] - query_ptr[q])
    moved = np.empty(longest)
    gradient = np.empty(longest)
    bent = np.empty((longest, 1))
    work = _scratch(longest, table)
    value = slope = curvature = 0.0
    for q in queries:
        lo = query_ptr[q]
        hi = query_ptr[q + 1]
        m = hi - lo
        t = direction[lo:hi]
        s = moved[:m]
        g = gradient[:m]
        b = bent[:m]
        for i in range(m):
            s[i] = scores[lo + i] + mu * t[i, 0]
        dw = rows_of(doc_weight, lo, hi)
        loss, _ = sweep(
            s,
            levels[lo:hi],
            n_levels[q],
            table,
            dw,
            order[lo:hi],
            g,
            work,
        )
        value += scale[q] * loss
        hessian_sweep(
            s,
            levels[lo:hi],
            n_levels[q],
            table,
            dw,
            order[lo:hi],
            t,
            b,
        )
        for i in range(m):
            slope += scale[q] * g[i] * t[i, 0]
            curvature += scale[q] * b[i, 0] * t[i, 0]
    return value, slope, curvature


def dual_pass(s, scores, lists, scale, queries, order):
    """Scaled sum of phi*(s phi') over the given queries."""
    query_ptr, levels, n_levels, table, doc_weight = lists
    total = 0.0
    for q in queries:
        lo = query_ptr[q]
        hi = query_ptr[q + 1]
        dw = rows_of(doc_weight, lo, hi)
        of_query = scores[lo:hi]
        dual = dual_sweep(
            of_query,
            levels[lo:hi],
            n_levels[q],
            table,
            dw,
            order[lo:hi],
            s,
        )
        total += scale[q] * dual
    return total


def query_scores(rows, W, query_ptr, queries, which, out):
    """out[k] = X W[k] for k of `which` and the documents of the given queries, in their order."""
    at = 0
    for q in queries:
        lo = query_ptr[q]
        hi = query_ptr[q + 1]
        row_scores(rows, lo, hi, W, which, out[:, at : at + hi - lo])
        at += hi - lo


def weighted_columns(scores, Z, lists, scale, queries, order, out):
    """out = H Z for the given queries, whose documents fill `scores` and the rows of Z in order. H is the Hessian by
    scores, with the query scale."""
    query_ptr, levels, n_levels, table, doc_weight = lists
    at = 0
    for q in queries:
        lo = query_ptr[q]
        hi = query_ptr[q + 1]
        product = out[at : at + hi - lo]
        if scale[q] == 0.0 or n_levels[q] < 2:
            for i in range(hi - lo):
                for f in range(product.shape[1]):
                    product[i, f] = 0.0
        else:
            dw = rows_of(doc_weight, lo, hi)
            s = scores[at : at + hi - lo]
            Zq = Z[at : at + hi - lo]
            hessian_sweep(
                s,
                levels[lo:hi],
                n_levels[q],
                table,
                dw,
                order[lo:hi],
                Zq,
                product,
            )
            for i in range(hi - lo):
                for f in range(product.shape[1]):
                    product[i, f] *= scale[q]
        at += hi - lo
