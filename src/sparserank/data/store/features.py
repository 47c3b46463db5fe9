"""Features that stay on disk: parts of whole queries, mapped into memory and read when they are used."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparserank.data.matrices import arrays_of, n_stored, stored_bytes
from sparserank.errors import DataError, DataFormatError

Stamp = tuple[int, int, int, int]  # of a file: device, inode, size, time of change


class StoreShard(NamedTuple):
    """A shard of a store: its folder, its number there, and the identity of the store's content."""

    folder: str
    number: int
    identity: str


class StoredFeatures:
    """(n_docs, n_features) features in vertically stacked parts: all arrays, or all CSR matrices, of one dtype.

    Only reading rows or columns copies data. Each part contains whole queries.

    Parameters
        parts      arrays or CSR matrices
        identity   identifies the content: results depend on it instead of on the bytes
        sources    for each part its shard of a store, None for a part in memory
        stamps     {path: stamp} of the files that are mapped
    """

    def __init__(
        self,
        parts: Sequence[Any],
        identity: str,
        sources: Sequence[StoreShard | None] | None = None,
        stamps: Mapping[str, Stamp] | None = None,
    ) -> None:
        self.parts = tuple(parts)
        self.identity = identity
        self.stamps = dict(stamps or {})
        self.sources = tuple(sources) if sources is not None else (None,) * len(self.parts)
        sizes = [p.shape[0] for p in self.parts]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.shape = (int(self.starts[-1]), int(self.parts[0].shape[1]))
        self.dtype = self.parts[0].dtype
        self.ndim = 2
        self.is_sparse = bool(sp.issparse(self.parts[0]))
        self.nbytes, self.nnz = (sum(of(p) for p in self.parts) for of in (stored_bytes, n_stored))

    def __getitem__(self, at: Any) -> Any:
        """Rows X[rows], or X[rows, columns] with a slice of all rows: a new array or CSR matrix."""
        rows, columns = at if isinstance(at, tuple) else (at, None)
        if isinstance(rows, slice) and rows == slice(None):
            taken = [p[:, columns] if columns is not None else p for p in self.parts]
            return sp.vstack(taken, format="csr") if self.is_sparse else np.concatenate(taken)
        rows = np.arange(self.shape[0])[rows]  # slices, masks and negative numbers become rows
        by_part = _by_part(self.starts, rows)
        if len(by_part) <= 1:
            part, _, rows_of_part = by_part[0] if by_part else (0, None, slice(0))
            out = self.parts[part][rows_of_part]
        elif self.is_sparse:
            below = sp.vstack([self.parts[p][rows_of_part] for p, _, rows_of_part in by_part], format="csr")
            out = below[np.argsort(np.concatenate([at for _, at, _ in by_part]))]
        else:
            out = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
            for p, at, rows_of_part in by_part:
                out[at] = self.parts[p][rows_of_part]
        return out if columns is None else out[:, columns]


def _by_part(starts: np.ndarray, rows: np.ndarray) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """(part, positions in `rows` of the rows of this part, their numbers within the part) for each part with such
    rows."""
    part = np.searchsorted(starts, rows, side="right") - 1
    by_part = []
    for p in np.unique(part).tolist():
        at = np.flatnonzero(part == p)
        by_part.append((p, at, rows[at] - starts[p]))
    return by_part


class StoredTexts:
    """Texts of consecutive documents, UTF-8 in mapped arrays; requested rows become strings, slices are not copied.

    Parameters
        parts   arrays of bytes
    """

    def __init__(self, parts: Sequence[np.ndarray]) -> None:
        self.parts = tuple(parts)
        self.starts = np.concatenate([[0], np.cumsum([len(p) for p in self.parts])]).astype(np.int64)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            lo, hi, _ = rows.indices(len(self))
            cut = [
                p[max(lo - a, 0) : max(hi - a, 0)] for p, a in zip(self.parts, self.starts[:-1].tolist(), strict=True)
            ]
            return StoredTexts(cut)
        if np.ndim(rows) == 0:
            return self[np.array([rows])][0]
        rows = np.asarray(rows)
        out = np.empty(len(rows), dtype=object)
        for p, at, rows_of_part in _by_part(self.starts, rows):
            out[at] = [t.decode() for t in self.parts[p][rows_of_part].tolist()]
        return out

    def __iter__(self) -> Iterator[str]:
        return (t.decode() for part in self.parts for t in part.tolist())

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self[np.arange(len(self))], dtype=dtype)

    def tolist(self) -> list[str]:
        return list(self)


def joined(features: Sequence[Any]) -> StoredFeatures:
    """Stack stored features and features in memory vertically.

    Raises
        DataError   some are sparse and some dense, or their dtypes differ
    """
    parts = [p for X in features for p in (X.parts if isinstance(X, StoredFeatures) else [X])]
    kinds = {("sparse" if sp.issparse(p) else "dense", p.dtype.name) for p in parts}
    if len(kinds) > 1:
        shown = " and ".join(" ".join(k) for k in sorted(kinds))
        raise DataError(
            f"if one of several data sets is stored, all must be of the same kind; got {shown}. Convert them in the "
            "same way."
        )
    sources = [s for X in features for s in (X.sources if isinstance(X, StoredFeatures) else [None])]
    stamps = {path: stamp for X in features if isinstance(X, StoredFeatures) for path, stamp in X.stamps.items()}
    return StoredFeatures(parts, " ".join(identity_of(X) for X in features), sources, stamps)


def stamp_of(path: str | os.PathLike) -> Stamp:
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def check_unchanged(X: Any) -> None:
    """Refuse results from stored features whose mapped files were modified in the meantime.

    A file that was replaced or removed does no harm: the mapped file keeps its content.

    Raises
        DataFormatError   the message names the file
    """
    for path, (device, inode, *content) in X.stamps.items() if isinstance(X, StoredFeatures) else ():
        try:
            stamp = stamp_of(path)
        except OSError:
            continue
        if stamp[:2] == (device, inode) and [*stamp[2:]] != content:
            raise DataFormatError(
                f"{path}: was modified while it was in use, so the results may mix old and new values and are "
                "discarded. Run again on a store to which no other program writes."
            )


def identity_of(X: Any) -> str:
    """The identity of the content of features: a hash of their bytes, or that of their store's manifest."""
    if isinstance(X, StoredFeatures):
        return X.identity
    digest = hashlib.sha256()
    add_arrays(digest, arrays_of(X).values())
    return digest.hexdigest()


def add_arrays(digest: Any, arrays: Iterable[np.ndarray]) -> None:
    """Add the types, shapes and bytes of arrays to a hash."""
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
