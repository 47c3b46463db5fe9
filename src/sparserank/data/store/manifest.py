"""The manifest of a store: the description of its files, with a checksum of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.errors import DataFormatError
from sparserank.strict_json import read_own_json
from sparserank.text import brief

MANIFEST = "manifest.json"
PROGRESS = "progress.json"
FORMAT = "sparserank-store"
VERSION = 1
SPARSE = ("data", "indices", "indptr")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a store.

    Raises
        DataFormatError   no store, an unfinished one, one of another version, a damaged manifest
    """
    path = folder / MANIFEST
    if not path.is_file():
        if (folder / PROGRESS).is_file():
            raise DataFormatError(
                f"{folder}: is an unfinished store; run the same 'sparserank convert' again to finish it."
            )
        raise DataFormatError(f"{folder}: is not a store (no {MANIFEST}); make one with 'sparserank convert'.")
    if path.is_symlink():
        raise DataFormatError(linked(path))
    try:
        manifest = read_own_json(path)
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ValueError(f'"format" must be "{FORMAT}"')
    except (OSError, ValueError) as error:
        raise damaged(path, error) from error
    if manifest.get("version") != VERSION:
        raise DataFormatError(
            f"{path}: has version {brief(manifest.get('version'))}; this program reads version {VERSION}. Convert the "
            "data again."
        )
    if not _is_whole(manifest):
        raise damaged(path, "its checksum differs")
    return manifest


def _is_whole(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest says what a conversion wrote. Its checksum covers the shards and the features; the other
    entries follow from the shards."""
    try:
        shards = manifest["shards"]
        totals = all(manifest[n] == sum(shard[n] for shard in shards) for n in ("n_docs", "n_queries"))
        sparse = "X" not in shards[0]["files"]
        return totals and manifest["sparse"] == sparse and manifest["identity"] == identity_of_shards(manifest)
    except (LookupError, TypeError):
        return False


def identity_of_shards(manifest: Mapping[str, Any]) -> str:
    """A hash of everything that defines the content of a store: checksums, shape, names."""
    content = [manifest["shards"], manifest["n_features"], manifest["dtype"], manifest["feature_names"]]
    content += [manifest[name] for name in ("fill_values", "index_base") if name in manifest]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def index_base_of(manifest: Mapping[str, Any]) -> int | None:
    """Number of the first feature in the text that a store was made from; None: not from text, the features have names.
    Earlier versions did not record the number, which was mostly 1."""
    return manifest.get("index_base", 1 if manifest["feature_names"] is None else None)


def fill_values_of(manifest: Mapping[str, Any]) -> np.ndarray | None:
    """Replacement for missing values of each feature; NaN where there was no single value."""
    values = manifest.get("fill_values")
    return None if values is None else np.array(values, dtype=np.float64)


def file_name(shard: Mapping[str, Any], array: str) -> str:
    return f"{shard['number']:05d}-{array}.npy"


def files_of(shards: Sequence[Mapping[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """(name, {bytes, sha256}) of each file."""
    return [(file_name(shard, name), entry) for shard in shards for name, entry in shard["files"].items()]


def unusable(path: str | Path, why: str) -> DataFormatError:
    return DataFormatError(f"{path}: {why}; convert the data again.")


def damaged(path: str | Path, why: object) -> DataFormatError:
    return unusable(path, f"is damaged ({why})")


def linked(path: Path) -> str:
    return (
        f"{path}: is a link, but the files of a store must be in its folder; copy the store and replace links by their "
        "targets (cp -rL)."
    )
