"""One way in for every kind of file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparserank.data.alignment import aligned
from sparserank.data.dataset import RankingDataset
from sparserank.data.feature_logs import log_names, log_tables
from sparserank.data.joining import concatenate
from sparserank.data.kinds import kind_of, refuse_mixed
from sparserank.data.letor.reader import read_letor
from sparserank.data.reading import Reading, with_options
from sparserank.data.store.opening import open_stores
from sparserank.data.tables.batches import is_frame, open_table, table_of
from sparserank.data.tables.reader import read_tables
from sparserank.errors import DataError, TooManyFeaturesError
from sparserank.quoting import brief


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
        stores = open_stores(listed)
        data = stores[0] if len(stores) == 1 else concatenate(stores)
        return data if like is None else aligned(data, like, str(listed[0]))
    if kind == "log":
        names = log_names(listed, reading.feature_columns)
        if like is not None:
            names = list(like.feature_names or ())
        reading = replace(reading, feature_columns=names, label="label", qid="qid", docid=None)
        return read_tables(log_tables(listed, names, others=like is not None), reading)
    return read_tables([open_table(p, kind) for p in listed], reading, like=like)


def read_data(source: Any, **options: Any) -> RankingDataset:
    """Files or a frame as one data set.

    Parameters
        source    a path or several of one kind (LETOR text, Parquet, CSV, Arrow, a folder of Parquet files), or a
                  frame: pandas, polars, Arrow, whatever gives an Arrow stream
        options   fields of `Reading`: label, qid, docid, feature_columns, missing, unjudged, ...
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
            paths,
            n_features,
            missing=reading.missing,
            index_base=reading.index_base,
            unjudged=reading.unjudged,
            feature_names=reading.feature_names,
            sparse=reading.sparse,
            dtype=reading.dtype or np.float64,
            n_threads=reading.n_threads,
        )
    except TooManyFeaturesError as error:
        if like is None:
            raise
        raise DataError(f"{error} Here: --n-features {error.width}.") from error
