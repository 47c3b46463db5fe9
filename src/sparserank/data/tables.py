"""Tables - Parquet, CSV, Arrow files and data sets, data frames - as batches of rows."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sparserank.data.side_files import SideQueries, side_file
from sparserank.data.table_roles import Roles
from sparserank.data.text_lines import GZIP
from sparserank.errors import DataError, DataFormatError, SparserankError, TableError
from sparserank.quoting import brief

BATCH_ROWS = 1 << 16
BATCH_BYTES = 32 << 20  # of features, about: wide tables come in fewer rows at a time
PACKED_WIDTH = 1000  # features that a list may hold; how many, its first row says
CSV_BLOCK_BYTES = 8 << 20


class Batch(NamedTuple):
    """Consecutive rows: X (n, d) with NaN for what is missing; label, qid (None: of the side file), docid and weight (None: not there), (n,)."""

    X: np.ndarray
    label: np.ndarray | None
    qid: np.ndarray | None
    docid: np.ndarray | None
    weight: np.ndarray | None


class Table:
    """One table: a file, a folder of files, or what the user holds in memory.

    place     what messages call it
    n_rows    None: known at the end only
    queries   the side file that says where queries begin, for a table without a column for it
    """

    error: type[SparserankError] = DataFormatError

    def __init__(self, place: str, schema: pa.Schema, n_rows: int | None, queries: SideQueries | None = None) -> None:
        self.place, self.schema, self.n_rows, self.queries = place, schema, n_rows, queries
        seen: set[str] = set()
        for name in schema.names:
            if name in seen:
                raise self.error(f"{place}: column {brief(name)} appears twice; rename or drop one.")
            seen.add(name)

    def record_batches(self, roles: Roles) -> Iterator[pa.RecordBatch]:
        """The needed columns of all rows, in order."""
        raise NotImplementedError

    def raw_batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The named columns of all rows, in blocks of at most so many rows, without looking at a value: those of a CSV file are text."""
        for records in self.record_batches(Roles(None, None, None, None, tuple(names), None)):
            for at in range(0, records.num_rows, rows):
                yield records.slice(at, rows)

    def batches(self, roles: Roles, dtype: np.dtype) -> Iterator[Batch]:
        """All rows, in order.

        Raises
            DataFormatError   (DataError for a frame) names table, row (from 0) and column of a value that cannot be
        """
        at = 0
        for records in self.record_batches(roles):
            if records.num_rows:
                try:
                    yield self._decoded(records, roles, dtype, at)
                except (pa.ArrowException, TypeError) as error:
                    reason = (str(error).splitlines() or [type(error).__name__])[0]
                    raise self.error(
                        f"{self.place}: rows from {at}: query, document or weight is of a kind that cannot be read ({brief(reason)}); make it "
                        "numbers or text."
                    ) from error
            at += records.num_rows

    def _decoded(self, records: pa.RecordBatch, roles: Roles, dtype: np.dtype, at: int) -> Batch:
        n = records.num_rows
        if roles.packed is not None:
            X = self._packed(records.column(roles.packed), roles.packed, dtype, at)
        else:
            X = np.empty((n, len(roles.features)), dtype=dtype)
            for j, name in enumerate(roles.features):
                self._into(X[:, j], records.column(name), name, at)
        label = weight = None
        if roles.label is not None:
            label = np.empty(n)
            self._into(label, records.column(roles.label), roles.label, at)
            self._refuse(~np.isfinite(label), at, roles.label, label, "a finite number as label")
        if roles.weight is not None:
            weight = np.empty(n)
            self._into(weight, records.column(roles.weight), roles.weight, at)
            self._refuse(~(weight >= 0) | np.isinf(weight), at, roles.weight, weight, "a number >= 0 as weight")
        qid = None if roles.qid is None else self._ids(records.column(roles.qid), roles.qid, at)
        docid = None
        if roles.docid is not None:
            docid = _texts(records.column(roles.docid))
        return Batch(X, label, qid, docid, weight)

    def _into(self, out: np.ndarray, column: pa.Array, name: str, at: int) -> None:
        """out (n,) = the column, NaN for null."""
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind not in "biuf":
            values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore"):
            out[:] = values
        if out.dtype == np.float32 and values.dtype != np.float32:
            self._refuse(
                np.isinf(out) & np.isfinite(values.astype(np.float64)), at, name, values, "too large for float32"
            )

    def _packed(self, column: pa.Array, name: str, dtype: np.dtype, at: int) -> np.ndarray:
        lengths = np.diff(column.offsets.to_numpy()) if hasattr(column, "offsets") else None
        if column.null_count:
            self._refuse(column.is_null().to_numpy(zero_copy_only=False), at, name, column, "a list of features")
        width = int(lengths[0]) if lengths is not None else column.type.list_size
        if lengths is not None and (lengths != width).any():
            row = int(np.argmax(lengths != width))
            raise self.error(
                f"{self.place}: row {at + row} holds {lengths[row]} features in {brief(name)}, row {at} {width}; "
                "give every row the same number."
            )
        out = np.empty(len(column) * width, dtype=dtype)
        self._into(out, column.flatten(), name, at)
        return out.reshape(len(column), width)

    def _ids(self, column: pa.Array, name: str, at: int) -> np.ndarray:
        if column.null_count:
            self._refuse(column.is_null().to_numpy(zero_copy_only=False), at, name, None, "the query of every row")
        if pa.types.is_integer(column.type):
            ids = np.asarray(column.to_numpy(zero_copy_only=False))
            large = ids.dtype == np.uint64 and len(ids) > 0 and int(ids.max()) >= 2**63
            return ids.astype("U") if large else ids.astype(np.int64)
        if pa.types.is_floating(column.type):
            values = column.to_numpy(zero_copy_only=False)
            whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2**53)
            self._refuse(~whole, at, name, values, "a whole number or text as query id")
            return values.astype(np.int64)
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        held = coded.dictionary.to_pylist()
        texts = np.array(["" if t is None else str(t) for t in held] or [""])
        out = texts[coded.indices.to_numpy(zero_copy_only=False)]
        self._refuse(out == "", at, name, out, "the query of every row")
        return np.asarray(out)

    def _refuse(self, bad: np.ndarray, at: int, name: str, values: Any, expected: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            found = None if values is None else values[row]
            what = "nothing" if found is None or found != found else brief(found)
            raise self.error(
                f"{self.place}: row {at + row}, column {brief(name)}: expected {expected}; got {what}. Correct or drop the row."
            )


class _InMemory(Table):
    error = DataError

    def __init__(self, place: str, table: pa.Table) -> None:
        super().__init__(place, table.schema, table.num_rows)
        self._table = table

    def record_batches(self, roles: Roles) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(roles.read).combine_chunks().to_batches(_rows(roles))


class _Dataset(Table):
    """A Parquet or Arrow file, or a folder of them (hive partitions become columns)."""

    def __init__(self, place: str, dataset: Any, queries: SideQueries | None) -> None:
        with _readable(place):
            super().__init__(place, dataset.schema, dataset.count_rows(), queries)
        self._dataset = dataset

    def record_batches(self, roles: Roles) -> Iterator[pa.RecordBatch]:
        yield from self.raw_batches(roles.read, _rows(roles))

    def raw_batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        with _readable(self.place):
            yield from self._dataset.scanner(
                columns=list(names), batch_size=rows, batch_readahead=1, fragment_readahead=1, use_threads=False
            ).to_batches()


class _Csv(Table):
    def __init__(self, path: str, delimiter: str, queries: SideQueries | None) -> None:
        self._path, self._delimiter = path, delimiter
        with _readable(path), self._reader({}) as reader:
            schema = reader.schema
        super().__init__(path, schema, None, queries)

    def record_batches(self, roles: Roles) -> Iterator[pa.RecordBatch]:
        types = dict.fromkeys(roles.read, pa.float64())
        types |= {name: pa.string() for name in (roles.qid, roles.docid) if name is not None}
        remedy = "; name the features with --feature-columns (feature_columns=)"
        with _readable(self.place, remedy), self._reader(types, roles.read) as reader:
            yield from reader

    def raw_batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        with _readable(self.place), self._reader(dict.fromkeys(names, pa.string()), list(names)) as reader:
            for records in reader:
                for at in range(0, records.num_rows, rows):
                    yield records.slice(at, rows)

    @contextmanager
    def _reader(self, types: dict[str, Any], columns: list[str] | None = None) -> Iterator[Any]:
        from pyarrow import csv

        with open(self._path, "rb") as raw:
            zipped = raw.read(2) == GZIP
        with gzip.open(self._path) if zipped else open(self._path, "rb") as stream:
            yield csv.open_csv(
                pa.PythonFile(stream, mode="r"),
                read_options=csv.ReadOptions(block_size=CSV_BLOCK_BYTES),
                parse_options=csv.ParseOptions(delimiter=self._delimiter),
                convert_options=csv.ConvertOptions(column_types=types, include_columns=columns),
            )


def document_texts(values: Any) -> np.ndarray:
    """(n,) document ids of any kind, beside arrays, as text.

    Raises
        DataError   they are no list of ids
    """
    try:
        return _texts(pa.array(values, from_pandas=True))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"docid must be the document ids of the rows, numbers or text; got {brief(values)}.") from error


