"""Read LETOR / SVMlight ranking text, plain or gzip, one or several files, as a stream of rows or as a data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset, checked_names, numbered_from_1
from sparserank.data.letor.chunks import Chunk, stream_chunks
from sparserank.data.letor.side_files import side_files
from sparserank.data.matrices import float_type
from sparserank.data.reading import UNJUDGED, Reading, missing_value, no_rows, policy_of, too_large, unjudged_label
from sparserank.data.streams import BEGIN, RowBlock, Stream, StreamPosition, positions
from sparserank.errors import DataError, DataFormatError, TooManyFeaturesError, warn_caller
from sparserank.execution import available_cores
from sparserank.files import StrPath
from sparserank.options import option

DENSE_FROM = 0.25  # fraction of values present from which a dense array is smaller than 12-byte CSR entries and faster
MAX_EMPTY_FEATURES = 1_000_000  # above this, a count far larger than the number of values is a mistyped index


class TextRows(Stream):
    """The rows of files of ranking text; float64 unless the reading names a dtype.

    Parameters
        like   a data set with the same number of features
    Raises
        DataError   the number of names differs from the number of features; the numbers begin at 1, but those of `like`
                    at 0
    """

    def __init__(self, paths: Sequence[StrPath], reading: Reading, *, like: RankingDataset | None = None) -> None:
        self._paths = [Path(p) for p in paths]
        self._reading = reading
        self._like = like
        self._most = reading.n_features if like is None else like.n_features
        self._threads = reading.n_threads or min(available_cores(), 8)
        self._queries = side_files(self._paths)
        self.policy, self.known = policy_of(reading, like)
        self.unjudged = reading.unjudged
        self.places = [str(p) for p in self._paths]
        self.index_base = self.text_base = reading.index_base
        self.dtype = float_type(np.float64 if reading.dtype is None else reading.dtype)
        self.feature_names = names = reading.names
        if names is None and reading.index_base == 1 and like is not None and like.index_base == 0:
            raise DataError(numbered_from_1(f"the features of {self.places[0]}", "the training data"))
        names_or_file = reading.feature_names
        self._named_by = str(names_or_file) if isinstance(names_or_file, StrPath) else "feature_names"
        if names is not None and self._most not in (None, len(names)):
            raise DataError(
                f"{self._named_by} contains {len(names)} names for {self._most} features; give one name per feature."
            )
        if names is not None:
            checked_names(names, len(names))
        self._known = False
        # The number of features of every line, where no line leaves one out, and where this was seen.
        self._full_width = None if like is None or like.is_sparse else (like.n_features, "the training data")

    def look(self) -> None:
        width = self._most if self.feature_names is None else len(self.feature_names)
        if not self._known and width is not None and self._reading.sparse is not None:
            self.n_features = width
            self.sparse = self._reading.sparse
            self._known = True
        elif not self._known:
            for _ in self.pieces():
                pass

    def pieces(self, start: StreamPosition = BEGIN) -> Iterator[RowBlock]:
        seen = _Seen()
        for f, path in enumerate(self._paths):
            if f < start.file:
                continue
            skip = start.block if f == start.file else 0
            of_file = _Seen()
            for b, chunk in enumerate(self._chunks(f, skip), start=skip):
                if len(chunk.rows.label):
                    self._check_values(chunk)
                    of_file.add(chunk)
                    seen.add(chunk)
                    yield self._piece(chunk, f, b)
            if of_file.n_rows == 0 and skip == 0:
                raise DataFormatError(no_rows(str(path), "lines such as '2 qid:10 1:0.03 2:0.67'"))
            self._check_width(str(path), of_file)
        if not self._known:
            self.n_features = self._width(seen)
            dense_from = DENSE_FROM * seen.n_rows * self.n_features
            self.sparse = seen.n_values < dense_from if self._reading.sparse is None else bool(self._reading.sparse)
            self._known = True

    def _check_values(self, chunk: Chunk) -> None:
        """Refuse values that the options do not allow; the message names file and line."""
        if chunk.missing is not None and self.policy is None:
            line, text = chunk.missing
            raise DataFormatError(missing_value(chunk.place(line), text))
        label = chunk.rows.label
        X = chunk.rows.X
        if self.dtype == np.float32:
            bad = np.flatnonzero(np.abs(X.data) > np.finfo(np.float32).max)
            if len(bad):
                row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
                raise DataFormatError(too_large(chunk.line(row), X.data[bad[0]], self.dtype))
        bad = np.flatnonzero(~np.isfinite(label))
        if len(bad):
            raise DataFormatError(f"{chunk.line(bad[0])}: label must be finite; got {label[bad[0]]}.")
        if self.unjudged == "error":
            bad = np.flatnonzero(label == UNJUDGED)
            if len(bad):
                raise DataFormatError(unjudged_label(chunk.line(bad[0])))

    def _check_width(self, place: str, seen: _Seen) -> None:
        """Warn if every line of a file has the same features, but not as many as those of another one."""
        width = seen.largest + 1
        if self._known or not seen.n_rows or seen.n_values != seen.n_rows * width:
            return
        if self._full_width is None:
            self._full_width = width, place
        elif self._full_width[0] != width:
            others, where = self._full_width
            warn_caller(
                f"{place}: every line has {width} features, but {others} in {where}; are they of the same data?"
            )

    def _chunks(self, f: int, skip: int) -> Iterator[Chunk]:
        most = self.n_features if self._known else self._most
        try:
            yield from stream_chunks(self._paths[f], self.index_base, most, self._threads, self._queries[f], skip)
        except TooManyFeaturesError as error:
            if self._like is None:
                raise
            raise DataError(f"{error} Here: {option('n_features', error.width)}.") from error

    def _piece(self, chunk: Chunk, f: int, b: int) -> RowBlock:
        rows = chunk.rows
        X = rows.X
        n, width = X.shape
        shape = n, self.n_features if self._known else width
        X = sp.csr_matrix((X.data.astype(self.dtype, copy=False), X.indices, X.indptr), shape=shape)
        return rows._replace(X=X, where=positions(f, b, n), line=np.asarray(rows.line) + chunk.first_line)

    def _width(self, seen: _Seen) -> int:
        """The number of features: as requested or named, else the largest index; refuses implausible numbers."""
        if seen.n_values == 0:
            raise DataFormatError(f"{self.places[0]}: no line has a feature; expected 'label qid:ID index:value ...'.")
        largest = seen.largest + self.index_base
        names = self.feature_names
        most = max(MAX_EMPTY_FEATURES, 100 * seen.n_values)
        if names is not None:
            if seen.largest >= len(names):
                raise DataError(
                    f"{seen.where}: has feature {largest}, but {self._named_by} contains {len(names)} names; add the "
                    "missing names."
                )
            return len(names)
        if seen.largest >= most:
            raise DataFormatError(
                f"{seen.where}: has feature {largest}, but only {seen.n_values} values are present; "
                "correct the index, or renumber the features."
            )
        if self._most is not None and self._most > most:
            raise DataError(
                f"{option('n_features')} is {self._most}, but the data contain only {seen.n_values} values, and their "
                f"largest feature index is {largest} ({seen.where}); give the actual number of features."
            )
        return self._most or seen.largest + 1


class _Seen:
    """Totals over the chunks so far: rows, values, and the largest 0-based feature index with its place."""

    def __init__(self) -> None:
        self.n_rows = self.n_values = 0
        self.largest = -1
        self.where = ""

    def add(self, chunk: Chunk) -> None:
        n_rows, width = chunk.rows.X.shape
        self.n_rows += n_rows
        self.n_values += chunk.rows.X.nnz
        if width > self.largest + 1:
            self.largest = width - 1
            self.where = chunk.place(chunk.max_line)
