"""The arrays of a store: one .npy file each, written completely or not at all, and mapped by NumPy's own loader."""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.matrices import joined_rows
from sparserank.data.store.features import StoredTexts
from sparserank.data.store.manifest import SPARSE, damaged, file_name, linked, unusable
from sparserank.errors import DataFormatError
from sparserank.files import atomic_write
from sparserank.text import brief


def check_file(path: Path, n_bytes: int) -> None:
    """Refuse a file of a store unless it is a regular file of n_bytes, and not a link.

    Raises
        DataFormatError   it is not
    """
    try:
        status = os.lstat(path)
    except FileNotFoundError as error:
        raise unusable(path, "is missing from the store") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    if stat.S_ISLNK(status.st_mode):
        raise DataFormatError(linked(path))
    if not stat.S_ISREG(status.st_mode):
        raise unusable(path, "is not a regular file")
    if status.st_size != n_bytes:
        raise unusable(path, f"has {status.st_size} bytes, but the manifest states {n_bytes}")


def _unreadable(path: Path, error: OSError) -> DataFormatError:
    return unusable(path, f"cannot be read ({error.strerror or error})")


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with open(path, "rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from error


def map_shard(folder: Path, shard: Mapping[str, Any], n_features: int) -> dict[str, Any]:
    """The arrays of a shard, mapped; "X" is an array or a CSR matrix.

    Raises
        DataFormatError   a file is missing, a link or of another size, or NumPy cannot map it; the message names it
    """
    sizes = {name: entry["bytes"] for name, entry in shard["files"].items()}
    arrays: dict[str, Any] = {name: _mapped(folder / file_name(shard, name), n) for name, n in sizes.items()}
    if "X" not in arrays:
        data, indices, indptr = (arrays.pop(name) for name in SPARSE)
        X = sp.csr_matrix((shard["n_docs"], n_features), dtype=data.dtype)
        # the constructor would read all of them
        X.data = data
        X.indices = indices
        X.indptr = indptr
        X.has_canonical_format = True
        arrays["X"] = X
    return arrays


def columns_of(shards: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns of mapped shards, one below the other: relevance, qid and query_ptr of the queries, and docid and
    doc_weight, which are None if no shard has them."""
    sizes = [len(shard["label"]) for shard in shards]
    starts = np.cumsum([0, *sizes])
    ends = [shard["query_ptr"][1:] + lo for shard, lo in zip(shards, starts[:-1], strict=True)]
    texts = [shard.get("docid", np.broadcast_to(np.bytes_(b""), n)) for shard, n in zip(shards, sizes, strict=True)]
    return {
        "relevance": np.concatenate([shard["label"] for shard in shards]),
        "query_ids": np.concatenate([decoded(shard["qid"]) for shard in shards]),
        "query_ptr": np.concatenate([[0], *ends]),
        "docid": StoredTexts(texts) if any("docid" in shard for shard in shards) else None,
        "doc_weight": joined_rows([shard.get("weight") for shard in shards], sizes, 1.0),
    }


def _mapped(path: Path, n_bytes: int) -> np.ndarray:
    """The array in a file of n_bytes, read-only."""
    check_file(path, n_bytes)
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise damaged(path, f"NumPy cannot map it: {brief(str(error))}") from error


def decoded(texts: np.ndarray) -> np.ndarray:
    """Decode UTF-8 bytes to text; numbers are unchanged."""
    return np.char.decode(texts, "utf-8") if texts.dtype.kind == "S" else np.asarray(texts)


def write_shard(folder: Path, number: int, arrays: Mapping[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """Write the arrays of a shard, each file completely or not at all; {array: {bytes, sha256}}.

    Raises
        RunDirectoryError   the folder cannot be written, or the disk is full
    """
    return {name: _write(folder / file_name({"number": number}, name), array) for name, array in arrays.items()}


def _write(path: Path, array: np.ndarray) -> dict[str, Any]:
    array = np.ascontiguousarray(array)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    parts = header.getvalue(), array.reshape(-1).view(np.uint8).data
    digest = hashlib.sha256()
    with atomic_write(path, "wb") as out:
        for part in parts:
            digest.update(part)
            out.write(part)
    return {"bytes": sum(map(len, parts)), "sha256": digest.hexdigest()}
