"""What results depend on: the program's sources, the libraries that compute, the data."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.store.features import identity_of

COMPUTING_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
LONGEST_LABEL = 100  # file systems allow 255 bytes
PRESENTING = ("cli", "pages", "reporting")  # rooms that show results and compute none


@cache
def code_hash(left_out: Callable[[tuple[str, ...]], bool]) -> str:
    """Hash of this package's sources and of the versions of the libraries that compute.

    left_out(path inside the package, as its parts) says on which files, besides those that present, no result depends.
    """
    root = Path(__file__).parent.parent
    digest = hashlib.sha256(repr([version(name) for name in COMPUTING_LIBRARIES]).encode())
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root).parts
        if inside[0] not in PRESENTING and not left_out(inside):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def file_hash(path: str | os.PathLike) -> str:
    with open(path, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def data_hash(data: RankingDataset) -> str:
    """Hash of everything that a data set holds."""
    digest = hashlib.sha256()
    digest.update(identity_of(data.X).encode())
    arrays = [data.relevance, data.query_ptr]
    if data.doc_weight is not None:
        arrays.append(data.doc_weight)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    for names in (data.query_ids.tolist(), None if data.docid is None else data.docid.tolist(), data.feature_names):
        digest.update(b"-" if names is None else "\0".join(map(str, names)).encode())
        digest.update(b"\0\0")
    return digest.hexdigest()[:16]


def name_of(label: str, depends_on: Any) -> str:
    """A file name for a piece of work: readable, and different for whatever it depends on (plain JSON values)."""
    digest = hashlib.sha256(json.dumps([label, depends_on], sort_keys=True).encode()).hexdigest()[:16]
    readable = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "_" for c in label)
    return f"{readable[:LONGEST_LABEL]}-{digest}"
