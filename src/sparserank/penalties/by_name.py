"""Penalty rules that refer to features by name, until data assign numbers to the names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sparserank.errors import ParameterError
from sparserank.penalties._checks import plain_numbers, real_number, sequence
from sparserank.text import brief, no_such

Pairs = tuple[tuple[str, Any], ...]
DIRECTIONS: dict[Any, int] = {"+": 1, "-": -1, 1: 1, -1: -1}


def is_named(rule: Any) -> bool:
    """Whether a rule uses feature names: a mapping (or a pandas series), its pairs, or a list that contains names."""
    if isinstance(rule, Mapping) or hasattr(rule, "items"):
        return True
    if not isinstance(rule, tuple | list):
        return False
    kinds = set(map(type, rule))  # there are only one or two types, even for hundreds of thousands of numbers
    return any(issubclass(kind, str) for kind in kinds) or (
        tuple in kinds and any(isinstance(v, tuple) and isinstance(v[0], str) for v in rule if v)
    )


def checked_pairs(owner: str, rule: str, entries: Any) -> Pairs:
    """((name, value), ...) of weights, monotone ('+' and '-' are 1 and -1) or groups, each value checked.

    Raises
        DataError   a name is not text or appears twice, or a value has another type
    """
    pairs = tuple(entries.items()) if hasattr(entries, "items") else tuple(entries)
    out: dict[str, Any] = {}
    refused = partial(ParameterError, rule, owner=owner)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str) or pair[0] in out:
            raise refused(f"must map each feature name once to its value; got {brief(pair)}.")
        name = str(pair[0])
        value = pair[1]
        if rule == "feature_groups":
            if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
                raise refused(f"must map {brief(name)} to a name or a number; got {brief(value)}.")
            out[name] = str(value) if isinstance(value, str) else int(value)
        else:
            if rule == "monotone" and isinstance(value, str) and value not in DIRECTIONS:
                raise refused(f"must map {brief(name)} to '+', '-', 1, 0 or -1; got {brief(value)}.")
            number = DIRECTIONS[value] if rule == "monotone" and isinstance(value, str) else value
            out[name] = real_number(owner, f"the entry of {rule} for {brief(name)}", number)
    return tuple(out.items())


def checked_rule(owner: str, rule: str, value: Any) -> Any:
    """The value of a rule with every entry checked: ((name, value), ...), or a tuple with one number per feature; for
    keep and drop, a tuple of names and numbers of features. A rule that names no feature counts as None.

    Raises
        DataError   an entry has another type
    """
    if rule in ("keep", "drop"):
        if isinstance(value, set | frozenset) or (isinstance(value, np.ndarray) and value.ndim):
            value = np.array(list(value)).tolist()
        return _checked_features(owner, rule, () if value is None else value)
    if value is None:
        return None
    if is_named(value):
        return checked_pairs(owner, rule, value) or None
    return _checked_features(owner, rule, value) if rule == "feature_groups" else plain_numbers(owner, rule, value)


def _checked_features(owner: str, rule: str, features: Any) -> tuple[int | str, ...]:
    """Numbers >= 0, and names if some are named, as plain Python values."""
    named = is_named(features)
    allowed = "feature names, or integers >= 0" if named else "integers >= 0"
    features = features if named else sequence(owner, rule, features)
    for j in features:
        is_number = isinstance(j, int | np.integer) and not isinstance(j, bool) and j >= 0
        if not is_number and not (named and isinstance(j, str)):
            raise ParameterError(rule, f"must contain {allowed}; got {brief(j)}.", owner=owner)
    return tuple(str(j) if isinstance(j, str) else int(j) for j in features)


def numbering(
    names: Sequence[str], owner: str = "", sources: Sequence[str] | None = None
) -> Callable[[str, Any], list[int]]:
    """A function (rule, name of a column) -> numbers of the features that are made from the column. For the rule
    monotone, it is only the feature that is the column itself.

    Parameters
        owner     name of the penalty that has the rule; "" if it is an option of a call
        sources   (n_features,) the column of a table that each feature is made from; None: each is a column
    Raises
        ParameterError   from the function: no column has this name; a category has no direction
    """
    column_of = dict(zip(names, sources or names, strict=True))
    columns: dict[Any, list[int]] = {}
    for j, column in enumerate(column_of.values()):
        columns.setdefault(column, []).append(j)
    verb = "contains" if owner else "names"

    def numbers(rule: str, name: Any) -> list[int]:
        column = column_of.get(name, name) if isinstance(name, str) else None
        matching = columns.get(column, [])
        usable = [j for j in matching if names[j] == column] if rule == "monotone" else matching
        if not matching:
            problem = f", which is not a feature; {no_such(name, list(columns), 'feature')}"
        elif not usable:
            problem = f": the levels of category {brief(column)} have no order; leave it out."
        elif column != name:
            problem = f", which is made from column {brief(column)}; name the column."
        else:
            return usable
        raise ParameterError(rule, f"{verb} {brief(name)}{problem}", owner=owner)

    return numbers


def numbered_rules(
    owner: str, rules: Mapping[str, Any], names: Sequence[str], sources: Sequence[str] | None = None
) -> dict[str, Any]:
    """The rules with feature names replaced by numbers: as one value per feature (by default weight 1, sign 0, a
    separate group), or as feature numbers for keep and drop. sources: as in `numbering`.

    Raises
        DataError   no feature has this name
    """
    numbers = numbering(names, owner, sources)
    out: dict[str, Any] = {}
    for rule, entries in rules.items():
        if not is_named(entries):
            continue
        if rule in ("keep", "drop"):
            out[rule] = tuple(j for f in entries for j in (numbers(rule, f) if isinstance(f, str) else [f]))
        else:
            values: list[Any] = [1.0 if rule == "weights" else 0.0] * len(names)
            if rule == "feature_groups":  # a feature without a group is alone
                values = [("alone", j) for j in range(len(names))]
            for name, value in entries:
                for j in numbers(rule, name):
                    values[j] = value
            if rule == "feature_groups":
                number_of = {group: k for k, group in enumerate(dict.fromkeys(values))}
                values = [number_of[group] for group in values]
            out[rule] = tuple(values)
    return out
