"""Stores as somebody else may make them: any manifest and any arrays, with the right checksums and identity."""

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

N_DOCS, N_FEATURES = 8, 3


def npy(array: Any) -> bytes:
    if isinstance(array, bytes):
        return array
    content = io.BytesIO()
    np.save(content, array, allow_pickle=True)
    return content.getvalue()


def dense(**changed: Any) -> dict[str, Any]:
    """The arrays of a shard; None leaves one out."""
    arrays = {
        "X": np.random.default_rng(0).normal(size=(N_DOCS, N_FEATURES)),
        "label": np.array([0.0, 1, 2, 0, 1, 0, 2, 1]),
        "qid": np.array([1, 2]),
        "query_ptr": np.array([0, 4, 8]),
        **changed,
    }
    return {name: a for name, a in arrays.items() if a is not None}


def sparse(**changed: Any) -> dict[str, Any]:
    arrays = {
        "X": None,
        "data": np.arange(1.0, 11.0),
        "indices": np.array([0, 1, 2, 0, 1, 2, 0, 1, 0, 2], dtype=np.int32),
        "indptr": np.array([0, 1, 3, 4, 6, 7, 8, 8, 10], dtype=np.int32),
        **changed,
    }
    return dense(**arrays)


def manifest_of(shards: list[dict[str, Any]], /, **changed: Any) -> dict[str, Any]:
    """The manifest of shards of `arrays` (as files say); changed: fields as they shall be."""
    made: dict[str, Any] = {
        "format": "sparserank-store",
        "version": 1,
        "n_docs": N_DOCS * len(shards),
        "n_queries": 2 * len(shards),
        "n_features": N_FEATURES,
        "dtype": "float64",
        "sparse": "X" not in shards[0],
        "feature_names": None,
        "shards": [
            {"number": k, "n_docs": N_DOCS, "n_queries": 2, "files": files_of(arrays)}
            for k, arrays in enumerate(shards)
        ],
        "plan": {},
    }
    return made | changed


def files_of(arrays: dict[str, Any]) -> dict[str, Any]:
    contents = {name: npy(a) for name, a in arrays.items()}
    return {name: {"bytes": len(c), "sha256": hashlib.sha256(c).hexdigest()} for name, c in contents.items()}


def made(folder: Path, arrays: list[dict[str, Any]] | dict[str, Any], /, **changed: Any) -> Path:
    """A store of these arrays, each a NumPy array or the bytes of its file; changed: fields of the manifest."""
    listed = [arrays] if isinstance(arrays, dict) else arrays
    folder.mkdir(parents=True)
    for k, own in enumerate(listed):
        for name, array in own.items():
            path = folder / f"{k:05d}-{name}.npy"
            os.makedirs(path.parent, exist_ok=True)  # a name may lead elsewhere
            path.write_bytes(npy(array))
    write_manifest(folder, manifest_of(listed, **changed))
    return folder


def write_manifest(folder: Path, manifest: Any) -> None:
    """With its identity made right, where it has the fields for one."""
    try:
        content = [manifest[name] for name in ("shards", "n_features", "dtype", "feature_names")]
        content += [manifest["fill_values"]] if "fill_values" in manifest else []
        manifest = manifest | {"identity": hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}
    except (KeyError, TypeError):
        pass
    (folder / "manifest.json").write_text(json.dumps(manifest))
