"""Weighted sums over all pairs of squared feature differences, active or not. They give the curvature bounds and the
radii of gap-safe screening (theory.md section 1), from sums per level, without a pair or a dense copy of sparse rows.

sum over pairs (i, j) of t (v_i - v_j)^2 = sum_i c_i v_i^2 - 2 sum over levels a > b of t_ab U_a S_b, where c_i is the
weight of the pairs of document i, S_b the sum of v over the documents of level b, and U_a the sum over level a in
which each document counts by its weight.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparserank.data.matrices import as_dense, times
from sparserank.shards._pass_kernels import GradedLists
from sparserank.shards._statistics_kernels import dense_sums, sums_before
from sparserank.shards.rows import query_pieces


class _Deviations(NamedTuple):
    """Features relative to an offset per query and feature, dense or CSR: values (n_docs, d), the deviations; largest
    (n_queries, d), the largest |deviation| in each query; offset (n_queries, d), the absolute value of the offset."""

    values: Any
    largest: Any
    offset: Any


def lists_between(lists: GradedLists, first: int, last: int) -> GradedLists:
    """The part of `lists` for the queries first .. last - 1."""
    lo = lists.query_ptr[first]
    hi = lists.query_ptr[last]
    weight = None if lists.doc_weight is None else lists.doc_weight[lo:hi]
    return GradedLists(
        lists.query_ptr[first : last + 1] - lo, lists.levels[lo:hi], lists.n_levels[first:last], lists.table, weight
    )


def pair_norms(
    X: Any,
    lists: GradedLists,
    scales: np.ndarray,
    unit: np.ndarray,
) -> np.ndarray:
    """Pair norms of the columns of X (n_docs, d), dense or CSR, multiplied by unit (d,), for K weightings of the
    queries.

    Parameters
        scales   (K, n_queries) factor of the pairs of each query
    Returns
        (3, K, d): sum over pairs of scale t (x_ia - x_ja)^2; largest |deviation| from the offset of a query; largest
        |offset|. The last two are over queries whose scale is not 0. The caller rejects values that overflow.
    """
    out = np.zeros((3, len(scales), X.shape[1]))
    if len(lists.levels) == 0:
        return out
    with np.errstate(over="ignore", invalid="ignore"):
        # Pieces of whole queries limit the memory of the deviations.
        for first, last in pairwise(query_pieces(X, lists.query_ptr)):
            rows = X[lists.query_ptr[first] : lists.query_ptr[last]]
            _add_norms(rows, lists_between(lists, first, last), scales[:, first:last], unit, out)
    return out


def _add_norms(
    X: Any,
    lists: GradedLists,
    scales: np.ndarray,
    unit: np.ndarray,
    out: np.ndarray,
) -> None:
    """Add the queries of one piece to out (3, K, d), as described in `pair_norms`."""
    n = len(lists.levels)
    n_queries = len(lists.n_levels)
    weight = np.ones(n) if lists.doc_weight is None else lists.doc_weight
    groups = (_by_table if len(lists.table) else _by_rank)(lists, weight)
    # Dense rows with few levels have a compiled loop. Otherwise, sum_i c_i v_i^2 minus twice the cross terms of levels;
    # differences do not depend on the offset, but small deviations keep their digits.
    if len(lists.table) and not sp.issparse(X):
        of_query, largest, offset = np.zeros((3, n_queries, X.shape[1]))
        dense_sums(
            X,
            lists,
            weight,
            groups.of_document,
            unit,
            of_query,
            largest,
            offset,
        )
    else:
        counted = groups.of_document > 0
        V, largest, offset = (_sparse_deviations if sp.issparse(X) else _dense_deviations)(
            X, lists.query_ptr, counted, unit
        )
        together = sp.csr_matrix((groups.of_document, np.arange(n), lists.query_ptr), shape=(n_queries, n))
        of_query = together @ times(V, V) - 2.0 * groups.cross(V)
    # Combine the queries for each weighting: a weighted sum, and two maxima.
    for k, scale in enumerate(scales):
        used = np.flatnonzero(scale)
        if len(used):
            out[0, k] += scale[used] @ of_query[used]
            for i, size in enumerate((largest, offset), start=1):
                most = size[used].max(axis=0)
                out[i, k] = np.maximum(out[i, k], np.ravel(as_dense(most)))


def _dense_deviations(
    X: np.ndarray,
    query_ptr: np.ndarray,
    counted: np.ndarray,
    unit: np.ndarray,
) -> _Deviations:
    """Deviations from the first document of each query that is in a pair. Documents in no pair get deviation 0."""
    sizes = np.diff(query_ptr)
    filled = np.flatnonzero(sizes > 0)
    offset, largest = (np.zeros((len(sizes), X.shape[1])) for _ in range(2))
    place = np.where(counted, np.arange(len(X)), len(X))
    first = np.minimum.reduceat(place, query_ptr[filled])
    offset[filled] = X[np.where(first < len(X), first, query_ptr[filled])]
    values = X - np.repeat(offset, sizes, axis=0)
    values *= unit
    values[~counted] = 0.0
    largest[filled] = np.maximum.reduceat(np.abs(values), query_ptr[filled])
    return _Deviations(values, largest, np.abs(offset * unit))


def _sparse_deviations(
    X: sp.csr_matrix,
    query_ptr: np.ndarray,
    counted: np.ndarray,
    unit: np.ndarray,
) -> _Deviations:
    """Deviations from the first document if every document in a pair has an entry for the feature, and from 0
    otherwise, so that zeros stay zeros."""
    n_queries = len(query_ptr) - 1
    d = X.shape[1]
    query_of = np.repeat(np.arange(n_queries), np.diff(query_ptr))
    # Sort the entries of documents in pairs by query, feature and document.
    entries = np.flatnonzero(np.repeat(counted, np.diff(X.indptr)))
    key = np.repeat(query_of, np.diff(X.indptr))[entries] * d + X.indices[entries]
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    counts = np.diff(np.append(starts, len(key)))
    query, column = np.divmod(key[order][starts], d)
    data = X.data[entries].astype(np.float64)
    # A feature that all documents in pairs have is centred at the first of its entries; other features at 0.
    n_counted = np.bincount(query_of[counted], minlength=n_queries)
    centre = np.where(counts == n_counted[query], data[order[starts]] if len(starts) else 0.0, 0.0)
    moved = np.empty(len(data))
    values = np.zeros(X.nnz)
    centred = data[order] - np.repeat(centre, counts)
    moved[order] = centred * np.repeat(unit[column], counts)
    values[entries] = moved
    size = np.maximum.reduceat(np.abs(moved[order]), starts) if len(starts) else np.zeros(0)
    # Assemble the statistics per query and feature as CSR matrices.
    by_query = (column, np.searchsorted(query, np.arange(n_queries + 1)))
    shape = (n_queries, d)
    return _Deviations(
        sp.csr_matrix((values, X.indices, X.indptr), shape=X.shape),
        sp.csr_matrix((size, *by_query), shape=shape),
        sp.csr_matrix((np.abs(centre * unit[column]), *by_query), shape=shape),
    )


class _Groups(NamedTuple):
    """of_document (n_docs,): c_i, the total weight of the pairs of each document. cross(V): the sums over levels a > b
    of t_ab U_a S_b (n_queries, d), dense or CSR like V."""

    of_document: np.ndarray
    cross: Callable[[Any], Any]


def _by_table(lists: GradedLists, weight: np.ndarray) -> _Groups:
    """Sums for few levels, with a table of weights for pairs of levels."""
    query_ptr, levels, n_levels, table, doc_weight = lists
    n_queries = len(n_levels)
    n = len(levels)
    K = int(levels.max()) + 1
    # One group for each query and level.
    group = np.repeat(np.arange(n_queries) * K, np.diff(query_ptr)) + levels
    n_groups = n_queries * K
    count = np.bincount(group, minlength=n_groups).reshape(-1, K)
    weight_of = np.bincount(group, weight, minlength=n_groups).reshape(-1, K)
    t = table[:K, :K]
    # c_i: as the upper document, its weight times the table over lower documents; as the lower one, the weights of the
    # upper documents times the table.
    of_document = weight * (count @ t.T).ravel()[group] + (weight_of @ t).ravel()[group]

    def cross(V: Any) -> Any:
        # Sum V over each group with a sparse indicator matrix, and multiply the sums of upper and lower levels.
        order = np.argsort(group, kind="stable")
        ptr = np.append(0, np.cumsum(count))
        shape = (n_queries * K, n)
        S = sp.csr_matrix((np.ones(n), order, ptr), shape=shape) @ V
        U = S if doc_weight is None else sp.csr_matrix((weight[order], order, ptr), shape=shape) @ V
        total = 0.0 * S[::K]
        for a in range(1, K):
            for b in range(a):
                if t[a, b] != 0.0:
                    product = times(U[a::K], S[b::K])
                    total = total + t[a, b] * product
        return total

    return _Groups(of_document, cross)


def _by_rank(lists: GradedLists, weight: np.ndarray) -> _Groups:
    """Sums for any number of levels without a table: pairs have weight 1, times the document weight of their upper
    document. Running sums over the levels of a query replace the loop over pairs of levels."""
    query_ptr, levels, n_levels, _, doc_weight = lists
    n_queries = len(n_levels)
    n = len(levels)
    query = np.repeat(np.arange(n_queries), np.diff(query_ptr))
    # One group for each query and level that occurs, sorted by query and level.
    order = np.lexsort((levels, query))
    new_query = np.diff(query[order], prepend=-1) != 0
    new_level = np.diff(levels[order], prepend=-1) != 0
    is_new = new_query | new_level
    starts = np.flatnonzero(is_new)  # position in `order` of the first document of each group
    group = np.cumsum(is_new) - 1
    of_group = query[order[starts]]
    ptr = np.append(starts, n)
    members = sp.csr_matrix((np.ones(n), order, ptr), shape=(len(starts), n))
    weighted = sp.csr_matrix((weight[order], order, ptr), shape=(len(starts), n))
    # c_i: the weight of the document times the number of documents below it, plus the total weight of those above.
    below = _before(np.diff(ptr).astype(np.float64)[:, None], of_group)[:, 0]
    heavy = np.add.reduceat(weight[order], starts)
    above = _before(heavy[::-1, None], of_group[::-1])[::-1, 0]
    of_document = np.empty(n)
    of_document[order] = weight[order] * below[group] + above[group]
    together = sp.csr_matrix(
        (np.ones(len(starts)), np.arange(len(starts)), np.searchsorted(of_group, np.arange(n_queries + 1))),
        shape=(n_queries, len(starts)),
    )

    def cross(V: Any) -> Any:
        # For each query: the sum over levels a of U_a times the running sum of S over the levels below a.
        S = members @ V
        return together @ times(S if doc_weight is None else weighted @ V, _before(S, of_group))

    return _Groups(of_document, cross)


def _before(sums: Any, of_group: np.ndarray) -> Any:
    """Row g: the sum of the rows before g of the same query. For CSR rows, only at entries of row g: elsewhere the
    product with row g is 0 anyway."""
    if not sp.issparse(sums):
        out = np.empty(sums.shape)
        sums_before(np.ascontiguousarray(sums), np.diff(of_group, prepend=of_group[:1] - 1) != 0, out)
        return out
    # Entries of a column are sorted by group, so those of one query are adjacent.
    columns = sums.tocsc()
    columns.sort_indices()
    column = np.repeat(np.arange(sums.shape[1]), np.diff(columns.indptr))
    query = of_group[columns.indices]
    is_first = (np.diff(query, prepend=-1) != 0) | (np.diff(column, prepend=-1) != 0)
    data = np.empty((len(query), 1))
    sums_before(columns.data[:, None], is_first, data)
    return sp.csc_matrix((data[:, 0], columns.indices, columns.indptr), shape=sums.shape).tocsr()
