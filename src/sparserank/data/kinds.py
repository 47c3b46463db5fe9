"""Detect the kind of data in a file from its content."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparserank.data.faults import no_such_file
from sparserank.data.store.opening import is_store
from sparserank.data.text_lines import GZIP
from sparserank.errors import DataError, DataFormatError

HEAD_BYTES = 1 << 16
TABLES = ("parquet", "arrow", "folder", "csv")
NESTED = re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')  # the beginning of a mapping of mappings in JSON
LIGHTGBM_FIRST_LINE = "tree"  # the first line of a model file of LightGBM


def kind_of(path: str | os.PathLike) -> str:
    """'letor', 'parquet', 'arrow', 'csv', 'log' (JSON lines), 'folder' (of Parquet files) or 'store', by content.

    Raises
        DataFormatError   no such file, it cannot be read, or it is a run or judgments in JSON
    """
    place = existing(path)
    if place.is_dir() and is_store(place):
        return "store"
    if place.is_dir():
        if any(f.suffix in (".parquet", ".pq") for f in place.rglob("*")):
            return "folder"
        raise DataFormatError(
            f"{path}: is a directory, but neither a store nor a folder of Parquet files; name a file."
        )
    head = head_of(place)
    if head is None:
        return "letor"  # whose reader says what is wrong
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1":
        return "arrow"
    first = next((line for line in head.splitlines() if line.strip() and not line.startswith(b"#")), b"")
    if NESTED.match(head):
        raise DataFormatError(
            f"{path}: looks like a run or judgments in JSON ({{query id: {{document id: number}}}}), which have no "
            "features; evaluate and fuse read runs."
        )
    if first[:1] in (b"{", b"["):
        return "log"
    suffixes = [s.lower() for s in place.suffixes]
    if ".csv" in suffixes or ".tsv" in suffixes or (b"," in first and b"qid:" not in first and b":" not in first):
        return "csv"
    return "letor"


def existing(path: str | os.PathLike) -> Path:
    """The path.

    Raises
        DataFormatError   nothing is there
    """
    if "\0" in str(path) or not Path(path).exists():
        raise no_such_file(path)
    return Path(path)


def head_of(place: Path) -> bytes | None:
    """The first HEAD_BYTES of a file, of its content if it is gzip; None for a pipe, which can be read once only, and
    for a file that cannot be read."""
    if not place.is_file():
        return None
    try:
        with open(place, "rb") as raw:
            head = raw.read(HEAD_BYTES)
        if head[:2] == GZIP:
            with gzip.open(place) as zipped:
                head = zipped.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return None
    return head


def refuse_mixed(paths: Sequence[Any], kinds: Sequence[str]) -> str:
    """The kind that all files have in common.

    Raises
        DataError   names two of different kinds
    """
    other = next((k for k, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise DataError(
            f"{paths[0]} is {kinds[0]}, {paths[other]} is {kinds[other]}; files that are read together must be of the "
            "same kind."
        )
    return kinds[0]


def is_dask(source: Any) -> bool:
    """Whether the source is a Dask collection, whose values are elsewhere or not yet computed."""
    return hasattr(source, "__dask_graph__") and hasattr(source, "compute")
