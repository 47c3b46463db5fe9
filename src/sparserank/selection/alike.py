"""Features that were left out and say the same as a kept one: correlation within queries, and stand-ins of half-samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset

SAME = 0.9  # size of the correlation from which two features say the same
MOST_DOCUMENTS = 500_000  # about; of more, every so many-th query is looked at
BLOCK_VALUES = 1 << 22  # values read at once


@dataclass(frozen=True)
class Left:
    """A feature that was left out, and the kept one that it resembles most; stand_in: half-samples keep it where they do not keep that one."""

    feature: str
    kept: str
    correlation: float
    stand_in: bool


@dataclass(frozen=True)
class Alike:
    """What was left out: |correlation| with a kept feature of at least `least`, largest first, and stand-ins whatever theirs; n_queries were looked at."""

    least: float
    n_queries: int
    left: tuple[Left, ...]


def alike(
    data: RankingDataset,
    names: tuple[str, ...],
    kept: Mapping[int, int],
    shaped: Callable[[RankingDataset], RankingDataset],
    stand_ins: Mapping[int, int],
) -> Alike:
    """Features beside those of a model.

    Parameters
        names      of the features
        kept       {feature: the form in which the model takes it}, 0-based; each is compared with others in that form
        shaped     queries with the columns of each form side by side
        stand_ins  {kept feature: the one that stands in for it}
    """
    queries = _looked_at(data)
    features = np.array(sorted(kept), dtype=np.int64)
    form = np.array([kept[int(j)] for j in features], dtype=np.int64)
    correlations = within_query_correlations(data, queries, shaped, features, form, len(names))
    correlations[:, features] = 0.0
    rows = []
    if len(features):
        nearest = np.abs(correlations).argmax(axis=0)
        for j in np.flatnonzero(np.abs(correlations).max(axis=0) >= SAME).tolist():
            k = int(nearest[j])
            stands_in = stand_ins.get(int(features[k])) == j
            rows.append(Left(names[j], names[features[k]], float(correlations[k, j]), stands_in))
    rows.sort(key=lambda row: -abs(row.correlation))
    known = {(row.feature, row.kept) for row in rows}
    others = [
        Left(names[j], names[of], float(correlations[int(np.searchsorted(features, of)), j]), True)
        for of, j in stand_ins.items()
        if (names[j], names[of]) not in known
    ]
    others.sort(key=lambda row: -abs(row.correlation))
    return Alike(SAME, len(queries), (*rows, *others))


def within_query_correlations(
    data: RankingDataset,
    queries: np.ndarray,
    shaped: Callable[[RankingDataset], RankingDataset],
    features: np.ndarray,
    form: np.ndarray,
    n_features: int,
) -> np.ndarray:
    """(len(features), n_features) Pearson correlation of deviations from the mean of the query, over some queries, each feature in its form beside the others
    in that form; 0 where one of the two does not vary, or their squares are no numbers."""
    together = np.zeros((len(features), n_features))
    squares: Any = 0.0
    with np.errstate(all="ignore"):
        for some in _blocks(data, queries):
            own = shaped(data.take_queries(some))
            products, own_squares = _sums(own.X, form * n_features + features, np.asarray(own.query_ptr))
            for k, f in enumerate(form.tolist()):
                together[k] += products[k, f * n_features : (f + 1) * n_features]
            squares = squares + own_squares
        if len(features) and len(queries):
            beside = squares.reshape(-1, n_features)[form]
            alone = squares[form * n_features + features]
            together /= np.sqrt(alone)[:, None] * np.sqrt(beside)
    return np.clip(np.where(np.isfinite(together), together, 0.0), -1.0, 1.0)


def _sums(X: Any, columns: np.ndarray, ptr: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(products of some columns with all, squares of all) of deviations from the query's mean; sparse rows stay sparse."""
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


def _looked_at(data: RankingDataset) -> np.ndarray:
    """The queries that hold documents, every so many-th where they are too many."""
    sizes = np.diff(data.query_ptr)
    return np.flatnonzero(sizes > 0)[:: max(-(-data.n_docs // MOST_DOCUMENTS), 1)]


def _blocks(data: RankingDataset, queries: np.ndarray) -> list[np.ndarray]:
    """The queries in pieces of about BLOCK_VALUES values."""
    rows = max(BLOCK_VALUES // max(_values_of_row(data), 1), 1)
    before = np.cumsum(np.diff(data.query_ptr)[queries]) - 1
    return [own for own in np.split(queries, np.flatnonzero(np.diff(before // rows)) + 1) if len(own)]


def _values_of_row(data: RankingDataset) -> int:
    """Values that a document stores, about."""
    if sp.issparse(data.X):
        return int(data.X.nnz // max(data.n_docs, 1))
    return 100 if data.is_sparse else data.n_features
