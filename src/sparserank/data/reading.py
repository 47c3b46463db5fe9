"""One way in for every kind of file: what it is shows in its content."""

from __future__ import annotations

import gzip
import numbers
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset, concatenate, numbered
from sparserank.data.feature_logs import log_names, log_tables
from sparserank.data.grouping import plain_ids, query_codes
from sparserank.data.letor import DENSE_FROM, UNJUDGED, float_type, read_letor
from sparserank.data.missing import MissingPolicy
from sparserank.data.store import is_store, open_store
from sparserank.data.tables import Batch, ColumnNames, Roles, Table, is_frame, open_table, roles_of, table_of
from sparserank.data.text_lines import read_names
from sparserank.errors import DataError, DataFormatError, TooManyFeaturesError
from sparserank.quoting import brief

HEAD_BYTES = 1 << 16
TABLES = ("parquet", "arrow", "folder", "csv")


@dataclass(frozen=True)
class Reading:
    """How files are read; fields that a kind of file does not have are not looked at.

    Text
        n_features, index_base, sparse       as in `read_letor`
    Tables (Parquet, CSV, Arrow, frames)
        label, qid        names of columns (default 'label' and 'qid')
        feature_columns   names of the features, in order (default: every other column)
        doc_weight        name of the column of weights, or None
    All
        missing, unjudged, feature_names, dtype, n_threads   as in `read_letor`
        labelled          False: tables without labels are taken; every label is 0
    """

    n_features: int | None = None
    missing: str | float | Mapping | None = None
    index_base: int = 1
    unjudged: str = "error"
    feature_names: str | os.PathLike | Sequence[str] | None = None
    sparse: bool | None = None
    dtype: Any = None
    n_threads: int | None = None
    label: str | None = None
    qid: str | None = None
    feature_columns: Sequence[str] | None = None
    doc_weight: str | None = None
    labelled: bool = True

    def __post_init__(self) -> None:
        if self.unjudged not in ("error", "drop", "zero"):
            raise DataError(f"unjudged must be 'error', 'drop' or 'zero'; got {brief(self.unjudged)}.")
        for name in ("n_features", "n_threads"):
            count = getattr(self, name)
            if count is not None and (isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 1):
                raise DataError(f"{name} must be an integer of at least 1; got {brief(count)}.")

    @property
    def names(self) -> tuple[str, ...] | None:
        """The feature names that the user gives, read from their file if need be."""
        given = self.feature_names
        names = read_names(given) if isinstance(given, str | os.PathLike) else given
        return None if names is None else tuple(names)

    @property
    def columns(self) -> ColumnNames:
        features = None if self.feature_columns is None else tuple(self.feature_columns)
        return ColumnNames(self.label, self.qid, features, self.doc_weight)


def kind_of(path: str | os.PathLike) -> str:
    """'letor', 'parquet', 'arrow', 'csv', 'log' (JSON lines), 'folder' (of Parquet files) or 'store', by content.

    Raises
        DataFormatError   no such file, or it cannot be read
    """
    place = Path(path)
    if "\0" in str(path) or not place.exists():
        raise DataFormatError(f"{brief(str(path)) if chr(0) in str(path) else path}: no such file; check the path.")
    if place.is_dir() and is_store(place):
        return "store"
    if place.is_dir():
        if any(f.suffix in (".parquet", ".pq") for f in place.rglob("*")):
            return "folder"
        raise DataFormatError(
            f"{path}: is a directory, and neither a store nor a folder of Parquet files; name a file."
        )
    if not place.is_file():
        return "letor"  # a pipe can be read once only
    try:
        with open(place, "rb") as raw:
            head = raw.read(HEAD_BYTES)
        if head[:2] == b"\x1f\x8b":
            with gzip.open(place) as raw:
                head = raw.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return "letor"  # whose reader says what is wrong
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1":
        return "arrow"
    first = next((line for line in head.splitlines() if line.strip() and not line.startswith(b"#")), b"")
    if first[:1] in (b"{", b"["):
        return "log"
    suffixes = [s.lower() for s in place.suffixes]
    if ".csv" in suffixes or ".tsv" in suffixes or (b"," in first and b"qid:" not in first and b":" not in first):
        return "csv"
    return "letor"


def read_files(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    reading: Reading | None = None,
    *,
    like: RankingDataset | None = None,
) -> RankingDataset:
    """Files of one kind as one data set.

    Parameters
        like   the data set whose features these must have: as many of a text file, the same names of a table
    Raises
        DataFormatError   names file, line or row and column, and what was expected
        DataError         options that do not fit the data
    """
    reading = reading or Reading()
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not listed:
        raise DataError("needs at least one file.")
    kind = refuse_mixed(listed, [kind_of(p) for p in listed])
    if kind == "letor":
        return _read_text(listed, reading, like)
    if kind == "store":
        stores = [open_store(p) for p in listed]
        other = next((k for k, d in enumerate(stores) if d.feature_names != stores[0].feature_names), None)
        if other is not None:
            raise DataError(
                f"{listed[other]}: has other features than {listed[0]}, or in another order; convert what both were made of together."
            )
        data = stores[0] if len(stores) == 1 else concatenate(stores)
        return data if like is None else _like(data, like, str(listed[0]))
    if kind == "log":
        names = log_names(listed) if reading.feature_columns is None else list(reading.feature_columns)
        if like is not None:
            names = list(like.feature_names or ())
        reading = replace(reading, feature_columns=names, label="label", qid="qid")
        return read_tables(log_tables(listed, names), reading)
    return read_tables([open_table(p, kind) for p in listed], reading, like=like)


