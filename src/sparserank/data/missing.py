"""Which feature values are missing (NULL, NaN, infinity, 1.797e308), and how users replace them:
one replacement per feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.text import brief

ERROR = "error"
ZERO = "zero"
MINIMUM = "min"
MEDIAN = "median"
QUERY_MIN = "query-min"
WORDS = (ERROR, ZERO, MINIMUM, MEDIAN, QUERY_MIN)
LEARNED = (MINIMUM, MEDIAN)
STAYS = "keep"  # a missing value stays missing; used only by KEEP, not an option for users
# magnitudes from here on mean "no value": Istella writes the largest float64, rounded up, which some parsers read as
# infinity
HUGE = 1.79e308
MAX_DIGITS = 18  # longest feature number; more digits are a name
EXPECTED = f"{', '.join(repr(w) for w in WORDS)} or a number"


def is_missing(values: np.ndarray | float) -> np.ndarray:
    """Bool array of the same shape: which numbers mean "no value", that is, are NaN, infinite, or at least HUGE in
    magnitude.

    Every reader and every model follows this rule.
    """
    return np.asarray(~(np.abs(values) < np.float64(HUGE)))  # compared in float64, like HUGE; false for NaN


def any_missing(values: np.ndarray) -> bool:
    """Whether `is_missing` is true for any of the numbers; allocates no temporary array of their size."""
    low, high = (float(extreme(values, initial=0.0)) for extreme in (np.min, np.max))
    return not (low > -HUGE and high < HUGE)


@dataclass(frozen=True)
class MissingPolicy:
    """Replacement of missing values: `default` for every feature except those in `by_feature` (keys: names, or numbers
    as in the file).

    A replacement is 'error' (rejected), 'zero', 'min' or 'median' (of the feature's known training values), 'query-min'
    (smallest value of the feature within the query, 0 if the query has none) or a number.
    """

    default: str | float
    by_feature: Mapping[int | str, str | float]

    @classmethod
    def parse(cls, spec: str | float | Mapping | MissingPolicy | None) -> MissingPolicy | None:
        """Parse None, 'median', a number, a mapping {11: 'zero', 'bm25': 'min', '*': 'median'}, or the same as text:
        '11,12,bm25=zero;*=median'. '*' is for all features that are not named; its default is 'error'. None and
        'error' alone give None.

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
                for feature in map(str.strip, features.split(",")):
                    if feature in rules:
                        raise DataError(f"missing policy: {brief(feature)} is named twice.")
                    rules[feature] = policy.strip()
        else:
            rules = {"*": spec}
        default = _replacement(rules.pop("*", ERROR))
        if not rules and default == ERROR:
            return None
        return cls(default, {_key(feature): _replacement(policy) for feature, policy in rules.items()})

    @property
    def _used(self) -> tuple[str | float, ...]:
        return (self.default, *self.by_feature.values())

    @property
    def by_query(self) -> bool:
        """Whether a replacement depends on the other rows of the query."""
        return QUERY_MIN in self._used

    @property
    def learns(self) -> bool:
        """Whether a replacement depends on all training rows."""
        return any(rule in LEARNED for rule in self._used)

    @property
    def keeps(self) -> bool:
        """Whether missing values are kept, for models that contain replacements."""
        return self.default == STAYS

    def rules(self, n_features: int, names: Sequence[str] | None = None, index_base: int = 1) -> list[str | float]:
        """The replacement of each feature; index_base is the number of the first, and names default to f1, f2, ...

        Raises
            DataError   the policy names a feature that does not exist
        """
        known = [f"f{j + 1}" for j in range(n_features)] if names is None and self.by_feature else names
        at = {name: j for j, name in enumerate(() if known is None else known)}
        rules: dict[int, str | float] = {}
        for feature, rule in self.by_feature.items():
            j = at.get(str(feature), feature - index_base if isinstance(feature, int) else -1)
            subject = f"the missing policy contains feature {brief(feature)}"
            if j in rules:
                raise DataError(f"{subject} twice, by its name and by its number.")
            if not 0 <= j < n_features:
                raise DataError(f"{subject}, which is not one of the {n_features} features.")
            rules[j] = rule
        return [rules.get(j, self.default) for j in range(n_features)]


KEEP = MissingPolicy(STAYS, {})


def _key(feature: Any) -> int | str:
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
        return int(feature)
    if not isinstance(feature, str) or not feature:
        raise DataError(f"missing policy: a feature must be a name, a number or '*'; got {brief(feature)}.")
    is_number = feature.isascii() and feature.isdigit() and len(feature) <= MAX_DIGITS and str(int(feature)) == feature
    return int(feature) if is_number else feature


def _replacement(policy: str | float) -> str | float:
    if isinstance(policy, str) and policy in WORDS:
        return policy
    try:
        value = float(policy)
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if isinstance(policy, bool) or is_missing(value):
        raise DataError(f"missing policy must be {EXPECTED}; got {brief(policy)}.")
    return value
