"""Splits of queries for validation: a number of folds, a scikit-learn splitter, or pairs of row numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.errors import DataError, ParameterError
from sparserank.options.kinds import Count
from sparserank.text import brief

EXPECTED = "a number of folds >= 2, a scikit-learn splitter, or a list of pairs (train rows, test rows)"


def check_splits(owner: str, cv: Any) -> None:
    """Raise DataError unless `cv` is one of EXPECTED; its splits are checked later."""
    if hasattr(cv, "split") and not isinstance(cv, str):
        return
    again = isinstance(cv, Iterable) and not isinstance(cv, Iterator)  # a generator would serve one fit alone
    if isinstance(cv, bool | str) or not (isinstance(cv, int | np.integer) or again):
        raise ParameterError("cv", f"must be {EXPECTED}; got {brief(cv)}.", owner=owner)
    if isinstance(cv, int | np.integer) and (problem := Count(2).problem(cv)):
        raise ParameterError("cv", problem, owner=owner)


def split_queries(owner: str, cv: Any, data: RankingDataset, counted: np.ndarray, random_state: int) -> np.ndarray:
    """(n_counted,) the fold in which each of the counted queries is held out.

    A splitter splits the queries: each query is one sample and one group. Row numbers refer to the rows of fit, and
    must form whole queries.

    Raises
        DataError   a query is never held out, held out twice or in part, or used for training while held out
    """
    n = len(counted)
    if isinstance(cv, int | np.integer):
        return query_folds(n, min(int(cv), n), random_state)
    if hasattr(cv, "split"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of splitters that have no use for groups
                parts = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(np.zeros((n, 1)), None, np.arange(n))]
        except (TypeError, ValueError) as error:
            raise DataError(f"{owner}: cv cannot split {n} queries: {brief(str(error))}.") from error
    else:
        code = data.to_input_order(np.repeat(np.arange(data.n_queries), np.diff(data.query_ptr)))
        parts = [tuple(_whole(owner, rows, code, counted) for rows in pair) for pair in _pairs(owner, cv)]  # type: ignore[misc]
    fold = np.full(n, -1)
    for number, (train, test) in enumerate(parts):
        if any(
            part.dtype.kind not in "iu" or (part < 0).any() or (part >= n).any() for part in (train, test) if len(part)
        ):
            raise DataError(f"{owner}: cv must yield indices of the {n} queries.")
        if len(test) == 0 or len(train) == 0 or len(np.intersect1d(train, test)):
            raise DataError(f"{owner}: each split of cv must train on some queries and hold out others.")
        if len(train) + len(test) != n or (fold[test] >= 0).any():
            raise DataError(
                f"{owner}: cv must hold out every query once and train on all other queries; use GroupKFold or KFold."
            )
        fold[test] = number
    if (fold < 0).any():
        raise DataError(
            f"{owner}: cv must hold out every query once; {int((fold < 0).sum())} of {n} are never held out."
        )
    return fold


def _pairs(owner: str, cv: Any) -> list[tuple[Any, Any]]:
    pairs = [] if getattr(cv, "ndim", 1) == 0 else list(cv)
    if not pairs or any(not isinstance(p, tuple | list) or len(p) != 2 for p in pairs):
        raise DataError(f"{owner}: cv must be {EXPECTED}; got {brief(cv)}.")
    return [(a, b) for a, b in pairs]


def _whole(owner: str, rows: Any, code: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The positions, among the counted queries, of the queries of these rows."""
    try:
        rows = np.asarray(rows)
    except ValueError:  # of unequal length
        rows = np.empty(0)
    if rows.dtype == bool and rows.shape == code.shape:
        rows = np.flatnonzero(rows)
    if (
        rows.dtype.kind not in "iu"
        or rows.ndim != 1
        or (len(rows) and not -len(code) <= rows.min() <= rows.max() < len(code))
    ):
        raise DataError(f"{owner}: cv must contain indices of the {len(code)} rows; got {brief(rows)}.")
    held = np.bincount(code[np.unique(rows % len(code))], minlength=int(code.max()) + 1)
    size = np.bincount(code)
    if ((held > 0) & (held < size)).any():
        raise DataError(
            f"{owner}: cv splits the rows of a query; pass rows of whole queries (GroupKFold with groups=qid)."
        )
    return np.flatnonzero(held[counted] > 0)
