"""Read rules for features (costs, groups, directions, features to keep or drop) and complete penalties with them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sparserank.crossval.feature_groups import COSTS, FeatureGroups, groups_of, groups_of_columns, positive_cost
from sparserank.data.categories import Derived, sources_of
from sparserank.data.text_lines import read_numbers
from sparserank.errors import DataError, DataFormatError, ParameterError
from sparserank.number_checks import as_floats
from sparserank.options import option
from sparserank.paths import SizedMaker
from sparserank.penalties import PENALTIES, Penalty
from sparserank.penalties.by_name import DIRECTIONS, numbering
from sparserank.penalties.groups import supports_groups
from sparserank.penalties.rules import FeatureRules
from sparserank.text import brief, listed

Maker = Penalty | SizedMaker  # of paths, as users name it


def costs_of(costs: Any, names: Sequence[str]) -> tuple[float, ...]:
    """One cost > 0 per feature, from numbers, or from a file with one per line.

    Raises
        ParameterError    the costs are not such numbers
        DataFormatError   names file and line
    """
    if isinstance(costs, str | os.PathLike):
        numbers = read_numbers(costs, "cost", f"a number > 0, {COSTS}", lambda v: positive_cost(v) is not None)
        if len(numbers) != len(names):
            raise DataFormatError(f"{costs}: {len(numbers)} costs for {len(names)} features; give one per line.")
        return tuple(numbers)
    if isinstance(costs, Mapping):
        raise ParameterError("costs", "must be numbers > 0, one per feature; a mapping gives the costs of groups.")
    try:
        values = tuple(as_floats(list(costs)).tolist())
    except (TypeError, ValueError, OverflowError):
        values = (np.nan,)
    if not all(positive_cost(c) is not None for c in values):
        raise ParameterError("costs", f"must be numbers > 0, one per feature, {COSTS}.")
    return values


@dataclass(frozen=True)
class CompletedPenalties:
    """Penalties with the rules of a call, in which features are numbers, and the feature groups or costs of the
    call."""

    penalties: tuple[Maker, ...]
    feature_groups: FeatureGroups | None
    costs: tuple[float, ...] | None


def complete_penalties(
    penalties: Sequence[Maker],
    names: Sequence[str],
    derived: Mapping[str, Derived] | None = None,
    *,
    costs: Any = None,
    feature_groups: Any = None,
    monotone: Mapping[str, Any] | None = None,
    keep: Any = None,
    drop: Any = None,
) -> CompletedPenalties:
    """Complete penalties with the options of `select` that name features. All features that are made from one column
    (`derived`) are a group.

    Raises
        ParameterError, DataFormatError   name what cannot be used
    """
    sources = sources_of(derived, names) if derived else None
    numbered = [p.for_features(names, sources) for p in penalties]
    made_from = list(dict.fromkeys(d.source for d in (derived or {}).values()))
    if made_from and costs is not None and feature_groups is None:
        because = f"must be costs of groups, because column {brief(made_from[0])} becomes several features"
        groups = f"{option('feature_groups')}: a mapping, or a file with feature,group,cost per line"
        raise ParameterError("costs", f"{because}; name its group with {groups}.")
    grouped = None if feature_groups is None else groups_of(feature_groups, costs, names, sources)
    prices = None if feature_groups is not None or costs is None else costs_of(costs, names)
    if sources is not None:
        grouped = grouped or groups_of_columns(names, sources)
    shared: dict[str, Any] = {}
    if grouped is not None:
        _refuse_groups_of_their_own(numbered, [] if grouped.by_user else made_from)
        shared = {"feature_groups": grouped.of_feature}
        if set(grouped.costs) != {1.0}:
            shared["weights"] = grouped.cost_of_feature
    elif prices is not None:
        weighted = next((p for p in numbered if p.weights is not None), None)
        if weighted is not None:
            raise ParameterError(
                "costs", f"cannot be combined with the weights of penalty {weighted.name}: costs are used as weights."
            )
        if len(prices) != len(names):
            raise ParameterError("costs", f"must contain {len(names)} values, one per feature; got {len(prices)}.")
        shared = {"weights": prices}
    columns, numbers = sources or names, numbering(names, sources=sources)
    named: dict[str, set[int]] = {}
    for rule, given in (("keep", keep), ("drop", drop)):
        if isinstance(given, str) or not isinstance(given, Sequence | None):
            raise ParameterError(rule, f"must be a list of feature names; got {brief(given)}.")
        named[rule] = {j for name in given or () for j in numbers(rule, name)}
    if both := named["keep"] & named["drop"]:
        raise ParameterError("drop", f"names {brief(columns[min(both)])}, which is to be kept.")
    if monotone is not None and not isinstance(monotone, Mapping):
        raise ParameterError("monotone", f"must be a mapping of feature names to '+' or '-'; got {brief(monotone)}.")
    signs = [0] * len(names)
    for name, direction in (monotone or {}).items():
        (j,) = numbers("monotone", name)
        if isinstance(direction, bool) or not isinstance(direction, str | int) or direction not in DIRECTIONS:
            raise ParameterError(
                "monotone", f"must give '+' or '-' for {brief(name)}, without a bound; got {brief(direction)}."
            )
        signs[j] = DIRECTIONS[direction]
    completed = tuple(replace(p, **shared, **_extended(p, signs, named, columns)) for p in numbered)
    return CompletedPenalties(completed, grouped, prices)


def _extended(
    penalty: FeatureRules, signs: Sequence[int], named: Mapping[str, set[int]], columns: Sequence[str]
) -> dict[str, Any]:
    """The rules of a penalty that the options of a call extend.

    signs     (n_features,) signs of the weights
    named     the features in 'keep', which are always used, and in 'drop', which are never used
    columns   (n_features,) the column of each feature

    Raises
        ParameterError   a rule contradicts one of the penalty
    """
    rules: dict[str, Any] = {}
    for name, other in (("keep", "drop"), ("drop", "keep")):
        against = named[name].intersection(getattr(penalty, other))
        if against:
            raise ParameterError(name, f"names {brief(columns[min(against)])}, but {other} of a penalty names it too.")
        if named[name]:
            rules[name] = tuple(sorted(named[name].union(getattr(penalty, name))))
    if any(signs):
        both = list(zip(signs, penalty.monotone or (0,) * len(signs), strict=True))
        odd = next((j for j, (a, b) in enumerate(both) if a * b < 0), None)
        if odd is not None:
            raise ParameterError("monotone", f"contradicts monotone of a penalty for {brief(columns[odd])}.")
        rules["monotone"] = tuple(a or b for a, b in both)
    return rules


def _refuse_groups_of_their_own(penalties: Sequence[Maker], made_from: list[str]) -> None:
    """Raise an error if a penalty does not support groups, or already has some. made_from: the columns that form the
    groups, if no user named these."""
    unknown = next((p for p in penalties if not supports_groups(p)), None)
    if unknown is not None:
        known = ", ".join(name for name, cls in PENALTIES.items() if supports_groups(cls()))
        if made_from:
            columns = listed([brief(c) for c in made_from])
            raise DataError(
                f"the features that are made from one column ({columns}) are a group, which {unknown.name} does not "
                f"support; use {known} or best_k, or {option('ignore_columns', made_from)}."
            )
        raise ParameterError(
            "feature_groups", f"are supported by the penalties {known} and best_k; got {unknown.name}."
        )
    with_groups = next((p for p in penalties if p.feature_groups is not None), None)
    if with_groups is not None:
        raise ParameterError(
            "feature_groups", f"cannot be combined with the groups of a penalty; {with_groups.name} has some."
        )
