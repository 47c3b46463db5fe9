"""What a missing feature value (NULL, NaN, infinity, 1.797e308) becomes: one policy per feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.errors import DataError
from sparserank.quoting import brief

QUERY_MIN = "query-min"
ZERO = "zero"
EXPECTED = f"'{ZERO}', '{QUERY_MIN}' or a number"


@dataclass(frozen=True)
class MissingPolicy:
    """Replacement of missing values: `default` for every feature but those in `by_feature` (keys: numbers as in the file).

    A replacement is 'zero', 'query-min' (smallest value of the feature within the query, 0 if the query has none) or a number.
    """

    default: str | float
    by_feature: Mapping[int, str | float]

    @classmethod
    def parse(cls, spec: str | float | Mapping | None) -> MissingPolicy | None:
        """From `None`, 'zero', 'query-min', a number, a mapping {11: 'zero', '*': 'query-min'}, or the same as text:
        '11,12,26=zero;*=query-min'.

        Raises
            DataError   an unknown policy
        """
        if spec is None:
            return None
        if isinstance(spec, Mapping):
            rules = dict(spec)
        elif isinstance(spec, str) and "=" in spec:
            rules = {}
            for part in spec.split(";"):
                features, _, policy = part.partition("=")
                for feature in features.split(","):
                    rules[feature.strip()] = policy.strip()
        else:
            rules = {"*": spec}
        default = _replacement(rules.pop("*", ZERO))
        by_feature = {}
        for feature, policy in rules.items():
            try:
                by_feature[int(feature)] = _replacement(policy)
            except (TypeError, ValueError) as error:
                if isinstance(error, DataError):
                    raise
                raise DataError(f"missing policy: feature must be a number or '*'; got {brief(feature)}.") from error
        return cls(default, by_feature)

    @property
    def by_query(self) -> bool:
        """Whether a replacement depends on the other rows of the query."""
        return QUERY_MIN in (self.default, *self.by_feature.values())

    def fill(self, X: Any, query: np.ndarray, index_base: int) -> None:
        """Replace every NaN of X, in place.

        Parameters
            X            (n_docs, n_features) float array, or CSR matrix that stores no entry twice; what it does not store is 0
            query        (n_docs,) number of each row's query, from 0
            index_base   number of the first feature
        Raises
            DataError   the policy names a feature that X does not have
        """
        for feature in self.by_feature:
            if not index_base <= feature < X.shape[1] + index_base:
                raise DataError(
                    f"missing policy names feature {brief(feature)}, but the data have {X.shape[1]} features."
                )
        sparse = sp.issparse(X)
        columns = np.unique(X.indices[np.isnan(X.data)]) if sparse else np.flatnonzero(np.isnan(X).any(axis=0))
        policies = [self.by_feature.get(int(j) + index_base, self.default) for j in columns]
        (_fill_csr if sparse else _fill_dense)(X, columns, policies, query)


def _fill_dense(X: np.ndarray, columns: np.ndarray, policies: list[str | float], query: np.ndarray) -> None:
    """Replace the NaN of the given columns by their policies."""
    n_queries = int(query.max()) + 1
    for j, policy in zip(columns, policies, strict=True):
        column = X[:, j]
        missing = np.isnan(column)
        if policy == QUERY_MIN:
            smallest = _minimum(column, query, n_queries)
            smallest[np.isinf(smallest)] = 0.0
            column[missing] = smallest[query[missing]]
        else:
            column[missing] = _number(policy)


def _fill_csr(X: sp.csr_matrix, columns: np.ndarray, policies: list[str | float], query: np.ndarray) -> None:
    """As `_fill_dense`; a feature that a row of the query does not store counts as 0 for the query's minimum."""
    of_query = np.array([policy == QUERY_MIN for policy in policies], dtype=bool)
    entries = np.flatnonzero(np.isin(X.indices, columns[of_query]))
    entry_query = query[np.searchsorted(X.indptr, entries, side="right") - 1].astype(np.int64)
    cells, cell = np.unique(entry_query * X.shape[1] + X.indices[entries], return_inverse=True)
    values = X.data[entries]
    smallest = _minimum(values, cell, len(cells))
    with_zeros = np.bincount(cell, minlength=len(cells)) < np.bincount(query)[cells // X.shape[1]]
    smallest[with_zeros] = np.minimum(smallest[with_zeros], 0.0)
    smallest[np.isinf(smallest)] = 0.0
    X.data[entries] = np.where(np.isnan(values), smallest[cell], values)
    missing = np.flatnonzero(np.isnan(X.data))
    numbers = np.array([_number(policy) for policy in policies])
    X.data[missing] = numbers[np.searchsorted(columns, X.indices[missing])]


def _minimum(values: np.ndarray, group: np.ndarray, n_groups: int) -> np.ndarray:
    """(n_groups,) smallest known value of each group, infinity where none is known."""
    smallest = np.full(n_groups, np.inf, dtype=values.dtype)
    np.minimum.at(smallest, group, np.where(np.isnan(values), np.inf, values))
    return smallest


def _number(policy: str | float) -> float:
    return 0.0 if policy in (ZERO, QUERY_MIN) else float(policy)


def _replacement(policy: str | float) -> str | float:
    if policy in (ZERO, QUERY_MIN):
        return policy
    try:
        value = float(policy)
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise DataError(f"missing policy must be {EXPECTED}; got {brief(policy)}.")
    return value
