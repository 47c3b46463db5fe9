"""The on-disk store: a folder of .npy shards of whole queries, and a manifest with a checksum of each file.

manifest.json    written last, so that a folder without one is no store
NNNNN-X.npy      features (n_docs, n_features), C-ordered; sparse ones as NNNNN-data, -indices, -indptr
NNNNN-label, -qid (n_queries,), -query_ptr (n_queries + 1,), and where the input has them -docid (UTF-8), -weight
stamps.json      size and time of change of each file when its checksum was last seen to be right: of this copy of the store only
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.grouping import plain_ids
from sparserank.data.stored import Source, StoredFeatures, StoredTexts
from sparserank.errors import DataError, DataFormatError
from sparserank.files import atomic_write

MANIFEST, STAMPS, PROGRESS = "manifest.json", "stamps.json", "progress.json"
FORMAT, VERSION = "sparserank-store", 1
SPARSE = ("data", "indices", "indptr")
HASH_BYTES = 1 << 22
EMPTY_BYTES = 128  # of a file that holds a header alone, which cannot be mapped


def is_store(path: str | os.PathLike) -> bool:
    """Whether a folder is a store, or an unfinished one."""
    return (Path(path) / MANIFEST).is_file() or (Path(path) / PROGRESS).is_file()


def open_store(
    path: str | os.PathLike, *, verify: bool = False, progress: Callable[[int, int], None] | None = None
) -> RankingDataset:
    """The data set in a store; its features stay on disk and are read when they are used.

    Files that changed since their checksum was last seen to be right are read whole and compared first.

    Parameters
        verify     read and compare every file
        progress   called with (bytes done, bytes in all) of what is compared
    Raises
        DataFormatError   no store, an unfinished one, or names the file that is missing, torn or changed
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    _check_files(folder, manifest, verify, progress)
    parts, labels, ids, ptrs, docids, weights = [], [], [], [np.zeros(1, dtype=np.int64)], [], []
    for shard in manifest["shards"]:
        arrays = map_shard(folder, shard, manifest["n_features"])
        parts.append(arrays["X"])
        labels.append(np.asarray(arrays["label"], dtype=np.float64))
        ids.append(np.array(arrays["qid"]))
        ptrs.append(np.array(arrays["query_ptr"][1:]) + ptrs[-1][-1])
        docids.append(arrays.get("docid", np.broadcast_to(np.bytes_(b""), shard["n_docs"])))
        weights.append(np.array(arrays.get("weight", np.ones(shard["n_docs"]))))
    query_ids = plain_ids(decoded(np.concatenate(ids)))
    return RankingDataset.of_groups(
        StoredFeatures(parts, manifest["identity"], [Source(os.path.abspath(folder), k, manifest["identity"]) for k in range(len(parts))]), np.concatenate(labels), np.concatenate(ptrs), query_ids,
        docid=StoredTexts(docids) if _any_has(manifest, "docid") else None, feature_names=manifest["feature_names"],
        doc_weight=np.concatenate(weights) if _any_has(manifest, "weight") else None, fill_values=_fill_values(manifest),
    )  # fmt: skip


def open_stores(paths: Sequence[str | os.PathLike]) -> list[RankingDataset]:
    """Several stores that are read together.

    Raises
        DataFormatError   as `open_store`
        DataError         their features differ
    """
    stores = [open_store(p) for p in paths]
    for path, other in zip(paths, stores, strict=True):
        if other.feature_names != stores[0].feature_names or other.is_sparse != stores[0].is_sparse:
            raise DataError(
                f"{path}: has other features than {paths[0]}, or in another order, or is sparse where that is dense; convert what both were "
                "made of together."
            )
    return stores


def _fill_values(manifest: Mapping[str, Any]) -> np.ndarray | None:
    """What missing values of each feature became; NaN where they became no one value."""
    found = manifest.get("fill_values")
    if found is not None and (not isinstance(found, list) or not {type(v) for v in found} <= {int, float, type(None)}):
        raise ValueError("fill_values")
    return None if found is None else np.array([np.nan if v is None else v for v in found], dtype=np.float64)


