"""Fill in missing values with replacements that are learned from the training rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.matrices import (
    below,
    by_columns,
    missing_counts,
    stored_of_column,
    stored_values,
    with_nan,
    without_mask,
)
from sparserank.data.missing import (
    ERROR,
    MEDIAN,
    QUERY_MIN,
    STAYS,
    ZERO,
    MissingPolicy,
    any_missing,
    is_missing,
)
from sparserank.data.reading import choices
from sparserank.data.varying import extremes
from sparserank.errors import DataError
from sparserank.text import brief

SAMPLE_VALUES = 4_000_000  # approximate sample size for medians of data larger than memory


@dataclass(frozen=True, eq=False)
class Filling:
    """Replacement for a missing value of each feature.

    values     (n_features,) float64, NaN where missing values are replaced per query, or refused
    by_query   (n_features,) bool: replace by the smallest value within the query, or by 0 if the query has none
    names      feature names for messages; None: their numbers
    """

    values: np.ndarray
    by_query: np.ndarray
    names: Sequence[str] | None = None

    def fill(self, X: Any, query: np.ndarray) -> None:
        """Replace every NaN of X, in place.

        Parameters
            X       (n_docs, n_features) float array, or CSR matrix without duplicate entries; entries that it does not
                    store are 0
            query   (n_docs,) number of each row's query, from 0
        Raises
            DataError   a value is missing where this is not allowed
        """
        # The features with a missing value; refuse those without a rule for it.
        columns = np.flatnonzero(missing_counts(X))
        refused = np.isnan(self.values[columns]) & ~self.by_query[columns]
        if refused.any():
            named = [f"f{j + 1}" if self.names is None else self.names[j] for j in columns[refused].tolist()]
            others = f", and so do {len(named) - 1} others: {brief(', '.join(named[1:]))}" if len(named) > 1 else ""
            raise DataError(f"feature {brief(named[0])} has a missing or infinite value{others}; {choices()}.")
        # Smallest values of queries; then the features that have one value each.
        for j in columns[self.by_query[columns]].tolist():
            if sp.issparse(X):
                entries = np.flatnonzero(X.indices == j)
                of_entry = query[np.searchsorted(X.indptr, entries, side="right") - 1]
                X.data[entries] = _with_minimum(X.data[entries], of_entry, query)
            else:
                X[:, j] = _with_minimum(X[:, j], query, query)
        _replace(X, self.values)


def _replace(X: Any, values: np.ndarray) -> None:
    """Write the value of its feature in place of every NaN of X."""
    stored = stored_values(X)
    missing = np.nonzero(np.isnan(stored))
    stored[missing] = values[X.indices[missing] if sp.issparse(X) else missing[1]]


def _with_minimum(values: np.ndarray, of_value: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The values of a feature, with the smallest known value of the query in place of NaN; 0 if the query has none.

    of_value   (len(values),) query of each value
    query      (n_docs,) query of each row; rows without a value have 0
    """
    queries, number = np.unique(of_value, return_inverse=True)
    smallest = np.full(len(queries), np.inf, dtype=values.dtype)
    np.minimum.at(smallest, number, np.where(np.isnan(values), np.inf, values))
    with_zeros = np.bincount(number) < np.bincount(query)[queries]
    smallest[with_zeros] = np.minimum(smallest[with_zeros], 0.0)
    smallest[np.isinf(smallest)] = 0.0
    return np.where(np.isnan(values), smallest[number], values)


def learn_filling(
    policy: MissingPolicy,
    blocks: Iterable[Any],
    n_features: int,
    dtype: np.dtype,
    names: Sequence[str] | None = None,
    *,
    index_base: int = 1,
    sample_values: float = np.inf,
    known: np.ndarray | None = None,
) -> Filling:
    """Learn the filling from training rows in blocks (dense or CSR, NaN where a value is missing), which are not
    changed.

    A median is taken over the known values, including zeros that a sparse matrix does not store; beyond sample_values,
    over evenly spaced rows. A feature without a known value gets 0. known: values that were learned from other rows,
    and are used instead.
    """
    rules = policy.rules(n_features, names, index_base)
    learned = np.zeros(n_features) if known is None else known
    if len(learned) != n_features:
        raise DataError(
            f"replacements for missing values are known for {len(learned)} features, but the data have {n_features}."
        )
    if policy.learns and known is None:
        # One pass over the blocks: the minimum of every feature, and a sample of those that need a median.
        median = np.array([j for j, rule in enumerate(rules) if rule == MEDIAN], dtype=np.int64)
        low, sample = _lowest_and_sample(blocks, n_features, median, sample_values)
        learned = np.where(np.isfinite(low), low, 0.0)
        for at, j in enumerate(median.tolist()):
            learned[j] = _median(sample, at)
    # Resolve the rule of each feature to a number; NaN: it has none.
    fixed = {ERROR: np.nan, QUERY_MIN: np.nan, STAYS: np.nan, ZERO: 0.0}
    filled = [fixed.get(rule, learned[j]) if isinstance(rule, str) else rule for j, rule in enumerate(rules)]
    values = np.array(filled, dtype=np.float64)
    with np.errstate(over="ignore"):
        rounded = values.astype(dtype).astype(np.float64)  # a model must fill in exactly the values it was trained on
    if np.isinf(rounded).any():
        raise DataError(
            f"missing={values[np.isinf(rounded)][0]:g} is too large for {dtype}, the dtype of the features; use a "
            "smaller number."
        )
    return Filling(rounded, np.array([r == QUERY_MIN for r in rules], dtype=bool), names)


