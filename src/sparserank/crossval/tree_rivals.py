"""Trees as rivals: the tree ensembles that a job compares its models with."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.crossval import trees
from sparserank.crossval.tree_columns import TreeColumns, categories_of, columns_of_table, is_text, places
from sparserank.crossval.tree_files import REFUSED_OBJECTIVES, read_tree_file
from sparserank.crossval.trees import (
    BY_FEATURE,
    INTERACTIONS,
    TreeSettings,
    check_trees,
    identity_of_trees,
    saved_booster,
)
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError, DataFormatError, ParameterError
from sparserank.files import StrPath
from sparserank.text import Caution, brief, listed

AUTO, NO, LIGHTGBM = "auto", "none", "lightgbm"  # words that select the rivals
MAX_VALUES = 200_000_000  # values of the training documents, of which LightGBM gets a dense copy
GROUPS = re.compile(r"(\[\d+(,\d+)*\],?)+")  # of features, by number
# Parts of the name of a rival: before its file, and before the features that it lacks.
AS_IN, WITHOUT = "LightGBM as in ", ", without "
NAMED = 3  # features that a name lists


@dataclass(frozen=True, eq=False)
class TreeRival:
    """Trees that are trained on the folds of a job.

    columns     the numbers of the columns of `table` that they use
    table       the columns of the table that are their features
    for_model   the value of `--for-model` that chooses features for them: 'lightgbm' or a file
    lacks       features of the file that the table does not have
    """

    name: str
    settings: TreeSettings
    columns: np.ndarray
    table: TreeColumns
    for_model: str = "lightgbm"
    lacks: tuple[str, ...] = ()

    def depends_on(self, columns: np.ndarray, seed: int) -> list[Any]:
        """What trees on some columns depend on, except the documents that they learn from."""
        return [self.settings, columns.tolist(), self.table.names, self.table.levels, identity_of_trees(), seed]


@dataclass(frozen=True)
class LeftOut:
    """A rival that was not compared, and the reason, as a clause."""

    name: str
    reason: str


@dataclass(frozen=True)
class TreeRivals:
    """The tree rivals of a job.

    rival      trees to compare with
    left_out   trees that cannot be compared
    notes      sentences about the settings of a file
    """

    rival: TreeRival | None = None
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


def tree_rivals(
    word_or_file: Any, data: RankingDataset, never: Collection[int] = (), *, here: bool = True, required: bool = False
) -> TreeRivals:
    """The requested tree rivals.

    Parameters
        word_or_file   'auto' (LightGBM, if it is installed), 'none' (or None), 'lightgbm', or a file: a model that
                       LightGBM saved, or its parameters
        data           training queries; never: features that our models may not use
        here           whether the data are in the memory of this process; if they are not, 'auto' leaves trees out
        required       whether the job is about the trees, and checks itself whether they can be trained
    Raises
        ParameterError     it is none of these
        DataFormatError    the file contains no settings
        DataError          'lightgbm' or a file was requested, and LightGBM is not installed
    """
    word = word_or_file if isinstance(word_or_file, str) else ""
    if word_or_file is None or word == NO or (word == AUTO and not is_installed()):
        return TreeRivals()
    notes: tuple[str, ...] = ()
    if word in (AUTO, LIGHTGBM):
        columns = tuple(columns_of_table(data))
        levels = {name: () for name in columns if name in data.kept_columns}
        settings = replace(trees.LIGHTGBM_SETTINGS, categorical=tuple(levels))
        rival = TreeRival("LightGBM", settings, allowed(columns, data, never), TreeColumns(columns, levels))
    elif is_file(word_or_file):
        rival, notes = rival_of_file(word_or_file, data, never)
        objective = rival.settings.parameters["objective"]
        if REFUSED_OBJECTIVES.fullmatch(objective):
            raise DataFormatError(
                f"{word_or_file}: trees of the objective {brief(objective)} cannot be trained here; use one of "
                "LightGBM's that gives one score for each document, such as lambdarank."
            )
    else:
        words = f"{AUTO}, {NO}, {LIGHTGBM}"
        raise ParameterError("rival", f"must be {words}, or an existing LightGBM file; got {brief(word_or_file)}.")
    reason = "" if required else _why_not(rival, data, here=word != AUTO or (here and not data.is_stored))
    return TreeRivals(None, (LeftOut(rival.name, reason),), notes) if reason else TreeRivals(rival, (), notes)


def _why_not(rival: TreeRival, data: RankingDataset, *, here: bool) -> str:
    """Why trees cannot be compared, as a clause; "" if they can. Raise DataError if LightGBM is not installed."""
    if not here:
        return "the training data are not in the memory of one process"
    try:
        check_trees(data, rival.settings)
    except DataError as error:
        if not is_installed():
            raise
        return str(error).rstrip(".")
    if data.n_docs * len(rival.columns) > MAX_VALUES:
        return f"trees need a dense copy of the data, which would have more than {MAX_VALUES:,} values"
    return ""


def is_installed() -> bool:
    """True if LightGBM is installed, so that trees are compared by default."""
    return importlib.util.find_spec("lightgbm") is not None


def is_file(path: Any) -> bool:
    """True if this is the path of an existing file."""
    try:
        return isinstance(path, StrPath) and Path(path).is_file()
    except (OSError, ValueError):  # not a valid file name
        return False


def columns_in(path: Any) -> tuple[str, ...]:
    """The features that a file of trees names; none if `path` is not a file."""
    return read_tree_file(path).named if is_file(path) else ()


def allowed(columns: Sequence[str], data: RankingDataset, never: Collection[int]) -> np.ndarray:
    """The numbers of the columns with a feature that may be used, or without any feature."""
    sources = data.sources
    may = {source for j, source in enumerate(sources) if j not in never}
    return np.flatnonzero([name in may or name not in sources for name in columns])


BEYOND = ", which our models do not: if it is a leak, leave it out of the file, or its mean is too high."


def rival_of_file(
    path: StrPath, data: RankingDataset, never: Collection[int] = ()
) -> tuple[TreeRival, tuple[str, ...]]:
    """(trees with the settings in a file, notes on them). They use the columns of the table that the file names. If it
    names none, they use those that our models may use, without the features in `never`.

    Raises
        DataFormatError   the file contains no settings
    """
    file, name = read_tree_file(path), f"{AS_IN}{Path(path).name}"
    columns = columns_of_table(data)
    place = places(file.features, columns)
    lacks = tuple(f for f in file.named if f not in place and f not in file.constant)
    unused, features = list(file.unused), file.features
    if features and place.keys().isdisjoint(features):
        features = ()
        unused.append("its feature list, because the table has none of these columns, so it uses all of them")
    # The columns, in the order of the file or else of the table; categories are those that the file names, and text.
    used = [place.get(f, f) for f in features] or columns
    absent = tuple(f for f in features if f not in place)
    known = categories_of(file, place, data)
    texts = [c for c in used if is_text(data, c)]
    numbers = [c for c in texts if features and c not in known]
    levels = {c: known.get(c, ()) for c in used if c in known or c in texts}
    categorical = tuple(c for c in used if c in texts or c in map(place.get, file.settings.categorical))
    # Values by feature are in the same order.
    others = dict(file.settings.others)
    for n in [n for n in others if n in BY_FEATURE and len(others[n].split(",")) != len(used)]:
        del others[n]
        unused.append(f"{n}, which does not have a value for each of {len(used)} columns")
    groups = others.get(INTERACTIONS)
    beyond = any(int(j) >= len(used) for j in re.findall(r"\d+", groups or ""))
    if groups is not None and (beyond or not GROUPS.fullmatch(groups) or features != file.features):
        del others[INTERACTIONS]
        unused.append(f"{INTERACTIONS}, which are not groups of its columns by number")
    settings = replace(file.settings, others=tuple(others.items()), categorical=categorical)
    notes = [f"{name} does not use {'; '.join(unused)}."] if unused else []
    ours = {source for j, source in enumerate(data.sources) if j not in never}
    if beyond_ours := [c for c in used if c not in ours and c not in absent]:
        notes.insert(0, Caution(f"{name} reads {listed(beyond_ours)}{BEYOND}"))
    if "objective" not in others:
        notes.append(f"{name} names no objective, so its trees are trained with lambdarank.")
    if numbers:
        notes.append(f"{name} takes {', '.join(numbers)} as categories: text in the table, numbers in the file.")
    notes.append(
        f"{name} has {settings.n_trees} trees. If its settings were tuned on these queries, its mean is "
        "optimistically biased."
    )
    if lacks:
        name += WITHOUT + (listed(lacks, NAMED) if features == file.features else "its own features")
    at = np.flatnonzero([c not in absent for c in used]) if features else allowed(used, data, never)
    table = TreeColumns(tuple(used), levels, absent)
    return TreeRival(name, settings, at, table, os.fspath(path), lacks), tuple(notes)


def scores_of_saved(path: str | os.PathLike, data: RankingDataset) -> np.ndarray:
    """(n_docs,) scores in the order of the input, as the trees give them.

    Raises
        DataError   LightGBM is missing, or the data lack a column or have it in another form
    """
    rival, _ = rival_of_file(path, data)
    if rival.lacks:
        raise DataError(f"{path}: needs {brief(', '.join(rival.lacks))}, which the data do not have; add the columns.")
    lists = [values for values in read_tree_file(path).categories if values != tuple(range(len(values)))]
    if len(lists) > len([known for known in rival.table.levels.values() if known]):
        raise DataError(f"{path}: does not say to which columns its categories belong; give its scores instead.")
    for name, known in rival.table.levels.items():
        present = [value for value in data.column(name).tolist() if value is not None and value == value]
        if present and set(present).isdisjoint(known):
            there = brief(str(known[0])) if known else "a number"
            raise DataError(
                f"{path}: has {there} for {brief(name)} where the data have {brief(str(present[0]))}; convert it."
            )
    return data.to_input_order(saved_booster(path).predict(rival.table.of(data).X))
