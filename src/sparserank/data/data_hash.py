"""A hash of a data set that covers everything results depend on."""

from __future__ import annotations

import hashlib

from sparserank.data.dataset import RankingDataset
from sparserank.data.store.features import add_arrays, identity_of


def data_hash(data: RankingDataset) -> str:
    """Hash of everything in a data set that results depend on."""
    digest = hashlib.sha256()
    digest.update(identity_of(data.X).encode())
    add_arrays(digest, [data.relevance, data.query_ptr])
    add_arrays(digest, [array for array in (data.doc_weight, data.filled) if array is not None])
    if data.table is not None:
        digest.update(repr((data.kept_columns, data.table.tolist())).encode())
    for names in (data.query_ids.tolist(), None if data.docid is None else data.docid.tolist(), data.feature_names):
        digest.update(b"-" if names is None else "\0".join(map(str, names)).encode())
        digest.update(b"\0\0")
    return digest.hexdigest()[:16]
