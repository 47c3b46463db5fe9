"""Detect columns that should not be features: the label, values derived from it, row numbers and other ids."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import column, n_stored
from sparserank.errors import DataWarning
from sparserank.options import option
from sparserank.quoting import brief

PERFECT = 0.99  # share of preferred pairs that a feature alone orders right (ties half) from which it is told
MIN_QUERIES = (
    20  # with pairs, and one more for each doubling of the features: by chance, one in a million has one that is told
)
MIN_ROWS = 50  # of fewer nothing is told: counts may all differ there, and a flag may equal the labels
MAX_QUERIES, MAX_PAIRS, PAIRS_OF_QUERY = 200, 10_000, 50  # that are looked at
MAX_VALUES = 1 << 23  # of their rows; and 2 ** 24 of their pairs


def warn_of_suspects(data: RankingDataset, dropped: Sequence[str] = (), *, stacklevel: int = 4) -> list[str]:
    """Issue a DataWarning for each suspect (see `suspects`) at the caller of a job; return the messages."""
    told = suspects(data, dropped)
    for sentence in told:
        warnings.warn(sentence, DataWarning, stacklevel=stacklevel)
    return told


def suspects(data: RankingDataset, dropped: Sequence[str] = (), *, remedy: str = "drop") -> list[str]:
    """One sentence for each feature that equals the label, has a different whole number in every row, or alone orders
    nearly all preferred pairs correctly.

    The check is cheap: it examines a few hundred queries, and reads only conspicuous columns completely.

    Parameters
        dropped   features that are already left out
        remedy    the option that leaves a feature out: drop or ignore_columns
    Notes
        A feature without information, and without equal values in a query, orders all pairs of a query correctly with
        a probability of at most one half. The probability that any of d features does so in all of
        MIN_QUERIES + log2(2 d) queries, in either direction, is at most 2 ** -MIN_QUERIES.
    """
    names = data.feature_names or ()
    sample = _sample(data)
    if sample is None:
        return []
    gone = {names.index(n) for n in dropped if n in names}
    told: dict[int, str] = {}
    for name_them in (_labels, _ids, _perfect):
        for j, sentence in name_them(data, sample):
            if j not in gone:
                told.setdefault(j, f"feature {brief(names[j])} {sentence.format(remedy=option(remedy, [names[j]]))}")
    return [told[j] for j in sorted(told)]


def _sample(data: RankingDataset) -> RankingDataset | None:
    """Evenly spread queries with preferred pairs; None: there are none, or too few rows for a conclusion."""
    if data.n_docs < MIN_ROWS:
        return None
    starts, sizes = data.query_ptr[:-1], np.diff(data.query_ptr)
    y = np.asarray(data.relevance)
    varied = np.flatnonzero(np.maximum.reduceat(y, starts) > np.minimum.reduceat(y, starts))
    if len(varied) == 0:
        return None
    taken = varied[np.linspace(0, len(varied) - 1, min(MAX_QUERIES, len(varied))).astype(np.int64)]
    width = n_stored(data.X) / data.n_docs
    fits = np.cumsum(sizes[taken]) * max(width, 1) <= MAX_VALUES
    return data.take_queries(taken[: max(int(fits.sum()), 1)])


def _where(X: Any, accepts: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Columns of X that `accepts` selects; of a sparse X, only columns that store all rows but at most one
    are examined."""
    if not sp.issparse(X):
        return np.flatnonzero(accepts(X))
    full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) >= X.shape[0] - 1)
    return full[accepts(X[:, full].toarray())] if len(full) else full


