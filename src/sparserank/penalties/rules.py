"""Rules per feature, for any penalty: cost, sign, always or never used, groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from sparserank.errors import DataError, ParameterError
from sparserank.penalties._checks import real_number
from sparserank.penalties.by_name import checked_rule, is_named, numbered_rules

FREE = 0
NONNEGATIVE = 1
NONPOSITIVE = -1
ALPHA = "alpha"
SIZE = "size"
ONE_BY_ONE = ("weights", "monotone", "keep", "drop")
RULES = (*ONE_BY_ONE, "feature_groups")


MakeArray = TypeVar("MakeArray", bound=Callable[[Any, int], np.ndarray])


def remembered(make: MakeArray) -> MakeArray:
    """A method that makes an array with one entry per feature or group, which is read-only and made once per instance:
    they are needed several times per iteration."""

    @wraps(make)
    def known(self: Any, n_features: int) -> np.ndarray:
        cache: dict[tuple[str, int], np.ndarray] = self.__dict__.setdefault("_arrays", {})
        key = make.__qualname__, n_features
        if key not in cache:
            cache[key] = make(self, n_features)
            cache[key].flags.writeable = False
        return cache[key]

    return known  # type: ignore[return-value]


@dataclass(frozen=True, repr=False)
class FeatureRules:
    """The regularisation strength of a penalty and its rules per feature, for any formula.

    Parameters
    ----------
    alpha : float, default 1.0
        Regularisation strength on the scale of the mean loss.
    weights : array_like of shape (n_features,) or mapping, optional
        Feature costs, which multiply alpha: 0 means always keep, inf means never use. {"bm25": 2.0} uses names.
    monotone : array_like of shape (n_features,) or mapping, optional
        1 (w_j >= 0), -1 (w_j <= 0) or 0 (free) per feature, or {"bm25": "+"}.
    keep, drop : sequence of int or str, optional
        Features (0-based, or by name) whose weight is 0 (keep) or inf (drop).
    feature_groups : array_like of shape (n_features,) or mapping, optional
        Number of the group of each feature, or {"bm25_title": "title"}. The features of a group enter together, and the
        group is penalised once (`groups.py`). Their weights must be equal, because they are the cost of the group.

    Notes
    -----
    A fit replaces feature names with numbers (`for_features`).
    """

    name: ClassVar[str]
    # whether features enter as steps; among the points of a path within a size, the largest represents it
    on_steps: ClassVar[bool] = False
    lowers: ClassVar[str] = ""  # name of the loss that its models minimise, if it is not the loss of the settings
    along: ClassVar[str] = ALPHA  # the quantity that varies along its path
    # the rules that its models respect; the others are refused, except weights, which may be only costs
    respects: ClassVar[tuple[str, ...]] = ("drop",)

    alpha: float = 1.0
    weights: Any = None
    monotone: Any = None
    keep: Any = ()
    drop: Any = ()
    feature_groups: Any = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        put = object.__setattr__
        for f in fields(self):
            if f.type == "float":
                put(self, f.name, real_number(name, f.name, getattr(self, f.name)))
                if not np.isfinite(getattr(self, f.name)):
                    raise ParameterError(f.name, f"must be finite; got {getattr(self, f.name)}.", owner=name)
            if f.type == "str" and isinstance(getattr(self, f.name), str):
                put(self, f.name, str(getattr(self, f.name)))  # the repr of a NumPy string cannot be parsed
        if not self.alpha >= 0:
            raise ParameterError("alpha", f"must be a finite number >= 0; got {self.alpha}.", owner=name)
        for rule in RULES:
            put(self, rule, checked_rule(name, rule, getattr(self, rule)))
        if self.weights is not None and not all(b >= 0 for b in plain_values(self.weights)):
            raise ParameterError("weights", "must be >= 0 (0: always keep, inf: never use).", owner=name)
        if self.monotone is not None:
            if not set(plain_values(self.monotone)) <= {FREE, NONNEGATIVE, NONPOSITIVE}:
                raise ParameterError("monotone", "must be -1, 0 or 1.", owner=name)
            if not is_named(self.monotone):
                put(self, "monotone", tuple(map(int, self.monotone)))
        for rule in RULES:
            if rule not in ("weights", *self.respects) and getattr(self, rule):
                known = ", ".join(self.respects) or "no rules"
                raise ParameterError(rule, f"is not supported by {self.name}, which supports {known}.")
        self._check()

    def _check(self) -> None:
        """Raise DataError if a parameter of the subclass is outside its range."""

    @property
    def named(self) -> bool:
        """Whether a rule refers to features by name. Only data with names can replace names with numbers."""
        return any(is_named(getattr(self, rule)) for rule in RULES)

    def for_features(self, names: Sequence[str], sources: Sequence[str] | None = None) -> Self:
        """Return the same rules with feature names replaced by numbers.

        Parameters
        ----------
        names : sequence of str
            Names of the features.
        sources : sequence of str, optional
            The column of a table that each feature is made from. Rules then name columns. Default: each is a column.

        Returns
        -------
        Self
            The rules.

        Raises
        ------
        DataError
            No feature has this name.
        """
        if not self.named:
            return self
        rules = {rule: getattr(self, rule) for rule in RULES}
        return replace(self, **numbered_rules(type(self).__name__, rules, names, sources))

    def with_alpha(self, alpha: float) -> Self:
        return replace(self, alpha=alpha)

    def with_rules_of(self, other: FeatureRules) -> Self:
        """The same penalty with the rules of another."""
        return replace(self, **{rule: getattr(other, rule) for rule in RULES})

    def __repr__(self) -> str:
        shown = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if f.repr and (getattr(self, f.name) != f.default or f.name == self.along)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    @property
    def label(self) -> str:
        """Short name with the shape parameters that differ from their defaults, e.g. 'mcp(gamma=2.0)'."""
        shown = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if f.name not in FeatureRules.__dataclass_fields__
            and f.default is not MISSING
            and f.repr
            and getattr(self, f.name) != f.default
        ]
        return self.name + (f"({', '.join(shown)})" if shown else "")

    @property
    def _shown(self) -> str:
        """Name of the penalty in messages."""
        return type(self).__name__

    @remembered
    def feature_weights(self, n_features: int) -> np.ndarray:
        """(n_features,) weights; 0 for features that are always kept, infinite for those that are never used."""
        self._refuse_names()
        for name in ("weights", "monotone", "feature_groups"):
            values = getattr(self, name)
            if values is not None and len(values) != n_features:
                raise ParameterError(name, f"must contain {n_features} values; got {len(values)}.", owner=self._shown)
        beta = np.ones(n_features) if self.weights is None else np.array(self.weights, dtype=np.float64)
        for name, features, value in (("keep", self.keep, 0.0), ("drop", self.drop, np.inf)):
            for j in features:
                if not 0 <= j < n_features:
                    raise ParameterError(
                        name, f"contains feature {j}; indices must be in 0..{n_features - 1}.", owner=self._shown
                    )
                beta[j] = value
        return beta

    @remembered
    def feature_alphas(self, n_features: int) -> np.ndarray:
        """(n_features,) alpha * weights; infinite at any alpha for features that are never used."""
        beta = self.feature_weights(n_features)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            alphas = np.where(np.isinf(beta), np.inf, self.alpha * beta)
        lost = np.isfinite(beta) & (np.isinf(alphas) | ((alphas == 0) & (beta > 0) & (self.alpha > 0)))
        if lost.any():  # inf would mean never use, 0 always keep
            j = int(np.argmax(lost))
            raise DataError(
                f"{self._shown}: alpha {self.alpha:g} times the weight {beta[j]:g} of feature f{j + 1} leaves the "
                "range of float64. Use weights of moderate size."
            )
        return alphas

    def _refuse_names(self) -> None:
        if self.named:
            raise DataError(
                f"{self._shown}: its rules use feature names; replace them by numbers first, with for_features(names)."
            )

    @remembered
    def feature_signs(self, n_features: int) -> np.ndarray:
        """(n_features,) int64: the sign rule of each feature, 1, -1 or 0 (none)."""
        self._refuse_names()
        return (
            np.zeros(n_features, dtype=np.int64) if self.monotone is None else np.array(self.monotone, dtype=np.int64)
        )

    @remembered
    def group_of(self, n_features: int) -> np.ndarray:
        """(n_features,) the group of each feature, numbered from 0 without gaps;
        without groups, each feature is a separate group."""
        self._refuse_names()
        return (
            np.arange(n_features)
            if self.feature_groups is None
            else np.unique(np.array(self.feature_groups), return_inverse=True)[1]
        )

    def gap_condition(self, n_features: int) -> str | None:
        """The condition, as text, under which the duality gap bounds the distance to the optimum; None if it needs no
        condition."""
        return None

    def usable(self, n_features: int) -> np.ndarray:
        """(n_features,) bool: features that may be used at all."""
        return np.isfinite(self.feature_weights(n_features))

    def usable_values(self, values: np.ndarray) -> np.ndarray:
        """The entries of `values` (n_features,) for features that may be used; no other feature may influence a
        model."""
        return values[self.usable(len(values))]

    def largest(self, values: np.ndarray) -> float:
        """The largest absolute usable value; for the gradient at 0, it is the unit of tolerances."""
        return float(np.abs(self.usable_values(values)).max(initial=0.0))

    def always_in(self, n_features: int) -> np.ndarray:
        """(n_features,) bool: features without a penalty."""
        return self.feature_alphas(n_features) == 0

    def _abs_gradient(self, gradient: np.ndarray) -> np.ndarray:
        """The gradient that the penalty must balance: |g_j|, or only the side that a sign constraint allows."""
        monotone = self.feature_signs(len(gradient))
        return np.where(
            monotone == NONNEGATIVE,
            np.maximum(-gradient, 0.0),
            np.where(monotone == NONPOSITIVE, np.maximum(gradient, 0.0), np.abs(gradient)),
        )


def plain_values(rule: Any) -> list[float]:
    """The numbers of a rule, whether in feature order or paired with names."""
    return [v for _, v in rule] if is_named(rule) else list(rule)
