"""Tables (Parquet, CSV, Arrow files and data sets, data frames) as batches of rows."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from sparserank.arrow import pa, pc
from sparserank.data.categories import KnownLevels, objects_of, texts_of
from sparserank.data.letor.side_files import SideQueries, side_file
from sparserank.data.missing import is_missing
from sparserank.data.reading import too_large
from sparserank.data.streams import RowBlock
from sparserank.data.tables.frames import (
    collected,
    column_names,
    is_lazy,
    library_of,
    reason_of,
    refuse_repeated,
    without_sparse,
)
from sparserank.data.tables.parquet_folders import columns_of, folder_of_tables, with_uneven
from sparserank.data.tables.roles import Roles, is_number
from sparserank.data.text_lines import no_such_file, unzipped
from sparserank.errors import DataError, DataFormatError, SparserankError, TableError
from sparserank.options import option
from sparserank.text import brief

BATCH_ROWS = 1 << 16
BATCH_BYTES = 32 << 20  # approximate size of the features of a batch: wide tables have fewer rows per batch
PACKED_WIDTH = 1000  # assumed length of a list of features, which only its first row shows
CSV_BLOCK_BYTES = 8 << 20
SEPARATORS = frozenset(",;|\t")  # in the name of the only column: the file has another separator
CSV_COLUMN = re.compile(r"In CSV column #(\d+): ")  # how Arrow names the column of a value, from 0
SHOWN_BYTES = 40  # of a name in a message
BUFFER_BYTES = 1 << 16  # read buffer per column of a Parquet file: without it, a whole row group is in memory


class InputTable:
    """One table: a file, a folder of files, or an object in memory.

    place     its name in messages
    n_rows    None: known only at the end
    queries   the side file with the sizes of queries, for a table without a column of query ids
    """

    error: type[SparserankError] = DataFormatError

    def __init__(
        self,
        place: str,
        schema: pa.Schema,
        n_rows: int | None,
        queries: SideQueries | None = None,
    ) -> None:
        self.place = place
        self.schema = schema
        self.n_rows = n_rows
        self.queries = queries
        try:
            refuse_repeated(schema.names, place, self.error)
        except UnicodeDecodeError as error:
            raise self.error(
                f"{place}: a column name is not UTF-8 text ({brief(error.object[:SHOWN_BYTES])}); save the file as "
                "UTF-8."
            ) from error

    def unusable(self, problem: str) -> TableError:
        """The error about columns: the place and the problem; for a file, also the command that shows its columns."""
        end = to_see_columns(self.place) if self.error is DataFormatError else "."
        return TableError(f"{self.place}: {problem}{end}")

    def record_batches(
        self, names: Sequence[str], rows: int, texts: Collection[str | None] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """These columns of all rows, in order, in blocks of about `rows` rows, without checking values.

        Parameters
            texts   columns of a CSV file that are read as text, the others as numbers; None: all are text
        """
        raise NotImplementedError

    def batches(self, roles: Roles, dtype: np.dtype) -> Iterator[RowBlock]:
        """All rows, in order, with NaN for missing values, without positions; labels and query ids that the roles do
        not name are 0.

        Raises
            DataFormatError   (DataError for a frame) an invalid value; the message names table, row (from 0) and column
        """
        at = 0
        known = KnownLevels(roles.derived)
        for records in self.record_batches(roles.read, _rows(roles), roles.texts):
            if records.num_rows:
                try:
                    yield self._decoded(records, roles, dtype, at, known)
                except (pa.ArrowException, TypeError) as error:
                    raise self.error(
                        f"{self.place}: rows from {at}: the column of query ids, document ids or weights has a type "
                        f"that cannot be read ({brief(reason_of(error))}); convert it to numbers or text."
                    ) from error
            at += records.num_rows
        known.warn(self.place)

    def _decoded(
        self,
        records: pa.RecordBatch,
        roles: Roles,
        dtype: np.dtype,
        at: int,
        known: KnownLevels,
    ) -> RowBlock:
        n = records.num_rows
        label = np.zeros(n)
        qid = np.zeros(n, dtype=np.int64)
        docid = weight = None
        if roles.packed is not None:
            X = self._packed(records.column(roles.packed), roles.packed, dtype, at)
        else:
            X = np.empty((n, len(roles.features)), dtype=dtype)
        texts: dict[str, pa.DictionaryArray] = {}  # of categories, by column
        for j, name in enumerate(roles.features):
            derived = roles.derived.get(name)
            source = name if derived is None else derived.source
            if derived is None or source not in roles.levelled:
                self._into(X[:, j], records.column(source), name, at)
                if derived is not None:
                    X[:, j] = is_missing(X[:, j])
                continue
            if source not in texts:
                texts[source] = texts_of(records.column(source))
                known.see(source, texts[source])
            X[:, j] = derived.among(texts[source])
        if roles.label is not None:
            self._into(label, records.column(roles.label), roles.label, at)
            if roles.label in roles.kept_columns:  # there is a judge
                label[np.isnan(label)] = 0.0
            self._refuse(~np.isfinite(label), at, roles.label, label, "a finite number as the label")
        if roles.weight is not None:
            weight = np.empty(n)
            self._into(weight, records.column(roles.weight), roles.weight, at)
            self._refuse(~(weight >= 0) | np.isinf(weight), at, roles.weight, weight, "a number >= 0 as the weight")
        if roles.qid is not None:
            qid = self.ids(records.column(roles.qid), roles.qid, at)
        if roles.docid is not None:
            docid = _texts(records.column(roles.docid))
            self._refuse_nul(docid, at, roles.docid)
        table = np.empty((n, len(roles.kept_columns)), dtype=object)
        for j, (name, numeric) in enumerate(roles.kept_columns.items()):
            column = records.column(name)
            if is_number(column.type):
                values = np.empty(n)
                self._into(values, column, name, at)
                table[:, j] = np.where(is_missing(values), np.nan, values)
            else:
                table[:, j] = objects_of(texts_of(column), numeric=numeric)
        return RowBlock(X, label, qid, docid, weight, np.empty((n, 0)), table=table)

    def _into(
        self,
        out: np.ndarray,
        column: pa.Array,
        name: str,
        at: int,
    ) -> None:
        """Copy the values of a column into `out` (n,), NaN for null."""
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind not in "biuf":
            values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore"):
            out[:] = values
        if out.dtype == np.float32 and values.dtype != np.float32:
            bad = np.flatnonzero(np.isinf(out) & ~is_missing(values.astype(np.float64)))
            if len(bad):
                place = f"{self.place}: row {at + bad[0]}, column {brief(name)}"
                raise self.error(too_large(place, values[bad[0]], out.dtype))

    def _packed(
        self,
        column: pa.Array,
        name: str,
        dtype: np.dtype,
        at: int,
    ) -> np.ndarray:
        self._refuse(_nulls(column), at, name, column, "a list of features")
        lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
        width = int(lengths[0])
        if (lengths != width).any():
            row = int(np.argmax(lengths != width))
            raise self.error(
                f"{self.place}: row {at + row} has {lengths[row]} features in {brief(name)}, but row {at} has {width}; "
                "give every row the same number of features."
            )
        out = np.empty(len(column) * width, dtype=dtype)
        self._into(out, column.flatten(), name, at)
        return out.reshape(len(column), width)

    def ids(self, column: pa.Array, name: str, at: int) -> np.ndarray:
        self._refuse(_nulls(column), at, name, None, "a query id in every row")
        if pa.types.is_integer(column.type):
            ids = np.asarray(column.to_numpy(zero_copy_only=False))
            large = ids.dtype == np.uint64 and len(ids) > 0 and int(ids.max()) >= 2**63
            return ids.astype("U") if large else ids.astype(np.int64)
        if pa.types.is_floating(column.type):
            values = column.to_numpy(zero_copy_only=False)
            whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2**53)
            self._refuse(~whole, at, name, values, "a whole number or text as the query id")
            return values.astype(np.int64)
        coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        distinct = np.array(["" if t is None else str(t) for t in coded.dictionary.to_pylist()] or [""], dtype=object)
        where = coded.indices.to_numpy(zero_copy_only=False)
        self._refuse_nul(distinct[where], at, name)
        out = np.asarray(distinct.astype("U")[where])
        self._refuse(out == "", at, name, out, "a query id in every row")
        return out

    def _refuse_nul(self, ids: np.ndarray, at: int, name: str) -> None:
        """Refuse texts that NumPy cannot distinguish from shorter ones."""
        ends = np.array([i.endswith("\0") for i in ids.tolist()])
        self._refuse(ends, at, name, ids, "an id that does not end in a NUL character")

    def _refuse(
        self,
        bad: np.ndarray,
        at: int,
        name: str,
        values: Any,
        expected: str,
    ) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            value = None if values is None else values[row]
            shown_value = "nothing" if value is None or value != value else brief(value)
            raise self.error(
                f"{self.place}: row {at + row}, column {brief(name)}: expected {expected}; got {shown_value}. Correct "
                "or drop the row."
            )


class _InMemory(InputTable):
    error = DataError

    def __init__(self, place: str, table: pa.Table) -> None:
        super().__init__(place, table.schema, table.num_rows)
        self._table = table

    def record_batches(self, names: Sequence[str], rows: int, texts: Any = None) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(names).combine_chunks().to_batches(rows)


class _Dataset(InputTable):
    """An Arrow file, or an Arrow data set that the user passed."""

    def __init__(self, place: str, dataset: Any, queries: SideQueries | None) -> None:
        with _readable(place):
            self._columns = columns_of(dataset, place)
            self._dataset = dataset.replace_schema(with_uneven(dataset, self._columns))
            super().__init__(place, self._dataset.schema, dataset.count_rows(), queries)

    def batches(self, roles: Roles, dtype: np.dtype) -> Iterator[RowBlock]:
        for file, schema in self._columns:
            lacking = next((name for name in roles._replace(kept_columns={}).read if name not in schema.names), None)
            if lacking is not None:
                raise self.error(
                    f"{file}: has no column {brief(lacking)}, but other files of {self.place} have; give all files the "
                    f"same columns, or ignore this column with {option('ignore_columns', [lacking])}."
                )
        yield from super().batches(roles, dtype)

    def record_batches(self, names: Sequence[str], rows: int, texts: Any = None) -> Iterator[pa.RecordBatch]:
        with _readable(self.place):
            yield from self._dataset.scanner(
                columns=list(names), batch_size=rows, batch_readahead=1, fragment_readahead=1, use_threads=False
            ).to_batches()


class _Parquet(_Dataset):
    """A Parquet file, or a folder of them (hive partitions become columns).

    Batches are read on demand, without a scanner: a scanner reads to the end before it closes, so it would report an
    error in the first row only after the last row.
    """

    def record_batches(self, names: Sequence[str], rows: int, texts: Any = None) -> Iterator[pa.RecordBatch]:
        from sparserank.arrow import ds, pq

        asked = pa.schema([self.schema.field(name) for name in names])
        with _readable(self.place):
            for part in self._dataset.get_fragments():
                fixed = ds.get_partition_keys(part.partition_expression)
                with part.open() as stream, pq.ParquetFile(stream, buffer_size=BUFFER_BYTES, pre_buffer=False) as file:
                    file_columns = [name for name in names if name not in fixed and name in file.schema_arrow.names]
                    for group in range(file.num_row_groups):
                        for records in file.iter_batches(rows, [group], file_columns, use_threads=False):
                            yield _in_schema(records, asked, fixed)


def _in_schema(records: pa.RecordBatch, asked: pa.Schema, fixed: dict[str, Any]) -> pa.RecordBatch:
    """The requested columns: values of the partition are repeated,
    and columns that one of several files lacks are null."""
    columns = []
    for field in asked:
        if field.name in records.schema.names:
            columns.append(records.column(field.name).cast(field.type))
        else:
            value = pa.scalar(fixed.get(field.name)).cast(field.type)
            columns.append(pa.repeat(value, records.num_rows))
    return pa.RecordBatch.from_arrays(columns, schema=asked)


class _Csv(InputTable):
    def __init__(self, path: str, delimiter: str, queries: SideQueries | None) -> None:
        self._path = path
        self._delimiter = delimiter
        with _readable(path), self._reader({}) as reader:
            schema = reader.schema
        super().__init__(path, schema, None, queries)
        names = schema.names
        if len(names) == 1 and SEPARATORS.intersection(names[0]):
            raise DataFormatError(
                f"{path}: columns must be separated by commas (in .tsv by tabs), and decimals by points; got "
                f"{brief(names[0])}."
            )

    def record_batches(self, names: Sequence[str], rows: int, texts: Any = None) -> Iterator[pa.RecordBatch]:
        # Columns that are boolean in the first block stay boolean; all other numbers are read as floats.
        types = {n: pa.bool_() if pa.types.is_boolean(self.schema.field(n).type) else pa.float64() for n in names}
        types |= dict.fromkeys(names if texts is None else set(names).intersection(texts), pa.string())
        remedy = "."
        if texts is not None:
            remedy = f"; name the features with {option('feature_columns')}{to_see_columns(self.place)}"
        with _readable(self.place, remedy, self.schema.names), self._reader(types, list(names)) as reader:
            yield from reader

    @contextmanager
    def _reader(self, types: dict[str, Any], columns: list[str] | None = None) -> Iterator[Any]:
        from sparserank.arrow import csv

        with open(self._path, "rb") as raw:
            yield csv.open_csv(
                pa.PythonFile(unzipped(raw), mode="r"),
                read_options=csv.ReadOptions(block_size=CSV_BLOCK_BYTES),
                parse_options=csv.ParseOptions(delimiter=self._delimiter),
                convert_options=csv.ConvertOptions(column_types=types, include_columns=columns),
            )


def _nulls(column: pa.Array) -> np.ndarray:
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def document_texts(values: Any) -> np.ndarray:
    """(n,) the document ids that come with arrays, of any type, as text.

    Raises
        DataError   they are not a list of ids
    """
    try:
        return _texts(pa.array(values, from_pandas=True))
    except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"docid must contain a document id, a number or text, for every row; got {brief(values)}."
        ) from error


def _texts(column: pa.Array) -> np.ndarray:
    """(n,) document ids of any type as text, "" where there is none;
    whole numbers without a decimal point, even if they are floats."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):  # pandas keeps whole numbers as floats if some are missing
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        texts = ["" if v != v else str(int(v)) if v.is_integer() else repr(v) for v in values.tolist()]
    else:
        texts = [x or "" for x in column.cast(pa.string()).to_pylist()]
    return np.array(texts, dtype=object)