def _any_has(manifest: Mapping[str, Any], array: str) -> bool:
    return any(array in shard["files"] for shard in manifest["shards"])


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a store says of itself.

    Raises
        DataFormatError   no store, an unfinished one, one of another version, a damaged manifest
    """
    if not (folder / MANIFEST).is_file():
        if (folder / PROGRESS).is_file():
            raise DataFormatError(
                f"{folder}: is an unfinished store; run the same 'sparserank convert' again to finish it."
            )
        raise DataFormatError(f"{folder}: is no store (no {MANIFEST}); make one with 'sparserank convert'.")
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        if manifest["format"] != FORMAT or manifest["version"] != VERSION:
            raise DataFormatError(
                f"{folder / MANIFEST}: is of version {manifest['version']}; this program reads version {VERSION}. Convert the data again."
            )
        if manifest["identity"] != identity_of_shards(manifest):
            raise ValueError("checksum")
        if not manifest["shards"] or any(
            manifest[n] != sum(s[n] for s in manifest["shards"]) for n in ("n_docs", "n_queries")
        ):
            raise ValueError("sums")
        if any(not {"label", "qid", "query_ptr"} <= set(s["files"]) for s in manifest["shards"]):
            raise ValueError("arrays")
        filled = _fill_values(manifest)
        if filled is not None and (filled.shape != (manifest["n_features"],) or np.isinf(filled).any()):
            raise ValueError("fill_values")
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        if isinstance(error, DataFormatError):
            raise
        raise DataFormatError(f"{folder / MANIFEST}: is damaged; convert the data again.") from error
    return dict(manifest)


def identity_of_shards(manifest: Mapping[str, Any]) -> str:
    """A hash of all that the content of a store is made of: checksums, shape, names."""
    content = [manifest["shards"], manifest["n_features"], manifest["dtype"], manifest["feature_names"]]
    if "fill_values" in manifest:
        content.append(manifest["fill_values"])
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _check_files(
    folder: Path, manifest: Mapping[str, Any], verify: bool, progress: Callable[[int, int], None] | None
) -> None:
    known = _stamps(folder)
    doubtful, stamps = [], {}
    for shard in manifest["shards"]:
        for name, entry in shard["files"].items():
            file = file_name(shard, name)
            try:
                found = os.stat(folder / file)
            except OSError as error:
                raise DataFormatError(f"{folder / file}: is missing from the store; convert the data again.") from error
            if found.st_size != entry["bytes"]:
                raise DataFormatError(
                    f"{folder / file}: is torn: {found.st_size} bytes, and the store says {entry['bytes']}; convert the data again."
                )
            stamps[file] = [found.st_size, found.st_mtime_ns]
            if verify or known.get(file) != stamps[file]:
                doubtful.append((file, entry))
    total, done = sum(e["bytes"] for _, e in doubtful), 0
    for file, entry in doubtful:
        if checksum(folder / file) != entry["sha256"]:
            raise DataFormatError(
                f"{folder / file}: was changed after it was written (its checksum differs); convert the data again."
            )
        done += entry["bytes"]
        if progress is not None:
            progress(done, total)
    if doubtful:
        write_stamps(folder, stamps)


def write_stamps(folder: Path, stamps: Mapping[str, list[int]]) -> None:
    """Remember when files were found right; a store that cannot be written is compared each time."""
    with suppress(Exception), atomic_write(folder / STAMPS) as out:
        out.write(json.dumps(stamps))


def _stamps(folder: Path) -> dict[str, Any]:
    try:
        known = json.loads((folder / STAMPS).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def file_name(shard: Mapping[str, Any], array: str) -> str:
    return f"{shard['number']:05d}-{array}.npy"


def decoded(texts: np.ndarray) -> np.ndarray:
    """UTF-8 as text; numbers as they are."""
    return np.char.decode(texts, "utf-8") if texts.dtype.kind == "S" else np.asarray(texts)


def map_shard(folder: Path, shard: Mapping[str, Any], n_features: int) -> dict[str, Any]:
    """The arrays of a shard, mapped; "X" its features.

    Raises
        DataFormatError   names the file that cannot be read
    """
    arrays: dict[str, Any] = {}
    for name in shard["files"]:
        path = folder / file_name(shard, name)
        try:
            empty = shard["files"][name]["bytes"] <= EMPTY_BYTES
            arrays[name] = np.asarray(np.load(path, mmap_mode=None if empty else "r", allow_pickle=False))
        except (OSError, ValueError) as error:
            raise DataFormatError(f"{path}: cannot be read ({error}); convert the data again.") from error
    if "X" not in arrays:
        X = sp.csr_matrix((shard["n_docs"], n_features), dtype=arrays["data"].dtype)
        X.data, X.indices, X.indptr = (arrays.pop(name) for name in SPARSE)  # the constructor would read all of them
        X.has_canonical_format = True
        arrays["X"] = X
    return arrays


def write_shard(folder: Path, number: int, arrays: Mapping[str, np.ndarray]) -> dict[str, dict[str, Any]]:
    """Write the arrays of a shard, each file whole or not at all; {array: {bytes, sha256}}.

    Raises
        RunDirectoryError   the folder cannot be written, the disk is full
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
