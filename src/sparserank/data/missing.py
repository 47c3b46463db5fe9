"""What users ask missing feature values (NULL, NaN, infinity, 1.797e308) to become: one replacement per feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.quoting import brief

ERROR, ZERO, MINIMUM, MEDIAN, QUERY_MIN = "error", "zero", "min", "median", "query-min"
WORDS = (ERROR, ZERO, MINIMUM, MEDIAN, QUERY_MIN)
LEARNED = (MINIMUM, MEDIAN)
MOST_DIGITS = 18  # of a feature's number; longer ones are names
EXPECTED = f"{', '.join(repr(w) for w in WORDS)} or a number"


@dataclass(frozen=True)
class MissingPolicy:
    """Replacement of missing values: `default` for every feature but those in `by_feature` (keys: names, or numbers as in the file).

    A replacement is 'error' (refused), 'zero', 'min' or 'median' (of the feature's known training values), 'query-min' (smallest value of the
    feature within the query, 0 if the query has none) or a number.
    """

    default: str | float
    by_feature: Mapping[int | str, str | float]
    index_base: int | None = None  # number of the first feature in by_feature; None: that of the file

    @classmethod
    def parse(cls, spec: str | float | Mapping | MissingPolicy | None) -> MissingPolicy | None:
        """From None, 'median', a number, a mapping {11: 'zero', 'bm25': 'min', '*': 'median'}, or the same as text:
        '11,12,bm25=zero;*=median'. None and 'error' alone: None.

        Raises
            DataError   an unknown policy
        """
        if spec is None or (isinstance(spec, str) and spec == ERROR):
            return None
        if isinstance(spec, MissingPolicy):
            return spec
        if isinstance(spec, Mapping):
            rules = dict(spec)
        elif isinstance(spec, str) and "=" in spec:
            rules = {}
            for part in spec.split(";"):
                features, _, policy = part.rpartition("=")
                for feature in features.split(","):
                    rules[feature.strip()] = policy.strip()
        else:
            rules = {"*": spec}
        default = _replacement(rules.pop("*", ZERO))
        return cls(default, {_key(feature): _replacement(policy) for feature, policy in rules.items()})

    @property
    def by_query(self) -> bool:
        """Whether a replacement depends on the other rows of the query."""
        return QUERY_MIN in (self.default, *self.by_feature.values())

    @property
    def learns(self) -> bool:
        """Whether a replacement depends on all training rows."""
        return any(rule in LEARNED for rule in (self.default, *self.by_feature.values()))

    @property
    def refuses(self) -> bool:
        """Whether some features may not be missing."""
        return ERROR in (self.default, *self.by_feature.values())

    def rules(self, n_features: int, names: Sequence[str] | None = None, index_base: int = 1) -> list[str | float]:
        """The replacement of each feature; index_base is the number of the first.

        Raises
            DataError   the policy names a feature that there is not
        """
        base = index_base if self.index_base is None else self.index_base
        at = {name: j for j, name in enumerate(() if names is None else names)}
        rules: list[str | float] = [self.default] * n_features
        for feature, rule in self.by_feature.items():
            j = at.get(str(feature), feature - base if isinstance(feature, int) else -1)
            if not 0 <= j < n_features:
                raise DataError(
                    f"missing policy names feature {brief(feature)}, but the data have {n_features} features."
                )
            rules[j] = rule
        return rules

    def with_values(self, fill_values: np.ndarray | None, names: Sequence[str], index_base: int) -> MissingPolicy:
        """The policy for rows that are not trained on: what is learned comes from the training rows, whose fill_values (n_features,) these are.

        Raises
            DataError   the training rows were read without learning what is needed
        """
        if not self.learns:
            return self
        rules = self.rules(len(names), names, index_base)
        learned = np.full(len(names), np.nan) if fill_values is None else fill_values
        lacking = next((j for j, rule in enumerate(rules) if rule in LEARNED and np.isnan(learned[j])), None)
        if lacking is not None:
            raise DataError(
                f"missing={rules[lacking]!r} is learned from the training rows, which were not read with it; read them with the same policy, or give "
                "numbers."
            )
        values = [float(learned[j]) if rule in LEARNED else rule for j, rule in enumerate(rules)]
        return MissingPolicy(ERROR, dict(enumerate(values)), index_base=0)


def _key(feature: Any) -> int | str:
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
        return int(feature)
    if not isinstance(feature, str) or not feature:
        raise DataError(f"missing policy: a feature must be a name, a number or '*'; got {brief(feature)}.")
    is_number = feature.isascii() and feature.isdigit() and len(feature) <= MOST_DIGITS
    return int(feature) if is_number else feature


def _replacement(policy: str | float) -> str | float:
    if isinstance(policy, str) and policy in WORDS:
        return policy
    try:
        value = float(policy)
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if isinstance(policy, bool) or not np.isfinite(value):
        raise DataError(f"missing policy must be {EXPECTED}; got {brief(policy)}.")
    return value
