"""Detect the kind of data in a file from its content, and read files of every kind."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.data.collect import collect
from sparserank.data.dataset import RankingDataset
from sparserank.data.feature_logs import LogTable, log_names
from sparserank.data.letor.reader import TextRows
from sparserank.data.letor.side_files import side_weights, warn_of_others
from sparserank.data.reading import Reading
from sparserank.data.store.opening import StoreRows, is_store
from sparserank.data.streams import Stream
from sparserank.data.tables.batches import open_table
from sparserank.data.tables.reader import TableRows
from sparserank.data.text_lines import no_such_file, unzipped
from sparserank.errors import DataError, DataFormatError, ParameterError
from sparserank.files import StrPath
from sparserank.requests.responses import Scored

HEAD_BYTES = 1 << 16
PARQUET = (".parquet", ".pq")
TABLES = ("parquet", "arrow", "folder", "csv")
OTHER = rb'"(?:response|responseHeader)"|"(?:hits|error|query|retriever|source)"\s*:\s*\{\s*"\w+"\s*:\s*[{\["]'
NESTED = re.compile(  # the beginning of a mapping of mappings in JSON, which is no response and no request
    rb'\s*\{\s*(?!%s)"(?:[^"\\]|\\.)*"\s*:\s*\{' % OTHER
)
RATINGS = "ratings"  # the key of rated documents in JSON
RATED = re.compile(rb'\s*\{.*"ratings"\s*:\s*\[', re.DOTALL)
LIGHTGBM_FIRST_LINE = "tree"  # the first line of a model file of LightGBM


def kind_of(path: StrPath) -> str:
    """'letor', 'parquet', 'arrow', 'csv', 'log' (JSON lines), 'folder' (of Parquet files) or 'store', by content.

    Raises
        DataFormatError   no such file, it cannot be read, or it is a run or judgments in JSON
    """
    place = existing(path)
    if place.is_dir() and is_store(place):
        return "store"
    if place.is_dir():
        if any(f.suffix in PARQUET for f in place.rglob("*")):
            return "folder"
        raise DataFormatError(
            f"{path}: is a directory, but neither a store nor a folder of Parquet files; name a file."
        )
    head = head_of(place)
    if head is None:
        return "letor"  # its reader reports the error
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1":
        return "arrow"
    first = first_line(head)
    if NESTED.match(head) or RATED.match(head):
        raise DataFormatError(
            f"{path}: looks like a run or judgments in JSON, which have no features; evaluate and fuse read runs, and "
            "judgments as qrels."
        )
    if first[:1] in (b"{", b"["):
        return "log"
    suffixes = [s.lower() for s in place.suffixes]
    if ".csv" in suffixes or ".tsv" in suffixes or (b"," in first and b"qid:" not in first and b":" not in first):
        return "csv"
    return "letor"


def first_line(head: bytes) -> bytes:
    """The first line that is neither blank nor a comment; empty if there is none."""
    return next((line for line in head.splitlines() if line.lstrip()[:1] not in (b"", b"#")), b"")


def existing(path: StrPath) -> Path:
    """The path, if it exists.

    Raises
        DataFormatError   there is no such file
    """
    if "\0" in str(path) or not Path(path).exists():
        raise no_such_file(path)
    return Path(path)


def head_of(place: Path) -> bytes | None:
    """The first HEAD_BYTES of a file, decompressed if it is gzip; None for a pipe, which can be read only once, and for
    a file that cannot be read.

    Raises
        DataFormatError   an empty file with the name of a Parquet file
    """
    if not place.is_file():
        return None
    if place.suffix.lower() in PARQUET and place.stat().st_size == 0:
        raise DataFormatError(f"{place}: is an empty Parquet file; write it again.")
    try:
        with open(place, "rb") as raw:
            return bytes(unzipped(raw).read(HEAD_BYTES))
    except (OSError, EOFError, zlib.error):
        return None


def refuse_mixed(paths: Sequence[Any], kinds: Sequence[str]) -> str:
    """The kind that all files have in common.

    Raises
        DataError   the kinds differ; the message names two files
    """
    other = next((k for k, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise DataError(
            f"{paths[0]} is {kinds[0]}, {paths[other]} is {kinds[other]}; files that are read together must be of the "
            "same kind."
        )
    return kinds[0]


def is_dask(source: Any) -> bool:
    """Whether the source is a Dask collection, whose values are remote or not yet computed."""
    return hasattr(source, "__dask_graph__") and hasattr(source, "compute")


def read_files(paths: StrPath | Sequence[StrPath], reading: Reading | None = None) -> RankingDataset:
    """Read files of one kind as one data set.

    Raises
        DataFormatError   the message names file, line or row and column, and what was expected
        DataError         options that do not fit the data
    """
    listed = [paths] if isinstance(paths, StrPath) else list(paths)
    if not listed:
        raise DataError("there is no file to read; give at least one file.")
    stream = open_stream(listed, reading or Reading(), natural=True)
    return collect(stream)


def open_stream(
    paths: Sequence[StrPath],
    reading: Reading,
    *,
    natural: bool = False,
    like: RankingDataset | None = None,
) -> Stream:
    """The rows of files of one kind.

    Parameters
        natural   if the reading names no dtype, use the dtype of `read_files` instead of float32
        like      the data set whose features these must have: the same number for text, the same names for tables
    """
    kind = refuse_mixed(paths, [kind_of(p) for p in paths])
    if reading.qrels is not None and kind != "log":
        raise ParameterError("qrels", f"applies to search responses; {paths[0]} is {kind}.")
    if kind == "store":
        return StoreRows(paths, reading, like=like)
    if reading.dtype is None and not natural:
        reading = replace(reading, dtype=np.float32)
    stream: Stream
    if kind == "letor":
        stream = TextRows(paths, reading, like=like)
    elif kind == "log":
        known = reading.labelled and reading.qrels is None
        scored = None if known else Scored(reading.qrels if reading.labelled else None, reading.clauses)
        names = log_names(paths, reading.feature_columns, scored) if like is None else list(like.names)
        reading = replace(reading, feature_columns=names, label="label", qid="qid", docid=None)
        logs = [LogTable(str(p), names, others=like is not None, scored=scored) for p in paths]
        stream = TableRows(logs, reading, like=like)
    else:
        stream = TableRows([open_table(p, kind) for p in paths], reading, like=like)
    weighted = reading.labelled and not reading.featureless and reading.doc_weight is None
    stream.side_weights = [side_weights(path) for path in paths] if weighted else ()
    for path in paths if weighted else ():
        warn_of_others(path)
    return stream
