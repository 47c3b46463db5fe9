"""Products of features as deviations from their mean within the query."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def centred_products(X: Any, columns: np.ndarray, ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(products of some columns with all, squares of all) of deviations from the query mean;
    sparse rows stay sparse."""
    sizes = np.diff(ptr).astype(np.float64)
    of_query = sp.csr_array((np.ones(X.shape[0]), np.arange(X.shape[0]), ptr), shape=(len(sizes), X.shape[0]))
    if sp.issparse(X):
        X = sp.csr_array(X).astype(np.float64)
        sums = sp.csr_array(of_query @ X)
        weighed = sp.csr_array(sp.diags_array(1.0 / sizes) @ sums)
        products = (X[:, columns].T @ X).toarray() - (weighed[:, columns].T @ sums).toarray()
        squares = X.multiply(X).sum(axis=0) - weighed.multiply(sums).sum(axis=0)
        return products, np.maximum(np.asarray(squares).ravel(), 0.0)
    X = np.asarray(X, dtype=np.float64)
    deviations = X - np.repeat((of_query @ X) / sizes[:, None], np.diff(ptr), axis=0)
    return deviations[:, columns].T @ deviations, (deviations**2).sum(axis=0)
