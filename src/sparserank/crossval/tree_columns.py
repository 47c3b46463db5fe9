"""The columns of a table that trees read: numbers as they are, categories as the codes of their values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparserank.crossval.tree_files import TreeFile
from sparserank.data.dataset import RankingDataset
from sparserank.data.derived import sources_of
from sparserank.data.matrices import columns_dense

NUMBERED = re.compile(r"Column_\d+")  # LightGBM's names for unnamed features


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """names: the columns, in the order of the features of the trees; levels: {name: the values of a category, in the
    order of their codes}, of columns whose values are coded."""

    names: tuple[str, ...]
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def of(self, data: RankingDataset) -> RankingDataset:
        """The documents with these columns as features; missing values are NaN, as are values without a code."""
        held, features = data.unfilled(), tuple(data.feature_names or ())
        if self.names == features and not self.levels:
            return held
        place = {name: j for j, name in enumerate(features)}
        X = np.empty((data.n_docs, len(self.names)))
        plain = [i for i, name in enumerate(self.names) if name in place]
        X[:, plain] = columns_dense(held.X, np.array([place[self.names[i]] for i in plain], dtype=np.int64))
        for i, name in enumerate(self.names):
            if name in place and name not in self.levels:
                continue
            values = X[:, i] if name in place else np.full(data.n_docs, np.nan)
            if name in data.columns:
                values = data.kept([name])[:, 0]
            if name in self.levels:
                code = {value: float(k) for k, value in enumerate(self.levels[name])}
                values = [code.get(value, np.nan) for value in values.tolist()]
            X[:, i] = np.array(values, dtype=np.float64)
        return held.with_missing(X, self.names)


def columns_of_table(data: RankingDataset) -> list[str]:
    """The columns of the table: those of which features are made, then others that are kept."""
    names = data.feature_names or ()
    sources = sources_of(data.derived or {}, names)
    return [name for name in dict.fromkeys([*sources, *data.columns]) if name in names or name in data.columns]


def is_text(data: RankingDataset, name: str) -> bool:
    """Whether a column is text, or a category, in the table."""
    return not data.columns.get(name, True)


def places(known: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """{feature name in the trees: column}: matched by name (LightGBM replaces blanks in names), or by number if the
    trees have no feature names and as many features as there are columns."""
    if known and all(NUMBERED.fullmatch(name) for name in known):
        return {f"Column_{j}": name for j, name in enumerate(names)} if len(known) == len(names) else {}
    return {**{re.sub(r"\s", "_", name): name for name in names}, **{name: name for name in names}}


def categories_of(file: TreeFile, place: Mapping[str, str], data: RankingDataset) -> dict[str, tuple[Any, ...]]:
    """{column: its categories in the file, as values of the table}. A model file has the lists of categories in the
    order of their columns, without names; if their number fits no columns, nothing is known."""
    texts = [n for n in file.features if n in place and is_text(data, place[n])]
    either = [n for n in file.features if n in file.settings.categorical or n in texts]
    strings = [values for values in file.categories if any(isinstance(value, str) for value in values)]
    for names, lists in ((either, file.categories), (texts, strings)):
        if len(names) == len(lists):
            pairs = [(place[n], values) for n, values in zip(names, lists, strict=True) if n in place]
            return {c: tuple(map(_text, values)) if is_text(data, c) else values for c, values in pairs}
    return {}


def _text(value: Any) -> str:
    """A category in a model file, as text of a table."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


def levels_of(name: str, parts: Sequence[RankingDataset], first: Sequence[Any] = ()) -> tuple[Any, ...]:
    """The values of a column, those of `first` before the others, in ascending order."""
    held: set[Any] = set()
    for data in parts:
        names = data.feature_names or ()
        own = data.X[:, names.index(name)] if name in names else data.kept([name])[:, 0]
        held.update(value for value in own.tolist() if value is not None and value == value)
    return (*first, *sorted(held.difference(first)))
