"""The columns of a table that trees read: numbers as they are, categories as the codes of their values."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparserank.crossval.tree_files import TreeFile
from sparserank.data.dataset import RankingDataset

NUMBERED = re.compile(r"Column_\d+")  # LightGBM's names for unnamed features


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """The columns that trees read.

    names    in the order of the features of the trees
    levels   {name: the values of a category, in the order of their codes}
    lacks    columns that the table does not have; their values are missing in every row
    """

    names: tuple[str, ...]
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()

    def learned(self, data: RankingDataset) -> TreeColumns:
        """The same columns. New values of a category in these data are added to its levels, in ascending order."""
        values_of = {name: {v for v in data.column(name).tolist() if v is not None and v == v} for name in self.levels}
        return replace(
            self, levels={n: (*known, *sorted(values_of[n].difference(known))) for n, known in self.levels.items()}
        )

    def of(self, data: RankingDataset) -> RankingDataset:
        """The documents with these columns as features; missing values are NaN, as are values without a code.

        Raises
            DataError   the data lack a column
        """
        unfilled = data.unfilled()
        if self.names == data.names and not self.levels:
            return unfilled
        X = np.full((data.n_docs, len(self.names)), np.nan)
        for i, name in enumerate(self.names):
            if name in self.lacks:
                continue
            values = unfilled.column(name)
            if name in self.levels:
                code = {value: k for k, value in enumerate(self.levels[name])}
                values = np.array([code.get(value) for value in values.tolist()], dtype=object)
            X[:, i] = values.astype(np.float64)
        return unfilled.with_missing(X, self.names)


def columns_of_table(data: RankingDataset) -> list[str]:
    """The columns of the table: those that features are made from, then the other columns that are kept."""
    names = data.names
    every = dict.fromkeys([*data.sources, *data.kept_columns])
    return [name for name in every if name in names or name in data.kept_columns]


def is_text(data: RankingDataset, name: str) -> bool:
    """Whether a column is text, or a category, in the table."""
    return not data.kept_columns.get(name, True)


def places(known: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """{feature name in the trees: column}. They are matched by name, in which LightGBM replaces blanks; or by number,
    if the trees have no feature names and there are as many columns as features."""
    if known and all(NUMBERED.fullmatch(name) for name in known):
        return {f"Column_{j}": name for j, name in enumerate(names)} if len(known) == len(names) else {}
    return {**{re.sub(r"\s", "_", name): name for name in names}, **{name: name for name in names}}


def categories_of(file: TreeFile, place: Mapping[str, str], data: RankingDataset) -> dict[str, tuple[Any, ...]]:
    """{column: its categories in the file, as values of the table}. A model file has the lists of categories in the
    order of their columns, without names; if their number fits no columns, nothing is known."""
    texts = [n for n in file.features if n in place and is_text(data, place[n])]
    coded = [n for n in file.features if n in file.settings.categorical]
    either = [n for n in file.features if n in coded or n in texts]
    strings = [values for values in file.categories if any(isinstance(value, str) for value in values)]
    tries = ((either, file.categories), (texts, strings), ([n for n in texts if n in coded], strings))
    pairs = next((zip(*fitting, strict=True) for fitting in tries if len(fitting[0]) == len(fitting[1])), ())
    return {place[n]: tuple(map(_text, v)) if n in texts else v for n, v in pairs if n in place}


def _text(value: Any) -> str:
    """A category in a model file, as text of a table."""
    return value if isinstance(value, str) else json.dumps(value).removesuffix(".0")