def _texts(column: pa.Array) -> np.ndarray:
    """(n,) document ids of any kind as text, "" where there is none; whole numbers without a point, whatever holds them."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):  # as pandas keeps whole numbers beside missing ones
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        held = ["" if v != v else str(int(v)) if v.is_integer() else repr(v) for v in values.tolist()]
    else:
        held = [x or "" for x in column.cast(pa.string()).to_pylist()]
    return np.array(held, dtype=object)


def _rows(roles: Roles) -> int:
    width = PACKED_WIDTH if roles.packed is not None else max(len(roles.features), 1)
    return max(min(BATCH_ROWS, BATCH_BYTES // (8 * width)), 1)


def open_table(path: str | os.PathLike, kind: str) -> Table:
    """The table in a file or folder; `kind` is what `data.reading.kind_of` found: 'parquet', 'arrow', 'folder' or 'csv'."""
    from pyarrow import dataset as ds

    place = str(path)
    queries = side_file(path)
    if kind == "csv":
        return _Csv(place, "\t" if ".tsv" in Path(path).suffixes else ",", queries)
    with _readable(place):
        # Arrow's own reading ahead holds the whole file where the reader is slower than the disk.
        bounded = ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        parquet = ds.ParquetFileFormat(default_fragment_scan_options=bounded)
        if kind == "folder":
            found = ds.dataset(place, partitioning="hive", format=parquet)
        else:
            found = ds.dataset(place, format=parquet if kind == "parquet" else kind)
    return _Dataset(place, found, queries)


def table_of(name: str, frame: Any) -> Table:
    """What the user holds in memory: an Arrow table or data set, a pandas or polars frame, whatever gives an Arrow stream."""
    from pyarrow import dataset as ds

    if isinstance(frame, ds.Dataset):
        return _Dataset(name, frame, None)
    try:
        of_pandas = type(frame).__module__.partition(".")[0] == "pandas"  # whose stream takes the index for a column
        if hasattr(frame, "__arrow_c_stream__") and not of_pandas:
            return _InMemory(name, pa.table(frame))
        return _InMemory(name, pa.Table.from_pandas(frame, preserve_index=False))
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{name}: a column is neither numbers nor text: {brief(reason)}.") from error


def is_frame(source: Any) -> bool:
    """Whether `table_of` takes it."""
    return hasattr(source, "__arrow_c_stream__") or (hasattr(source, "columns") and hasattr(source, "__getitem__")) or (
        hasattr(source, "get_fragments")
    )  # fmt: skip


@contextmanager
def _readable(place: str, remedy: str = "") -> Iterator[None]:
    """What Arrow and the system say of a file, as one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataFormatError(f"{place}: no such file; check the path.") from error
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise (TableError if remedy else DataFormatError)(f"{place}: cannot be read ({reason}){remedy}.") from error
