"""A hash of a data set that covers everything results depend on."""

from __future__ import annotations

import hashlib

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.store.features import identity_of


def data_hash(data: RankingDataset) -> str:
    """Hash of everything in a data set that results depend on."""
    digest = hashlib.sha256()
    digest.update(identity_of(data.X).encode())
    arrays = [data.relevance, data.query_ptr]
    if data.doc_weight is not None:
        arrays.append(data.doc_weight)
    if data.filled is not None:
        arrays.append(data.filled)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    for names in (data.query_ids.tolist(), None if data.docid is None else data.docid.tolist(), data.feature_names):
        digest.update(b"-" if names is None else "\0".join(map(str, names)).encode())
        digest.update(b"\0\0")
    return digest.hexdigest()[:16]
