"""Dask collections (data frames, arrays) as tables and streams, with one partition in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sparserank.arrow import pa
from sparserank.data.matrices import as_dense
from sparserank.data.missing import MissingPolicy, is_missing
from sparserank.data.query_ids import as_query_ids
from sparserank.data.read_files import is_dask
from sparserank.data.reading import missing_value
from sparserank.data.streams import BEGIN, Position, RowBlock, Stream, positions
from sparserank.data.tables.batches import Table
from sparserank.data.tables.frames import refuse_repeated
from sparserank.errors import DataError


class Partitions(Table):
    """A Dask data frame."""

    error = DataError

    def __init__(self, place: str, frame: Any) -> None:
        refuse_repeated(frame.columns, place)
        super().__init__(place, pa.Schema.from_pandas(frame._meta_nonempty, preserve_index=False), None)
        self._frame = frame

    def record_batches(self, names: Sequence[str], rows: int, texts: Any = None) -> Iterator[pa.RecordBatch]:
        for part in self._frame[list(names)].to_delayed():
            table = pa.Table.from_pandas(part.compute(), preserve_index=False)
            yield from table.combine_chunks().to_batches()


class ArrayRows(Stream):
    """The rows of a Dask array X (n_docs, n_features), with labels and query ids that are arrays of any kind."""

    sparse, feature_names = False, None

    def __init__(self, X: Any, y: Any, qid: Any, *, policy: MissingPolicy | None) -> None:
        if X.ndim != 2:
            raise DataError(f"X must be a matrix of numbers (n_docs, n_features); got {X.ndim} dimensions.")
        self.policy = policy
        self._X = X.rechunk({1: -1})
        self.n_features = int(X.shape[1])
        self.dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        self._y = np.asarray(y, dtype=np.float64)
        given = qid.compute() if is_dask(qid) else qid
        if len(self._y) != len(given):
            raise DataError(
                f"there are {len(self._y)} labels and {len(given)} query ids; give one label and one id per row of X."
            )
        self._qid = as_query_ids(given, len(self._y))
        if not np.isfinite(self._y).all():
            raise DataError("labels must be finite; they contain NaN or infinity.")

    def pieces(self, start: Position = BEGIN) -> Iterator[RowBlock]:
        at = 0
        for b, part in enumerate(self._X.to_delayed()[:, 0]):
            X = part.compute()
            X = np.ascontiguousarray(as_dense(X), dtype=self.dtype)
            n = len(X)
            bad = is_missing(X)
            if bad.any() and self.policy is not None:
                X = np.where(bad, np.nan, X)
            elif bad.any():
                row, column = np.argwhere(bad)[0]
                raise DataError(missing_value(f"X: row {at + row}, feature f{column + 1}", X[row, column]))
            rows = slice(at, at + n)
            yield RowBlock(X, self._y[rows], np.asarray(self._qid[rows]), None, None, positions(0, b, n))
            at += n
        if at != len(self._y):
            raise DataError(f"X has {at} rows, but there are {len(self._y)} labels.")