def training_medians(X: Any, columns: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
    """(n_features,) medians of the given columns over the training rows, rounded to the dtype of X; NaN for other
    columns. With more than about SAMPLE_VALUES values, only evenly spaced rows are used.

    Parameters
        X         (n_docs, n_features) array, CSR matrix or stored features, none missing; read once, from a store
                  only the rows used
        counted   (n_docs,) bool: the rows that count; None: all
    """
    out = np.full(X.shape[1], np.nan)
    if len(columns) == 0:
        return out
    parts = getattr(X, "parts", (X,))
    n_values = sum(p.nnz if sp.issparse(p) else p.shape[0] * len(columns) for p in parts)
    step = max(-(-n_values // SAMPLE_VALUES), 1)
    # Every step-th row, counted across the parts.
    blocks = []
    at = 0
    for part in parts:
        spread = slice(-at % step, None, step)
        block = part[spread][:, columns]
        blocks.append(block if counted is None else block[counted[at : at + part.shape[0]][spread]])
        at += part.shape[0]
    sample = by_columns(below(blocks))
    out[columns] = [_median(sample, k) for k in range(len(columns))]  # one at a time: `np.median` copies its input
    return out.astype(X.dtype).astype(np.float64)


def _lowest_and_sample(
    blocks: Iterable[Any],
    n_features: int,
    columns: np.ndarray,
    sample_values: float,
) -> tuple[np.ndarray, Any]:
    """((n_features,) smallest known values, infinite where none is known; the columns in evenly spaced rows)."""
    low = np.full(n_features, np.inf)
    sampled: list[Any] = []
    at = 0
    step = 1
    for X in blocks:
        n = X.shape[0]
        if n == 0:
            continue
        np.fmin(low, extremes(X)[0], out=low)
        sampled.append(X[-at % step :: step][:, columns])
        at += n
        # If the sample becomes too large, keep every second row of it, and take half as many from now on.
        while sum(b.shape[0] for b in sampled) * max(len(columns), 1) > sample_values:
            sampled = [below(sampled)[::2]]
            step = 2 * step
    sample = below(sampled)
    return low, by_columns(sample)


def _median(sample: Any, j: int) -> float:
    """Median of the known values of a column, 0 if there are none."""
    stored = stored_of_column(sample, j)
    known = stored[np.isfinite(stored)].astype(np.float64)
    zeros = np.zeros(sample.shape[0] - len(stored))  # not stored
    if len(zeros) > len(known) or len(known) == 0:  # more than half of the values are 0
        return 0.0
    return float(np.median(np.concatenate([known, zeros])))


def fill_matrix(
    policy: MissingPolicy,
    X: Any,
    query: np.ndarray,
    names: Sequence[str] | None,
    is_training: np.ndarray | None = None,
    *,
    index_base: int = 1,
    known: np.ndarray | None = None,
) -> tuple[Any, Filling]:
    """(a filled copy of the training rows X (n_docs, n_features), the filling learned from them).

    Parameters
        query         (n_docs,) number of each row's query
        is_training   (n_docs,) bool: the rows to learn from; None: all
        known         as in `learn_filling`
    Raises
        DataError   X is not a matrix of numbers, or a value is missing where this is not allowed
    """
    out = with_nan(X)
    training_rows = out if is_training is None else out[np.flatnonzero(is_training)]
    filling = learn_filling(
        policy,
        [training_rows],
        out.shape[1],
        out.dtype,
        names,
        index_base=index_base,
        known=known,
    )
    filling.fill(out, query)
    return out, filling


def missing_cells(X: Any) -> np.ndarray | None:
    """(n_docs, n_features) bool: which values of dense X are missing. None if no value is missing, and for sparse or
    stored X, which are not examined."""
    X = without_mask(X)
    if sp.issparse(X) or hasattr(X, "parts"):
        return None
    if getattr(getattr(X, "dtype", None), "kind", "") != "f":
        X = with_nan(X)
    return is_missing(X) if any_missing(X) else None


def fill_known(X: Any, values: np.ndarray) -> Any:
    """X, or a copy in which missing values (`is_missing`, None, NA, masked) are replaced by `values` (n_features,);
    where `values` has no number, they stay missing.

    Raises
        DataError   X is not a matrix of numbers, or there is not one value per feature
    """
    X = without_mask(X)
    plain = sp.issparse(X) or getattr(getattr(X, "dtype", None), "kind", "") == "f"
    if plain and not any_missing(stored_values(X)) and X.shape[1:] == values.shape:
        return X
    out = with_nan(X)
    if out.shape[1:] != values.shape:
        raise DataError(f"fill_values must contain one number per feature ({out.shape[1]}); got {brief(values)}.")
    _replace(out, values)
    return out