def _rows(roles: Roles) -> int:
    width = PACKED_WIDTH if roles.packed is not None else max(len(roles.features), 1)
    return max(min(BATCH_ROWS, BATCH_BYTES // (8 * width)), 1)


def open_table(path: str | os.PathLike, kind: str) -> InputTable:
    """The table in a file or folder; `kind` is the result of `data.read_files.kind_of`:
    'parquet', 'arrow', 'folder' or 'csv'."""
    from sparserank.arrow import ds

    place = str(path)
    queries = side_file(path)
    if kind == "csv":
        return _Csv(place, "\t" if ".tsv" in Path(path).suffixes else ",", queries)
    with _readable(place):
        dataset = folder_of_tables(place) if kind == "folder" else ds.dataset(place, format=kind)
    return (_Dataset if kind == "arrow" else _Parquet)(place, dataset, queries)


def table_of(name: str, frame: Any) -> InputTable:
    """The table of an object in memory: an Arrow table or data set, a pandas or polars frame,
    or any object with an Arrow stream.

    Raises
        DataError   a lazy frame, a column twice, a column that Arrow cannot represent
    """
    from sparserank.arrow import ds

    if isinstance(frame, ds.Dataset):
        return _Dataset(name, frame, None)
    frame = collected(frame, name)
    refuse_repeated(column_names(frame), name)
    of_pandas = library_of(frame) == "pandas" and hasattr(frame, "columns")  # its stream adds the index as a column
    try:
        if hasattr(frame, "__arrow_c_stream__") and not of_pandas:
            return _InMemory(name, pa.table(frame))
        return _InMemory(name, pa.Table.from_pandas(without_sparse(frame), preserve_index=False))
    except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError) as error:
        if not of_pandas:
            raise DataError(
                f"{name}: a {type(frame).__name__} cannot be read ({brief(reason_of(error))}); pass a frame (pandas, "
                "polars or Arrow) of numbers and text."
            ) from error
        raise DataError(f"{name}: {_unreadable(frame)}") from error


def _unreadable(frame: Any) -> str:
    """The column of a pandas frame that Arrow cannot represent, and what to do."""
    for column in column_names(frame):
        try:
            pa.array(frame[column], from_pandas=True)
        except OverflowError:
            return (
                f"column {brief(column)} contains whole numbers from 2**64 on; convert them to text if they are ids, "
                "else to floats."
            )
        except (pa.ArrowException, TypeError, ValueError):
            return f"column {brief(column)} contains neither numbers nor text; convert it, or drop it."
    return "its columns cannot be read; convert them to numbers or text."


def is_frame(source: Any) -> bool:
    """Whether `table_of` accepts the source."""
    return (
        is_lazy(source)  # asking for its columns is costly
        or hasattr(source, "__arrow_c_stream__")
        or (hasattr(source, "columns") and hasattr(source, "__getitem__"))
        or (hasattr(source, "get_fragments"))
    )


def to_see_columns(place: str) -> str:
    """The end of a message about the columns of a file: the command that shows them."""
    return f"; to see its columns, run: sparserank inspect {quote(place)}"


@contextmanager
def _readable(place: str, remedy: str = ".", columns: Sequence[str] = ()) -> Iterator[None]:
    """Turn Arrow and operating-system errors about a file into a one-sentence message. `columns`: names in a CSV file,
    because Arrow numbers its columns."""
    try:
        yield
    except FileNotFoundError as error:
        raise no_such_file(place) from error
    except UnicodeEncodeError as error:
        raise DataFormatError(f"{place}: Arrow opens no file whose name is not UTF-8; rename it.") from error
    except pa.ArrowMemoryError as error:
        raise DataFormatError(
            f"{place}: does not fit into memory ({error}); write it with smaller pages and row groups, or use a "
            "machine with more memory."
        ) from error
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        reason = reason_of(error)
        number = CSV_COLUMN.match(reason)
        if number is not None and int(number[1]) < len(columns):
            reason = f"column {brief(columns[int(number[1])])}: {reason[number.end() :]}"
        raise DataFormatError(f"{place}: cannot be read ({reason}){remedy}") from error
