"""Read files of every kind."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparserank.data.alignment import aligned
from sparserank.data.collecting import collect
from sparserank.data.dataset import RankingDataset
from sparserank.data.feature_logs import log_names, log_tables
from sparserank.data.joining import concatenate
from sparserank.data.kinds import kind_of, refuse_mixed
from sparserank.data.letor.reader import TextRows
from sparserank.data.missing import MissingPolicy
from sparserank.data.reading import Reading, with_options
from sparserank.data.store.opening import open_stores
from sparserank.data.store.rows import StoreRows
from sparserank.data.streams import Stream
from sparserank.data.tables.batches import is_frame, open_table, table_of
from sparserank.data.tables.reader import TableRows, read_tables
from sparserank.errors import DataError
from sparserank.quoting import brief


def read_files(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    reading: Reading | None = None,
    *,
    like: RankingDataset | None = None,
) -> RankingDataset:
    """Read files of one kind as one data set.

    Parameters
        like   the data set whose features these must have: the same number for text, the same names for tables
    Raises
        DataFormatError   the message names file, line or row and column, and what was expected
        DataError         options that do not fit the data
    """
    return read_weighted(paths, reading, like=like)[0]


def read_weighted(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    reading: Reading | None = None,
    *,
    like: RankingDataset | None = None,
) -> tuple[RankingDataset, bool]:
    """(what `read_files` reads, whether weights beside the files are all of queries): `doc_weight` then contains the
    weight of the query of each row."""
    reading = reading or Reading()
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not listed:
        raise DataError("there is no file to read; give at least one file.")
    kind = refuse_mixed(listed, [kind_of(p) for p in listed])
    if kind != "store":
        stream = _rows(listed, kind, reading, like)
        data = collect(stream, MissingPolicy.parse(reading.missing))
        beside = stream.weights_beside().values()
        return data, bool(beside) and all(weights.of_queries for weights in beside)
    stores = open_stores(listed)
    data = stores[0] if len(stores) == 1 else concatenate(stores)
    return data if like is None else aligned(data, like, str(listed[0])), False


def open_stream(
    paths: Sequence[str | os.PathLike], reading: Reading, *, natural: bool = False, like: RankingDataset | None = None
) -> Stream:
    """The rows of files of one kind. Text is first read once to find the number of its features and whether they are
    kept sparse, unless both are given.

    Parameters
        natural   if the reading names no dtype, use the dtype of `read_files` instead of float32
        like      the data set whose features these must have
    """
    kind = refuse_mixed(paths, [kind_of(p) for p in paths])
    if kind == "store":
        return StoreRows(paths, reading)
    if reading.dtype is None and not natural:
        reading = replace(reading, dtype=np.float32)
    stream = _rows(paths, kind, reading, like)
    stream.look()
    return stream


def _rows(paths: Sequence[str | os.PathLike], kind: str, reading: Reading, like: RankingDataset | None) -> Stream:
    """The rows of files of a kind that is read, not mapped."""
    stream: Stream
    if kind == "letor":
        stream = TextRows(paths, reading, like=like)
    elif kind == "log":
        names = log_names(paths, reading.feature_columns) if like is None else list(like.feature_names or ())
        reading = replace(reading, feature_columns=names, label="label", qid="qid", docid=None)
        stream = TableRows(log_tables(paths, names, others=like is not None), reading)
    else:
        stream = TableRows([open_table(p, kind) for p in paths], reading, like=like)
    weighted = reading.labelled and not reading.featureless and reading.doc_weight is None
    return stream.with_weights_beside(paths) if weighted else stream


def read_data(source: Any, **options: Any) -> RankingDataset:
    """Read files or a frame as one data set.

    Parameters
    ----------
    source : path, list of paths, or frame
        Files of the same kind (LETOR text, Parquet, CSV, Arrow, a folder of Parquet files), or a frame: pandas, polars,
        Arrow or any other object with an Arrow stream.
    **options
        Fields of `Reading`: label, qid, docid, feature_columns, missing, unjudged, ...

    Returns
    -------
    RankingDataset
        All rows, grouped by query.

    Raises
    ------
    DataFormatError
        A malformed file; the message names the file and line, or the row and column, and what was expected.
    DataError
        An option does not exist, or does not fit the data.

    Examples
    --------
    >>> import pandas as pd
    >>> import sparserank as sr
    >>> log = pd.DataFrame({"query": [1, 1, 2, 2], "grade": [1, 0, 0, 1], "bm25": [7.0, 3.0, 2.0, 9.0]})
    >>> sr.read_data(log, label="grade", qid="query").feature_names
    ('bm25',)
    """
    reading = with_options(Reading(), options)
    if is_frame(source):
        return read_tables([table_of("the frame", source)], reading)
    listed = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(listed, Sequence) or not all(isinstance(p, str | os.PathLike) for p in listed):
        raise DataError(f"read_data takes a path, a list of paths or a frame; got {brief(type(source).__name__)}.")
    return read_files(listed, reading)
