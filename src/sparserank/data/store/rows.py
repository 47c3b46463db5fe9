"""Read stores as a stream of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sparserank.data.dataset import numbered
from sparserank.data.matrices import float_type, stored_values
from sparserank.data.missing import MissingPolicy, holds_missing, is_missing
from sparserank.data.reading import Reading, missing_value, too_large
from sparserank.data.store.opening import open_stores
from sparserank.data.streams import BEGIN, Position, RowBlock, Stream, positions
from sparserank.errors import DataFormatError


class StoreRows(Stream):
    """The rows of finished stores, in stored order."""

    def __init__(self, paths: Sequence[str | os.PathLike], reading: Reading) -> None:
        self._stores, self._places = open_stores(paths), [str(p) for p in paths]
        self._policy = MissingPolicy.parse(reading.missing)
        first, self.place = self._stores[0], self._places[0]
        self.n_features, self.sparse = first.n_features, first.is_sparse
        names, self.text_base = tuple(first.feature_names or ()), first.index_base
        self.feature_names = None if numbered(names, self.text_base) else names
        self.dtype = first.X.dtype if reading.dtype is None else float_type(reading.dtype)

    def _ones(self, n: int) -> np.ndarray | None:
        """Unit weights for a store without weights, if another store has weights."""
        return np.ones(n) if any(s.doc_weight is not None for s in self._stores) else None

    def pieces(self, start: Position = BEGIN) -> Iterator[RowBlock]:
        for f, data in enumerate(self._stores):
            for b, lo in enumerate(data.X.starts[:-1].tolist()):
                if (f, b) >= start[:2]:
                    X = data.X.part(b)
                    rows = slice(lo, lo + X.shape[0])
                    docid = None if data.docid is None else np.asarray(data.docid[rows])
                    weight = data.doc_weight[rows] if data.doc_weight is not None else self._ones(X.shape[0])
                    qid = np.array(data.qid[rows].tolist())  # type: ignore[index]
                    with np.errstate(over="ignore"):
                        own = X.astype(self.dtype)
                    _mark_missing(X, own, self._places[f], self._policy)
                    yield RowBlock(own, data.relevance[rows], qid, docid, weight, positions(f, b, X.shape[0]))


def _mark_missing(X: Any, own: Any, place: str, policy: MissingPolicy | None) -> None:
    """Write NaN into `own`, a copy of the stored X in another dtype, where X has a missing value.

    Raises
        DataFormatError   there is such a value and no policy; a number is too large for the dtype
    """
    stored, values = stored_values(X), stored_values(own)
    if not holds_missing(values):
        return
    missing = is_missing(stored)
    if missing.any() and policy is None:
        raise DataFormatError(missing_value(place, stored[missing][0]))
    large = is_missing(values) & ~missing
    if large.any():
        raise DataFormatError(too_large(place, stored[large][0], values.dtype))
    values[missing] = np.nan
