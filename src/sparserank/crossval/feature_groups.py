"""Groups of features that are computed together: the group of each feature, and the cost of each group, paid once."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.text_lines import read_entries
from sparserank.errors import DataFormatError, ParameterError
from sparserank.files import StrPath
from sparserank.lazy import cached_property
from sparserank.paths.result import n_used
from sparserank.penalties.by_name import numbering
from sparserank.text import brief

MIN_COST, MAX_COST = 1e-100, 1e100  # sums and products of two stay finite and above 0
COSTS = f"from {MIN_COST:g} to {MAX_COST:g}"
DIGITS = 12  # significant digits of a sum of costs, so that 0.1 + 0.2 is 0.3
SUM, MAX = "sum", "max"
HEADER = ["feature", "group", "cost"]
EXPECTED = "feature,group or feature,group,cost per line"


@dataclass(frozen=True)
class FeatureGroups:
    """Groups of features, each with a cost that is paid once.

    names, costs   of each group
    of_feature     (n_features,) the group number of each feature
    rule           'sum': costs of several groups add up (money); 'max': only the largest counts (latency of parallel
                   work)
    sources        (n_features,) the column of a table that each feature is made from; all features of a column count
                   as one feature. None: each feature counts
    by_user        whether users named the groups; False: each column of a table is a group
    """

    names: tuple[str, ...]
    costs: tuple[float, ...]
    of_feature: tuple[int, ...]
    rule: str = SUM
    sources: tuple[str, ...] | None = None
    by_user: bool = True

    def used(self, features: np.ndarray) -> list[int]:
        """The numbers of the groups of some features (numbers)."""
        return np.unique(self._group[features]).tolist()

    def cost(self, features: np.ndarray) -> float:
        """Total cost of some features, with each group counted once, or the largest cost."""
        if self.rule == MAX:
            return max((self.costs[g] for g in self.used(features)), default=0.0)
        return float(f"{sum(self.costs[g] for g in self.used(features)):.{DIGITS}g}")

    @cached_property
    def _group(self) -> np.ndarray:
        return np.array(self.of_feature, dtype=np.int64)

    def count(self, features: np.ndarray) -> int:
        """The number of some features; all features of one column of a table count as one."""
        return len(features) if self.sources is None else len({self.sources[j] for j in features.tolist()})

    def counts_of(self, coefs: sp.csr_array, width: int) -> np.ndarray:
        """(n_points,) number of features of each model; columns as in `costs_of`."""
        if self.sources is None:
            return n_used(coefs, width)
        features = coefs.indices // width
        return np.array([self.count(features[lo:hi]) for lo, hi in pairwise(coefs.indptr.tolist())])

    def costs_of(self, coefs: sp.csr_array, width: int) -> np.ndarray:
        """(n_points,) cost of each model, a row of `coefs` (n_points, n_columns). The columns of a feature are
        adjacent."""
        features = coefs.indices // width
        return np.array([self.cost(features[lo:hi]) for lo, hi in pairwise(coefs.indptr.tolist())])

    def by_column(self, sources: Sequence[str], columns: Sequence[str]) -> FeatureGroups:
        """The groups of the columns of a table. A column is in the group of the features that are made from it
        (`sources`, (n_features,)); a column without features is a group of its own, of cost 1."""
        group_of, n = dict(zip(sources, self.of_feature, strict=True)), len(self.names)
        groups = tuple(group_of.get(name, n + j) for j, name in enumerate(columns))
        names, costs = (*self.names, *columns), (*self.costs, *[1.0] * len(columns))
        return replace(self, names=names, costs=costs, of_feature=groups, sources=None)

    def whole(self, features: np.ndarray, among: np.ndarray) -> np.ndarray:
        """The features of `among` (ascending) that are in a group of some of `features`."""
        return among[np.isin(self._group[among], self._group[features])]

    def beyond(self, k: int | None, budget: float | None) -> tuple[int, ...]:
        """The features of groups that exceed k features or the budget on their own."""
        pairs = {*zip(self.of_feature, self.sources or range(len(self.of_feature)), strict=True)}
        sizes = np.bincount([group for group, _ in pairs], minlength=len(self.names))
        beyond = np.zeros(len(sizes), dtype=bool)
        if k is not None:
            beyond |= sizes > k
        if budget is not None:
            beyond |= ~within_budget(np.array(self.costs), budget)
        return tuple(np.flatnonzero(beyond[self._group]).tolist())

    @property
    def cost_of_feature(self) -> tuple[float, ...]:
        """(n_features,) total cost of the group of each feature."""
        return tuple(self.costs[g] for g in self.of_feature)


def within_budget(costs: np.ndarray, budget: float) -> np.ndarray:
    """(n,) bool: costs within the budget, up to the rounding error of a sum."""
    return np.asarray(costs <= budget * (1.0 + 10.0 ** (1 - DIGITS)))


def groups_of_one(names: Sequence[Any], costs: Sequence[float] | None = None) -> FeatureGroups:
    """Groups of one feature each, with these costs or of cost 1."""
    return FeatureGroups(
        tuple(map(str, names)), (1.0,) * len(names) if costs is None else tuple(costs), tuple(range(len(names)))
    )


def groups_of_columns(names: Sequence[str], sources: Sequence[str]) -> FeatureGroups:
    """Groups of the features that are made from the same columns, of cost 1."""
    return replace(_numbered({}, {}, names, sources), by_user=False)


def groups_of(
    feature_groups: Any, costs: Any, names: Sequence[str], sources: Sequence[str] | None = None
) -> FeatureGroups:
    """Make groups from a file (`read_groups`), or from {feature: group} and, if they are not all 1, {group: cost}.
    Features without a group form groups of one, of cost 1. A column of a table, one of the sources (n_features,), is
    the name of all features that are made from it.

    Raises
        DataFormatError  as in `read_groups`
        ParameterError   a name is not a feature; a cost is not a number > 0, or belongs to no group
    """
    if isinstance(feature_groups, StrPath):
        if costs is not None:
            raise ParameterError("costs", "cannot be combined with a file of groups; put the costs in that file.")
        return read_groups(feature_groups, names, sources)
    if not isinstance(feature_groups, Mapping):
        raise ParameterError(
            "feature_groups", f"must be a file, or a mapping of feature names to groups; got {brief(feature_groups)}."
        )
    numbers = numbering(names, sources=sources)
    odd = next((g for g in feature_groups.values() if not isinstance(g, str) or not g), None)
    if odd is not None or not feature_groups:
        wrong = odd if feature_groups else feature_groups
        raise ParameterError(
            "feature_groups", f"must map at least one feature to a group name, a string; got {brief(wrong)}."
        )
    for name in feature_groups:
        numbers("feature_groups", name)
    group_of = dict(feature_groups)
    if costs is not None and not isinstance(costs, Mapping):
        raise ParameterError("costs", f"must be a mapping of groups to costs if there are groups; got {brief(costs)}.")
    price: dict[str, float] = {}
    for group, cost in (costs or {}).items():
        if group not in group_of.values():
            raise ParameterError("costs", f"names {brief(str(group))}, which is not a group.")
        valid_cost = positive_cost(cost) if isinstance(cost, Real) and not isinstance(cost, bool) else None
        if valid_cost is None:
            raise ParameterError("costs", f"must be numbers > 0, {COSTS}; got {brief(cost)} for {brief(str(group))}.")
        price[group] = valid_cost
    return _numbered(group_of, price, names, sources)


def read_groups(path: StrPath, names: Sequence[str], sources: Sequence[str] | None = None) -> FeatureGroups:
    """Read groups from a file of lines feature,group or feature,group,cost (or with tabs; quoted as in CSV files). A
    header line with these words is optional. The cost of a group may be on any of its lines.

    Raises
        DataFormatError   a line is invalid; the message names file and line
    """
    group_of: dict[str, str] = {}
    columns, numbers = {*(sources or names)}, numbering(names, sources=sources)
    costs: dict[str, tuple[float, int]] = {}
    for number, text in enumerate(read_entries(path, EXPECTED), start=1):
        try:
            (fields,) = csv.reader([text], delimiter="\t" if "\t" in text else ",", skipinitialspace=True, strict=True)
        except csv.Error as error:
            raise DataFormatError(f"{path}:{number}: expected {EXPECTED} ({error}); got {brief(text)}.") from error
        fields = [f.strip() for f in fields]
        if number == 1 and [f.lower() for f in fields] == HEADER[: len(fields)] and fields[0] not in columns:
            continue
        if len(fields) not in (2, 3) or not all(fields[:2]):
            raise DataFormatError(f"{path}:{number}: expected {EXPECTED}; got {brief(text)}.")
        name = fields[0]
        try:
            numbers("feature_groups", name)
        except ParameterError as error:
            raise DataFormatError(f"{path}:{number}: {error.message}") from error
        if name in group_of:
            raise DataFormatError(f"{path}:{number}: feature {brief(name)} already has a group.")
        group_of[name] = group = fields[1]
        if len(fields) == 3 and fields[2]:
            cost = positive_cost(fields[2])
            if cost is None:
                raise DataFormatError(
                    f"{path}:{number}: a cost must be a number > 0; got {brief(fields[2])} (costs may be {COSTS})."
                )
            known, line = costs.setdefault(group, (cost, number))
            if known != cost:
                raise DataFormatError(
                    f"{path}:{number}: group {brief(group)} costs {cost:g} here and {known:g} on line {line}; a "
                    "group has only one cost."
                )
    if not group_of:
        raise DataFormatError(f"{path}: contains no group; expected {EXPECTED}.")
    return _numbered(group_of, {group: cost for group, (cost, _) in costs.items()}, names, sources)


def positive_cost(cost: Any) -> float | None:
    """A number from MIN_COST to MAX_COST, from text or a number, or None."""
    try:
        number = float(cost)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if MIN_COST <= number <= MAX_COST else None


def _numbered(
    group_of: Mapping[str, str], costs: Mapping[str, float], names: Sequence[str], sources: Sequence[str] | None
) -> FeatureGroups:
    """Groups numbered in the order of their first features."""
    at: dict[tuple[str, bool], int] = {}  # an ungrouped feature may have the name of a group
    of_feature = tuple(at.setdefault((group_of.get(n, n), n in group_of), len(at)) for n in sources or names)
    prices = tuple(costs.get(name, 1.0) if named else 1.0 for name, named in at)
    taken = {name for name, named in at if named}
    shown = (f"feature {name}" if not named and name in taken else name for name, named in at)
    return FeatureGroups(tuple(shown), prices, of_feature, sources=None if sources is None else tuple(sources))
