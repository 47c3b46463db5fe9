"""From query ids in any order to contiguous blocks of rows."""

from __future__ import annotations

import numpy as np

from sparserank.errors import DataError


def group_rows(qid: np.ndarray) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """Group rows by query id, stably, queries in order of first appearance.

    Parameters
        qid         (n_docs,) ints or strings
    Returns
        order       (n_docs,) int64, input row of each grouped row; None when the rows are grouped already
        query_ptr   (n_queries + 1,) int64
        query_ids   (n_queries,) the ids
    """
    n_docs = len(qid)
    if n_docs == 0:
        return None, np.zeros(1, dtype=np.int64), qid[:0]
    changes = np.flatnonzero(qid[1:] != qid[:-1]) + 1
    starts = np.concatenate([[0], changes])
    run_ids = qid[starts]
    ids, first_run, run_code = np.unique(run_ids, return_index=True, return_inverse=True)
    if len(ids) == len(run_ids):
        return None, np.concatenate([starts, [n_docs]]).astype(np.int64), run_ids
    by_appearance = np.argsort(first_run)
    position = np.empty_like(by_appearance)
    position[by_appearance] = np.arange(len(ids))
    lengths = np.diff(np.concatenate([starts, [n_docs]]))
    code = np.repeat(position[run_code.ravel()], lengths)
    order = np.argsort(code, kind="stable")
    counts = np.bincount(code, minlength=len(ids))
    query_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return order, query_ptr, ids[by_appearance]


def qid_from_sizes(group: np.ndarray, n_docs: int) -> np.ndarray:
    """Query ids 0, 1, ... from consecutive block sizes, as LightGBM and XGBoost pass them.

    Raises
        DataError   a size below 1, or sizes that do not sum to `n_docs`
    """
    sizes = np.asarray(group)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any() or sizes.sum() != n_docs:
        raise DataError(f"group must be block sizes >= 1 that sum to the {n_docs} rows; got sum {np.sum(sizes)}.")
    return np.repeat(np.arange(len(sizes)), sizes)
