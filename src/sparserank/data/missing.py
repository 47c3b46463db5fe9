"""What a missing feature value (NULL, NaN, infinity, 1.797e308) becomes: one policy per feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparserank.errors import DataError

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
                raise DataError(f"missing policy: feature must be a number or '*'; got {feature!r}.") from error
        return cls(default, by_feature)

    def fill(self, X: np.ndarray, query_ptr: np.ndarray, index_base: int) -> None:
        """Replace every NaN of the dense array X (n_docs, n_features), in place."""
        for feature in self.by_feature:
            if not index_base <= feature < X.shape[1] + index_base:
                raise DataError(f"missing policy names feature {feature}, but the data have {X.shape[1]} features.")
        for j in np.flatnonzero(np.isnan(X).any(axis=0)):
            column = X[:, j]
            policy = self.by_feature.get(int(j) + index_base, self.default)
            rows = np.flatnonzero(np.isnan(column))
            if policy == QUERY_MIN:
                with_infinity = np.where(np.isnan(column), np.inf, column)
                smallest = np.minimum.reduceat(with_infinity, query_ptr[:-1])
                smallest[np.isinf(smallest)] = 0.0
                column[rows] = smallest[np.searchsorted(query_ptr, rows, side="right") - 1]
            else:
                column[rows] = 0.0 if policy == ZERO else float(policy)


def _replacement(policy: str | float) -> str | float:
    if policy in (ZERO, QUERY_MIN):
        return policy
    try:
        value = float(policy)
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise DataError(f"missing policy must be {EXPECTED}; got {policy!r}.")
    return value
