"""The arrays of a store: one .npy file each, written completely or not at all, and mapped only if its header,
size and place are valid."""

from __future__ import annotations

import hashlib
import io
import math
import mmap
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.bounded import open_regular
from sparserank.data.store.features import MappedFeatures
from sparserank.data.store.manifest import SPARSE, damaged, file_name, linked
from sparserank.errors import DataFormatError
from sparserank.files import atomic_write
from sparserank.given_weights import usable_weights
from sparserank.npy import MAX_HEADER, header_of

HASH_BYTES = 1 << 22
ALIGNED = 64
FLOAT, SHORT, INTEGER, UNSIGNED = (
    np.dtype(t).str for t in ("f8", "i4", "i8", "u8")
)  # in the byte order of this machine
TEXT = re.compile(r"\|S[1-9]\d*")


@contextmanager
def open_own(path: Path) -> Iterator[BufferedReader]:
    """A regular file of a store, open for reading.

    Raises
        DataFormatError   it is a link, a device or a pipe, or cannot be read
    """
    if path.is_symlink():
        raise DataFormatError(linked(path))
    with ExitStack() as opened:
        try:
            content = opened.enter_context(open_regular(path))
        except FileNotFoundError as error:
            raise DataFormatError(f"{path}: is missing from the store; convert the data again.") from error
        except OSError as error:
            why = error.strerror or error
            raise DataFormatError(f"{path}: cannot be read ({why}); convert the data again.") from error
        except ValueError as error:
            raise DataFormatError(f"{path}: is not a regular file; convert the data again.") from error
        yield content


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with open_own(path) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def map_shard(folder: Path, shard: Mapping[str, Any], n_features: int, dtype: Any) -> dict[str, Any]:
    """The arrays of a shard that `check_shards` has passed, mapped and checked; "X" is its MappedFeatures, whose values
    are checked on demand.

    Raises
        DataFormatError   the message names the file and what is wrong with it
    """
    n, n_queries = shard["n_docs"], shard["n_queries"]
    values = np.dtype(dtype).str
    expected: dict[str, tuple[Any, tuple[int | None, ...]]] = {
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
    arrays: dict[str, Any] = {}
    paths = {name: folder / file_name(shard, name) for name in shard["files"]}
    for name, path in paths.items():
        arrays[name] = _mapped(path, shard["files"][name]["bytes"], *expected[name])
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
    X.has_canonical_format = True
    arrays["X"] = MappedFeatures(X, str(paths["data"]))
    return arrays


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


def _mapped(path: Path, n_bytes: int, types: tuple[Any, ...], shape: tuple[int | None, ...]) -> np.ndarray:
    """The array in a file of n_bytes, read-only; None in a shape stands for any number."""
    with open_own(path) as content:
        size = os.fstat(content.fileno()).st_size
        if size != n_bytes:
            raise torn(path, size, n_bytes)
        head = content.read(MAX_HEADER)
        header = header_of(head)
        if header is None or header.by_columns or not header.shape or header.start % ALIGNED:
            raise damaged(path, "its header was not written by a conversion")
        kind, written, start = header.dtype, header.shape, header.start
        if not any(kind == t if isinstance(t, str) else t.fullmatch(kind) for t in types):
            raise damaged(path, f"its values are of type {kind}")
        if len(written) != len(shape) or any(s is not None and w != s for w, s in zip(written, shape, strict=True)):
            raise damaged(
                path,
                f"its shape is {written}, but the manifest states {shape if None not in shape else 'one dimension'}",
            )
        dtype, count = np.dtype(kind), math.prod(written)
        if start + count * dtype.itemsize != size:
            raise damaged(path, f"its size of {size} bytes does not match {written} values of type {kind}")
        if count == 0:
            return np.empty(written, dtype=dtype)
        try:
            held = mmap.mmap(content.fileno(), size, access=mmap.ACCESS_READ)
        except (OSError, OverflowError) as error:
            raise DataFormatError(f"{path}: cannot be mapped into memory ({error}).") from error
    return np.frombuffer(held, dtype=dtype, count=count, offset=start).reshape(written)


def torn(path: Path, found: int, expected: int) -> DataFormatError:
    return DataFormatError(f"{path}: has {found} bytes, but the manifest states {expected}; convert the data again.")


def decoded(texts: np.ndarray) -> np.ndarray:
    """UTF-8 as text; numbers unchanged."""
    return np.char.decode(texts, "utf-8") if texts.dtype.kind == "S" else np.asarray(texts)


def write_shard(folder: Path, number: int, arrays: Mapping[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """Write the arrays of a shard, each file completely or not at all; {array: {bytes, sha256}}.

    Raises
        RunDirectoryError   the folder cannot be written, or the disk is full
    """
    return {name: _write(folder / file_name({"number": number}, name), array) for name, array in arrays.items()}


def _write(path: Path, array: np.ndarray) -> dict[str, Any]:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(np.ascontiguousarray(array)))
    content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    digest = hashlib.sha256(header.getvalue())
    with atomic_write(path, "wb") as out:
        out.write(header.getvalue())
        for at in range(0, len(content), HASH_BYTES):
            piece = content[at : at + HASH_BYTES].data
            digest.update(piece)
            out.write(piece)
    return {"bytes": len(header.getvalue()) + len(content), "sha256": digest.hexdigest()}
