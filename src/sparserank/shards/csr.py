"""Sparse rows: compressed sparse rows (CSR)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from sparserank.data.matrices import bytes_until
from sparserank.shards import _csr_kernels
from sparserank.shards.rows import Rows, documents_of, read_only


class CsrRows(Rows):
    """X (n_docs, n_features) as a canonical CSR matrix of float32 or float64."""

    scores: ClassVar[Callable] = staticmethod(_csr_kernels.scores)
    transposed: ClassVar[Callable] = staticmethod(_csr_kernels.transposed)
    is_dense = False

    def __init__(self, X: sp.csr_matrix) -> None:
        self.X = X
        self.arrays = (read_only(X.data), read_only(X.indices), read_only(X.indptr))
        self.n_docs, self.n_columns = X.shape
        self.nbytes = X.data.nbytes + X.indices.nbytes

    def differences(
        self,
        query_ptr: np.ndarray,
        queries: np.ndarray,
        columns: np.ndarray,
        inverse: np.ndarray | None,
    ) -> np.ndarray:
        Z = self.X[documents_of(query_ptr, queries)][:, columns].toarray().astype(np.float64, copy=False)
        return np.ascontiguousarray(Z if inverse is None else Z * inverse)

    def times(self, models: np.ndarray | sp.csr_array, rows: np.ndarray) -> np.ndarray:
        product = self.X[rows] @ models.T
        return np.asarray(product.toarray() if sp.issparse(product) else product, dtype=np.float64)

    def columns(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self.X[rows][:, columns].toarray(), dtype=np.float64)

    def bytes_until(self) -> np.ndarray:
        return bytes_until(self.X)

    def part(self, lo: int, hi: int) -> CsrRows:
        return CsrRows(self.query_block(lo, hi))

    def query_block(self, lo: int, hi: int) -> sp.csr_matrix:
        first = int(self.X.indptr[lo])
        last = int(self.X.indptr[hi])
        X = sp.csr_matrix((hi - lo, self.n_columns), dtype=self.X.dtype)
        X.data = self.X.data[first:last]  # the constructor would copy small views
        X.indices = self.X.indices[first:last]
        X.indptr = self.X.indptr[lo : hi + 1] - first
        X.has_canonical_format = True
        return X
