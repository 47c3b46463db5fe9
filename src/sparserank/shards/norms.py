"""Weighted sums over all pairs of squared feature differences, active or not, from sums per level: no pair, no dense row.

sum over pairs (i, j) of t (v_i - v_j)^2 = sum_i c_i v_i^2 - 2 sum over levels a > b of t_ab U_a S_b, where c_i is the weight
of the pairs of document i, S_b the sum of v over the documents of level b and U_a that over level a by document weight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparserank.shards._pass_kernels import ListFacts


class _Deviations(NamedTuple):
    """Of n_docs documents, dense or CSR: values (n_docs, d), features around a value of their query; largest (n_queries, d), the
    largest |value| of a query; offset (n_queries, d), the largest |value| around which."""

    values: Any
    largest: Any
    offset: Any


def lists_between(lists: ListFacts, first: int, last: int) -> ListFacts:
    """The facts of the queries first .. last - 1."""
    lo, hi = lists.query_ptr[first], lists.query_ptr[last]
    weight = None if lists.doc_weight is None else lists.doc_weight[lo:hi]
    return ListFacts(
        lists.query_ptr[first : last + 1] - lo, lists.levels[lo:hi], lists.n_levels[first:last], lists.table, weight
    )


def pair_norms(X: Any, lists: ListFacts, scales: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """(3, K, d) of the documents X (n_docs, d), dense or CSR, for K scales (K, n_queries) of the queries' pairs: sums over pairs
    of scale t (x_ij - x_jj)^2, features times unit (d,); the largest |deviation| within a query; the largest |value| around which.

    The last two over queries whose scale is not 0. What leaves the range of numbers is refused by whoever asked.
    """
    out = np.zeros((3, len(scales), X.shape[1]))
    if len(lists.levels) == 0:
        return out
    with np.errstate(over="ignore", invalid="ignore"):
        _add_norms(X, lists, scales, unit, out)
    return out


def _add_norms(X: Any, lists: ListFacts, scales: np.ndarray, unit: np.ndarray, out: np.ndarray) -> None:
    deviations = (_sparse_deviations if sp.issparse(X) else _dense_deviations)(X, lists.query_ptr, unit)
    of_query = _pair_sums(deviations.values, lists)
    for k, scale in enumerate(scales):
        used = np.flatnonzero(scale)
        if len(used):
            out[0, k] = scale[used] @ of_query[used]
            for i, size in enumerate((deviations.largest, deviations.offset), start=1):
                most = size[used].max(axis=0)
                out[i, k] = most.toarray().ravel() if sp.issparse(most) else most


def _dense_deviations(X: np.ndarray, query_ptr: np.ndarray, unit: np.ndarray) -> _Deviations:
    """Around the first document of each query."""
    sizes = np.diff(query_ptr)
    filled = sizes > 0
    offset, largest = (np.zeros((len(sizes), X.shape[1])) for _ in range(2))
    offset[filled] = X[query_ptr[:-1][filled]]
    values = X - np.repeat(offset, sizes, axis=0)
    values *= unit
    largest[filled] = np.maximum.reduceat(np.abs(values), query_ptr[:-1][filled])
    return _Deviations(values, largest, np.abs(offset * unit))


def _sparse_deviations(X: sp.csr_matrix, query_ptr: np.ndarray, unit: np.ndarray) -> _Deviations:
    """Around the first document where every document of a query has the feature, else around 0, so that nothing is filled in."""
    n_queries, d = len(query_ptr) - 1, X.shape[1]
    of_entry = np.repeat(np.repeat(np.arange(n_queries), np.diff(query_ptr)), np.diff(X.indptr))
    key = of_entry * d + X.indices
    order = np.argsort(key, kind="stable")  # by query, feature and document
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    counts = np.diff(np.append(starts, len(key)))
    query, column = np.divmod(key[order][starts], d)
    data = X.data.astype(np.float64)
    centre = np.where(counts == np.diff(query_ptr)[query], data[order[starts]], 0.0)
    moved = np.empty(len(data))
    moved[order] = (data[order] - np.repeat(centre, counts)) * np.repeat(unit[column], counts)
    size = np.maximum.reduceat(np.abs(moved[order]), starts) if len(starts) else np.zeros(0)
    by_query = (column, np.searchsorted(query, np.arange(n_queries + 1)))
    shape = (n_queries, d)
    return _Deviations(
        sp.csr_matrix((moved, X.indices, X.indptr), shape=X.shape),
        sp.csr_matrix((size, *by_query), shape=shape),
        sp.csr_matrix((np.abs(centre * unit[column]), *by_query), shape=shape),
    )


def _pair_sums(V: Any, lists: ListFacts) -> Any:
    """(n_queries, d) the sum over the pairs of each query, before its scale; dense or CSR as V."""
    weight = np.ones(len(lists.levels)) if lists.doc_weight is None else lists.doc_weight
    pairs_of = _by_table if len(lists.table) else _by_rank
    of_document, cross = pairs_of(V, lists, weight)
    n = len(weight)
    squares = V.multiply(V) if sp.issparse(V) else V * V
    return (
        sp.csr_matrix((of_document, np.arange(n), lists.query_ptr), shape=(len(lists.n_levels), n)) @ squares
        - 2.0 * cross
    )


def _by_table(V: Any, lists: ListFacts, weight: np.ndarray) -> tuple[np.ndarray, Any]:
    """(c (n_docs,), sum over levels a > b of t_ab U_a S_b (n_queries, d)): few levels, whose pairs have weights."""
    query_ptr, levels, n_levels, table, doc_weight = lists
    n_queries, n = len(n_levels), len(levels)
    query = np.repeat(np.arange(n_queries), np.diff(query_ptr))
    K = int(levels.max()) + 1
    lower, upper, count, weight_of = [], [], np.zeros((n_queries, K)), np.zeros((n_queries, K))
    for a in range(K):
        members = np.flatnonzero(levels == a)
        place = (members, np.searchsorted(members, query_ptr))
        lower.append(sp.csr_matrix((np.ones(len(members)), *place), shape=(n_queries, n)) @ V)
        upper.append(
            lower[a] if doc_weight is None else sp.csr_matrix((weight[members], *place), shape=(n_queries, n)) @ V
        )
        count[:, a] = np.diff(place[1])
        weight_of[:, a] = np.bincount(query[members], weight[members], minlength=n_queries)
    of_document = weight * (count @ table[:K, :K].T)[query, levels] + (weight_of @ table[:K, :K])[query, levels]
    cross = 0.0 * lower[0]
    for a in range(1, K):
        for b in range(a):
            if table[a, b] != 0.0:
                cross = cross + table[a, b] * _times(upper[a], lower[b])
    return of_document, cross


def _by_rank(V: Any, lists: ListFacts, weight: np.ndarray) -> tuple[np.ndarray, Any]:
    """The same for any number of levels, all pairs of weight 1 but for their documents: running sums over a query's levels."""
    query_ptr, levels, n_levels, _, doc_weight = lists
    n_queries, n = len(n_levels), len(levels)
    query = np.repeat(np.arange(n_queries), np.diff(query_ptr))
    order = np.lexsort((levels, query))
    step = np.diff(query[order], prepend=-1) + np.diff(levels[order], prepend=-1)
    starts = np.flatnonzero(step)  # of a query's documents of one level
    group = np.cumsum(step != 0) - 1
    of_group = query[order[starts]]
    ptr = np.append(starts, n)
    lower = sp.csr_matrix((np.ones(n), order, ptr), shape=(len(starts), n)) @ V
    upper = lower if doc_weight is None else sp.csr_matrix((weight[order], order, ptr), shape=(len(starts), n)) @ V
    count, heavy = np.diff(ptr).astype(np.float64), np.add.reduceat(weight[order], starts)
    below = _before(count[:, None], of_group)[:, 0]
    above = (
        np.bincount(of_group, heavy, minlength=n_queries)[of_group] - _before(heavy[:, None], of_group)[:, 0] - heavy
    )
    of_document = np.empty(n)
    of_document[order] = weight[order] * below[group] + above[group]
    product = _times(upper, _before(lower, of_group))
    together = sp.csr_matrix(
        (np.ones(len(starts)), np.arange(len(starts)), np.searchsorted(of_group, np.arange(n_queries + 1))),
        shape=(n_queries, len(starts)),
    )
    return of_document, together @ product


def _before(sums: Any, of_group: np.ndarray) -> Any:
    """Row g: the sum of the rows before g of the same query; of CSR rows only where the row has an entry itself."""
    if not sp.issparse(sums):
        until = np.cumsum(sums, axis=0) - sums
        return until - until[np.searchsorted(of_group, of_group)]
    columns = sums.tocsc()
    columns.sort_indices()
    until = np.cumsum(columns.data) - columns.data
    column = np.repeat(np.arange(sums.shape[1]), np.diff(columns.indptr))
    query = of_group[columns.indices]
    first = np.flatnonzero(np.diff(query, prepend=-1) | np.diff(column, prepend=-1))
    data = until - np.repeat(until[first], np.diff(np.append(first, len(until))))
    return sp.csc_matrix((data, columns.indices, columns.indptr), shape=sums.shape).tocsr()


def _times(a: Any, b: Any) -> Any:
    return a.multiply(b).tocsr() if sp.issparse(a) else a * b
