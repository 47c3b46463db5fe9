"""Collect a stream of rows into one data set in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.filling import missing_cells
from sparserank.data.matrices import below, stacked, stored_values
from sparserank.data.missing import any_missing
from sparserank.data.missing_flags import flagged
from sparserank.data.query_ids import plain_ids, query_codes, run_starts
from sparserank.data.reading import nothing_left
from sparserank.data.streams import RowBlock, Stream, judged, one_below_the_other
from sparserank.errors import warn_caller
from sparserank.text import brief


def collect(stream: Stream) -> RankingDataset:
    """The rows of a stream as a data set. Unless the stream has a data set already, one pass collects the rows, and
    replacements for missing values are learned from them.

    Raises
        DataFormatError   as raised by the stream, or no row is left
        DataError         a missing value that the policy refuses
    Warns
        DataWarning       the rows of a query are not contiguous in a text file
    """
    dataset = stream.as_dataset()
    if dataset is not None:
        return dataset
    features = _Features(stream.n_rows)
    blocks: list[RowBlock] = []
    for piece in stream.weighted_pieces():
        features.add(piece.X)
        blocks.append(piece._replace(X=None, where=piece.where[:, 0].copy()))  # only the file of each row
    rows = one_below_the_other(blocks, {})
    rows = judged(rows._replace(X=features.whole(stream), qid=_query_ids(rows, stream)), stream.unjudged)
    if len(rows.label) == 0:
        raise stream.error(nothing_left(stream.places[0]))
    keeps = stream.policy is not None and stream.policy.keeps
    has_missing = any_missing(stored_values(rows.X))
    filling = stream.filling(rows.X) if has_missing or not stream.flags else None
    filled = None
    if filling is not None and not keeps and has_missing:
        filled = missing_cells(rows.X)
        filling.fill(rows.X, query_codes(rows.qid))
    per_feature: dict[str, Any] = {
        "X": rows.X,
        "feature_names": stream.feature_names,
        "fill_values": None if filling is None else filling.values,
        "filled": filled,
        "derived": stream.derived or None,
    }
    if stream.flags and (filled is not None or stream.also):
        per_feature |= flagged(stream, rows.X, filling, filled)
    return RankingDataset(
        relevance=rows.label,
        qid=rows.qid,
        docid=_unless_empty(rows.docid),
        comment=_unless_empty(rows.comment),
        doc_weight=rows.weight,
        keep_missing=keeps,
        index_base=stream.text_base,
        table=rows.table,
        kept_columns=dict(stream.kept_columns),
        booleans=stream.booleans,
        **per_feature,
    )


def _unless_empty(texts: np.ndarray | None) -> np.ndarray | None:
    return texts if texts is not None and texts.astype(bool).any() else None


class _Features:
    """Accumulates X; if the number of rows is known, dense pieces are written directly into the final array."""

    def __init__(self, n_rows: int | None) -> None:
        self._n_rows = n_rows
        self._at = 0
        self._X: np.ndarray | None = None
        self._parts: list[Any] = []

    def add(self, X: Any) -> None:
        if self._n_rows is None:
            self._parts.append(X)
            return
        if self._X is None:
            self._X = np.empty((self._n_rows, X.shape[1]), dtype=X.dtype)
        self._X[self._at : self._at + len(X)] = X
        self._at += len(X)

    def whole(self, stream: Stream) -> Any:
        if self._X is not None:
            return self._X
        if isinstance(self._parts[0], np.ndarray):
            return below(self._parts)
        return stacked(self._parts, stream.n_features, sparse=stream.sparse)


def _query_ids(rows: RowBlock, stream: Stream) -> np.ndarray:
    """(n,) ids: integers if all are integers in plain decimal form, otherwise text. Warns about the first query of text
    that continues after other queries."""
    starts = run_starts(rows.qid)  # text is compared and converted to numbers once per run of equal ids
    ids = plain_ids(rows.qid[starts])
    _, first, code = np.unique(ids, return_index=True, return_inverse=True)
    first_run = first[code.ravel()]
    scattered = np.flatnonzero(first_run != np.arange(len(ids)))
    if rows.line is not None and len(scattered):
        k = scattered[0]
        here, before = (f"{stream.places[rows.where[i]]}:{rows.line[i]}" for i in starts[[k, first_run[k]]])
        warn_caller(
            f"{here}: query {brief(ids[k].item())} continues here after other queries (first seen at {before}); its "
            "rows were grouped together."
        )
    return np.repeat(ids, np.diff(np.append(starts, len(rows.qid))))
