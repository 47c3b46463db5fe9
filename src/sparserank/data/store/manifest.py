"""The manifest of a store: the description of its files, checked before any of them is opened."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.errors import DataFormatError
from sparserank.strict_json import read_own_json
from sparserank.text import brief

MANIFEST, PROGRESS = "manifest.json", "progress.json"
FORMAT, VERSION = "sparserank-store", 1
DENSE, SPARSE = ("X",), ("data", "indices", "indptr")
LISTS, OPTIONAL = ("label", "qid", "query_ptr"), ("docid", "weight")
MAX_COUNT = 2**62  # documents, queries or bytes: the sum of two fits into 64 bits
MAX_EMPTY_FEATURES = 10_000_000  # without names, if above 100 per stored value: the names made take about a gigabyte


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
    check_manifest(path, manifest)
    if manifest.get("identity") != identity_of_shards(manifest):
        raise damaged(path, "its checksum differs")
    return manifest


def check_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest that no conversion writes; `path` is its name in messages.

    Raises
        DataFormatError   the message names the field
    """
    try:
        for name in ("n_docs", "n_queries", "n_features"):
            _count(manifest.get(name), name, 1)
        dtype, sparse, base = (manifest.get(name) for name in ("dtype", "sparse", "index_base"))
        _require(dtype in ("float32", "float64"), f"dtype must be float32 or float64; got {brief(dtype)}")
        _require(isinstance(sparse, bool), f"sparse must be true or false; got {brief(sparse)}")
        check_shards(manifest.get("shards"), manifest["sparse"])
        for name in ("n_docs", "n_queries"):
            of_shards = sum(shard[name] for shard in manifest["shards"])
            _require(manifest[name] == of_shards, f"{name} is not the sum of the shards'")
        _check_names(manifest)
        _check_fill_values(manifest)
        known = index_base_of(manifest) in (None, 0, 1) and not isinstance(base, bool)
        _require(known, f"index_base must be 0 or 1; got {brief(base)}")
    except ValueError as error:
        raise damaged(path, error) from error


def check_shards(shards: Any, sparse: bool) -> None:
    """Raise ValueError unless each shard is {number, n_docs, n_queries, files: {array: {bytes, sha256}}}."""
    _require(isinstance(shards, list) and len(shards) > 0, "shards must be a non-empty list")
    known = set()
    for shard in shards:
        lists_files = isinstance(shard, dict) and isinstance(shard.get("files"), dict)
        _require(lists_files, "a shard must be an object that lists its files")
        known.add(_count(shard.get("number"), "number of a shard", 0))
        _count(shard.get("n_queries"), "n_queries of a shard", 1)
        _count(shard.get("n_docs"), "n_docs of a shard", shard["n_queries"])
        needed = {*(SPARSE if sparse else DENSE), *LISTS}
        _require(
            needed <= set(shard["files"]) <= needed.union(OPTIONAL),
            f"a shard must have the arrays {', '.join(sorted(needed))}, and may have docid and weight; got "
            f"{brief(sorted(shard['files']))}",
        )
        for entry in shard["files"].values():
            has_sum = isinstance(entry, dict) and isinstance(entry.get("sha256"), str)
            _require(has_sum, "a file of a shard must have bytes and sha256")
            _count(entry.get("bytes"), "bytes of a file", 1)
    _require(len(known) == len(shards), "two shards have the same number")


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
    found = manifest.get("fill_values")
    return None if found is None else np.array([np.nan if v is None else v for v in found], dtype=np.float64)


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


def _require(condition: bool, otherwise: str) -> None:
    """Raise ValueError unless the condition is true."""
    if not condition:
        raise ValueError(otherwise)


def _count(value: Any, name: str, least: int) -> int:
    if type(value) is not int or not least <= value < MAX_COUNT:
        raise ValueError(f"{name} must be a whole number >= {least}; got {brief(value)}")
    return value


def _check_names(manifest: Mapping[str, Any]) -> None:
    _require("feature_names" in manifest, "feature_names is missing")
    names, n_features = manifest["feature_names"], manifest["n_features"]
    if names is None:
        # A value takes at least 4 bytes, and as many for its index if sparse: file sizes bound the number.
        n_values = sum(s["files"]["data" if manifest["sparse"] else "X"]["bytes"] // 4 for s in manifest["shards"])
        most = max(MAX_EMPTY_FEATURES, 100 * n_values)
        _require(n_features <= most, f"n_features is {n_features}, but at most {n_values} values are stored")
        return
    all_named = isinstance(names, list) and len(names) == n_features and all(type(n) is str for n in names)
    _require(all_named, f"feature_names must contain {n_features} names")
    _require(len(set(names)) == n_features, "two features have the same name")


def _check_fill_values(manifest: Mapping[str, Any]) -> None:
    found = manifest.get("fill_values")
    if found is None:
        return
    n_features = manifest["n_features"]
    _require(isinstance(found, list) and len(found) == n_features, f"fill_values must contain {n_features} numbers")
    numbers = [value for value in found if value is not None]
    odd = next((v for v in numbers if type(v) not in (int, float) or not math.isfinite(v)), None)
    _require(odd is None, f"fill_values must be finite numbers or null; got {brief(odd)}")
