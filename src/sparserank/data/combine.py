"""Combine data sets: concatenate their rows, and align their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import ROWS, RankingDataset, numbered, numbered_from_1
from sparserank.data.matrices import below, joined_rows
from sparserank.data.query_ids import concatenated_ids
from sparserank.data.store.features import joined
from sparserank.errors import DataError
from sparserank.options import option
from sparserank.options.arguments import check_arguments
from sparserank.text import brief


def concatenate(datasets: Sequence[RankingDataset], *, join_queries: bool = True) -> RankingDataset:
    """Concatenate data sets that have the same features.

    Parameters
    ----------
    datasets : sequence of RankingDataset
        At least one. Missing values must have been replaced by the same numbers in all of them.
    join_queries : bool, default True
        Whether a query id that occurs in two data sets denotes one query. If False, and some id occurs twice, all ids
        are prefixed with the number of the data set, as in '1:17'.

    Returns
    -------
    RankingDataset
        The documents of all data sets.

    Raises
    ------
    DataError
        The numbers of features differ.

    Examples
    --------
    >>> import sparserank as sr
    >>> monday = sr.RankingDataset([[3.0], [1.0]], [1, 0], ["a", "a"])
    >>> tuesday = sr.RankingDataset([[2.0], [5.0]], [0, 1], ["a", "a"])
    >>> sr.concatenate([monday, tuesday]).n_queries
    1
    >>> sr.concatenate([monday, tuesday], join_queries=False).n_queries
    2
    """
    check_arguments(concatenate, locals())
    if len(datasets) == 0:
        raise DataError("datasets must contain at least one data set; got none.")
    refuse_other_filling(datasets)
    counts = {d.n_features for d in datasets}
    if len(counts) != 1:
        raise DataError(f"data sets must have the same number of features; got {sorted(counts)}.")
    if any(d.is_stored for d in datasets):
        X: Any = joined([d.X for d in datasets])
    else:
        X = below([sp.csr_matrix(d.X) if any(d.is_sparse for d in datasets) else d.X for d in datasets])
    qids = [np.asarray(d.qid) for d in datasets]
    distinct = {str(q) for d in datasets for q in d.query_ids}
    if not join_queries and sum(d.n_queries for d in datasets) > len(distinct):
        qids = [np.char.add(f"{k}:", q.astype(str)) for k, q in enumerate(qids, start=1)]
    first = datasets[0]
    sizes = [d.n_docs for d in datasets]
    # Tables of other columns cannot be joined.
    same = all(d.kept_columns == first.kept_columns for d in datasets)
    lost: dict[str, Any] = {} if same else {"table": None, "kept_columns": {}}
    rows = {
        name: joined_rows([getattr(d, name) for d in datasets], sizes, absent)
        for name, absent in ROWS.items()
        if name not in lost
    }
    relevance = np.concatenate([d.relevance for d in datasets])
    qid = concatenated_ids(qids)
    return replace(
        first,
        X=X,
        relevance=relevance,
        qid=qid,
        keep_missing=False,
        **rows,
        **lost,
    )


def refuse_other_filling(datasets: Sequence[RankingDataset]) -> None:
    """Raise DataError if missing values of a feature were replaced by different numbers in two of the data sets."""
    known = [(d.names, d.fill_values) for d in datasets if d.fill_values is not None]
    for _, values in known[1:]:
        names, first = known[0]
        if values.shape != first.shape:
            continue  # the check of the feature counts reports this better
        differ = values.astype(np.float32) != first.astype(np.float32)  # their precision may differ
        differ &= np.isfinite(values) & np.isfinite(first)
        if differ.any():
            j = int(np.argmax(differ))
            raise DataError(
                f"missing values of {brief(names[j])} were replaced by {first[j]:g} in one data set and by "
                f"{values[j]:g} in another; read all data sets with the same policy, or convert the later ones like "
                f"the first store ({option('like')})."
            )


def aligned(data: RankingDataset, like: RankingDataset, place: str) -> RankingDataset:
    """`data` with the features of `like`, in the same order; other features are left out.

    Raises
        DataError   a feature is missing by name; without names, the number of features differs; stored features are in
                    a different order
    """
    names = data.names
    wanted = like.names
    if names == wanted:
        return data
    nameless = numbered(names, data.index_base), numbered(wanted, like.index_base)
    if all(nameless) and data.index_base == 1 and like.index_base == 0:
        raise DataError(numbered_from_1(f"the features of {place}", "the training data"))
    at = {name: j for j, name in enumerate(names)}
    if not all(nameless) and at.keys() >= set(wanted):
        if data.is_stored:
            raise DataError(
                f"{place} has the features of the training data in a different order, or has additional features; "
                f"convert it with the same {option('feature_columns')}."
            )
        return data.take_features([at[name] for name in wanted])
    if all(nameless) or (any(nameless) and at.keys().isdisjoint(wanted)):  # matched by position
        if len(names) != len(wanted):
            raise DataError(f"{place} has {len(names)} features; the training data have {len(wanted)}.")
        return data.rename_features(wanted)
    missing = next(name for name in wanted if name not in at)
    raise DataError(f"{place} has no feature {brief(missing)}, which the training data have.")