def _labels(data: RankingDataset, sample: RankingDataset) -> Iterator[tuple[int, str]]:
    y, X = np.asarray(sample.relevance).astype(sample.X.dtype), sample.X
    if sp.issparse(X):  # as many non-zeros as labels have, and each the label of its row
        equal = (X.data == np.repeat(y, np.diff(X.indptr))) & (X.data != 0)
        right, some = (np.bincount(X.indices[held], minlength=X.shape[1]) for held in (equal, X.data != 0))
        columns = np.flatnonzero((right == some) & (right == (y != 0).sum()))
    else:
        columns = np.flatnonzero(~(y[:, None] != X).any(axis=0))
    for j in columns.tolist():
        if (column(data.X, j) == np.asarray(data.relevance).astype(data.X.dtype)).all():
            yield (
                j,
                (
                    f"equals the label in all {data.n_docs} rows, so a model would learn only to copy the label; leave "
                    "it out ({remedy})."
                ),
            )


def _ids(data: RankingDataset, sample: RankingDataset) -> Iterator[tuple[int, str]]:
    def accepts(X: np.ndarray) -> np.ndarray:
        whole = ~(np.floor(X) != X).any(axis=0)
        ordered = np.sort(X[:, whole], axis=0)
        whole[whole] = (ordered[1:] > ordered[:-1]).all(axis=0)
        return whole

    for j in _where(sample.X, accepts).tolist():
        values = column(data.X, j)
        if not (np.floor(values) != values).any() and len(np.unique(values)) == data.n_docs:
            yield (
                j,
                (
                    f"has a different whole number in each of {data.n_docs} rows, like an id; leave it out if it is "
                    "an id ({remedy})."
                ),
            )


def _perfect(data: RankingDataset, sample: RankingDataset) -> Iterator[tuple[int, str]]:
    d = sample.n_features
    if sample.n_queries < MIN_QUERIES + math.log2(2 * d):
        return
    better, worse = _pairs(sample, min(MAX_PAIRS, max((MAX_VALUES * 2) // d, 1000)))
    right = _ordered(sample.X, better, worse)
    for j in np.flatnonzero(np.maximum(right, 1.0 - right) >= PERFECT).tolist():
        share, order = max(right[j], 1.0 - right[j]), "" if right[j] >= 0.5 else ", in descending order"
        yield (
            j,
            (
                f"alone orders {math.floor(1000 * share) / 10:g}% of {len(better)} preferred pairs correctly{order} "
                f"(reported if at least {PERFECT:.0%}); leave it out if it was derived from the labels, or if it is "
                "not known when documents are ranked ({remedy})."
            ),
        )


def _pairs(sample: RankingDataset, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (better, worse) of preferred pairs, the same number from each query where possible,
    drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    each = max(min(PAIRS_OF_QUERY, most // sample.n_queries), 1)
    found: list[np.ndarray] = []
    y = np.asarray(sample.relevance)
    for lo, hi in zip(sample.query_ptr[:-1].tolist(), sample.query_ptr[1:].tolist(), strict=True):
        n = hi - lo
        if n * n <= 100 * each * each:
            drawn = np.argwhere(y[lo:hi, None] > y[lo:hi])
            drawn = rng.permutation(drawn)[:each]
        else:
            drawn = rng.integers(0, n, (100 * each, 2))
            drawn = drawn[y[lo + drawn[:, 0]] > y[lo + drawn[:, 1]]][:each]
        found.append(lo + drawn)
    pairs = np.concatenate(found)
    return pairs[:, 0], pairs[:, 1]


def _ordered(X: Any, better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    """(n_features,) share of the pairs that each feature orders correctly; ties count half."""
    n, d = len(better), X.shape[1]
    if sp.issparse(X):
        difference = (X[better] - X[worse]).tocsr()
        sign = np.sign(difference.data)
        balance = np.bincount(difference.indices, weights=sign, minlength=d)
    else:
        balance = np.zeros(d)
        for at in range(0, n, 1000):
            a, b = X[better[at : at + 1000]], X[worse[at : at + 1000]]
            balance += (a > b).sum(axis=0) - (a < b).sum(axis=0, dtype=np.int64)
    return np.asarray(0.5 + 0.5 * balance / max(n, 1))
