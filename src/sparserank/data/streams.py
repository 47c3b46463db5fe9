"""Rows of any input as a stream of blocks in bounded memory, which can begin where an earlier stream was cut off."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset, numbered
from sparserank.data.feature_logs import log_names, log_tables
from sparserank.data.filling import CHOICES, SAMPLE_VALUES, Filling, learn_filling
from sparserank.data.kinds import kind_of, refuse_mixed
from sparserank.data.letor.chunks import stream_chunks
from sparserank.data.letor.reader import (
    DENSE_FROM,
    MOST_EMPTY_FEATURES,
    UNJUDGED,
    check_values,
    features_of,
    float_type,
)
from sparserank.data.letor.side_files import side_files
from sparserank.data.missing import MissingPolicy, holds_missing, is_missing
from sparserank.data.reading import Reading
from sparserank.data.store.opening import open_stores
from sparserank.data.tables.batches import Batch, Table, open_table
from sparserank.data.tables.reader import natural_float, refuse_unjudged, set_missing
from sparserank.data.tables.refusal import telling_all
from sparserank.data.tables.roles import Roles, roles_of
from sparserank.errors import DataError, DataFormatError
from sparserank.execution import available_cores


class Position(NamedTuple):
    """A row of an input: file, block of the file, row of the block."""

    file: int
    block: int
    row: int


class RowBlock(NamedTuple):
    """Consecutive rows: X (n, d) dense or CSR, NaN where a value is missing; label (n,); qid (n,) int64 or text; docid
    (n,) or None; weight (n,) or None; where (n, 3) the position of each row."""

    X: Any
    label: np.ndarray
    qid: np.ndarray
    docid: np.ndarray | None
    weight: np.ndarray | None
    where: np.ndarray

    def take(self, rows: Any) -> RowBlock:
        """Some of the rows, by a slice or their numbers."""
        docid, weight = (None if v is None else v[rows] for v in (self.docid, self.weight))
        return RowBlock(self.X[rows], self.label[rows], self.qid[rows], docid, weight, self.where[rows])


def below(blocks: Sequence[RowBlock]) -> RowBlock:
    """Blocks, one below the other."""
    if len(blocks) == 1:
        return blocks[0]
    X = (
        sp.vstack([b.X for b in blocks], format="csr")
        if sp.issparse(blocks[0].X)
        else np.concatenate([b.X for b in blocks])
    )
    docid = weight = None
    if any(b.docid is not None for b in blocks):
        docid = np.concatenate(
            [np.full(len(b.label), "", dtype=object) if b.docid is None else b.docid for b in blocks]
        )
    if any(b.weight is not None for b in blocks):
        weight = np.concatenate([np.ones(len(b.label)) if b.weight is None else b.weight for b in blocks])
    label, qid, where = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("label", "qid", "where"))
    return RowBlock(X, label, qid, docid, weight, where)


def _at(file: int, block: int, n: int) -> np.ndarray:
    """(n, 3) positions of the rows of a block."""
    return np.column_stack([np.full(n, file), np.full(n, block), np.arange(n)])


class Stream:
    """The rows of one or several files of one kind.

    n_features, dtype, sparse, feature_names   of all blocks, known before the first
    """

    n_features: int
    dtype: np.dtype
    sparse: bool
    feature_names: tuple[str, ...] | None
    index_base = 1  # number of the first feature, where users number them

    def filling(self, policy: MissingPolicy | None) -> Filling | None:
        """What missing values become; one more reading of everything where that is learned."""
        if policy is None:
            return None
        return learn_filling(
            policy,
            (block.X for block in self.blocks()),
            self.n_features,
            self.dtype,
            self.feature_names,
            index_base=self.index_base,
            sample_values=SAMPLE_VALUES,
        )

    def blocks(self, start: Position = Position(0, 0, 0)) -> Iterator[RowBlock]:
        """All rows from a position on.

        Raises
            DataFormatError   names file and line, or row and column, of what cannot be
        """
        for block in self._blocks(start):
            if len(block.label) == 0:
                continue
            first = int(np.searchsorted(block.where[:, 2], start.row)) if tuple(block.where[0, :2]) == start[:2] else 0
            if first < len(block.label):
                yield block.take(slice(first, None)) if first else block

    def _blocks(self, start: Position) -> Iterator[RowBlock]:
        """Whole blocks, from the one of the position on."""
        raise NotImplementedError


def open_stream(
    paths: Sequence[str | os.PathLike], reading: Reading, *, natural: bool = False, like: RankingDataset | None = None
) -> Stream:
    """The rows of files of one kind; text is read once before, for the number of its features, unless that is given.

    Parameters
        natural   keep features as `read_files` does where the reading names no dtype, instead of in float32
        like      the data set whose features these must have
    """
    kinds = refuse_mixed(paths, [kind_of(p) for p in paths])
    if kinds == "store":
        return _Stores(paths, reading)
    if kinds == "letor":
        if like is not None:
            reading = replace(reading, n_features=like.n_features)
        return _Text(paths, replace(reading, dtype=np.float64) if natural and reading.dtype is None else reading)
    if kinds == "log":
        names = log_names(paths, reading.feature_columns)
        return TableRows(
            log_tables(paths, names), replace(reading, feature_columns=names, label="label", qid="qid", docid=None)
        )
    return TableRows([open_table(p, kinds) for p in paths], reading, natural=natural, like=like)


class _Text(Stream):
    def __init__(self, paths: Sequence[str | os.PathLike], reading: Reading) -> None:
        self._paths, self._reading = [Path(p) for p in paths], reading
        self._threads = reading.n_threads or min(available_cores(), 8)
        self._queries = side_files(self._paths)
        self._policy = MissingPolicy.parse(reading.missing)
        self.index_base = reading.index_base
        self.dtype = float_type(reading.dtype or np.float32)
        self.feature_names = names = reading.names
        width = len(names) if names is not None else reading.n_features
        if width is None or reading.sparse is None:
            widest, density = self._looked_at()
            width = widest if width is None else width
        if reading.n_features is not None and width != reading.n_features:
            raise DataError(f"feature_names holds {width} names for {reading.n_features} features; they must agree.")
        self.n_features = width
        _refuse_names(self.feature_names, width)
        self.sparse = density < DENSE_FROM * width if reading.sparse is None else reading.sparse

    def _looked_at(self) -> tuple[int, float]:
        """(the number of features, values per row), from a reading of everything."""
        widest, n_values, n_rows = 0, 0, 0
        for path, queries in zip(self._paths, self._queries, strict=True):
            of_file = 0
            for chunk in stream_chunks(
                path, self._reading.index_base, self._reading.n_features, self._threads, queries
            ):
                widest, n_values = max(widest, chunk.max_index + 1), n_values + len(chunk.values)
                of_file += len(chunk.labels)
            if of_file == 0:
                raise DataFormatError(f"{path}: no data rows; expected lines such as '2 qid:10 1:0.03 2:0.67'.")
            n_rows += of_file
        if widest > max(MOST_EMPTY_FEATURES, 100 * n_values):
            raise DataFormatError(
                f"{self._paths[0]}: there is a feature {widest}, but only {n_values} values are present; correct the "
                "index, or renumber the features."
            )
        if n_values == 0:
            raise DataFormatError(f"{self._paths[0]}: no line has a feature; expected 'label qid:ID index:value ...'.")
        return widest, n_values / n_rows

    def _blocks(self, start: Position) -> Iterator[RowBlock]:
        unjudged = self._reading.unjudged
        for f, path in enumerate(self._paths):
            if f < start.file:
                continue
            skip = start.block if f == start.file else 0
            chunks = stream_chunks(
                path, self._reading.index_base, self.n_features, self._threads, self._queries[f], skip
            )
            for b, chunk in enumerate(chunks, start=skip):
                if len(chunk.labels) == 0:
                    continue
                check_values(chunk, self._policy, unjudged, self.dtype)
                X = features_of([chunk], self.n_features, self.sparse, self.dtype)
                lengths = np.diff(np.append(chunk.run_rows, len(chunk.labels)))
                block = RowBlock(
                    X,
                    chunk.labels,
                    np.repeat(np.array(chunk.run_qids), lengths),
                    chunk.docids if chunk.docids.astype(bool).any() else None,
                    None,
                    _at(f, b, len(chunk.labels)),
                )
                block = _judged(block, unjudged)
                if len(block.label):
                    yield block


class TableRows(Stream):
    """The rows of tables below each other; parameters as of `open_stream`."""

    sparse = False

    def __init__(
        self,
        tables: Sequence[Table],
        reading: Reading,
        *,
        natural: bool = False,
        like: RankingDataset | None = None,
    ) -> None:
        self._tables, self._reading, self.index_base = list(tables), reading, reading.index_base
        self._policy = MissingPolicy.parse(reading.missing)
        self._roles: list[Roles] = []
        wanted = None if like is None else list(like.feature_names or ())
        self._given = wanted
        with telling_all(self._tables, reading, self._given):
            for table in tables:
                roles = roles_of(
                    table, reading.columns, wanted=wanted, others=like is not None, labelled=reading.labelled
                )
                self._roles.append(roles)
                wanted = list(roles.features) if wanted is None and roles.packed is None else wanted
        first = self._roles[0]
        self.dtype = natural_float(tables, self._roles, reading.dtype if natural else reading.dtype or np.float32)
        kinds = {
            pa.types.is_integer(t.schema.field(r.qid).type) for t, r in zip(tables, self._roles, strict=True) if r.qid
        }
        self._as_text = len(kinds) > 1  # of query ids: the same one may be a number here and text there
        names = reading.names
        if first.packed is None:
            self.n_features = len(first.features)
            self.feature_names = tuple(first.features) if names is None else names
        else:
            batch = next(tables[0].batches(first, self.dtype), None)
            if batch is None:
                raise DataFormatError(f"{tables[0].place}: no data rows.")
            self.n_features, self.feature_names = batch.X.shape[1], names
        _refuse_names(self.feature_names, self.n_features)

    def _blocks(self, start: Position) -> Iterator[RowBlock]:
        first_query = 0
        for f, (table, roles) in enumerate(zip(self._tables, self._roles, strict=True)):
            at = 0
            if f >= start.file:
                for b, batch in enumerate(table.batches(roles, self.dtype)):
                    n = len(batch.X)
                    if (f, b) >= start[:2]:
                        block = self._block(table, batch, f, b, at, first_query)
                        if len(block.label):
                            yield block
                    at += n
                if at == 0:
                    raise DataFormatError(f"{table.place}: no data rows.")
                if table.queries is not None and roles.qid is None:
                    table.queries.check(at, table.place)
            if table.queries is not None and roles.qid is None:
                first_query += len(table.queries.ends)

    def _block(self, table: Table, batch: Batch, f: int, b: int, at: int, first_query: int) -> RowBlock:
        n = len(batch.X)
        if batch.X.shape[1] != self.n_features:
            raise DataFormatError(
                f"{table.place} has lists of {batch.X.shape[1]} features; the first rows of {self.n_features}."
            )
        with telling_all(self._tables, self._reading, self._given):
            set_missing(batch, table, self._roles[f], self._policy, at)
        qid = batch.qid
        if qid is None:
            assert table.queries is not None
            qid = first_query + table.queries.ids(at, at + n, table.place)
        if self._as_text:
            qid = qid.astype("U")
        label = np.zeros(n) if batch.label is None else batch.label
        if self._reading.unjudged == "error":
            refuse_unjudged(label, table, at)
        block = RowBlock(batch.X, label, qid, batch.docid, batch.weight, _at(f, b, n))
        return _judged(block, self._reading.unjudged)


class _Stores(Stream):
    """The rows of finished stores, as they are in there."""

    def __init__(self, paths: Sequence[str | os.PathLike], reading: Reading) -> None:
        self._stores, self._places = open_stores(paths), [str(p) for p in paths]
        self._policy = MissingPolicy.parse(reading.missing)
        first = self._stores[0]
        self.n_features, self.sparse = first.n_features, first.is_sparse
        self.feature_names = None if numbered(first.feature_names or ()) else tuple(first.feature_names or ())
        self.dtype = first.X.dtype if reading.dtype is None else float_type(reading.dtype)

    def _ones(self, n: int) -> np.ndarray | None:
        """Weights of a store without, beside one that has some."""
        return np.ones(n) if any(s.doc_weight is not None for s in self._stores) else None

    def _blocks(self, start: Position) -> Iterator[RowBlock]:
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
                    yield RowBlock(own, data.relevance[rows], qid, docid, weight, _at(f, b, X.shape[0]))


def _mark_missing(X: Any, own: Any, place: str, policy: MissingPolicy | None) -> None:
    """NaN into `own`, a copy of the stored X in another dtype, where X holds what means a missing value.

    Raises
        DataFormatError   there is such a value and no policy; a number is too large for the dtype
    """
    stored, values = (X.data, own.data) if sp.issparse(X) else (X, own)
    if not holds_missing(values):
        return
    missing = is_missing(stored)
    if missing.any() and policy is None:
        raise DataFormatError(f"{place}: missing or infinite feature value; {CHOICES}.")
    if (is_missing(values) & ~missing).any():
        raise DataFormatError(f"{place}: a value is too large for {values.dtype}; convert it to float64.")
    values[missing] = np.nan


def _refuse_names(names: tuple[str, ...] | None, n_features: int) -> None:
    if names is not None and (len(names) != n_features or len(set(names)) != n_features):
        raise DataError(f"feature_names must hold {n_features} different names; got {len(names)}.")


def _judged(block: RowBlock, unjudged: str) -> RowBlock:
    """Without rows of label -1, or with 0 for it, as asked for."""
    without = block.label == UNJUDGED
    if unjudged == "zero":
        return block._replace(label=np.where(without, 0.0, block.label))
    return block.take(np.flatnonzero(~without)) if unjudged == "drop" and without.any() else block