def refuse_mixed(paths: Sequence[Any], kinds: Sequence[str]) -> str:
    """The kind that all files are of.

    Raises
        DataError   names two of different kinds
    """
    other = next((k for k, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise DataError(
            f"{paths[0]} is {kinds[0]}, {paths[other]} is {kinds[other]}; files that are read together must be of one kind."
        )
    return kinds[0]


def _like(data: RankingDataset, like: RankingDataset, place: str) -> RankingDataset:
    """`data`, if its features are those of `like`."""
    if data.n_features != like.n_features:
        raise DataError(f"{place} has {data.n_features} features; the training data have {like.n_features}.")
    named = not numbered(data.feature_names or ()) and not numbered(like.feature_names or ())
    if named and data.feature_names != like.feature_names:
        raise DataError(
            f"{place} has other features, or in another order, than the training data; convert them with the same --feature-columns."
        )
    return data


def read_data(source: Any, **options: Any) -> RankingDataset:
    """Files or a frame as one data set.

    Parameters
        source    a path or several of one kind (LETOR text, Parquet, CSV, Arrow, a folder of Parquet files), or a frame: pandas, polars,
                  Arrow, whatever gives an Arrow stream
        options   fields of `Reading`: label, qid, feature_columns, missing, unjudged, ...
    Raises
        DataFormatError   names file and line, or row and column, and what was expected
        DataError         options that do not exist, or do not fit the data
    """
    reading = with_options(Reading(), options)
    if is_frame(source):
        return read_tables([table_of("the frame", source)], reading)
    listed = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(listed, Sequence) or not all(isinstance(p, str | os.PathLike) for p in listed):
        raise DataError(f"read_data takes a path or paths, or a frame; got {brief(type(source).__name__)}.")
    return read_files(listed, reading)


def _read_text(paths: list, reading: Reading, like: RankingDataset | None) -> RankingDataset:
    n_features = reading.n_features if like is None else like.n_features
    try:
        return read_letor(
            paths, n_features, missing=reading.missing, index_base=reading.index_base, unjudged=reading.unjudged,
            feature_names=reading.feature_names, sparse=reading.sparse, dtype=reading.dtype or np.float64,
            n_threads=reading.n_threads,
        )  # fmt: skip
    except TooManyFeaturesError as error:
        if like is None:
            raise
        raise DataError(f"{error} Here: --n-features {error.width}.") from error


def read_tables(tables: Sequence[Table], reading: Reading, *, like: RankingDataset | None = None) -> RankingDataset:
    """Tables as one data set, below each other; the features of the first, by name, decide those of the others."""
    wanted = None if like is None else list(like.feature_names or ())
    roles: list[Roles] = []
    for table in tables:
        unnamed = wanted if not roles or roles[0].packed is None else None
        roles.append(roles_of(table, reading.columns, wanted=unnamed, labelled=reading.labelled))
        if (roles[-1].packed is None) != (roles[0].packed is None):
            raise DataError(
                f"{table.place} holds features as {'columns' if roles[0].packed else 'a list'}; {tables[0].place} does not."
            )
        wanted = list(roles[0].features) if wanted is None else wanted
    chosen, policy = _float_type(tables, roles, reading.dtype), MissingPolicy.parse(reading.missing)
    X, rest = _collect(tables, roles, chosen, policy, reading.unjudged)
    label = (
        np.zeros(len(X)) if roles[0].label is None else np.concatenate([b.label for b in rest if b.label is not None])
    )
    qid = plain_ids(_joined([b.qid for b in rest if b.qid is not None]))
    docid, weight = (
        None if any(getattr(b, name) is None for b in rest) else np.concatenate([getattr(b, name) for b in rest])
        for name in ("docid", "weight")
    )
    without = label == UNJUDGED
    if without.any() and reading.unjudged == "zero":
        label = np.where(without, 0.0, label)
    elif without.any():
        if without.all():
            raise tables[0].error(
                f"{tables[0].place}: every label is -1 (unjudged); nothing is left after dropping them."
            )
        X, label, qid = X[~without], label[~without], qid[~without]
        docid, weight = (None if v is None else v[~without] for v in (docid, weight))
    if policy is not None and np.isnan(X.sum(dtype=np.float64)):
        policy.fill(X, query_codes(qid), 1)
    if docid is not None and not docid.astype(bool).any():
        docid = None
    names = reading.names
    if names is None and roles[0].packed is None:
        names = roles[0].features
    return RankingDataset(X, label, qid, docid, names, doc_weight=weight)


def _float_type(tables: Sequence[Table], roles: Sequence[Roles], wanted: Any) -> np.dtype:
    """float32 where every feature is, unless the user says."""
    if wanted is not None:
        return float_type(wanted)
    import pyarrow as pa

    kinds = {t.schema.field(c).type for t, r in zip(tables, roles, strict=True) for c in r.features}
    kinds |= {t.schema.field(r.packed).type.value_type for t, r in zip(tables, roles, strict=True) if r.packed}
    return np.dtype(np.float32 if kinds <= {pa.float32(), pa.float16()} else np.float64)


def _collect(
    tables: Sequence[Table], roles: Sequence[Roles], dtype: np.dtype, policy: MissingPolicy | None, unjudged: str
) -> tuple[np.ndarray, list[Batch]]:
    """(X of all rows, NaN where a value is missing; the batches without their X); refuses what the options do not allow."""
    known = sum(t.n_rows for t in tables if t.n_rows is not None) if all(t.n_rows is not None for t in tables) else None
    X: np.ndarray | None = None
    parts, rest, at, first_query = [], [], 0, 0
    for table, role in zip(tables, roles, strict=True):
        began = at
        for batch in table.batches(role, dtype):
            n = len(batch.X)
            set_missing(batch, table, role, policy, at - began)
            if unjudged == "error" and batch.label is not None:
                refuse_unjudged(batch.label, table, at - began)
            qid = batch.qid
            if qid is None:
                assert table.queries is not None
                qid = first_query + table.queries.ids(at - began, at - began + n, table.place)
            if known is None:
                parts.append(batch.X)
            else:
                if X is None:
                    X = np.empty((known, batch.X.shape[1]), dtype=dtype)
                _refuse_width(batch.X.shape[1], X.shape[1], table, tables[0])
                X[at : at + n] = batch.X
            rest.append(batch._replace(X=batch.X[:0], qid=qid))
            at += n
        if table.queries is not None and role.qid is None:
            table.queries.check(at - began, table.place)
            first_query += len(table.queries.ends)
        if at == began:
            raise table.error(f"{table.place}: no data rows.")
    return (np.concatenate(parts) if X is None else X), rest


def _refuse_width(found: int, expected: int, table: Table, first: Table) -> None:
    if found != expected:
        raise table.error(f"{table.place} has lists of {found} features; {first.place} of {expected}.")


def _joined(ids: list[np.ndarray]) -> np.ndarray:
    """Query ids of all batches, as text where some are."""
    if len({a.dtype.kind in "iu" for a in ids}) > 1:
        ids = [a.astype(str) for a in ids]
    return np.concatenate(ids)


def set_missing(batch: Batch, table: Table, roles: Roles, policy: MissingPolicy | None, at: int) -> None:
    """What is null or infinite becomes NaN, or is refused without a policy; the batch begins with row `at`."""
    bad = ~np.isfinite(batch.X)
    if bad.any():
        refuse_missing(batch.X, bad, table, roles, policy, at)
        batch.X[bad] = np.nan


def refuse_unjudged(label: np.ndarray, table: Table, at: int) -> None:
    """Refuse a label of -1; the labels begin with that of row `at`."""
    without = label == UNJUDGED
    if without.any():
        raise table.error(
            f"{table.place}: row {at + int(np.argmax(without))}: label -1 means unjudged; choose unjudged='drop' or 'zero' (--unjudged drop)."
        )


def refuse_missing(
    X: np.ndarray, bad: np.ndarray, table: Table, roles: Roles, policy: MissingPolicy | None, at: int
) -> None:
    """Refuse the first of the values that are `bad`, unless a policy says what becomes of them; X begins with row `at`."""
    if policy is None:
        row, j = (int(i) for i in np.argwhere(bad)[0])
        column = roles.features[j] if roles.features else f"{roles.packed}[{j}]"
        what = "null or NaN" if np.isnan(X[row, j]) else str(X[row, j])
        raise table.error(
            f"{table.place}: row {at + row}, column {brief(column)}: missing or infinite feature value ({what}); choose what it becomes "
            "with missing='zero' or 'query-min' (--missing zero)."
        )


def usable_kind(values_per_row: float, n_features: int) -> bool:
    """Whether rows of so many values are better kept sparse."""
    return values_per_row < DENSE_FROM * n_features


def with_options(reading: Reading, options: Mapping[str, Any]) -> Reading:
    """`reading` with some fields replaced; unknown ones are refused by name."""
    try:
        return replace(reading, **options)
    except TypeError as error:
        unknown = sorted(set(options) - set(Reading.__dataclass_fields__))
        raise DataError(
            f"reading has no option {brief(unknown[0]) if unknown else ''}; it takes {', '.join(Reading.__dataclass_fields__)}."
        ) from error
