"""Open stores, as data sets or as a stream of rows: a folder of .npy shards of whole queries, and a manifest with a
checksum of each file.

manifest.json    written last, so that a folder without one is not a store
NNNNN-X.npy      features (n_docs, n_features), C-ordered; sparse ones as NNNNN-data, -indices, -indptr
NNNNN-label, -qid (n_queries,), -query_ptr (n_queries + 1,), and where the input has them -docid (UTF-8), -weight
stamps.json      size and time of change of each file when its checksum was last verified; valid for this copy of the
                 store only
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.data.combine import concatenate
from sparserank.data.dataset import RankingDataset, numbered
from sparserank.data.matrices import float_type, stored_values
from sparserank.data.missing import MissingPolicy, any_missing, is_missing
from sparserank.data.query_ids import plain_ids
from sparserank.data.reading import Reading, missing_value, policy_of, too_large
from sparserank.data.store.arrays import check_file, checksum, columns_of, map_shard
from sparserank.data.store.features import StoredFeatures, StoreShard, stamp_of
from sparserank.data.store.manifest import (
    MANIFEST,
    PROGRESS,
    files_of,
    fill_values_of,
    index_base_of,
    read_manifest,
    unusable,
)
from sparserank.data.streams import BEGIN, RowBlock, Stream, StreamPosition, block_of
from sparserank.errors import DataError, DataFormatError
from sparserank.files import StrPath, atomic_write
from sparserank.strict_json import read_own_json

STAMPS = "stamps.json"


def is_store(path: StrPath) -> bool:
    """Whether a folder is a store, or an unfinished one."""
    return (Path(path) / MANIFEST).is_file() or (Path(path) / PROGRESS).is_file()


def open_store(path: StrPath, *, verify: bool = False) -> RankingDataset:
    """Open a store as a data set; its features stay on disk and are read when they are used.

    A store is what `convert` wrote: the manifest must have its checksum, and each file must have its size and be no
    link. A file that has changed since its checksum was last compared is read and compared.

    Parameters
        verify     read every file and compare its checksum
    Raises
        DataFormatError   not a store, an unfinished one, or one with a file that is missing, damaged, changed, or a
                          link; the message names it
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    before = _stamps_of(folder, manifest)
    _check_files(folder, manifest, verify)
    shards = [map_shard(folder, s, manifest["n_features"]) for s in manifest["shards"]]
    parts = [shard["X"] for shard in shards]
    columns = columns_of(shards)
    columns["query_ids"] = plain_ids(columns["query_ids"])
    if _stamps_of(folder, manifest) != before:  # otherwise the mapped files are those that were checked
        raise DataFormatError(f"{folder}: was rewritten while it was being opened; open it again.")
    identity = manifest["identity"]
    sources = [StoreShard(os.path.abspath(folder), k, identity) for k in range(len(parts))]
    X = StoredFeatures(parts, identity, sources, before)
    return RankingDataset.of_groups(
        X,
        **columns,
        feature_names=manifest["feature_names"],
        fill_values=fill_values_of(manifest),
        index_base=index_base_of(manifest),
    )


def open_stores(paths: Sequence[StrPath]) -> list[RankingDataset]:
    """Open several stores that are read together.

    Raises
        DataFormatError   as `open_store`
        DataError         their features differ
    """
    stores = [open_store(p) for p in paths]
    for path, other in zip(paths, stores, strict=True):
        if other.feature_names != stores[0].feature_names or other.is_sparse != stores[0].is_sparse:
            raise DataError(
                f"{path}: its features, their order or their storage (sparse or dense) differ from those of "
                f"{paths[0]}; convert the inputs of both together."
            )
    return stores


def _stamps_of(folder: Path, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """{path: stamp} of the files of a store; None for one that is missing."""
    files = [folder / name for name, _ in files_of(manifest["shards"])]
    return {str(file): stamp_of(file) if file.exists() else None for file in files}


def _check_files(folder: Path, manifest: Mapping[str, Any], verify: bool) -> None:
    known = _stamps(folder)
    stamps = {}
    doubtful = []
    for file, entry in files_of(manifest["shards"]):
        check_file(folder / file, entry["bytes"])
        stamps[file] = size_and_time(folder / file)
        if verify or known.get(file) != stamps[file]:
            doubtful.append((file, entry))
    for file, entry in doubtful:
        if checksum(folder / file) != entry["sha256"]:
            raise unusable(folder / file, "was changed after it was written (its checksum differs)")
    if doubtful:
        write_stamps(folder, stamps)


def size_and_time(path: Path) -> list[int]:
    """The size and time of change of a file, as in STAMPS."""
    return [*stamp_of(path)[2:]]


def write_stamps(folder: Path, stamps: Mapping[str, list[int]]) -> None:
    """Record the size and time of change of verified files; a store that cannot be written is verified each time."""
    path = folder / STAMPS
    if path.is_symlink() or (path.exists() and not path.is_file()):  # not ours, and possibly a link to another file
        return
    with suppress(Exception), atomic_write(path) as out:
        out.write(json.dumps(stamps))


def _stamps(folder: Path) -> dict[str, Any]:
    try:
        known = read_own_json(folder / STAMPS)
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


class StoreRows(Stream):
    """The rows of finished stores, in stored order."""

    def __init__(self, paths: Sequence[StrPath], reading: Reading, *, like: RankingDataset | None = None) -> None:
        self._stores = open_stores(paths)
        self.places = [str(p) for p in paths]
        self.policy, self.known = policy_of(reading, like)
        first = self._stores[0]
        self.n_features = first.n_features
        self.sparse = first.is_sparse
        names = first.names
        self.text_base = first.index_base
        self.feature_names = None if numbered(names, self.text_base) else names
        self.dtype = first.X.dtype if reading.dtype is None else float_type(reading.dtype)

    def as_dataset(self) -> RankingDataset:
        """The stores as one data set, whose features stay on disk."""
        return self._stores[0] if len(self._stores) == 1 else concatenate(self._stores)

    def pieces(self, start: StreamPosition = BEGIN) -> Iterator[RowBlock]:
        weighted = any(store.doc_weight is not None for store in self._stores)
        for f, data in enumerate(self._stores):
            for b, lo in enumerate(data.X.starts[:-1].tolist()):
                if (f, b) >= start[:2]:
                    X = data.X.parts[b]
                    with np.errstate(over="ignore"):
                        converted = X.astype(self.dtype)
                    _mark_missing(X, converted, self.places[f], self.policy)
                    block = block_of(data, converted, lo, f, b)
                    yield block._replace(weight=np.ones(X.shape[0])) if weighted and block.weight is None else block


def _mark_missing(
    X: Any,
    converted: Any,
    place: str,
    policy: MissingPolicy | None,
) -> None:
    """Write NaN into `converted`, a copy of the stored X in another dtype, where X has a missing value.

    Raises
        DataFormatError   there is such a value and no policy; a number is too large for the dtype
    """
    stored = stored_values(X)
    values = stored_values(converted)
    if not any_missing(values):
        return
    missing = is_missing(stored)
    if missing.any() and policy is None:
        raise DataFormatError(missing_value(place, stored[missing][0]))
    large = is_missing(values) & ~missing
    if large.any():
        raise DataFormatError(too_large(place, stored[large][0], values.dtype))
    values[missing] = np.nan
