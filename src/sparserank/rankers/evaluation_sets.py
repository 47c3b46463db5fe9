"""Evaluation sets in the form of other rankers: (X, y), or lists of pairs with lists of ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.query_ids import ids_of_rows
from sparserank.data.tables.frames import names_of, without_qid
from sparserank.errors import DataError
from sparserank.text import brief


def evaluation_sets(
    owner: str,
    eval_set: Any,
    eval_qid: Any,
    eval_group: Any,
    *,
    n_features: int,
    n_queries: int,
    names: Sequence[str] | None,
    fill_values: np.ndarray | None,
) -> list[RankingDataset]:
    """Check and group the sets; features must be those of the training data in the same order, and missing values get
    its fill values.

    Parameters
        eval_set               (X, y), or a list of such pairs; None: no set
        eval_qid, eval_group   the query of each row, or sizes of consecutive queries; for a list of sets, a list
        n_queries              number of training queries
        names                  names of the training features, if they have names
    Raises
        DataError   a set has another form, shape or order of features
    """
    if eval_set is None and (eval_qid is not None or eval_group is not None):
        raise DataError(f"{owner}: eval_qid and eval_group need eval_set, which is missing.")
    if eval_set is None:
        return []
    several = isinstance(eval_set, list)
    pairs = eval_set if several else [eval_set]
    ids, sizes = (_one_each(owner, v, len(pairs), several) for v in (eval_qid, eval_group))
    found = []
    for pair, qid, group in zip(pairs, ids, sizes, strict=True):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or len(_shape(pair[1])) != 1:
            raise DataError(f"{owner}: eval_set must be a pair (X, y) of features and relevance, or a list of them.")
        X, qid = without_qid(pair[0], qid)
        held = names_of(X)
        if held is not None and names is not None and list(held) != list(names):
            absent = next((n for n in names if n not in held), None)
            how = "another order, or additional columns" if absent is None else f"no {brief(absent)}"
            raise DataError(
                f"{owner}: the columns of eval_set differ from those of the training data ({how}); pass the same "
                "columns in the same order."
            )
        if len(_shape(X)) != 2 or _shape(X)[1] != n_features:
            raise DataError(
                f"{owner}: eval_set must have the {n_features} features of the training data; got X of shape "
                f"{_shape(X)}."
            )
        if qid is None and group is None and n_queries > 1:
            raise DataError(
                f"{owner}: eval_set needs eval_qid (or eval_group, or a frame with a column qid). The training data "
                f"have {n_queries} queries, but without ids all rows of eval_set would form one query."
            )
        if len(pair[1]) == 0:
            raise DataError(f"{owner}: eval_set has no rows.")
        ids_of = ids_of_rows(qid, group, len(pair[1]))
        found.append(RankingDataset(X, pair[1], ids_of, feature_names=names, fill_values=fill_values))
    return found


def _one_each(owner: str, given: Any, n: int, several: bool) -> list[Any]:
    """The ids of each of n sets; for one set, the list around them is optional."""
    if given is None:
        return [None] * n
    if several and isinstance(given, list) and len(given) == n and all(v is None or np.ndim(v) == 1 for v in given):
        return given
    if n == 1:
        return [given]
    raise DataError(
        f"{owner}: eval_set is a list of {n} sets; eval_qid or eval_group must be a list with one array per set."
    )


def _shape(given: Any) -> tuple[int, ...]:
    """The shape of a value; () if it has none, for instance rows of unequal length."""
    try:
        return tuple(np.shape(given))
    except ValueError:
        return ()
