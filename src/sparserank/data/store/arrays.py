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

from sparserank.data.store.features import MappedFeatures, StoredTexts
from sparserank.data.store.manifest import SPARSE, damaged, file_name, linked, unusable
from sparserank.errors import DataFormatError
from sparserank.files import atomic_write
from sparserank.number_checks import usable_weights
from sparserank.text import brief

FLOAT, SHORT, INTEGER, UNSIGNED = (np.dtype(t).str for t in ("f8", "i4", "i8", "u8"))  # of this machine
TEXT = "|S"  # of any length


def check_file(path: Path, n_bytes: int) -> None:
    """Refuse a file of a store unless it is a regular file of n_bytes, and not a link.

    Raises
        DataFormatError   it is not
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError as error:
        raise unusable(path, "is missing from the store") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    if stat.S_ISLNK(found.st_mode):
        raise DataFormatError(linked(path))
    if not stat.S_ISREG(found.st_mode):
        raise unusable(path, "is not a regular file")
    if found.st_size != n_bytes:
        raise unusable(path, f"has {found.st_size} bytes, but the manifest states {n_bytes}")


def _unreadable(path: Path, error: OSError) -> DataFormatError:
    return unusable(path, f"cannot be read ({error.strerror or error})")


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with open(path, "rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from error


def map_shard(folder: Path, shard: Mapping[str, Any], n_features: int, dtype: Any) -> dict[str, Any]:
    """The arrays of a shard that `check_shards` has passed, mapped and checked; "X" is its MappedFeatures, whose values
    are checked when they are first used.

    Raises
        DataFormatError   the message names the file and what is wrong with it
    """
    n, n_queries = shard["n_docs"], shard["n_queries"]
    values = np.dtype(dtype).str
    expected: dict[str, tuple[tuple[str, ...], tuple[int | None, ...]]] = {
        "X": ((values,), (n, n_features)),
        "data": ((values,), (None,)),
        "indices": ((SHORT, INTEGER), (None,)),
        "indptr": ((SHORT, INTEGER), (n + 1,)),
        "label": ((FLOAT,), (n,)),
        "qid": ((INTEGER, UNSIGNED, TEXT), (n_queries,)),
        "query_ptr": ((INTEGER,), (n_queries + 1,)),
        "docid": ((TEXT,), (n,)),
        "weight": ((FLOAT,), (n,)),
    }
    paths = {name: folder / file_name(shard, name) for name in shard["files"]}
    sizes = {name: entry["bytes"] for name, entry in shard["files"].items()}
    arrays: dict[str, Any] = {name: _mapped(path, sizes[name], *expected[name]) for name, path in paths.items()}
    _check_lists(arrays, paths)
    if "X" in arrays:
        arrays["X"] = MappedFeatures(arrays["X"], str(paths["X"]))
        return arrays
    data, indices, indptr = (arrays.pop(name) for name in SPARSE)
    if indices.dtype != indptr.dtype or len(indices) != len(data):
        raise damaged(paths["indices"], "indices must have the same length as data and the same type as indptr")
    if indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        raise damaged(paths["indptr"], f"it must increase from 0 to {len(data)}")
    X = sp.csr_matrix((n, n_features), dtype=data.dtype)
    X.data, X.indices, X.indptr = data, indices, indptr  # the constructor would read all of them
    arrays["X"] = MappedFeatures(X, str(paths["data"]))
    return arrays


def texts_of(shards: Sequence[Mapping[str, Any]], place: str) -> StoredTexts:
    """The document ids of mapped shards, "" in a shard without ids."""
    return StoredTexts([s.get("docid", np.broadcast_to(np.bytes_(b""), len(s["label"]))) for s in shards], place)


def _check_lists(arrays: Mapping[str, np.ndarray], paths: Mapping[str, Path]) -> None:
    """Check the arrays that are small enough to be read when a store is opened."""
    label, ptr = arrays["label"], arrays["query_ptr"]
    if not np.isfinite(label).all():
        raise damaged(paths["label"], "a label is not finite")
    if ptr[0] != 0 or ptr[-1] != len(label) or not (ptr[1:] > ptr[:-1]).all():
        raise damaged(paths["query_ptr"], f"it must increase from 0 to {len(label)} in steps of at least 1")
    if arrays["qid"].dtype.kind == "S":
        try:
            decoded(arrays["qid"])
        except UnicodeDecodeError as error:
            raise damaged(paths["qid"], "a query id is not UTF-8") from error
    if "weight" in arrays and usable_weights(arrays["weight"], len(label)) is None:
        raise damaged(paths["weight"], "a weight is negative or not finite")


def _mapped(path: Path, n_bytes: int, types: tuple[str, ...], shape: tuple[int | None, ...]) -> np.ndarray:
    """The array in a file of n_bytes, read-only; None in a shape stands for any number."""
    check_file(path, n_bytes)
    try:
        array = np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except OSError as error:
        raise _unreadable(path, error) from error
    except Exception as error:  # any exception: the file may contain anything
        raise damaged(path, f"NumPy cannot map it: {brief(str(error))}") from error
    kind = TEXT if array.dtype.kind == "S" else array.dtype.str
    if kind not in types:
        raise damaged(path, f"its values are of type {brief(array.dtype.str)}")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise damaged(path, "its values are not aligned, or not row by row")
    if len(array.shape) != len(shape) or any(s not in (None, n) for n, s in zip(array.shape, shape, strict=True)):
        stated = "one dimension" if None in shape else shape
        raise damaged(path, f"its shape is {array.shape}, but the manifest states {stated}")
    return array


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
    array, header = np.ascontiguousarray(array), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    parts = header.getvalue(), array.reshape(-1).view(np.uint8).data
    digest = hashlib.sha256()
    with atomic_write(path, "wb") as out:
        for part in parts:
            digest.update(part)
            out.write(part)
    return {"bytes": sum(map(len, parts)), "sha256": digest.hexdigest()}
