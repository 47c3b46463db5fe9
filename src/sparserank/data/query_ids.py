"""Group rows with query ids in any order into contiguous blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.text import brief

_PLAIN_INT = re.compile(r"0|-?[1-9][0-9]{0,17}")

MANY_ROWS = 1000  # from here on, a missing qid is more likely an oversight than a single long list
MANY_GRADED_ROWS = 100  # the same for training rows whose labels repeat, as grades do


def group_rows(qid: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """Group rows by query id, stably, queries in order of first appearance.

    Parameters
        qid         (n_docs,) ints or strings
    Returns
        order       (n_docs,) int64, input row of each grouped row; None when the rows are grouped already
        query_ptr   (n_queries + 1,) int64
        query_ids   (n_queries,) the ids
    Raises
        DataError   a missing id, with its row; ids that cannot be sorted, such as numbers among strings
    """
    bounds, code, query_ids = _coded(qid)
    if len(query_ids) == len(code):
        return None, bounds, query_ids
    rows = np.repeat(code, np.diff(bounds))
    return np.argsort(rows, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(rows))]), query_ids


def query_codes(qid: np.ndarray) -> np.ndarray:
    """(n_docs,) number of each row's query, from 0 in order of first appearance."""
    bounds, code, _ = _coded(qid)
    return np.repeat(code, np.diff(bounds))


def _coded(qid: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """((n_runs + 1,) offsets of the runs of rows with the same id; (n_runs,) query number of each run, in order of
    first appearance; the ids of the queries). Raises as `group_rows`."""
    _refuse_missing(qid)
    if len(qid) == 0:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64), qid
    starts = run_starts(qid)
    try:
        ids, first, code = np.unique(qid[starts], return_index=True, return_inverse=True)
    except TypeError as error:
        raise DataError(f"qid must contain numbers or strings, not both; got {brief(qid.tolist())}.") from error
    order = np.argsort(first)
    return np.append(starts, len(qid)), np.argsort(order)[code.ravel()], ids[order]


def run_starts(qid: np.ndarray) -> np.ndarray:
    """The first row of each run of consecutive rows of one query."""
    return np.concatenate([[0], np.flatnonzero(qid[1:] != qid[:-1]) + 1])


def rows_of_queries(query_ptr: np.ndarray, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows of these queries, in the order of `queries`; (len(queries) + 1,) query_ptr of these rows)."""
    sizes = query_ptr[queries + 1] - query_ptr[queries]
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    shifts = query_ptr[queries] - ptr[:-1]
    return np.arange(ptr[-1]) + np.repeat(shifts, sizes), ptr


def concatenated_ids(parts: Sequence[np.ndarray]) -> np.ndarray:
    """All ids, as text if only some of the parts are integers."""
    kinds = {ids.dtype.kind in "iu" for ids in parts}
    return np.concatenate(parts if len(kinds) <= 1 else [ids.astype(str) for ids in parts])


def plain_ids(ids: np.ndarray) -> np.ndarray:
    """The ids as int64 if all are integers in plain decimal form, otherwise unchanged."""
    if ids.dtype.kind != "U":
        return ids
    distinct, code = np.unique(ids, return_inverse=True)
    if not all(_PLAIN_INT.fullmatch(i) for i in distinct.tolist()):
        return ids
    return np.asarray(distinct.astype(np.int64)[code.ravel()])


def as_query_ids(qid: Any, n_docs: int) -> np.ndarray:
    """(n_docs,) array of ids from an array, a list or a column of a data frame.

    Raises
        DataError   wrong shape; a missing id, or a number among strings, which NumPy would convert to text
    """
    try:
        ids = np.asarray(qid)
        mask = np.ma.getmaskarray(qid) if isinstance(qid, np.ma.MaskedArray) else None
    except (TypeError, ValueError) as error:
        raise DataError(f"qid must have one value per row of X ({n_docs}); got {brief(qid)}.") from error
    if ids.shape != (n_docs,):
        raise DataError(f"qid must have one value per row of X ({n_docs}); got shape {ids.shape}.")
    if mask is not None and mask.any():
        raise _missing_id(int(np.argmax(mask)), "a masked value")
    if ids.dtype.kind == "U" and not isinstance(qid, np.ndarray):
        objects = np.asarray(qid, dtype=object)
        _refuse_missing(objects)
        for row, value in enumerate(objects):
            if not isinstance(value, str):
                raise DataError(f"qid must contain numbers or strings, not both; row {row} has {brief(value)}.")
    _refuse_ambiguous(qid, ids)
    return ids


def _refuse_ambiguous(qid: Any, ids: np.ndarray) -> None:
    """Raise DataError for ids that NumPy cannot distinguish: large numbers as floats, strings that end in NUL."""
    if ids.dtype.kind == "f" and (np.abs(ids) >= 2**53).any():
        row = int(np.argmax(np.abs(ids) >= 2**53))
        raise DataError(
            f"qid of row {row} is too large to be represented exactly as a float; pass 64-bit integers or strings."
        )
    if ids.dtype.kind in "US" or ids.dtype == object:
        values = qid.tolist() if isinstance(qid, np.ndarray) else list(qid)
        for row, value in enumerate(values):
            if isinstance(value, str | bytes) and value[-1:] in ("\0", b"\0"):
                raise DataError(f"qid of row {row} ends in a NUL character; remove it.")


def _refuse_missing(qid: np.ndarray) -> None:
    """Raise DataError for the first None, NaN, NaT or NA, which are not ids of a query."""
    if qid.dtype.kind in "biuSU":
        return
    if qid.dtype.kind in "fcmM":
        missing = qid != qid
    else:
        missing = np.fromiter((_is_missing(value) for value in qid.tolist()), dtype=bool, count=len(qid))
    if missing.any():
        row = int(np.argmax(missing))
        raise _missing_id(row, brief(qid[row]))


def _is_missing(value: Any) -> bool:
    """None, a value that differs from itself (NaN, NaT), or one that cannot be compared (pandas.NA)."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        return True


def _missing_id(row: int, shown_value: str) -> DataError:
    return DataError(
        f"qid must contain a query id for every row; row {row} has {shown_value}. Add the id, or drop the row."
    )


def qid_from_sizes(group: Any, n_docs: int) -> np.ndarray:
    """Query ids 0, 1, ... from consecutive block sizes, as LightGBM and XGBoost pass them.

    Raises
        DataError   a size below 1, or sizes that do not sum to `n_docs`
    """
    try:
        sizes = np.asarray(group)
    except (TypeError, ValueError):
        sizes = np.empty(0)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any() or sizes.sum() != n_docs:
        shown = f"a sum of {sizes.sum()}" if sizes.dtype.kind in "iuf" else brief(type(group).__name__)
        raise DataError(f"group must contain query sizes >= 1 whose sum is the number of rows, {n_docs}; got {shown}.")
    return np.repeat(np.arange(len(sizes)), sizes)


def ids_of_rows(qid: Any, group: Any, n_docs: int) -> Any:
    """The query ids of rows: qid, which the data set checks, or ids that are made from the sizes of consecutive
    queries; None if there is neither, so that all rows are one query.

    Raises
        DataError   both are given, or the sizes are wrong
    """
    if qid is not None and group is not None:
        raise DataError("pass qid or group, not both.")
    return qid if group is None else qid_from_sizes(group, n_docs)
